// What to do about a failure: the policy of recovery, in one place. It reads and answers, and changes nothing.
//
//   retry, as `retry` says ──► the first rule of `recover` that fits and is not used up ──► an edge or failure mode ──► block
//
// Each answer comes with a reason that names the class of the failure, the rule and how often it was used, because a person who
// reads the journal must be able to say that it was the wrong one.

import { RETRY_AFTER_MAX_MS } from '../limits.ts'
import type { Recovery, RecoveryRule, Retry } from '../plan.ts'
import type { Failure } from '../result.ts'
import type { TaskState } from '../state/state.ts'
import { backoffMs } from './retry.ts'

export interface Failing {
  readonly task: Pick<TaskState, 'definition' | 'failures' | 'recovering' | 'recoveries'>
  readonly failure: Failure
  /** The failure mode it was recognised as. */
  readonly mode?: string | undefined
  /** What `retry` says, of the task or the plan. */
  readonly retry: Retry
  /** Draws the jitter of the wait. */
  readonly seed: string
  /** What is left of the timebox; null when there is none. */
  readonly leftMs: number | null
  /** Did an attempt fail? What a person rejected is not tried again by itself. */
  readonly attempted: boolean
  /** What became of the rule that was followed before. */
  readonly since?: string | undefined
  /** Why this cannot be done now; null when it can. Asked only about rules that fit. */
  readonly obstacle: (recovery: Recovery) => string | null
}

export type Chosen =
  /** `rule` is absent for what `retry` says. */
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
      /** It would have been tried again, had there been time. */
      readonly timebox: boolean
    }
  /** Nothing is left but edges; `reason` says why no rule was taken. */
  | {
      readonly choice: null
      readonly reason: string
      readonly timebox: boolean
    }

export function choose(failing: Failing): Chosen {
  const { task, failure, retry, mode, since } = failing
  const what = `${describe(failure, mode)}${since === undefined ? '' : `; ${since}`}`
  const again = failing.attempted && failure.retryable
  let timebox = failure.code === TIMEBOX
  if (again && task.failures < retry.attempts) {
    const waitMs = waitOf(failing, retry)
    if (fitsIn(failing, waitMs)) {
      const reason = `${what}: retry ${task.failures} of ${retry.attempts - 1} ${inSeconds(waitMs)}${asked(failing)}`
      return { choice: 'retry', waitMs, reason }
    }
    timebox = true
  }
  const passed: string[] = []
  for (const [rule, { do: recovery, on, times = 1 }] of rulesFrom(task)) {
    const name = `rule ${rule + 1} (${wordsOf(recovery)})`
    if (on !== undefined && !on.includes(failure.class) && !(mode !== undefined && on.includes(mode))) {
      passed.push(`rule ${rule + 1} is for ${on.join(', ')}`)
      continue
    }
    const goesOn = isSeries(task, rule)
    const used = task.recoveries[rule] ?? 0
    if (used >= times && !goesOn) {
      passed.push(`rule ${rule + 1} was used ${used} of ${times} times`)
      continue
    }
    if (recovery.type === 'retry') {
      const waitMs = waitOf(failing, recovery.retry)
      const obstacle = !again
        ? 'trying again would not help'
        : task.failures >= recovery.retry.attempts
          ? `${task.failures} of ${recovery.retry.attempts} attempts failed`
          : fitsIn(failing, waitMs)
            ? null
            : 'its timebox is used up'
      if (obstacle === null) {
        const nth = `retry ${task.failures} of ${recovery.retry.attempts - 1} ${inSeconds(waitMs)}${asked(failing)}`
        return { choice: 'retry', rule, waitMs, reason: `${what}: ${name}, ${nth}` }
      }
      timebox ||= obstacle.startsWith('its timebox')
      passed.push(`rule ${rule + 1} does not help: ${obstacle}`)
      continue
    }
    const obstacle = failing.obstacle(recovery)
    if (obstacle !== null) {
      passed.push(`rule ${rule + 1} does not help: ${obstacle}`)
      continue
    }
    const why = timebox ? '; its timebox is used up' : ''
    return {
      choice: recovery.type,
      recovery,
      rule,
      timebox,
      reason: bounded(`${what}: ${name}, ${used + 1} of ${times} times${why}`),
    }
  }
  return { choice: null, timebox, reason: bounded(`${what}${whyNoRule(failing, timebox, passed)}`) }
}

/** The rules that may still be taken in this visit, with their places: behind the one that was followed last. */
export function rulesFrom(
  task: Pick<TaskState, 'definition' | 'recovering'>,
): readonly (readonly [number, RecoveryRule])[] {
  const rules = [...(task.definition.recover ?? []).entries()]
  const { recovering } = task
  return recovering === null || isSeries(task, recovering.rule) ? rules : rules.slice(recovering.rule + 1)
}

/** Which rule would be taken if the way that is being tried led nowhere? For people; what it was used for does not matter. */
export function nextRule(task: Pick<TaskState, 'definition' | 'recovering' | 'recoveries'>): string | null {
  const found = rulesFrom(task).find(([rule, { times = 1 }]) => (task.recoveries[rule] ?? 0) < times)
  if (found === undefined) return null
  const [rule, { do: recovery, on }] = found
  return `rule ${rule + 1} (${wordsOf(recovery)})${on === undefined ? '' : `, if it is ${on.join(' or ')}`}`
}

/** Attempts of one visit that one rule gives. */
function isSeries({ definition, recovering }: Pick<TaskState, 'definition' | 'recovering'>, rule: number): boolean {
  return recovering?.rule === rule && definition.recover?.[rule]?.do.type === 'retry'
}

/** The rule in a few words. */
export function wordsOf(recovery: Recovery): string {
  switch (recovery.type) {
    case 'retry':
      return 'try again'
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

/** What failed, in the words in which every reason begins. */
export function describe({ class: kind, code }: Failure, mode?: string): string {
  const known = [mode === undefined ? null : `'${mode}'`, code ?? null].filter(text => text !== null)
  return `${kind === 'unknown' ? 'unknown' : kind} failure${known.length === 0 ? '' : ` (${known.join(', ')})`}`
}

/** The wait before the next attempt: by the policy, but not before whoever said no will listen again. */
function waitOf({ task, failure, seed }: Failing, retry: Retry): number {
  const patience = Math.min(Math.max(0, failure.retryAfterMs ?? 0), RETRY_AFTER_MAX_MS)
  return Math.max(backoffMs(retry, task.failures, seed), patience)
}

const fitsIn = ({ leftMs }: Failing, waitMs: number): boolean => leftMs === null || waitMs < leftMs

const asked = ({ failure: { retryAfterMs } }: Failing): string =>
  retryAfterMs === undefined ? '' : ', as it asked for'

const inSeconds = (ms: number): string => `in ${ms < 10_000 ? Math.round(ms / 100) / 10 : Math.round(ms / 1000)} s`

function whyNoRule({ task, retry, failure, attempted }: Failing, timebox: boolean, passed: readonly string[]): string {
  const said = [...passed]
  if (timebox) said.unshift('its timebox is used up')
  else if (attempted && !failure.retryable) said.unshift('trying again would not help')
  else if (attempted && retry.attempts > 1) said.unshift(`${task.failures} of ${retry.attempts} attempts failed`)
  return said.length === 0 ? '' : `; ${said.join('; ')}`
}

/** What a failure is known by that came because the time of its visit was over. */
export const TIMEBOX = 'timebox'

const REASON_MAX = 400

const bounded = (text: string): string => (text.length > REASON_MAX ? `${text.slice(0, REASON_MAX)}…` : text)
