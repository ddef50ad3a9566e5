// The texts of gates, the same in every face: what a gate will do, the sentence of its question, the direct question, and the facts about
// it.

import { OUT_OF_TIME } from '../budget/budget-text.ts'
import type { EditedPaths, GateAsks } from '../event.ts'
import type { TaskName } from '../id.ts'
import type { GateAction, TaskDefinition } from '../plan.ts'
import type { InboxItem } from './inbox.ts'

export type Say = (text: string) => string

export function askedSentence({ task, asks }: Pick<InboxItem, 'task' | 'asks'>, say: Say): string {
  switch (asks.type) {
    case 'approval':
      return `${task} waits for approval`
    case 'verdict':
      return `${task}: please confirm: ${asks.criteria.map(criterion => `'${say(criterion)}'`).join(', ')}`
    case 'unknown-outcome':
      return `${task}: outcome unknown, needs your decision (${say(asks.evidence.reason)})`
    case 'edits':
      return `${task} needs your decision: ${whoEdited(asks, say)} ${pathsIn(asks, say)}; its next attempt would revert that`
    case 'consent':
      return `${task} waits for approval before it starts: ${say(asks.why)}`
    case 'decision':
      return `${task} waits for a decision: ${asks.options.map(({ id }) => say(id)).join(', ')}`
    case 'question':
      return `${task} asks: ${say(asks.question)}`
    case 'recovery':
      return `${task} failed and needs your decision: ${say(asks.failure.message)}`
    case 'replan':
      return `${task} failed and needs a changed plan: ${say(asks.failure.message)}`
    case 'agent-question':
      return questionSentence({ ...asks, task }, say)
    case 'proposal':
      return proposalSentence(asks, say)
    case 'work':
      return `${task} is ready to be done`
    case 'rollback':
      return `the ${asks.kind} to ${asks.checkpoint ?? `entry ${asks.to}`} stopped: ${say(asks.message)}`
    default:
      return asks satisfies never
  }
}

/** A question without text takes the title, else it names its fields. */
export function spokenAsks<A extends GateAsks>({ title }: Pick<TaskDefinition, 'title'>, asks: A): A {
  if (asks.type !== 'question' || asks.question !== '') return asks
  return { ...asks, question: title ?? asks.form.map(({ label, name }) => label ?? name).join(', ') }
}

export const questionSentence = (
  { by, text, task }: { readonly by: string; readonly text: string; readonly task: TaskName | null },
  say: Say,
): string => `${say(by)}${task === null ? '' : `, at ${task},`} asks: ${say(text)}`

export const proposalSentence = (
  { by, rationale }: { readonly by: string; readonly rationale: string },
  say: Say,
): string => `${say(by)} proposes a revision: ${say(rationale)}`

export function directQuestion(asks: GateAsks): string {
  switch (asks.type) {
    case 'approval':
      return 'continue?'
    case 'verdict':
      return 'are these checks met?'
    case 'unknown-outcome':
      return 'its outcome is unknown. Did it happen?'
    case 'edits':
      return 'its files were edited since its last attempt. What should happen to these edits?'
    case 'consent':
      return 'may it start?'
    case 'decision':
      return 'which of these?'
    case 'question':
      return asks.question
    case 'recovery':
    case 'replan':
      return 'it failed. What should happen now?'
    default:
      return asks satisfies never
  }
}

export function gateWords(action: GateAction, who: string): string {
  const approver = who === '' ? 'a person' : who
  const many = (action.approvers?.count ?? 1) > 1 ? `, ${action.approvers?.count} of them` : ''
  switch (action.gate) {
    case 'approval':
      return `asks ${approver} for approval${many}`
    case 'diff':
      return `asks ${approver} to review the changes${many}`
    case 'decision':
      return `asks ${approver} to choose: ${(action.options ?? []).map(({ id }) => id).join(', ')}`
    case 'question':
      return `asks ${approver}: ${action.question ?? (action.form ?? []).map(({ label, name }) => label ?? name).join(', ')}`
    case 'schema':
      return `checks that ${action.schema?.file ?? ''} follows ${action.schema?.against ?? ''}`
    case 'invariant':
    case 'tests':
      return 'continues when its checks pass'
    case 'budget':
      return 'continues while the plan is within its budget'
    default:
      return action.gate satisfies never
  }
}

/** Why a task with an unknown outcome is not repeated automatically. */
export const whyNotAgain = (asks: UnknownOutcome): string =>
  `its effect is ${asks.evidence.effect}, so it is not run again automatically${isOutOfTime(asks) ? '; a retry needs a larger time budget first' : ''}`

/** Its time budget is used up: a retry without more would be stopped at once. */
export const isOutOfTime = (asks: GateAsks | InboxItem['asks']): boolean =>
  asks.type === 'unknown-outcome' && asks.evidence.reason === OUT_OF_TIME

type UnknownOutcome = Extract<GateAsks, { readonly type: 'unknown-outcome' }>

export function votesSentence(given: readonly { readonly by: string }[], wanted: number, say: Say): string {
  const names = given.map(({ by }) => say(by)).join(', ')
  return `${given.length} of ${wanted} approved${names === '' ? '' : `: ${names}`}`
}

const PATHS_MAX = 5

const EDITED_MAX = 10

/** One line for each edited path; the caller escapes the text. */
export function editedLines({ paths, more = 0, unmerged = [] }: EditedPaths): readonly string[] {
  const rest = Math.max(0, paths.length - EDITED_MAX) + more
  return [
    ...paths.slice(0, EDITED_MAX).map(path => `edited: ${path}`),
    ...(rest === 0 ? [] : [`… and ${rest} more`]),
    ...unmerged.slice(0, EDITED_MAX).map(path => `cannot be merged: ${path}; choose keep or take`),
  ]
}

/** The first paths, and the number of others. */
function pathsIn({ paths, more = 0 }: EditedPaths, say: Say): string {
  const shown = paths.slice(0, PATHS_MAX).map(say)
  const rest = paths.length - shown.length + more
  return `${shown.join(', ')}${rest === 0 ? '' : ` and ${rest} more`}`
}

/** A person, or another plan that ran at the same time. */
const whoEdited = ({ plans = [] }: EditedPaths, say: Say): string =>
  plans.length === 0
    ? 'a person or a leftover process edited'
    : `${plans.map(plan => `plan '${say(plan)}'`).join(', ')} may have written`
