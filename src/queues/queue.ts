// The queue: which plans a worker should look at now. What it returns is a hint. The driver of a plan takes its lease first, and the
// journal says what is to be done: a hint that is lost, late or given twice does no harm.
//
//   local      one process, or several on one machine: listens to the journal and keeps timers itself
//   postgres   many processes: each hint goes to one of them; when a plan is due is written by every append

import type { Millis, PlanId } from '../domain/id.ts'
import type { Entry } from '../stores/store.ts'

export interface Queue {
  /**
   * Plans to look at now, for a worker that could drive so many more. A shared queue gives each plan to one worker at a time; a queue of
   * one process returns all it has.
   */
  take(free: number): Promise<readonly PlanId[]>
  /** Called for every new entry of a plan that is not driven here. */
  heard(entry: Pick<Entry, 'plan' | 'fence'>): void
  /** A worker looked at this version: there is nothing to do before this time, or before its journal grows. */
  rest(plan: PlanId, version: number, until: Millis | null): Promise<void>
  /** In how many milliseconds there may be something new, if nothing is heard. */
  quietMs(): number
}

/** How a shared queue stands. */
export interface QueueStanding {
  /** Plans that wait for a worker, and how long the first of them has. */
  readonly due: number
  readonly oldestMs: number | null
  /** Plans with a timer. */
  readonly later: number
  /** How far a live stream is behind: the oldest entry that it may not show yet, because an earlier one is still being written. */
  readonly tailLagMs: number
  /** What plans that are due want and no worker has, or where their files are. */
  readonly unmet: readonly {
    readonly labels: readonly string[]
    readonly folder: string | null
    readonly plans: number
  }[]
}
