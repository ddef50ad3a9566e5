// Escapes invisible and bidirectional control characters in untrusted text, as in a terminal. Done where data arrives, so that no
// component can forget it. Text to be edited stays unescaped.

// The same characters as in `safety/text/terminal.ts`, which does not run in browsers.
const UNSAFE = /\p{Cc}|\p{Cf}|\p{Cs}|\p{Zl}|\p{Zp}|\p{Default_Ignorable_Code_Point}/gu

export const shownText = (text: string): string =>
  text.replace(UNSAFE, char => (char === '\n' || char === '\t' ? char : `\\u{${char.codePointAt(0)!.toString(16)}}`))

/** Returns the same object if nothing needs escaping. */
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
