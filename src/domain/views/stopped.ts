// What keeps a plan from going on, and what a person can do about it: one sentence and a few commands. Every plan that is not
// completed and does not move has an answer here.

import type { Millis, TaskName } from '../id.ts'
import { nextActions } from '../next-actions.ts'
import type { PlanState, TaskState } from '../state.ts'
import { BLOCKS } from '../status.ts'
import { isClaimable } from '../task-graph.ts'

export interface Stopped {
  readonly why: string
  /** What to do next, the likeliest first. */
  readonly next: readonly string[]
  /** The task it is about. */
  readonly task?: TaskName
}

/** Null when the plan is completed, or goes on by itself as soon as somebody drives it. */
export function whatStopped(state: PlanState, now: Millis): Stopped | null {
  const { name } = state.definition
  switch (state.status) {
    case 'completed':
      return null
    case 'draft':
      return { why: 'it has not been started', next: [`planfold run ${name}`] }
    case 'paused':
      return {
        why: `it is paused${state.reason === null ? '' : `: ${state.reason}`}`,
        next: [...(state.shortage === null ? [] : [state.shortage.hint]), `planfold resume ${name}`],
      }
    case 'cancelled':
      return { why: `it was cancelled: ${state.reason ?? ''}`.replace(/: $/, ''), next: ['run its document again'] }
    case 'failed':
      return whyFailed(state)
    case 'active':
      return nextActions(state, now).rest === 'waiting' ? whatWaits(state, now) : null
    default:
      return state.status satisfies never
  }
}

function whyFailed(state: PlanState): Stopped {
  const { name } = state.definition
  const why = state.reason ?? 'it failed'
  const cap = CAP.exec(why)?.[1]
  const task =
    state.order.find(one => one.status === 'failed' && why.includes(`'${one.definition.id}'`)) ??
    (cap === 'policy.limits.loops' ? wentRound(state) : undefined) ??
    culprit(state)
  const hint = task?.result?.status === 'failed' ? task.result.failure.hint : undefined
  const id = task?.definition.id
  const next = [
    ...(cap === undefined ? [] : [`look at why it goes round: planfold log ${name}`]),
    ...(hint === undefined ? [] : [hint]),
    ...(id === undefined ? [`planfold log ${name}`] : waysOn(name, id, cap)),
  ]
  return { why, next, ...(id === undefined ? {} : { task: id }) }
}

const CAP = /\((policy\.limits\.\w+)\)/

/** A cap ended it: trying again has as much room once more, and a changed file can give it more. */
function waysOn(plan: string, task: TaskName, cap: string | undefined): readonly string[] {
  const changed = 'in its file, then `planfold run FILE`: what is done stays done'
  if (cap !== undefined) return [`planfold retry ${plan} ${task}`, `raise ${cap} ${changed}`]
  return [`planfold retry ${plan} ${task}`, `planfold skip ${plan} ${task} -m why`, `change it ${changed}`]
}

/** The last that ended and has somewhere to lead to: it would have gone back once more. */
function wentRound({ order }: PlanState): TaskState | undefined {
  const ended = order.filter(
    ({ status, definition }) =>
      (status === 'completed' || status === 'failed') &&
      (definition.on !== undefined || definition.recover !== undefined || definition.action.type === 'decide'),
  )
  return ended.reduce<TaskState | undefined>(
    (last, one) => (last === undefined || (one.endedAt ?? 0) >= (last.endedAt ?? 0) ? one : last),
    undefined,
  )
}

/** The first that failed by itself, else the first that did not come through. What nothing has led to stopped nothing. */
function culprit({ order }: PlanState): TaskState | undefined {
  const open = order.filter(
    ({ status, definition, dormant }) => BLOCKS.has(status) && definition.optional !== true && !dormant,
  )
  return open.find(({ status, handled }) => status === 'failed' && !handled) ?? open[0]
}

function whatWaits(state: PlanState, now: Millis): Stopped {
  const { name } = state.definition
  const asked = state.order.filter(({ gate }) => gate !== null)
  const claimed = state.order.filter(({ claim }) => claim !== null)
  const free = state.order.filter(task => isClaimable(state, task))
  const first = asked[0] ?? claimed[0] ?? free[0]
  const parts = [
    asked.length === 0 ? null : `a person must decide about ${listed(asked)}`,
    claimed.length === 0 ? null : `${listed(claimed)} ${claimed.length === 1 ? 'is' : 'are'} claimed and not reported`,
    free.length === 0 ? null : `${listed(free)} ${free.length === 1 ? 'waits' : 'wait'} to be claimed`,
  ].filter(part => part !== null)
  const held = state.breakers.find(({ until }) => until !== null && until > now)
  if (held !== undefined)
    parts.push(`'${held.capability}' may be tried again in ${Math.ceil((held.until! - now) / 1000)} s`)
  return {
    why: parts.length === 0 ? 'nothing of it can go on' : parts.join('; '),
    next: [
      ...(asked.length === 0 ? [] : ['planfold inbox']),
      ...(free.length === 0 ? [] : [`planfold claim ${name}`]),
      ...(asked.length + free.length > 0 ? [] : [`planfold next ${name} --explain`]),
    ],
    ...(first === undefined ? {} : { task: first.definition.id }),
  }
}

const LISTED_MAX = 3

function listed(tasks: readonly TaskState[]): string {
  const names = tasks.slice(0, LISTED_MAX).map(({ definition }) => `'${definition.id}'`)
  return tasks.length > LISTED_MAX ? `${names.join(', ')} and ${tasks.length - LISTED_MAX} more` : names.join(', ')
}
