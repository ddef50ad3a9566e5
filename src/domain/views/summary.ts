// A plan in a few lines: where it stands, what waits for whom. Every face shows the same, because every face asks here.

import type { GateAsks } from '../event.ts'
import type { Millis, PlanId, TaskName } from '../id.ts'
import type { PlanState, RollbackUnderWay } from '../state.ts'
import type { PlanStatus, TaskStatus } from '../status.ts'
import { isClaimable } from '../task-graph.ts'
import { type Progress, progress } from './progress.ts'

export interface Summary {
  readonly id: PlanId
  readonly name: string
  readonly title: string | null
  readonly goal: string | null
  readonly status: PlanStatus
  readonly reason: string | null
  readonly revision: number
  readonly version: number
  /** The plan it was made from, when it is a clone or a fork. */
  readonly origin: PlanId | null
  /** The folder it works in, relative to the workspace; null for the workspace itself. */
  readonly place: string | null
  readonly createdAt: Millis
  readonly startedAt: Millis | null
  readonly endedAt: Millis | null
  readonly progress: Progress
  readonly running: readonly TaskName[]
  readonly waiting: readonly Waiting[]
  readonly failed: readonly { readonly task: TaskName; readonly reason: string; readonly handled: boolean }[]
  /** How many open external tasks nobody has claimed. */
  readonly claimable: number
  /** The rollback under way; whoever drives the plan next finishes it. */
  readonly rollback?: Pick<RollbackUnderWay, 'kind' | 'to' | 'checkpoint'>
}

/** Something a person must decide. */
export interface Waiting {
  readonly task: TaskName
  readonly asks: GateAsks
  readonly since: Millis
}

export function summary(state: PlanState): Summary {
  const { definition } = state
  const running: TaskName[] = []
  const waiting: Waiting[] = []
  const failed: { task: TaskName; reason: string; handled: boolean }[] = []
  let claimable = 0
  for (const task of state.order) {
    const { id } = task.definition
    if (task.status === 'running') running.push(id)
    if (task.gate !== null) waiting.push({ task: id, asks: task.gate.asks, since: task.gate.since })
    if (task.status === 'failed') failed.push({ task: id, reason: task.reason ?? '', handled: task.handled })
    if (isClaimable(task)) claimable++
  }
  return {
    id: state.id,
    name: definition.name,
    title: definition.title ?? null,
    goal: definition.goal ?? null,
    status: planStatus(state),
    reason: state.reason,
    revision: state.revision,
    version: state.version,
    origin: state.origin,
    place: state.place,
    createdAt: state.createdAt,
    startedAt: state.startedAt,
    endedAt: state.endedAt,
    progress: progress(state),
    running,
    waiting,
    failed,
    claimable,
    ...underWay(state),
  }
}

function underWay({ rollback }: PlanState): Pick<Summary, 'rollback'> {
  if (rollback === null) return {}
  const { kind, to, checkpoint } = rollback
  return { rollback: { kind, to, ...(checkpoint === undefined ? {} : { checkpoint }) } }
}

/** `blocked` is derived, never stored: an active plan in which nothing can move until a person decides. */
export function planStatus(state: PlanState): PlanStatus {
  if (state.status !== 'active') return state.status
  const { counts } = state
  const moving: readonly TaskStatus[] = ['running', 'ready']
  return moving.every(status => counts[status] === 0) && counts.waiting > 0 ? 'blocked' : 'active'
}
