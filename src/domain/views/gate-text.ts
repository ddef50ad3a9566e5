// The words of gates, the same in every face: what a gate will do, the sentence with which a gate, a question or a trouble asks, the
// question put directly, and what there is to know about it.

import type { EditedPaths, GateAsks } from '../event.ts'
import type { TaskName } from '../id.ts'
import type { GateAction } from '../plan.ts'
import type { InboxItem } from './inbox.ts'

export type Say = (text: string) => string

export function askedSentence({ task, asks }: Pick<InboxItem, 'task' | 'asks'>, say: Say): string {
  switch (asks.type) {
    case 'approval':
      return `${task} asks for approval`
    case 'verdict':
      return `${task} asks whether this holds: ${asks.criteria.map(criterion => `'${say(criterion)}'`).join(', ')}`
    case 'unknown-outcome':
      return `${task}: nobody knows whether it happened (${say(asks.evidence.reason)})`
    case 'edits':
      return `${task} waits: ${whoEdited(asks, say)} ${pathsIn(asks, say)}, which its next attempt would set back`
    case 'consent':
      return `${task} asks for approval before it begins: ${say(asks.why)}`
    case 'decision':
      return `${task} asks for a decision between ${asks.options.map(({ id }) => say(id)).join(', ')}`
    case 'question':
      return `${task} asks: ${say(asks.question)}`
    case 'recovery':
      return `${task} failed and asks what then: ${say(asks.failure.message)}`
    case 'replan':
      return `${task} failed and asks for another plan: ${say(asks.failure.message)}`
    case 'agent-question':
      return questionSentence({ ...asks, task }, say)
    case 'proposal':
      return proposalSentence(asks, say)
    case 'work':
      return `${task} is to be done`
    case 'rollback':
      return `the ${asks.kind} to ${asks.checkpoint ?? `entry ${asks.to}`} was stopped: ${say(asks.message)}`
    default:
      return asks satisfies never
  }
}

/** The task is left out when it is null. */
export const questionSentence = (
  { by, text, task }: { readonly by: string; readonly text: string; readonly task: TaskName | null },
  say: Say,
): string => `${say(by)}${task === null ? '' : `, at ${task},`} asks: ${say(text)}`

export const proposalSentence = (
  { by, rationale }: { readonly by: string; readonly rationale: string },
  say: Say,
): string => `${say(by)} proposes a revision: ${say(rationale)}`

/** The same, put directly to whoever sits there and sees the task. */
export function directQuestion(asks: GateAsks): string {
  switch (asks.type) {
    case 'approval':
      return 'may the plan go on?'
    case 'verdict':
      return 'does this hold?'
    case 'unknown-outcome':
      return 'nobody knows whether it happened. Did it?'
    case 'edits':
      return 'somebody has worked on its files since its last attempt. What becomes of these edits?'
    case 'consent':
      return 'may it begin?'
    case 'decision':
      return 'which of these?'
    case 'question':
      return asks.question
    case 'recovery':
    case 'replan':
      return 'it failed. What then?'
    default:
      return asks satisfies never
  }
}

/** What a gate does when it is reached, in a few words. `who` is empty for anybody. */
export function gateWords(action: GateAction, who: string): string {
  const whom = who === '' ? 'a person' : who
  const many = (action.approvers?.count ?? 1) > 1 ? `, ${action.approvers?.count} of them` : ''
  switch (action.gate) {
    case 'approval':
      return `asks ${whom} for approval${many}`
    case 'diff':
      return `asks ${whom} to look at what changed${many}`
    case 'decision':
      return `asks ${whom} to choose: ${(action.options ?? []).map(({ id }) => id).join(', ')}`
    case 'question':
      return `asks ${whom}: ${action.question ?? (action.form ?? []).map(({ label, name }) => label ?? name).join(', ')}`
    case 'schema':
      return `checks that ${action.schema?.file ?? ''} follows ${action.schema?.against ?? ''}`
    case 'invariant':
    case 'tests':
      return 'goes on when its checks hold'
    case 'budget':
      return 'goes on when the plan has not used up more than it may'
    default:
      return action.gate satisfies never
  }
}

/** Why a task whose outcome nobody knows is not simply run again. */
export const whyNotAgain = ({ evidence }: Extract<GateAsks, { readonly type: 'unknown-outcome' }>): string =>
  `its effect is ${evidence.effect}, so it is not run again by itself`

/** How many of those who must have approved, and who they are. */
export function votesSentence(given: readonly { readonly by: string }[], wanted: number, say: Say): string {
  const names = given.map(({ by }) => say(by)).join(', ')
  return `${given.length} of ${wanted} have approved${names === '' ? '' : `: ${names}`}`
}

const PATHS_MAX = 5

const EDITED_MAX = 10

/** Each edited path on a line of its own; the caller makes the text safe to be shown. */
export function editedLines({ paths, more = 0, unmerged = [] }: EditedPaths): readonly string[] {
  const rest = Math.max(0, paths.length - EDITED_MAX) + more
  return [
    ...paths.slice(0, EDITED_MAX).map(path => `edited: ${path}`),
    ...(rest === 0 ? [] : [`… and ${rest} more`]),
    ...unmerged.slice(0, EDITED_MAX).map(path => `cannot be merged: ${path}; keep it or take it`),
  ]
}

/** The first of the paths, and how many more there are. */
function pathsIn({ paths, more = 0 }: EditedPaths, say: Say): string {
  const shown = paths.slice(0, PATHS_MAX).map(say)
  const rest = paths.length - shown.length + more
  return `${shown.join(', ')}${rest === 0 ? '' : ` and ${rest} more`}`
}

/** A person, or another plan that ran at the same time. */
const whoEdited = ({ plans = [] }: EditedPaths, say: Say): string =>
  plans.length === 0
    ? 'a person, or a process that outlived its attempt, has worked on'
    : `${plans.map(plan => `plan '${say(plan)}'`).join(', ')} may have written`
