// What the engine must do next. Asked after every change and answered from the indexes, so the cost grows with the work in progress, not
// with the plan.

import { shortForClaim } from './budget/budget-rules.ts'
import type { Millis, TaskName } from './id.ts'
import type { Action } from './plan.ts'
import { attemptsUsedUp } from './recovery/breaker.ts'
import { awaitsProposal } from './revisions/proposals.ts'
import { isReadyForRollback } from './rollback/rollback-rules.ts'
import { askable, lineOf, needsPreparing, wantsAttempt } from './rules/scheduling.ts'
import { nextAlarm } from './state/alarms.ts'
import type { PlanState, TaskState } from './state/state.ts'
import { isTimed } from './state/task-index.ts'
import { PLAN_ENDED } from './status.ts'

export interface NextActions {
  /** Attempts in progress, according to the journal; the driver of the plan runs those it has not begun. */
  readonly perform: Iterable<TaskState>
  readonly prepare: readonly TaskState[]
  /** `by`: the task that runs the compensation, if another one does. */
  readonly compensate: { readonly task: TaskState; readonly action: Action; readonly by?: TaskState } | null
  readonly commit: PlanState['uncommitted'][number] | null
  readonly propose: TaskState | null
  /** The rollback, when it waits for nothing else. */
  readonly rollback: PlanState['rollback']
  /** A turn would change something: a task can start, a retry is due, the plan can end. */
  readonly turn: boolean
  /** When the next turn is due if nothing else happens. */
  readonly wakeAt: Millis | null
  /** The engine has nothing to do: the plan ended, is paused, or waits for people or agents. */
  readonly rest: 'ended' | 'paused' | 'draft' | 'waiting' | null
}

/** `held`: tasks whose files another plan has reserved; other tasks go first. */
export function nextActions(state: PlanState, now: Millis, held?: ReadonlySet<TaskName>): NextActions {
  const { line, heldAt } = lineOf(state, now, held)
  const asking = askable(state)
  const prepare = line.length === 0 ? line : line.filter(task => needsPreparing(state, task))
  const timer = state.status === 'active' ? state.timers.peek(isTimed) : undefined
  const compensate = compensation(state)
  const compensates =
    state.compensating !== null &&
    state.compensation === null &&
    state.running.size === 0 &&
    state.compensating.length > 0
  const compensateAt = compensates ? state.compensationAt : null
  const canCompensate = compensates && (compensateAt === null || compensateAt <= now)
  const wakeAt = earlier(earlier(timer?.at ?? null, compensateAt), heldAt)
  const isWornOut = (attemptsUsedUp(state) !== null && wantsAttempt(state, now)) || shortForClaim(state, now) !== null
  const alarmAt = nextAlarm(state)?.at ?? null
  const commit = state.uncommitted.length === 0 || state.rollback !== null ? null : state.uncommitted[0]!
  const rollback = state.rollback === null || !isReadyForRollback(state) ? null : state.rollback
  return {
    perform: state.running,
    prepare: asking.length === 0 ? prepare : [...asking, ...prepare],
    compensate,
    commit,
    propose: toPropose(state),
    rollback,
    turn: line.length > prepare.length || isWornOut || isDue(wakeAt, now) || isDue(alarmAt, now) || canCompensate,
    wakeAt: earlier(wakeAt, alarmAt),
    rest: restOf(
      state,
      line.length > 0 || isWornOut || asking.length > 0 || wakeAt !== null || compensates || compensate !== null,
    ),
  }
}

function restOf(state: PlanState, more: boolean): NextActions['rest'] {
  if (state.running.size > 0 || state.rollback !== null || state.uncommitted.length > 0) return null
  if (PLAN_ENDED.has(state.status)) return 'ended'
  if (state.status === 'paused' || state.status === 'draft') return state.status
  return more ? null : 'waiting'
}

/** Is there something to do now? A retry that is due later does not count. */
export function hasWork(next: NextActions): boolean {
  const { prepare, compensate, commit, propose, rollback, turn } = next
  const isUnderWay = [...next.perform].length > 0 || prepare.length > 0 || turn
  return isUnderWay || compensate !== null || commit !== null || propose !== null || rollback !== null
}

/** May there be a message that was not sent yet? The sender finds out. */
export const mayTell = ({ definition, status }: PlanState): boolean =>
  status !== 'draft' && (definition.notify?.length ?? 0) > 0

/** When a worker should look at the plan: 0 for at once, null for not before its journal grows. */
export function nextLookAt(state: PlanState, now: Millis): Millis | null {
  const next = nextActions(state, now)
  if (hasWork(next) || mayTell(state)) return 0
  return next.rest === 'ended' ? null : next.wakeAt
}

/** Only for plans with rules that can propose something. */
function toPropose(state: PlanState): TaskState | null {
  if (state.status !== 'active' || state.compensating !== null || state.counts.waiting === 0) return null
  let may = proposers.get(state.definition)
  if (may === undefined) {
    may = state.order.some(
      ({ definition }) => definition.recover?.some(({ do: { type } }) => type === 'replan') === true,
    )
    proposers.set(state.definition, may)
  }
  return may ? (state.order.find(task => awaitsProposal(state, task)) ?? null) : null
}

const proposers = new WeakMap<PlanState['definition'], boolean>()

const isDue = (at: Millis | null, now: Millis): boolean => at !== null && at <= now

const earlier = (a: Millis | null, b: Millis | null): Millis | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b)

function compensation(state: PlanState): NextActions['compensate'] {
  const task = state.compensation === null ? undefined : state.tasks.get(state.compensation)
  const action = task?.definition.compensate
  if (task === undefined || action === undefined) return null
  if (action.type !== 'task') return { task, action }
  const by = state.tasks.get(action.task)
  return by === undefined ? null : { task, action: by.definition.action, by }
}
