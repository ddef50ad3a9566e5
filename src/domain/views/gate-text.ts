// The sentence with which a gate, a question or a trouble asks a person: the same in every face.

import type { EditedPaths } from '../event.ts'
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
      return `${say(asks.by)}${task === null ? '' : `, at ${task},`} asks: ${say(asks.text)}`
    case 'proposal':
      return `${say(asks.by)} proposes a revision: ${say(asks.rationale)}`
    case 'work':
      return `${task} is to be done`
    case 'rollback':
      return `the ${asks.kind} to ${asks.checkpoint ?? `entry ${asks.to}`} was stopped: ${say(asks.message)}`
    default:
      return asks satisfies never
  }
}

const PATHS_MAX = 5

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
