// The one vocabulary of statuses. Dialects map to and from it at the edge only.
//
//   plan:  draft ─start→ active ⇄ paused          active → completed | failed | cancelled   (ended; `retry` reopens)
//                         └─ blocked: nothing can move until a person decides (derived by views, never stored)
//   task:  pending → ready → running → completed | failed
//                     ↑        ├→ waiting (gate, parked, verdict) → completed | failed | ready
//          blocked ⇄ ─┘        └→ ready (retry)          pending|ready|blocked → skipped | abandoned | cancelled

import { wordList } from './json.ts'

export const PLAN_STATUSES = wordList('draft active paused blocked completed failed cancelled')
export type PlanStatus = (typeof PLAN_STATUSES)[number]

export const TASK_STATUSES = wordList(
  'pending ready running waiting blocked completed failed skipped abandoned cancelled',
)
export type TaskStatus = (typeof TASK_STATUSES)[number]

export const ENDED: ReadonlySet<TaskStatus> = new Set(['completed', 'failed', 'skipped', 'abandoned', 'cancelled'])
/** These satisfy a `needs`. */
export const SATISFIES: ReadonlySet<TaskStatus> = new Set(['completed', 'skipped'])
/** These block dependants. */
export const BLOCKS: ReadonlySet<TaskStatus> = new Set(['failed', 'abandoned', 'cancelled', 'blocked'])
export const PLAN_ENDED: ReadonlySet<PlanStatus> = new Set(['completed', 'failed', 'cancelled'])

export const isPlanStatus = (text: string): text is PlanStatus => (PLAN_STATUSES as readonly string[]).includes(text)
export const isTaskStatus = (text: string): text is TaskStatus => (TASK_STATUSES as readonly string[]).includes(text)

/** For people, when only the status is known. */
export const planWord = (status: PlanStatus): string =>
  status === 'blocked' ? 'waiting' : status === 'active' ? 'running' : status
