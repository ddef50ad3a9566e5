// How far a plan has come. Success rates are computed from the one vocabulary of statuses, here and nowhere else: of attempts for
// everything that is measured, of tasks for how a plan stands.

import type { PlanState } from '../state.ts'
import { TASK_STATUSES, type TaskStatus } from '../status.ts'

export interface Progress {
  readonly total: number
  /** Completed or skipped. */
  readonly done: number
  /** Ended in any way. */
  readonly ended: number
  /** 0 to 1; a plan without tasks has come nowhere. */
  readonly ratio: number
  /** Tasks: completed of all that completed or failed; null before anything has. */
  readonly successRate: number | null
  readonly counts: Readonly<Record<TaskStatus, number>>
}

/** Attempts: succeeded of all that ended, however; one that was lost did not succeed. Null before one has. */
export function successRate(ended: {
  readonly succeeded: number
  readonly failed: number
  readonly lost: number
}): number | null {
  const attempts = ended.succeeded + ended.failed + ended.lost
  return attempts === 0 ? null : ended.succeeded / attempts
}

export const ratioOf = (done: number, total: number): number => (total === 0 ? 0 : done / total)

export function progress(state: Pick<PlanState, 'counts'>): Progress {
  const counts = { ...state.counts }
  const total = TASK_STATUSES.reduce((sum, status) => sum + counts[status], 0)
  const done = counts.completed + counts.skipped
  const ended = done + counts.failed + counts.abandoned + counts.cancelled
  const judged = counts.completed + counts.failed
  return {
    total,
    done,
    ended,
    ratio: ratioOf(done, total),
    successRate: judged === 0 ? null : counts.completed / judged,
    counts,
  }
}
