// What waits for a person, in words: the question, what there is to look at, and what answers it. All of it was written by others,
// so whatever moves, hides or turns text is made visible.

import type { JsonObject } from '../domain/json.ts'
import { numberOf } from '../domain/number-of.ts'
import type { Field, Option } from '../domain/plan.ts'
import { askedSentence } from '../domain/views/asked-words.ts'
import type { InboxItem, Left } from '../domain/views/inbox.ts'
import type { InboxEntry } from '../engine/engine.ts'
import { printDiff } from '../format/diff.ts'
import { escapeForTerminal } from '../safety/terminal.ts'
import { briefLine, brief as say } from './brief.ts'
import { editedLines } from './edited-paths.ts'
import { ago, elapsed } from './elapsed.ts'
import type { Paint } from './paint.ts'
import { verdictLines } from './verdict-words.ts'

const SHOWN_MAX = 6
const CHANGES_MAX = 20

/** The question in one sentence. */
export const askedWords = (item: Pick<InboxItem, 'task' | 'asks'>): string => briefLine(askedSentence(item, say))

/** `more` is put between what is asked and the answers, each line under the others. */
export function inboxLines(
  item: InboxEntry,
  now: number,
  paint: Paint,
  more: readonly string[] = [],
): readonly string[] {
  const { id, name, title, since, answers, checks, evidence } = item
  const indent = ' '.repeat(id.length + 2)
  const wordWidth = Math.max(...answers.map(({ answer }) => answer.length))
  const meansWidth = Math.max(...answers.map(({ means }) => means.length))
  return [
    `${paint.yellow(id)}  ${paint.bold(say(name))}  ${askedWords(item)} ${paint.dim(`(${[ago(since, now), ...forWhom(item)].join(', ')})`)}`,
    ...standing(item, now).map(line => `${indent}${paint.yellow(line)}`),
    ...(title === null ? [] : [`${indent}${say(title)}`]),
    ...particulars(item).map(line => `${indent}${briefLine(line)}`),
    ...verdictLines(checks).map(line => `${indent}${line}`),
    ...evidence.slice(0, SHOWN_MAX).map(left => paint.dim(`${indent}${briefLine(leftWords(left))}`)),
    ...(evidence.length > SHOWN_MAX ? [paint.dim(`${indent}… and ${evidence.length - SHOWN_MAX} more before it`)] : []),
    ...more.map(line => `${indent}${line}`),
    ...answers.map(
      ({ answer, means, command }) =>
        `${indent}${paint.cyan(answer.padEnd(wordWidth))}  ${means.padEnd(meansWidth)}  ${paint.dim(escapeForTerminal(command))}`,
    ),
  ]
}

/** Whose it is, by name and by role; only where a role must decide is that said. */
export function forWhom({ who, role, asks }: Pick<InboxItem, 'who' | 'role' | 'asks'>): readonly string[] {
  const word = 'approvers' in asks ? 'decided by' : 'for'
  return [...(who === null ? [] : [`for ${say(who)}`]), ...(role === null ? [] : [`${word} ${roleWords(role)}`])]
}

const roleWords = ({ name, people }: NonNullable<InboxItem['role']>): string =>
  `${say(name)}${people.length === 0 ? '' : ` (${people.map(say).join(', ')})`}`

/** How far it is: who was called, who has approved, how long there still is. */
function standing({ called, votes, expiresAt }: InboxItem, now: number): readonly string[] {
  const names = votes?.given.map(({ by }) => say(by)).join(', ') ?? ''
  return [
    ...(called === null ? [] : [`nobody answered in time: ${roleWords(called)} was called`]),
    ...(votes === null
      ? []
      : [`${votes.given.length} of ${votes.wanted} have approved${names === '' ? '' : `: ${names}`}`]),
    ...(expiresAt === null
      ? []
      : [expiresAt <= now ? 'its time is over' : `answer within ${elapsed(expiresAt - now)}`]),
  ]
}

function proposalWords(asks: Extract<InboxItem['asks'], { readonly type: 'proposal' }>): readonly string[] {
  const changes = printDiff(asks.changes).split('\n')
  return [
    ...(asks.cause === undefined ? [] : [`because: ${say(asks.cause)}`]),
    ...(asks.stale ? ['the plan was revised since: it can only be declined'] : []),
    ...changes.slice(0, CHANGES_MAX).map(say),
    ...(changes.length > CHANGES_MAX ? [`… and ${numberOf(changes.length - CHANGES_MAX, 'more change')}`] : []),
    `hash ${asks.hash.slice(0, 12)}`,
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
    case 'edits':
      return editedLines(asks).map(say)
    case 'verdict':
    case 'consent':
      return []
    case 'recovery':
    case 'replan':
      return asks.failure.hint === undefined ? [] : [say(asks.failure.hint)]
    case 'decision':
      return asks.options.map(option => optionWords(option))
    case 'question':
    case 'agent-question':
      return asks.form.map(field => fieldWords(field))
    case 'proposal':
      return proposalWords(asks)
    default:
      return asks satisfies never
  }
}

function leftWords({ task, status, exit, changes, paths, log, outputs, message }: Left): string {
  return [
    `${task} ${status}`,
    ...(exit === null ? [] : [`exit ${exit}`]),
    ...(paths === null
      ? []
      : [`${numberOf(paths, 'path')} written${changes === null ? '' : ` (${changes.slice(0, 12)})`}`]),
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

/** What was answered, a line for each field. */
export function answerLines(answers: JsonObject): readonly string[] {
  return Object.entries(answers).map(
    ([name, value]) => `${say(name)}=${say(typeof value === 'string' ? value : JSON.stringify(value))}`,
  )
}
