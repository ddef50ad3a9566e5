// Regular expressions in linear time, for `matches()` and JSON Schema: RE2, by re2js. JavaScript's own engine backtracks and can be
// made to hang by one line of a plan. re2js does not, but it cannot be interrupted either: what it may cost is paid before it runs.

import { createRequire } from 'node:module'
import type { RE2JS, RE2JSSyntaxException } from 're2js'

export class PatternError extends Error {}

const TEXT_MAX = 100_000
const PATTERN_MAX = 1_000
const SIZE_MAX = 1_000
/** What compiling costs for each character of the pattern: some 10 µs. */
const COMPILE_UNITS = 1_000

/** The patterns of one evaluation, each compiled once. */
export class Patterns {
  readonly #spend: (units: number) => void
  readonly #compiled = new Map<string, RE2JS>()

  /** `spend` is told beforehand, in characters of text times instructions of the pattern, and may throw. */
  constructor(spend: (units: number) => void) {
    this.#spend = spend
  }

  /** Does the pattern occur anywhere in the text? */
  isIn(text: string, source: string): boolean {
    if (text.length > TEXT_MAX) throw new PatternError(`the text is longer than ${TEXT_MAX} characters`)
    const pattern = this.#compiled.get(source) ?? this.#compile(source)
    this.#spend((text.length + 1) * pattern.programSize())
    return pattern.test(text)
  }

  #compile(source: string): RE2JS {
    this.#spend(source.length * COMPILE_UNITS)
    const pattern = compilePattern(source)
    this.#compiled.set(source, pattern)
    return pattern
  }
}

export function compilePattern(source: string): RE2JS {
  if (source.length > PATTERN_MAX) throw new PatternError(`the pattern is longer than ${PATTERN_MAX} characters`)
  if (sizeOf(source) > SIZE_MAX) throw new PatternError('the pattern is too large')
  const library = re2()
  try {
    return library.RE2JS.compile(source)
  } catch (error) {
    if (!(error instanceof library.RE2JSSyntaxException)) throw error
    throw new PatternError(wordsOf(error))
  }
}

let loaded: typeof import('re2js') | null = null
/** Loaded when the first pattern is used: it takes 15 ms, and most plans have none. */
const re2 = (): typeof import('re2js') => {
  loaded ??= createRequire(import.meta.url)('re2js') as typeof import('re2js')
  return loaded
}

const TOKEN = /\\[\s\S]|\[\^?\]?(?:\\[\s\S]|[^\]\\])*\]|\{(\d{1,4})(?:,(\d{0,4}))?\}|[\s\S]/g

/** About as many instructions as it has when counted repetition is written out, which RE2 does before anybody could ask it. */
function sizeOf(source: string): number {
  const outer: number[] = []
  let [size, last] = [0, 0]
  for (const [token, least, most] of source.matchAll(TOKEN)) {
    if (token === '(') {
      outer.push(size)
      size = 0
    } else if (token === ')') {
      last = size + 1
      size = (outer.pop() ?? 0) + last
    } else if (least !== undefined) {
      const more = last * Math.max(0, Number(least) - 1, Number(most ?? 0) - 1)
      last += more
      size += more
    } else {
      last = 1
      size++
    }
  }
  return outer.reduce((sum, one) => sum + one, size)
}

/** What RE2 has against a pattern, in our words. */
function wordsOf({
  error,
  input,
}: RE2JSSyntaxException & { readonly error: string; readonly input: string | null }): string {
  switch (error) {
    case 'missing closing )':
      return "a group is not closed with ')'"
    case 'missing closing ]':
      return "a class is not closed with ']'"
    case 'unexpected )':
      return "unexpected ')' in the pattern"
    case 'trailing backslash at end of expression':
      return 'the pattern ends with a backslash'
    case 'missing argument to repetition operator':
      return `nothing to repeat before '${input}'`
    case 'invalid nested repetition operator':
      return 'a quantifier follows a quantifier'
    case 'invalid repeat count':
      return `the repetition ${input} cannot be used`
    case 'invalid character class range':
      return `the range ${input} in a class cannot be used`
    case 'invalid escape sequence':
      return `'${input}' is not supported in patterns`
    case 'invalid or unsupported Perl syntax':
      return `'${input}' is not supported in patterns: there is no look-around`
    default:
      return input === null ? error : `${error}: '${input}'`
  }
}
