// Reasons of the journal in the words people read. `decide` writes reasons, and `replay` decides every entry again and compares them,
// so the journal keeps its words; here they become those of every view.

import type { EventOf, NotePlace } from '../event.ts'

/** A reason that only repeats what is said anyway is empty. */
export function reasonText(reason: string, verb = ''): string {
  if (reason === verb) return ''
  return (
    REASONS[reason] ??
    reason
      .replace(VISITS, 'used all of its $1 runs')
      .replace(TAKEN_BACK, 'reverted what $1 wrote')
      .replace(SET_BACK, 'its files $1 reverted')
      .replace(CHECKS, (_, its, checks) => `${its} ${checks} passed`)
      .replace(COMPENSATION, (_, the = '', task) => `${the}undo step of ${task} failed`)
  )
}

/** Why a task failed. Only a person who says no may leave the reason out. */
export const failedText = (reason: string | null): string =>
  reason === null || reason === '' ? 'rejected, no reason given' : reason

const REASONS: { readonly [reason: string]: string } = {
  'every required task is completed': 'all required tasks completed',
  'the plan failed and goes on': 'continuing after the failure',
  'tried again by hand': 'manual retry',
  'the plan was given up': 'the plan was aborted',
  interrupted: 'Ctrl-C',
  terminated: 'stopped by a signal',
}

const TAKEN_BACK = /^what (.+) wrote was taken back$/
const SET_BACK = /its files (were|were not) set back/
const CHECKS = /^(its|its \d+) (check|checks) holds?$/
const COMPENSATION = /\b(the )?compensation of (\S+) failed/g
const VISITS = /had all of its (\d+) visits/g

type Chosen = Pick<EventOf<'recovery.chosen'>, 'choice' | 'reason' | 'to'>

/** What is done about a failure; the failure itself was told before. */
export function recoveryText({ choice, reason, to = [] }: Chosen): string {
  const text = reasonText(reason)
  if (choice === 'retry') {
    const nth = RETRY.exec(text)
    if (nth === null) return `retrying: ${text}`
    const [, before = '', failures, retries, wait, after = ''] = nth
    const rule = before.replace(CLASS, '')
    const attempt = `attempt ${Number(failures) + 1} of ${Number(retries) + 1}`
    return `retrying in ${wait} (${rule}${attempt})${after.replace('as it asked for', 'as the other side asked')}`
  }
  if (choice === 'block') return `not retried: ${whyBlocked(text)}`
  return `${CHOSEN[choice](to.join(', '))}: ${text}`
}

const CHOSEN: { readonly [C in Exclude<Chosen['choice'], 'retry' | 'block'>]: (to: string) => string } = {
  alternate: to => `${to} runs instead`,
  repair: to => `${to} runs to repair it`,
  route: to => `continues with ${to}`,
  replan: () => 'needs a changed plan',
  ask: () => 'needs a decision',
  abort: () => 'the plan is aborted',
}

/** A task without `retry` is not retried, nor is what was rejected: that needs no line of its own. */
export const isPlainBlock = ({ choice, reason }: Chosen): boolean =>
  choice === 'block' && (PLAIN.has(reason.replace(CLASS, '')) || /^\w+ failure \((?:rejected|said)\)$/.test(reason))

function whyBlocked(text: string): string {
  const why = ONLY_CLASS.test(text) ? '' : text.replace(CLASS, '')
  if (why !== '') return why.replace('trying again would not help', 'a retry would not help')
  if (text.endsWith(' failure (rejected)')) return 'it was rejected'
  return text.startsWith('transient')
    ? 'the failure may be temporary, but the task has no `retry`'
    : 'the task has no `retry`'
}

const RETRY = /^(.*?)retry (\d+) of (\d+) in ([\d.]+ s)(.*)$/
/** The class of the failure, where nothing else is said of it. */
const CLASS = /^(?:logic|unknown) failure(?: \((?!')[^)]*\))?(?:[:;] |$)|^\w+ failure(?: \((?!')[^)]*\))?[:;] /
/** Nothing but the class, and perhaps the code: no rule was there to be passed over. */
const ONLY_CLASS = /^\w+ failure(?: \((?!')[^)]*\))?$/
const PLAIN: ReadonlySet<string> = new Set(['', 'trying again would not help'])

/** Which part a note is about. */
export const placeText = ({ field, line }: NotePlace): string =>
  [...(field === undefined ? [] : [`at ${field}`]), ...(line === undefined ? [] : [`line ${line}`])].join(', ')
