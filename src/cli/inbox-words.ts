// What waits for a person, in words: the question, what there is to look at, and what answers it. All of it was written by others,
// so whatever moves, hides or turns text is made visible.

import type { InboxItem, Left } from '../domain/views/inbox.ts'
import type { InboxEntry } from '../engine/engine.ts'
import { escapeForTerminal } from '../safety/terminal.ts'
import { ago } from './elapsed.ts'
import type { Paint } from './paint.ts'
import { cut } from './width.ts'

const SHOWN_MAX = 6
const TEXT_MAX = 400

/** The question in one sentence. */
export function askedWords({ task, asks }: Pick<InboxItem, 'task' | 'asks'>): string {
  switch (asks.type) {
    case 'approval':
      return `${task} asks for approval`
    case 'verdict':
      return `${task} asks whether this holds: ${asks.criteria.map(criterion => `'${say(criterion)}'`).join(', ')}`
    case 'unknown-outcome':
      return `${task}: nobody knows whether it happened (${say(asks.evidence.reason)})`
    case 'work':
      return `${task} is to be done`
    case 'rollback':
      return `the ${asks.kind} to ${asks.checkpoint ?? `entry ${asks.to}`} was stopped: ${say(asks.message)}`
    default:
      return asks satisfies never
  }
}

export function inboxLines(item: InboxEntry, now: number, paint: Paint): readonly string[] {
  const { id, name, title, since, who, answers, evidence } = item
  const indent = ' '.repeat(id.length + 2)
  const wordWidth = Math.max(...answers.map(({ answer }) => answer.length))
  const meansWidth = Math.max(...answers.map(({ means }) => means.length))
  return [
    `${paint.yellow(id)}  ${paint.bold(say(name))}  ${askedWords(item)} ${paint.dim(`(${ago(since, now)}${who === null ? '' : `, for ${say(who)}`})`)}`,
    ...(title === null ? [] : [`${indent}${say(title)}`]),
    ...particulars(item).map(line => `${indent}${line}`),
    ...evidence.slice(0, SHOWN_MAX).map(left => paint.dim(`${indent}${leftWords(left)}`)),
    ...(evidence.length > SHOWN_MAX ? [paint.dim(`${indent}… and ${evidence.length - SHOWN_MAX} more before it`)] : []),
    ...answers.map(
      ({ answer, means, command }) =>
        `${indent}${paint.cyan(answer.padEnd(wordWidth))}  ${means.padEnd(meansWidth)}  ${paint.dim(escapeForTerminal(command))}`,
    ),
  ]
}

function particulars({ asks }: InboxItem): readonly string[] {
  switch (asks.type) {
    case 'approval':
      return asks.show.slice(0, SHOWN_MAX).map(shown => `look at ${say(shown)}`)
    case 'unknown-outcome':
      return [`its effect is ${asks.evidence.effect}, so it is not run again by itself`]
    case 'work':
      return [
        ...(asks.instruction === null ? [] : [say(asks.instruction)]),
        ...(asks.outputs.length === 0 ? [] : [`to be reported: ${asks.outputs.map(say).join(', ')}`]),
      ]
    case 'rollback':
      return asks.conflicts.slice(0, SHOWN_MAX).map(path => `somebody has worked on ${say(path)} since`)
    case 'verdict':
      return []
    default:
      return asks satisfies never
  }
}

function leftWords({ task, status, exit, changes, paths, log, outputs, message }: Left): string {
  return [
    `${task} ${status}`,
    ...(exit === null ? [] : [`exit ${exit}`]),
    ...(paths === null ? [] : [`${paths} path(s) written${changes === null ? '' : ` (${changes.slice(0, 12)})`}`]),
    ...(outputs.length === 0 ? [] : [`outputs ${outputs.map(say).join(', ')}`]),
    ...(log === null ? [] : [`log ${log.slice(0, 12)}`]),
    ...(message === null ? [] : [say(message)]),
  ].join(', ')
}

const say = (text: string): string => cut(escapeForTerminal(text), TEXT_MAX)
