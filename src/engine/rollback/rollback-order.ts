// What is asked for when a plan goes back or is forked, and what that would do: the part of the door that speaks of files of then.

import type { Reset } from '../../domain/command.ts'
import type { PlanSource } from '../../domain/event.ts'
import type { PlanId, Sha256, TaskName } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import type { Refusal } from '../../domain/refusal.ts'
import type { Checkpoint } from '../../domain/views/checkpoints.ts'
import type { RollbackStep } from '../../workspace/git/git.ts'
import type { Change, LeftOut } from '../../workspace/workspace.ts'

/** From where, and with what else. */
export interface ForkAsk {
  /** A task (where it had ended), `before:TASK`, a checkpoint, or the number of an entry. */
  readonly from: string
  /** `<plan>-fork`, numbered, when absent. */
  readonly name?: string
  /** By `task.key`, for tasks that are open there. */
  readonly inputs?: { readonly [place: string]: Json }
  /** Another definition than that of then. */
  readonly definition?: PlanDefinition
  readonly source?: PlanSource
  /** For open tasks that ask a model. */
  readonly model?: string
  /** Work in the workspace as it is, instead of in a folder of its own. */
  readonly here?: true
  /** Gates that were passed ask again, where what they let go on is still to be done: for whoever may not decide at them. */
  readonly gates?: 'asked again'
}

/** What a fork begins with. */
export interface Forked {
  /** The entry of the other plan it goes on from. */
  readonly from: number
  /** Brought along with what they left. */
  readonly ended: readonly TaskName[]
  readonly open: readonly TaskName[]
  readonly works:
    | { readonly in: 'workspace' }
    | {
        readonly in: 'folder' | 'worktree'
        /** Relative to the workspace. */
        readonly place: string
        readonly files: number
        /** What is not there: ignored, or never stored. */
        readonly left: { readonly paths: number; readonly first: readonly LeftOut[] }
        /** Files the plan never wrote: as they were at that entry, or as they are now. */
        readonly others: 'then' | 'now'
        /** Tasks that worked since without anybody looking at what they wrote: their files are as they are now. */
        readonly unseen: readonly TaskName[]
        /** Files that are in no commit, and were copied with the others. */
        readonly uncommitted: { readonly paths: number; readonly first: readonly string[] }
        /** Why it is no worktree although there is a repository. */
        readonly why?: string
      }
}

/** How the work of a fork is brought into the plan it was made from. */
export interface AdoptAsk {
  /** Another plan to record it in, by name or UUID; the nearest ancestor with a folder when absent. */
  readonly into?: string
  /** For single paths that changed there since the fork was made. */
  readonly choices?: { readonly [path: string]: 'mine' | 'theirs' | 'merge' }
  /** For all other such paths. */
  readonly every?: 'mine' | 'theirs' | 'merge'
  /** Leave the folder of the fork where it is. */
  readonly keepFolder?: true
  /** Remove the folder although it holds ignored files, which no snapshot has. */
  readonly removeIgnored?: true
}

/** What came of an `adopt`. */
export type Adopted =
  /** Whoever drives that plan carries it out; then the same order again settles it. */
  | { readonly status: 'ordered'; readonly into: { readonly plan: PlanId; readonly name: string } }
  | {
      readonly status: 'settled'
      readonly into: { readonly plan: PlanId; readonly name: string }
      readonly folder: 'removed' | 'kept'
      /** Why it was kept. */
      readonly why?: string
    }

/** What an adoption would do. Nothing was changed. */
export type AdoptionPreview =
  | {
      readonly ok: true
      readonly fork: { readonly plan: PlanId; readonly name: string }
      readonly into: { readonly plan: PlanId; readonly name: string }
      /** `under way`: it was ordered and has not ended. */
      readonly status: 'open' | 'under way' | 'adopted' | 'unchanged'
      /** Whether the folder was looked at, or the snapshot of the fork's end, or only its journal. */
      readonly seen: 'folder' | 'end' | 'journal'
      /** What the fork changed and is not adopted yet. */
      readonly changes: readonly Change[]
      /** What would become of each of these paths. */
      readonly files: readonly FilePreview[]
      /** What could not be captured in the folder of the fork. */
      readonly left: readonly LeftOut[]
    }
  | { readonly ok: false; readonly refusal: Refusal }

/** Where to, and how much of it. */
export interface RollbackAsk {
  /** A checkpoint, a task, `before:TASK`, or the number of an entry; before the first task when absent. */
  readonly to?: string
  /** Only these paths or patterns; tasks stay as they are. */
  readonly files?: readonly string[]
  /** Only what these tasks wrote; they and what came after them are open again. */
  readonly tasks?: readonly TaskName[]
  readonly filesOnly?: true
  readonly keepGit?: true
  readonly force?: true
  /** For single paths where somebody has worked since. */
  readonly choices?: { readonly [path: string]: 'mine' | 'theirs' | 'merge' }
  /** For all other such paths. */
  readonly every?: 'mine' | 'theirs' | 'merge'
}

/** What a rollback would do. Nothing was changed. */
export type RollbackPreview =
  | {
      readonly ok: true
      readonly kind: 'rollback' | 'undo'
      /** Of an undo that takes an adoption back: the name of the fork. */
      readonly adopted?: string
      /** Where to, in words, when a task was named: `after build`, `before pack`. */
      readonly label?: string
      /** The entry it goes to, and the checkpoint it is known by. */
      readonly to: number
      readonly checkpoint: Checkpoint | null
      /** Every path that was written since. */
      readonly files: readonly FilePreview[]
      readonly resets: readonly Reset[]
      /** Whose compensation would be run, last completed first. */
      readonly compensate: readonly TaskName[]
      /** What happened outside the workspace and stays: tasks with effects nobody can undo here. */
      readonly stays: readonly { readonly task: TaskName; readonly why: string; readonly declared: boolean }[]
      readonly git: readonly RollbackStep[]
      /** Edits somebody made between two tasks, kept under their hash. */
      readonly kept: readonly { readonly path: string; readonly sha256: Sha256 }[]
    }
  | { readonly ok: false; readonly refusal: Refusal }

export interface FilePreview {
  readonly path: string
  readonly will: 'restore' | 'create' | 'delete' | 'chmod' | 'leave'
  /** Somebody has worked there since. */
  readonly conflict?: 'edited since' | 'appeared' | 'gone'
  readonly why?: string
}
