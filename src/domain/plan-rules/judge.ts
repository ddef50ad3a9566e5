// A judge gives a second opinion about the work of a task: a model, an agent that may only read, or another task of the plan. What a
// plan file says is stored as it was written (`by`); here it is read, and what a reviewer answers is sorted. Pure.

import type { Action } from '../actions/actions.ts'
import type { TaskName } from '../id.ts'
import { isMap, type Json, type JsonObject } from '../json.ts'
import type { Review } from '../plan.ts'
import { agentFault, isAgentName } from './agent-request.ts'

/** Absent models and agents are the defaults of the plan. */
export type Judge =
  | { readonly type: 'model'; readonly use: string | null }
  | { readonly type: 'agent'; readonly spec: JsonObject }
  | { readonly type: 'task'; readonly task: TaskName }

/** `model`, `PROVIDER/NAME`, the name of an agent, `{ use: AGENT, model: NAME }`, or `{ task: NAME }`; null for anything else. */
export function judgeIn(by: Json): Judge | null {
  if (typeof by === 'string') {
    if (by === 'model') return { type: 'model', use: null }
    if (/^[^\s/]+\/\S+$/.test(by)) return { type: 'model', use: by }
    return isAgentName(by) ? { type: 'agent', spec: { use: by } } : null
  }
  if (!isMap(by)) return null
  if (typeof by.task === 'string' && Object.keys(by).length === 1) return { type: 'task', task: by.task as TaskName }
  return agentFault(by) === null && by.answer === undefined ? { type: 'agent', spec: by } : null
}

/** Renames the task that reviews. */
export function withReviewer(review: Review, named: (name: TaskName) => TaskName): Review {
  const judge = judgeIn(review.by)
  return judge?.type === 'task' ? { ...review, by: { task: named(judge.task) } } : review
}

/** The action that asks it for an answer of this shape; null for a task of the plan. `votes`: so many questions, the majority counts. */
export function judgeAction(judge: Judge, answer: JsonObject, votes?: number): Action | null {
  switch (judge.type) {
    case 'model': {
      const spec = { ...(judge.use === null ? {} : { use: judge.use }), answer }
      return { type: 'model', spec: votes === undefined ? spec : { ...spec, votes } }
    }
    case 'agent':
      return { type: 'agent', spec: { ...judge.spec, answer } }
    case 'task':
      return null
    default:
      return judge satisfies never
  }
}

/** What expressions of a judge see of the work that it judges. */
export const WORK_FIELDS = ['brief', 'diff', 'checks', 'attempts'] as const

/** What judges of changes answer. */
export const VERDICT: JsonObject = {
  verdict: 'pass | fail',
  findings: [{ 'file?': 'string', 'line?': 'integer', says: 'string', 'criterion?': 'string' }],
}

export interface Finding {
  readonly file: string | null
  readonly line: number | null
  readonly says: string
  readonly criterion: string | null
}

export interface Opinion {
  readonly verdict: 'pass' | 'fail'
  readonly findings: readonly Finding[]
}

/** Null when the answer has no verdict. */
export function opinionIn({ verdict, findings }: JsonObject): Opinion | null {
  if (verdict !== 'pass' && verdict !== 'fail') return null
  const list = Array.isArray(findings) ? findings : []
  return { verdict, findings: list.slice(0, READ_MAX).flatMap(one => (isMap(one) ? findingIn(one) : [])) }
}

function findingIn({ file, line, says, criterion }: JsonObject): readonly Finding[] {
  const text = textIn(says)
  const at = typeof line === 'number' && Number.isSafeInteger(line) ? line : null
  return text === null ? [] : [{ file: textIn(file), line: at, says: text, criterion: textIn(criterion) }]
}

const textIn = (value: Json | undefined): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value.trim().slice(0, TEXT_MAX) : null

/** A list that is longer is read so far; of those that count, and of the others, `FINDINGS_MAX` are kept. */
const READ_MAX = 1_000
const FINDINGS_MAX = 20
const TEXT_MAX = 1_000

/** What the work can be held against. */
export interface Held {
  /** The files it changed; null if that is not known. */
  readonly paths: readonly string[] | null
  /** The names of its criteria, as the judge sees them. */
  readonly criteria: readonly string[]
}

/** Findings that count, and those that do not: outside the changed files, or against no criterion of the task. */
export function sortFindings(
  findings: readonly Finding[],
  { paths, criteria }: Held,
): { readonly blocking: readonly Finding[]; readonly others: readonly Finding[]; readonly more: number } {
  const changed = new Set(paths)
  const names = criteria.map(plain)
  // Models write paths like those in the head of a diff.
  const isInside = ({ file }: Finding): boolean =>
    paths === null ||
    (file === null ? changed.size === 0 : changed.has(file) || changed.has(file.replace(/^(\.|a|b)\//, '')))
  const isHeld = ({ criterion }: Finding): boolean => criterion !== null && names.includes(plain(criterion))
  const counts = (one: Finding): boolean => isInside(one) && isHeld(one)
  const [blocking, others] = [findings.filter(counts), findings.filter(one => !counts(one))]
  const kept = { blocking: blocking.slice(0, FINDINGS_MAX), others: others.slice(0, FINDINGS_MAX) }
  return { ...kept, more: findings.length - kept.blocking.length - kept.others.length }
}

const plain = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[\s`'"]+/g, ' ')
    .trim()

/** One line for each finding. */
export const findingText = ({ file, line, says, criterion }: Finding): string => {
  const place = file === null ? '' : `${file}${line === null ? '' : `:${line}`}: `
  return `${place}${says}${criterion === null ? '' : ` (${criterion})`}`
}
