// The files that git would ignore, from `.gitignore` and `.planfoldignore`. The last matching rule decides; rules of deeper folders come
// later; everything in an ignored folder stays ignored. Works on bytes (one character each), as git does. Pure.

// Git's wildcards: `?` and `*` match within one name, `**` between slashes any number of folders, `[a-z]` and `[[:alpha:]]` are sets, a
// backslash escapes. Each pair of positions in pattern and text is visited once, so matching takes at most pattern length times text
// length.

type Glob = readonly Part[]

type Part =
  | { readonly kind: 'one'; readonly is: (character: number) => boolean }
  /** `deep` also matches slashes. */
  | { readonly kind: 'run'; readonly deep: boolean }
  /** A double star and a slash: nothing, or any text that ends in a slash. */
  | { readonly kind: 'folders' }

const SLASH = 0x2f

function readGlob(pattern: string): Glob | null {
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

function matchesGlob(glob: Glob, text: string): boolean {
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

export interface IgnoreRules {
  /** The folder of the file with a trailing slash; '' for the workspace. */
  readonly base: string
  readonly text: string
  readonly rules: readonly Rule[]
}

interface Rule {
  readonly negated: boolean
  readonly directoryOnly: boolean
  /** Matches the path below `base`; otherwise only the last name. */
  readonly anchored: boolean
  readonly matches: (text: string) => boolean
}

const RULES_MAX = 20_000

export function readRules(base: string, text: string): IgnoreRules {
  const rules: Rule[] = []
  const body = text.startsWith('\xef\xbb\xbf') ? text.slice(3) : text
  for (const line of body.split('\n')) {
    const rule = ruleOf(line.endsWith('\r') ? line.slice(0, -1) : line)
    if (rule !== null && rules.length < RULES_MAX) rules.push(rule)
  }
  return { base, text, rules }
}

/** For a path without an ignored parent. `stack` has the rules from the workspace downwards. */
export function isIgnored(stack: readonly IgnoreRules[], path: string, isDirectory: boolean): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1)
  for (let file = stack.length - 1; file >= 0; file--) {
    const { base, rules } = stack[file]!
    for (let at = rules.length - 1; at >= 0; at--) {
      const rule = rules[at]!
      if (rule.directoryOnly && !isDirectory) continue
      if (rule.matches(rule.anchored ? path.slice(base.length) : name)) return !rule.negated
    }
  }
  return false
}

function ruleOf(line: string): Rule | null {
  if (line === '' || line.startsWith('#')) return null
  let pattern = withoutTrailingSpaces(line)
  const negated = pattern.startsWith('!')
  if (negated) pattern = pattern.slice(1)
  const directoryOnly = pattern.endsWith('/')
  if (directoryOnly) pattern = pattern.slice(0, -1)
  const anchored = pattern.includes('/')
  if (pattern.startsWith('/')) pattern = pattern.slice(1)
  if (pattern === '') return null
  const matches = matcherOf(pattern)
  return matches === null ? null : { negated, directoryOnly, anchored, matches }
}

/** Trailing spaces do not count unless escaped. */
function withoutTrailingSpaces(line: string): string {
  let end = 0
  for (let at = 0; at < line.length; at++) {
    if (line[at] === '\\') at++
    else if (line[at] === ' ') continue
    end = at + 1
  }
  return line.slice(0, Math.min(end, line.length))
}

/** Null when the pattern can never match. As in git, the text before the first wildcard is compared literally. */
function matcherOf(pattern: string): Rule['matches'] | null {
  const plain = pattern.search(/[*?[\\]/)
  if (plain < 0) return text => text === pattern
  const prefix = pattern.slice(0, plain)
  const rest = pattern.slice(plain)
  if (/^\*[^*?[\\/]+$/.test(rest) && prefix === '') {
    const ending = rest.slice(1)
    return text => text.endsWith(ending) && !text.slice(0, -ending.length).includes('/')
  }
  const glob = readGlob(rest)
  return glob === null ? null : text => text.startsWith(prefix) && matchesGlob(glob, text.slice(prefix.length))
}
