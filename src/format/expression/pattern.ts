// Regular expressions in linear time, for `matches()` and JSON Schema: RE2, by re2js. JavaScript's own engine backtracks, so a
// single line in a plan could hang it. re2js cannot be interrupted, so its cost is charged in advance.

import { createRequire } from 'node:module'
import type { RE2JS, RE2JSSyntaxException } from 're2js'

export class PatternError extends Error {}

const TEXT_MAX = 100_000
const PATTERN_MAX = 1_000
const SIZE_MAX = 1_000
/** Cost of compiling one character of a pattern: about 10 µs. */
const COMPILE_UNITS = 1_000

export class Patterns {
  readonly #spend: (units: number) => void
  readonly #compiled = new Map<string, RE2JS>()

  /** `spend` is called in advance with text length times pattern size, and may throw. */
  constructor(spend: (units: number) => void) {
    this.#spend = spend
  }

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
/** Loaded on first use: it takes 15 ms, and most plans have no pattern. */
const re2 = (): typeof import('re2js') => {
  loaded ??= createRequire(import.meta.url)('re2js') as typeof import('re2js')
  return loaded
}

const TOKEN = /\\[\s\S]|\[\^?\]?(?:\\[\s\S]|[^\]\\])*\]|\{(\d{1,4})(?:,(\d{0,4}))?\}|[\s\S]/g

/** Estimates the instruction count with counted repetitions expanded, as RE2 does before it can be asked. */
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

/** Words RE2's errors. */
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
