// Revisions of a plan and their differences.

import type { Int, Loose, Moved, PageOf, PlanNamed, Time } from './fields.ts'

interface RevisionFields {
  readonly revision: Int
  readonly hash: string
  /** Is it the hash of the definition that stands beside it? */
  readonly verified: boolean
  readonly by: string
  readonly at: Time
  /** The entry of the journal it stands in. */
  readonly version: Int
  readonly rationale: string | null
  readonly tasks: Int
  /** The format it was written in, when its text was kept. */
  readonly format: string | null
}

export type RevisionPage = PageOf<
  RevisionFields & {
    /** What changed since the one before. */
    readonly summary: string
  }
>

export interface Revision extends RevisionFields {
  readonly plan_id: string
  /** The plan as a document of Planfold. */
  readonly document: Loose
  /** The text it was read from, word for word. */
  readonly text: string | null
}

interface Changes {
  readonly summary: string
  /** What it means, task by task and key by key. */
  readonly diff: Loose
}

export interface Diff extends Changes {
  readonly plan_id: string
  readonly from: Int
  readonly to: Int
  /** The same for people, as plain text. */
  readonly text: string
}

interface ChangesWithFates extends Changes {
  readonly notes: readonly { readonly code: string; readonly message: string; readonly [key: string]: unknown }[]
  /** What becomes of every task. */
  readonly fates: readonly {
    readonly task: string
    readonly fate: string
    readonly why: string
    readonly [key: string]: unknown
  }[]
}

export interface Revised extends ChangesWithFates, Moved {
  readonly revision: Int
  readonly changed: boolean
  readonly dry_run: boolean
}

export interface Redraft extends Changes, PlanNamed {
  /** The one it was made from: send it as `expected_revision`. */
  readonly revision: Int
  readonly changed: boolean
  /** The whole next draft, for POST /plans/PLAN/revisions. */
  readonly document: string
  readonly rationale: string
  /** Comments that were not applied. */
  readonly unfollowed: readonly { readonly task: string | null; readonly text: string; readonly why: string }[]
}
