// Changes of a repository, as the journal stores them. Each change of a ref has its value before and after (null for none), so that one
// rule undoes all of them: restore `before` where `after` is still the value.

import type { Millis, PlanId, TaskName } from '../id.ts'

export type GitOperation = RefOperation | WorktreeOperation | PushOperation

export interface RefOperation {
  readonly type:
    | 'branch.created'
    | 'commit.created'
    | 'branch.merged'
    | 'commit.reverted'
    | 'branch.moved'
    | 'branch.deleted'
    | 'tag.created'
    | 'tag.deleted'
  readonly plan: PlanId
  readonly task?: TaskName
  readonly ref: string
  readonly before: string | null
  readonly after: string | null
  /** The ref that keeps `before` reachable after it was taken off its branch. */
  readonly backup?: string
  readonly at: Millis
}

export interface WorktreeOperation {
  readonly type: 'worktree.added' | 'worktree.removed'
  readonly plan: PlanId
  readonly task?: TaskName
  readonly path: string
  readonly ref: string
  readonly commit: string
  readonly at: Millis
}

/** Recorded by the one who pushed; Planfold never does. It proves that others may have the commit. */
export interface PushOperation {
  readonly type: 'branch.pushed'
  readonly plan: PlanId
  readonly ref: string
  readonly remote: string
  readonly commit: string
  readonly at: Millis
}
