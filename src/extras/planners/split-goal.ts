// Splits a goal into wishes without a model: list items, or sentences and clauses with a command of their own. In doubt it stays
// one wish; a reference to earlier text ("add a test for it") is not split off.

import { readGoal } from './goal.ts'
import { CONSTRAINT } from './goal-kind.ts'
import { VERBS } from './goal-limits.ts'
import { WISHES_MAX, type Wish } from './planner.ts'

const GOAL_MAX = 20_000
const TITLE_MAX = 200

export function splitGoal(goal: string): readonly Wish[] {
  const text = goal.slice(0, GOAL_MAX).trim()
  const { headline, frames } = readGoal(text)
  const whole = [{ title: clip(headline), criteria: [] }]
  const found = listIn(text) ?? (frames.length > 0 ? null : sentencesIn(text))
  if (found === null || found.wishes.length < 2) return whole
  const [first, rest] = [found.wishes.slice(0, WISHES_MAX), found.wishes.slice(WISHES_MAX)]
  const left = rest.flatMap(({ title, more }) => [title, ...more])
  return first.map(({ title, more }, index) => ({
    title: clip(title),
    criteria: [
      ...(title.length > TITLE_MAX ? [title] : []),
      ...more,
      ...(index === first.length - 1 ? left : []),
      ...found.limits,
    ],
  }))
}

interface Found {
  readonly wishes: readonly { readonly title: string; readonly more: readonly string[] }[]
  /** They hold for all wishes. */
  readonly limits: readonly string[]
}

const clip = (text: string): string => (text.length > TITLE_MAX ? `${text.slice(0, TITLE_MAX - 1)}…` : text)

// A list: each item is a wish, unless it only limits the others.

const ITEM = /^(\s*)(?:[-*•]|\d{1,3}[.)])\s+(?:\[[ xX]?\]\s+)?(\S.*)$/

function listIn(text: string): Found | null {
  const wishes: { title: string; more: string[] }[] = []
  const limits: string[] = []
  let indent: number | null = null
  let isLast = false
  for (const line of text.split('\n')) {
    const [, space = '', item = ''] = ITEM.exec(line) ?? []
    if (item !== '' && (indent === null || space.length <= indent)) {
      indent ??= space.length
      isLast = !isLimit(item)
      if (isLast) wishes.push({ title: item.trim(), more: [] })
      else limits.push(item.trim())
    } else if (line.trim() === '') isLast = false
    else if (isLast && /^\s/.test(line)) wishes.at(-1)?.more.push(line.trim())
    else if (CONSTRAINT.test(line)) limits.push(line.trim())
  }
  return wishes.length < 2 ? null : { wishes, limits }
}

// Prose: sentences, and clauses joined by "and", that begin with a command.

const OPENING = /^(?:(?:please|also|then|finally|next|first|secondly?|thirdly?)[,:]?\s+)*/i
const ASKS = new RegExp(`${OPENING.source}(?:${VERBS})\\b`, 'i')
const JOINT = new RegExp(
  `\\s*,?\\s+(?:and|then|also|and then|and also)\\s+(?=(?:${VERBS})\\b)|,\\s+(?=(?:${VERBS})\\b)`,
  'gi',
)
const SENTENCE_END = /[.!?](?=\s+[\p{Lu}\p{Lo}\ue000])\s+|;\s+|\n+/gu
const REFERS_BACK = /\b(it|its|them|they|their|this|that|these|those|there|both|same)\b/i
const FORBIDS = /^(don'?t|do not|never|keep|leave|without|no|only|but)\b/i
const QUOTED = /`[^`\n]*`|"[^"\n]*"|“[^”\n]*”/g

function sentencesIn(text: string): Found {
  const wishes: { title: string; more: string[] }[] = []
  const limits: string[] = []
  const before: string[] = []
  for (const sentence of cut(text, SENTENCE_END)) {
    if (isLimit(sentence)) {
      limits.push(sentence)
      continue
    }
    const parts = ASKS.test(sentence) ? clausesOf(sentence) : []
    for (const title of parts) wishes.push({ title: bare(title), more: before.splice(0) })
    if (parts.length > 0) continue
    const last = wishes.at(-1)
    if (last === undefined) before.push(sentence)
    else last.more.push(sentence)
  }
  return { wishes, limits }
}

const bare = (text: string): string => text.replace(OPENING, '').replace(/[.!;]+$/, '')
const refersBack = (text: string): boolean => REFERS_BACK.test(text.replace(QUOTED, ' '))
const isLimit = (text: string): boolean => FORBIDS.test(text) || (CONSTRAINT.test(text) && !ASKS.test(text))

/**
 * A clause is a separate wish if it is specific enough and contains no reference to earlier text. None if already the first one
 * refers back.
 */
function clausesOf(sentence: string): readonly string[] {
  const clauses: string[] = []
  const all = cut(sentence, JOINT)
  if (all[0] === undefined || refersBack(all[0])) return []
  for (const clause of all) {
    const last = clauses.length - 1
    const isOwn = !refersBack(clause) && namesIn(clause) >= 2
    if (last >= 0 && !isOwn) clauses[last] += ` and ${clause}`
    else clauses.push(clause)
  }
  return clauses
}

const VERB_WORDS = new Set(VERBS.split('|').flatMap(verb => verb.split(' ')))

/** Names count more than words, and the verb not at all. */
function namesIn(clause: string): number {
  const { terms, symbols, files, quoted } = readGoal(clause)
  const words = terms.filter(({ word }) => !VERB_WORDS.has(word.toLowerCase()))
  return words.length + 2 * (symbols.length + files.length + quoted.length)
}

/** Splits at matches outside quotes; a full stop stays with its sentence. */
function cut(text: string, at: RegExp): readonly string[] {
  const hidden = text.replace(QUOTED, found => '\ue000'.repeat(found.length))
  const parts: string[] = []
  let from = 0
  for (const found of hidden.matchAll(at)) {
    const mark = /^[.!?]/.test(found[0]) ? 1 : 0
    parts.push(text.slice(from, found.index + mark))
    from = found.index + found[0].length
  }
  parts.push(text.slice(from))
  return parts.map(part => part.trim()).filter(part => part !== '')
}
