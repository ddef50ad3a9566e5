// What to do about a failure: the recovery policy, in one place. Pure.
//
//   retry, as `retry` says ──► the first rule of `recover` that matches and is not used up ──► an edge or failure mode ──► block
//
// Each answer has a sentence with the rule, how often it was used, and why others did not apply, so that a reader of the journal can
// judge the choice. Every view shows it unchanged.

import type { EventOf } from '../event.ts'
import type { Recovery, RecoveryRule, Retry } from '../plan.ts'
import type { Failure } from '../result.ts'
import type { TaskState } from '../state/state.ts'
import { retryWaitMs } from './retry.ts'

export interface Failing {
  readonly task: Pick<TaskState, 'definition' | 'failures' | 'recovering' | 'recoveries'>
  readonly failure: Failure
  readonly mode?: string | undefined
  readonly retry: Retry
  readonly seed: string
  /** What is left of the timebox; null without one. */
  readonly leftMs: number | null
  /** Did an attempt fail? A rejection, for one, is never retried automatically. */
  readonly attempted: boolean
  /** The result of the rule that was followed before. */
  readonly since?: string | undefined
  /** Why this is impossible now; null when it is possible. Called only for matching rules. */
  readonly obstacle: (recovery: Recovery) => string | null
}

export type Chosen =
  /** `rule` is absent for `retry`. */
  | {
      readonly choice: 'retry'
      readonly waitMs: number
      readonly reason: string
      readonly rule?: number
    }
  | {
      readonly choice: Exclude<Recovery['type'], 'retry'>
      readonly recovery: Exclude<Recovery, { readonly type: 'retry' }>
      readonly rule: number
      readonly reason: string
      /** Another retry was allowed, but the timebox is over. */
      readonly timebox: boolean
    }
  | NothingLeft

export interface NothingLeft {
  readonly choice: null
  /** Why no rule applies, if there is more to say than that there is none. */
  readonly passed: string
  /** The same as a sentence, which is never empty. */
  readonly reason: string
  readonly timebox: boolean
}

export function choose(failing: Failing): Chosen {
  const { task, failure, retry, mode, since } = failing
  const again = failing.attempted && failure.retryable
  let timebox = failure.code === TIMEBOX
  if (again && task.failures < retry.attempts) {
    const waitMs = waitOf(failing, retry)
    if (fitsIn(failing, waitMs)) return { choice: 'retry', waitMs, reason: retryText(failing, retry, waitMs) }
    timebox = true
  }
  const passed: string[] = []
  for (const [rule, { do: recovery, on, times = 1 }] of rulesFrom(task)) {
    const name = `recovery rule ${rule + 1}`
    if (on !== undefined && !on.includes(failure.class) && !(mode !== undefined && on.includes(mode))) {
      passed.push(`${name} is for ${on.join(' or ')}, this failure is ${[failure.class, ...listed(mode)].join(', ')}`)
      continue
    }
    const fits = on === undefined ? name : `${name}, on: ${on.includes(failure.class) ? failure.class : mode}`
    const goesOn = isSeries(task, rule)
    const used = task.recoveries[rule] ?? 0
    if (used >= times && !goesOn) {
      passed.push(`${name} was used ${used} of ${times} times`)
      continue
    }
    if (recovery.type === 'retry') {
      const waitMs = waitOf(failing, recovery.retry)
      const obstacle = !again
        ? USELESS
        : task.failures >= recovery.retry.attempts
          ? `${task.failures} of ${recovery.retry.attempts} attempts failed`
          : fitsIn(failing, waitMs)
            ? null
            : TIME_OVER
      if (obstacle === null)
        return { choice: 'retry', rule, waitMs, reason: retryText(failing, recovery.retry, waitMs, `${fits}, `) }
      timebox ||= obstacle === TIME_OVER
      passed.push(`${name} cannot be used: ${obstacle}`)
      continue
    }
    const obstacle = failing.obstacle(recovery)
    if (obstacle !== null) {
      passed.push(`${name} cannot be used: ${obstacle}`)
      continue
    }
    const nth = times === 1 ? fits : `${fits}, use ${used + 1} of ${times}`
    const why = [...listed(since), ...(timebox ? [TIME_OVER] : []), `${doneText(recovery)} (${nth})`]
    return {
      choice: recovery.type,
      recovery,
      rule,
      timebox,
      reason: bounded(why.join('; ')),
    }
  }
  const left = [...listed(since), ...whyNoRule(failing, timebox, passed)]
  const reason = notRetried(left.length === 0 ? unasked(failing) : left.join('; '))
  return { choice: null, timebox, passed: bounded(left.filter(why => why !== USELESS).join('; ')), reason }
}

/** The rules that may still apply, with their indexes: those after the rule being followed; all of them if there is none or it retries. */
export function rulesFrom(
  task: Pick<TaskState, 'definition' | 'recovering'>,
): readonly (readonly [number, RecoveryRule])[] {
  const rules = [...(task.definition.recover ?? []).entries()]
  const { recovering } = task
  return recovering === null || isSeries(task, recovering.rule) ? rules : rules.slice(recovering.rule + 1)
}

/** The rule that would follow if the current one fails, for display: the first that is not used up, whatever failures it is for. */
export function nextRule(task: Pick<TaskState, 'definition' | 'recovering' | 'recoveries'>): string | null {
  const found = rulesFrom(task).find(([rule, { times = 1 }]) => (task.recoveries[rule] ?? 0) < times)
  if (found === undefined) return null
  const [rule, { do: recovery, on }] = found
  return `rule ${rule + 1} (${wordsOf(recovery)})${on === undefined ? '' : `, if it is ${on.join(' or ')}`}`
}

function isSeries({ definition, recovering }: Pick<TaskState, 'definition' | 'recovering'>, rule: number): boolean {
  return recovering?.rule === rule && definition.recover?.[rule]?.do.type === 'retry'
}

export function wordsOf(recovery: Recovery): string {
  switch (recovery.type) {
    case 'retry':
      return 'retry'
    case 'alternate':
      return `'${recovery.task}' instead`
    case 'repair':
      return `'${recovery.task}' repairs`
    case 'replan':
      return 'replan'
    case 'ask':
      return recovery.to === undefined ? 'ask a person' : `ask ${recovery.to}`
    case 'abort':
      return 'abort the plan'
    default:
      return recovery satisfies never
  }
}

function doneText(recovery: Exclude<Recovery, { readonly type: 'retry' }>): string {
  switch (recovery.type) {
    case 'alternate':
      return `'${recovery.task}' runs instead`
    case 'repair':
      return `'${recovery.task}' runs to repair it`
    case 'replan':
      return 'needs a changed plan'
    case 'ask':
      return `needs a decision${recovery.to === undefined ? '' : ` by ${recovery.to}`}`
    case 'abort':
      return 'the plan is aborted'
    default:
      return recovery satisfies never
  }
}

function retryText(failing: Failing, { attempts }: Retry, waitMs: number, rule = ''): string {
  const asked = waitMs === failing.failure.retryAfterMs ? ', as the other side asked' : ''
  return `retrying in ${seconds(waitMs)} (${rule}attempt ${failing.task.failures + 1} of ${attempts})${asked}`
}

export const notRetried = (why: string): string => bounded(`not retried: ${why}`)

const USELESS = 'a retry would not help'
const NO_RETRY = 'the task has no `retry`'
const REJECTED = 'it was rejected'
const PART_FAILED = 'one of its tasks failed'
const TIME_OVER = 'its timebox is used up'

/** Why there is no retry, when neither `retry` nor a rule applies. */
function unasked({ task, failure, attempted }: Failing): string {
  if (attempted) return isPassing(failure) ? `the failure may be temporary, but ${NO_RETRY}` : NO_RETRY
  return task.definition.action.type === 'group' ? PART_FAILED : REJECTED
}

const isPassing = ({ class: kind }: Failure): boolean => kind === 'transient' || kind === 'resource'

/** A task without `retry`, or a rejection: no line of its own is needed. */
export const isPlainBlock = ({ choice, reason }: Pick<EventOf<'recovery.chosen'>, 'choice' | 'reason'>): boolean =>
  choice === 'block' && PLAIN.has(reason)

const waitOf = ({ task, failure, seed }: Failing, retry: Retry): number =>
  retryWaitMs(retry, task.failures, seed, failure)

const fitsIn = ({ leftMs }: Failing, waitMs: number): boolean => leftMs === null || waitMs < leftMs

const seconds = (ms: number): string => `${ms < 10_000 ? Math.round(ms / 100) / 10 : Math.round(ms / 1000)} s`

function whyNoRule(
  { task, retry, failure, attempted }: Failing,
  timebox: boolean,
  passed: readonly string[],
): readonly string[] {
  if (timebox) return [TIME_OVER, ...passed]
  if (attempted && !failure.retryable) return [USELESS, ...passed]
  return attempted && retry.attempts > 1 ? [`${task.failures} of ${retry.attempts} attempts failed`, ...passed] : passed
}

const listed = (text: string | undefined): readonly string[] => (text === undefined ? [] : [text])

/** The failure code of a visit whose time was over. */
export const TIMEBOX = 'timebox'

const REASON_MAX = 400

const bounded = (text: string): string => (text.length > REASON_MAX ? `${text.slice(0, REASON_MAX)}…` : text)

const PLAIN: ReadonlySet<string> = new Set([USELESS, NO_RETRY, REJECTED, PART_FAILED].map(notRetried))
