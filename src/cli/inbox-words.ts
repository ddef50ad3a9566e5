// What waits for a person, in words: the question, what there is to look at, and what answers it. All of it was written by others,
// so whatever moves, hides or turns text is made visible.

import type { Field, Option } from '../domain/plan.ts'
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
    case 'consent':
    case 'recovery':
    case 'replan':
      return []
    case 'decision':
      return asks.options.map(option => optionWords(option))
    case 'question':
      return asks.form.map(field => fieldWords(field))
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

/** An option with what speaks for and against it. */
export function optionWords({ id, title, pros = [], cons = [], cost }: Option): string {
  const parts = [
    ...(title === undefined ? [] : [say(title)]),
    ...pros.map(pro => `+ ${say(pro)}`),
    ...cons.map(con => `- ${say(con)}`),
    ...(cost === undefined ? [] : [`costs ${say(cost)}`]),
  ]
  return `${say(id)}${parts.length === 0 ? '' : `: ${parts.join('; ')}`}`
}

/** A field of a form: its name, what it takes, and whether it may be left out. */
export function fieldWords({ name, label, type, choices = [], optional, default: usual }: Field): string {
  const takes = type === 'choice' ? choices.map(say).join(' | ') : type
  const more = [
    ...(usual === undefined ? [] : [`${say(JSON.stringify(usual))} when left out`]),
    ...(optional === true ? ['may be left out'] : []),
  ]
  return `${say(name)} (${[takes, ...more].join(', ')})${label === undefined ? '' : `: ${say(label)}`}`
}

const say = (text: string): string => cut(escapeForTerminal(text), TEXT_MAX)
