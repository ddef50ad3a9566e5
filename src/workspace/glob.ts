// Git's wildcards: `?` and `*` stay inside one name, `**` between slashes is any number of folders, `[a-z]` and `[[:alpha:]]`
// are sets, a backslash takes the next character as it is. Every pair of places in pattern and text is looked at once, so
// no pattern takes longer than its length times that of the text. Pure.

export type Glob = readonly Part[]

type Part =
  | { readonly kind: 'one'; readonly is: (character: number) => boolean }
  /** Any run of characters; `deep` runs over slashes too. */
  | { readonly kind: 'run'; readonly deep: boolean }
  /** A double star before a slash: any run that ends in a slash, or nothing at all. */
  | { readonly kind: 'folders' }

const SLASH = 0x2f

/** Null when it is malformed; such a pattern matches nothing. */
export function readGlob(pattern: string): Glob | null {
  const parts: Part[] = []
  for (let at = 0; at < pattern.length; ) {
    const character = pattern[at]!
    if (character === '\\') {
      if (at + 1 >= pattern.length) return null
      parts.push(exactly(pattern.charCodeAt(at + 1)))
      at += 2
    } else if (character === '?') {
      parts.push({ kind: 'one', is: code => code !== SLASH })
      at++
    } else if (character === '*') {
      let end = at
      while (pattern[end] === '*') end++
      const alone = at === 0 || pattern[at - 1] === '/'
      const deep =
        end - at > 1 && alone && (end === pattern.length || pattern[end] === '/' || pattern.startsWith('\\/', end))
      if (deep && pattern[end] === '/') {
        parts.push({ kind: 'folders' })
        at = end + 1
      } else {
        parts.push({ kind: 'run', deep })
        at = end
      }
    } else if (character === '[') {
      const set = readSet(pattern, at)
      if (set === null) return null
      parts.push(set.part)
      at = set.end
    } else {
      parts.push(exactly(pattern.charCodeAt(at)))
      at++
    }
  }
  return parts
}

export function matchesGlob(glob: Glob, text: string): boolean {
  /** The places in the text that the parts so far can have led to. */
  let places = new Set([0])
  for (const part of glob) {
    const next = new Set<number>()
    for (const place of places) {
      if (part.kind === 'one') {
        if (place < text.length && part.is(text.charCodeAt(place))) next.add(place + 1)
        continue
      }
      if (part.kind === 'run') {
        for (let at = place; at <= text.length && !next.has(at); at++) {
          next.add(at)
          if (!part.deep && text.charCodeAt(at) === SLASH) break
        }
        continue
      }
      next.add(place)
      for (let at = place; at < text.length; at++) if (text.charCodeAt(at) === SLASH) next.add(at + 1)
    }
    if (next.size === 0) return false
    places = next
  }
  return places.has(text.length)
}

const exactly = (wanted: number): Part => ({ kind: 'one', is: code => code === wanted })

function readSet(pattern: string, start: number): { readonly part: Part; readonly end: number } | null {
  const tests: ((code: number) => boolean)[] = []
  let at = start + 1
  const negated = pattern[at] === '!' || pattern[at] === '^'
  if (negated) at++
  let previous = 0
  do {
    let code = pattern.charCodeAt(at)
    if (at >= pattern.length) return null
    if (pattern[at] === '\\') {
      if (++at >= pattern.length) return null
      code = pattern.charCodeAt(at)
      tests.push(equals(code))
    } else if (pattern[at] === '-' && previous !== 0 && at + 1 < pattern.length && pattern[at + 1] !== ']') {
      if (pattern[++at] === '\\' && ++at >= pattern.length) return null
      const [from, to] = [previous, pattern.charCodeAt(at)]
      tests.push(other => other >= from && other <= to)
      code = 0
    } else if (pattern[at] === '[' && pattern[at + 1] === ':') {
      const close = pattern.indexOf(']', at + 2)
      if (close < 0) return null
      if (close - at < 3 || pattern[close - 1] !== ':') tests.push(equals(code))
      else {
        const named = CLASSES[pattern.slice(at + 2, close - 1)]
        if (named === undefined) return null
        tests.push(other => other < 0x80 && named.test(String.fromCharCode(other)))
        at = close
        code = 0
      }
    } else tests.push(equals(code))
    previous = code
    at++
  } while (pattern[at] !== ']')
  const is = (code: number) => code !== SLASH && tests.some(test => test(code)) !== negated
  return { part: { kind: 'one', is }, end: at + 1 }
}

const equals = (code: number) => (other: number) => other === code

const CLASSES: { readonly [name: string]: RegExp | undefined } = Object.assign(Object.create(null), {
  alnum: /[A-Za-z0-9]/,
  alpha: /[A-Za-z]/,
  blank: /[ \t]/,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the class is about them.
  cntrl: /[\x00-\x1f\x7f]/,
  digit: /[0-9]/,
  graph: /[\x21-\x7e]/,
  lower: /[a-z]/,
  print: /[\x20-\x7e]/,
  punct: /[\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]/,
  space: /[ \t\n\v\f\r]/,
  upper: /[A-Z]/,
  xdigit: /[0-9A-Fa-f]/,
})
