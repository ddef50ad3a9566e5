// Counts the terms of a goal in a text. A term counts where a word, or a part of `camelCase` or `snake_case`, begins with it. Only
// places where a term stands are looked at, so a large repository is read about as fast as it can be searched.

import type { GoalTerm } from '../goal.ts'

/** By term, in the order of the terms. */
export interface TermCounts {
  /** Everywhere. */
  readonly all: Float64Array
  /** In the name of something that is defined there. */
  readonly defined: Float64Array
  /** How often each term stands in each stretch of the text of `STRETCH` characters, where any does. */
  readonly stretches: ReadonlyMap<number, Float64Array>
}

/** About sixty lines: a function and its surroundings. */
const STRETCH = 2_500

export interface TermCounter {
  count(text: string): TermCounts
  /** In a short text, such as a path: how often each term stands there. */
  countPlain(text: string): Float64Array
}

export function termCounter(terms: readonly GoalTerm[]): TermCounter {
  // Longer ones first, so that `parser` is not taken for `parse` where both are asked for.
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
      // Most files hold none of the terms; they share one answer.
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
/** What stands between the beginning of a line and a part of the name that is defined on it. */
const DEFINING =
  /^\s*(?:(?:export|default|async|public|private|protected|static|abstract|final|override|pub(?:\([^)]*\))?|unsafe|declare|readonly)\s+)*(?:(?:function\*?|class|def|func|fn|const|let|var|type|interface|struct|enum|trait|impl|module|macro_rules!|object|package|mod)\s+(?:\([^)]*\)\s*)?(?:self\.)?|get\s+|set\s+)[\w$]*$/
/** A method has no word before its name, but a body behind it. */
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

/** A word begins here, or a part of one: after `_`, a digit or a dash, and where small letters turn into a large one. */
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
