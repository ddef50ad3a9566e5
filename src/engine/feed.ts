// What live streams read: changes, entries, output and progress. Part of the door of `engine/`; implemented in
// notifications/live-feed.ts.

import type { PlanId, TaskName } from '../domain/id.ts'
import type { PlanStatus } from '../domain/status.ts'
import type { PlanFacts } from '../domain/views/announcement.ts'
import type { Progress } from '../domain/views/summary.ts'
import type { Store } from '../stores/store.ts'

export interface Feed extends Pick<Store, 'position' | 'since' | 'pruned' | 'onChange'> {
  readonly entries: (plan: PlanId, after: number, limit: number) => ReturnType<Store['read']>
  readonly output: Pick<Store['logs'], 'since' | 'last'>
  facts(plan: PlanId): Promise<PlanFacts | null>
  progress(plan: PlanId): Promise<PlanProgress | null>
}

export interface PlanProgress {
  readonly version: number
  readonly revision: number
  readonly status: PlanStatus
  readonly progress: Progress
  readonly running: readonly TaskName[]
  readonly waiting: readonly string[]
}
