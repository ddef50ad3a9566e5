// The files that a visit of a task reserves, across all plans of a workspace. A visit reserves its whole scope at once when its first
// attempt starts, and keeps it between attempts, because each attempt first restores these files. It ends with the visit, or when others
// must mend a failure. A task that has not started reserves nothing. So no task holds one scope while it waits for another, and two plans
// cannot deadlock.

import { advise, quoted } from './hint.ts'
import type { PlanId } from './id.ts'
import type { PlanDefinition, TaskDefinition } from './plan.ts'
import { heldScope, usesTaskWorktrees } from './plan-rules/effect.ts'
import { type Refusal, type RefusalCode, refuse } from './refusal.ts'
import type { Reserves } from './result.ts'
import type { PlanState, TaskState } from './state/state.ts'

/** The patterns a task reserves; empty when it declares none, or has its own worktree. */
export function reservedScope(plan: PlanDefinition, task: TaskDefinition): readonly string[] {
  if (usesTaskWorktrees(plan)) return []
  return task.action.type === 'external' ? (task.write ?? []) : heldScope(plan, task)
}

/** False if this visit holds the reservation already, or the task reserves nothing. */
export const needsReservation = (state: PlanState, task: TaskState): boolean =>
  !holdsReservation(task) && reservedScope(state.definition, task.definition).length > 0

/** Does this visit still hold its reservation? */
export function holdsReservation({ prepared, attempt, status, gate, definition }: TaskState): boolean {
  if (prepared?.reserves === undefined || attempt === 0) return false
  switch (status) {
    case 'running':
      return true
    // After a lapsed claim there is nothing to restore; the next claim reserves anew.
    case 'ready':
      return definition.action.type !== 'external'
    // While a remedy or a revision fixes the failure, the files must be free for it.
    case 'waiting':
      return gate?.asks.type !== 'recovery' && gate?.asks.type !== 'replan'
    default:
      return false
  }
}

export interface Reservation {
  readonly ordinal: number
  readonly visit: number
  readonly reserves: Reserves
}

export const reservationsIn = (state: PlanState): readonly Reservation[] =>
  state.order.flatMap(task => reservationOf(task) ?? []).sort((a, b) => a.ordinal - b.ordinal)

export function reservationOf(task: TaskState): Reservation | null {
  const { ordinal, visit, prepared } = task
  return prepared?.reserves === undefined || !holdsReservation(task)
    ? null
    : { ordinal, visit, reserves: prepared.reserves }
}

interface Holder {
  readonly plan: PlanId
  readonly name: string
  readonly task: string
  readonly paths: readonly string[]
}

/** A refusal that names the plan which holds the files. The Engine door removes the name for callers who may not know of that plan. */
interface HeldRefusal extends Refusal {
  readonly holder: PlanId
}

/** Null for every other refusal. */
export const holderOf = (refusal: Refusal): PlanId | null =>
  'holder' in refusal ? (refusal as HeldRefusal).holder : null

/** A task cannot be claimed, because another plan holds its files. */
export function reservedBy(task: string | null, holder: Holder): HeldRefusal {
  const { plan, name } = holder
  const refusal = refuse(
    'not-ready',
    `${filesOf(task)} are reserved by ${holderWords(holder)}`,
    advise`wait until it has ended; if nobody drives that plan, ${quoted('resume', { plan: name })} continues it and ${quoted('cancel', { plan: name })} gives it up`,
  )
  return { ...refusal, holder: plan }
}

/** The same for a caller who may not know of that plan. */
export const reservedByOthers = (code: RefusalCode): Refusal =>
  refuse(
    code,
    'the files are reserved by a task of another plan; nothing was changed',
    code === 'conflict' ? AGAIN : 'wait until it has ended; if it never does, ask somebody who may use all plans',
  )

const AGAIN = 'claim it again'

/** The capture is outdated, because another plan held and released the files meanwhile. */
export function reservedMeanwhile(task: string | null, holder: Holder): HeldRefusal {
  const message = `${filesOf(task)} were reserved by ${holderWords(holder)} while they were looked at`
  return { ...refuse('conflict', message, AGAIN), holder: holder.plan }
}

const filesOf = (task: string | null): string =>
  task === null ? 'the files of the task' : `the files of task '${task}'`

const holderWords = ({ name, task, paths }: Holder): string =>
  `task '${task}' of plan '${name}' (${paths.slice(0, 5).join(', ')})`
