// Counts search terms in a text. A term matches at the beginning of a word or of a part of `camelCase` or `snake_case`. Only
// matches are examined, so reading a large repository is about as fast as searching it.

import type { GoalTerm } from '../goal.ts'

/** Indexed like the terms. */
export interface TermCounts {
  readonly all: Float64Array
  /** In the name of a definition. */
  readonly defined: Float64Array
  /** Counts per stretch of `STRETCH` characters with any match. */
  readonly stretches: ReadonlyMap<number, Float64Array>
}

/** About sixty lines: a function with its surroundings. */
const STRETCH = 2_500

export interface TermCounter {
  count(text: string): TermCounts
  /** Counts in a short text such as a path. */
  countPlain(text: string): Float64Array
}

export function termCounter(terms: readonly GoalTerm[]): TermCounter {
  // Longer terms first, so that `parser` is not counted as `parse`.
  const order = terms.map((_, index) => index).sort((a, b) => terms[b]!.stem.length - terms[a]!.stem.length)
  const pattern = new RegExp(order.map(index => `(${escapePattern(terms[index]!.stem)})`).join('|') || '(?!)', 'gi')
  const each = (text: string, found: (term: number, at: number, length: number) => void): void => {
    pattern.lastIndex = 0
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      const at = match.index
      const length = match[0].length
      if (!beginsPart(text, at)) {
        pattern.lastIndex = at + 1
        continue
      }
      const term = order[termOf(match)]!
      const { whole } = terms[term]!
      if (whole && !endsPart(text, at + length)) continue
      found(term, at, length)
    }
  }
  const none = counts(terms)
  return {
    count: text => {
      // Most files contain none of the terms and share one result.
      let [all, defined, stretches] = [none, none, NOWHERE]
      each(text, (term, at) => {
        if (all === none) [all, defined, stretches] = [counts(terms), counts(terms), new Map()]
        all[term] = all[term]! + 1
        const place = Math.floor(at / STRETCH)
        const stretch = stretches.get(place) ?? counts(terms)
        stretch[term] = stretch[term]! + 1
        stretches.set(place, stretch)
        const start = text.lastIndexOf('\n', at) + 1
        if (at - start > LINE_MAX) return
        if (isDefinition(text, start, at)) defined[term] = defined[term]! + 1
      })
      return { all, defined, stretches }
    },
    countPlain: text => {
      let all = none
      each(text, term => {
        if (all === none) all = counts(terms)
        all[term] = all[term]! + 1
      })
      return all
    },
  }
}

const NOWHERE = new Map<number, Float64Array>()
const LINE_MAX = 200
/** The text between the line start and the defined name. */
const DEFINING =
  /^\s*(?:(?:export|default|async|public|private|protected|static|abstract|final|override|pub(?:\([^)]*\))?|unsafe|declare|readonly)\s+)*(?:(?:function\*?|class|def|func|fn|const|let|var|type|interface|struct|enum|trait|impl|module|macro_rules!|object|package|mod)\s+(?:\([^)]*\)\s*)?(?:self\.)?|get\s+|set\s+)[\w$]*$/
/** A method has no keyword before its name, but a body after it. */
const METHOD = /^\s+#?[\w$]*$/
const METHOD_BODY = /^[\w$]*\s*(?:<[^>]*>)?\([^\n]*\{\s*$/

function isDefinition(text: string, start: number, at: number): boolean {
  const before = text.slice(start, at)
  if (DEFINING.test(before)) return true
  if (!METHOD.test(before)) return false
  const end = text.indexOf('\n', at)
  return METHOD_BODY.test(text.slice(at, Math.min(end < 0 ? text.length : end, at + LINE_MAX)))
}

const counts = (terms: readonly GoalTerm[]): Float64Array => new Float64Array(terms.length)

function termOf(match: RegExpExecArray): number {
  for (let group = 1; group < match.length; group++) if (match[group] !== undefined) return group - 1
  return 0
}

/** A word or a part of one begins here: after `_`, a digit or a dash, and where lower case turns to upper case. */
function beginsPart(text: string, at: number): boolean {
  if (at === 0) return true
  const before = text.charCodeAt(at - 1)
  if (!isLetter(before)) return true
  return isLarge(text.charCodeAt(at)) && (!isLarge(before) || isSmall(text.charCodeAt(at + 1)))
}

function endsPart(text: string, at: number): boolean {
  const next = text.charCodeAt(at)
  if (Number.isNaN(next) || !isLetter(next)) return true
  // A plural is the same word.
  if ((next === 115 || next === 83) && !isLetter(text.charCodeAt(at + 1))) return true
  return isLarge(next) && !isLarge(text.charCodeAt(at - 1))
}

const isLarge = (code: number): boolean => code >= 65 && code <= 90
const isSmall = (code: number): boolean => code >= 97 && code <= 122
const isLetter = (code: number): boolean => isLarge(code) || isSmall(code) || code > 191

export const escapePattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
