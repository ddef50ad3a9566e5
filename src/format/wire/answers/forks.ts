// Forks, comparison of two runs, and the difference between checkpoints.

import type { Int, Loose, Moved } from './fields.ts'

export interface Forked extends Moved {
  /** The plan it was made from. */
  readonly origin: string
  /** What it begins with; null when it was asked for before. */
  readonly fork: {
    /** The entry of the other plan it goes on from. */
    readonly from: Int
    /** Tasks brought along with what they left. */
    readonly ended: readonly string[]
    readonly open: readonly string[]
    readonly works: { readonly in: 'workspace' | 'folder' | 'worktree'; readonly [key: string]: unknown }
  } | null
}

type RunShown = Loose & { readonly id: string; readonly name: string; readonly status: string }

export interface Comparison {
  readonly a: RunShown
  readonly b: RunShown
  readonly definition: { readonly same: boolean; readonly summary: string; readonly [key: string]: unknown }
  readonly tasks: readonly {
    readonly task: string
    /** Its name in the second plan, where that is another. */
    readonly renamed: string | null
    readonly a: { readonly status: string; readonly attempts: Int; readonly [key: string]: unknown } | null
    readonly b: { readonly status: string; readonly attempts: Int; readonly [key: string]: unknown } | null
    /** What differs; empty when it went the same way. */
    readonly differs: readonly string[]
    /** The names of the outputs that differ. */
    readonly outputs: readonly string[]
  }[]
  /** SHA-256 after the run; null where it was removed, absent where the run did not touch it. */
  readonly files: readonly { readonly path: string; readonly a?: string | null; readonly b?: string | null }[]
}

export interface CheckpointDiff {
  readonly plan_id: string
  readonly from: string
  /** Null: as it is now. */
  readonly to: string | null
  /** `whole`: all files of both were stored. `written`: only what the plan wrote between them is known. */
  readonly basis: 'whole' | 'written'
  readonly changes: readonly {
    readonly path: string
    readonly change: 'created' | 'changed' | 'deleted'
    readonly before: { readonly type: 'file' | 'link' | 'directory'; readonly [key: string]: unknown } | null
    readonly after: { readonly type: 'file' | 'link' | 'directory'; readonly [key: string]: unknown } | null
  }[]
  /** Not looked at. */
  readonly left: readonly { readonly path: string; readonly reason: string; readonly [key: string]: unknown }[]
}
