// Text of others on its way to the page: what has no shape of its own or turns the direction of reading is written out, as in a
// terminal. Done where data comes in, so that no part of the page can forget it. Text to be edited is left as it is.

// The same characters as `safety/text/terminal.ts`, which is not for browsers.
const UNSAFE = /\p{Cc}|\p{Cf}|\p{Cs}|\p{Zl}|\p{Zp}|\p{Default_Ignorable_Code_Point}/gu

export const shownText = (text: string): string =>
  text.replace(UNSAFE, char => (char === '\n' || char === '\t' ? char : `\\u{${char.codePointAt(0)!.toString(16)}}`))

/** The same value where there is nothing to write out. */
export function shown<T>(value: T): T {
  return write(value) as T
}

function write(value: unknown): unknown {
  if (typeof value === 'string') return shownText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map(write)
    return items.every((item, at) => item === value[at]) ? value : items
  }
  const entries = Object.entries(value)
  const written = entries.map(([key, item]) => [write(key), write(item)] as const)
  return written.every(([key, item], at) => key === entries[at]![0] && item === entries[at]![1])
    ? value
    : Object.fromEntries(written)
}
