// What was done to a repository, as the journal keeps it. Every change of a ref says what stood there before and after
// (null is nothing), so that all of them are taken back by one rule: put `before` back where `after` still stands.

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
  /** In full, e.g. `refs/heads/plan/upgrade`. */
  readonly ref: string
  readonly before: string | null
  readonly after: string | null
  /** The ref that keeps `before` alive, when it was taken off its branch. */
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

/** Recorded by whoever pushed; this room never does. It counts as proof that others may have the commit. */
export interface PushOperation {
  readonly type: 'branch.pushed'
  readonly plan: PlanId
  readonly ref: string
  readonly remote: string
  readonly commit: string
  readonly at: Millis
}
