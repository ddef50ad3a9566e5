// Door of the git room: what Planfold does in a repository, and how it is undone. Everything is a value: each change of a ref is a
// `GitOperation` with its state before and after, for the journal; each error is a Failure with a hint. Nothing moves HEAD, changes a
// person's index or files unless asked to, and nothing ever resets, cleans, stashes or pushes.

import type { Actor, Millis, PlanId, PlanName, TaskName } from '../../domain/id.ts'
import type { Failure, GitStanding } from '../../domain/result.ts'
import type { WhyCommit } from '../../domain/views/pages/why-lines.ts'
import type { FileStamps } from '../files/folder-removal.ts'
import type { GitOperation, RefOperation } from './operation-list.ts'

export * from './bisect.ts'
export * from './message.ts'
export * from './operation-list.ts'
export * from './pr-text.ts'

/** 40 or 64 hexadecimal digits, depending on the repository's object format. */
export type Oid = string

export type GitAnswer<T> =
  | { readonly ok: true; readonly value: T }
  /** `list` names the obstacles: files, commits or branches; `files` has git's status of each file. */
  | {
      readonly ok: false
      readonly failure: Failure
      readonly list?: readonly string[]
      readonly files?: ReadonlyMap<string, LoneFile>
    }

/** Why the content of a file is in no commit. Ignore rules do not apply to committed or staged files. */
export type LoneFile = 'ignored' | 'untracked' | 'changed' | 'staged'

export interface Git {
  /** The base of a worktree: the top folder of the working tree, and the commit of HEAD. */
  ground(): Promise<GitAnswer<GitGround>>
  /** For checkpoints, with one process; null, without any, where there is no repository. */
  standing(): Promise<GitAnswer<GitStanding | null>>
  /** Does the repository belong to this folder? Otherwise writes are refused; planning can ask before. */
  mayWrite(): Promise<GitAnswer<null>>
  /** Creates the branch of a plan or task at `base`, without moving HEAD; returns it if this plan made it before. */
  ensureBranch(request: BranchRequest): Promise<GitAnswer<PlanBranch>>
  commitPaths(request: CommitRequest): Promise<GitAnswer<Committed>>
  createTag(request: TagRequest): Promise<GitAnswer<RefOperation>>
  addWorktree(request: WorktreeRequest): Promise<GitAnswer<AddedWorktree>>
  listWorktrees(plan: PlanId): Promise<GitAnswer<readonly Worktree[]>>
  /** Removes a worktree of ours if everything in it is committed and reachable; else refuses with the list of what is not. */
  removeWorktree(request: RemovalRequest): Promise<GitAnswer<{ readonly operations: readonly GitOperation[] }>>
  /** Checks out a commit in a detached worktree without user work; creates it if necessary. */
  checkOutScratch(request: ScratchRequest): Promise<GitAnswer<CheckedOut>>
  removeScratch(request: Omit<ScratchRequest, 'commit'>): Promise<GitAnswer<{ readonly removed: boolean }>>
  mergeBack(request: MergeRequest): Promise<GitAnswer<Merged>>
  /** Finds the commit of a task by its key, or prepares its worktree, on a branch at the tip of the plan's. */
  beginTask(request: TaskRequest): Promise<GitAnswer<BegunTask>>
  /** Merges the branch of a task into the plan's, then removes worktree and branch unless they have work that is stored nowhere else. */
  landTask(request: LandRequest): Promise<GitAnswer<LandedTask>>
  /** A preview of a rollback. Changes nothing. */
  previewRollback(request: RollbackRequest): Promise<GitAnswer<readonly RollbackStep[]>>
  /** Undoes operations. To undo a rollback, roll back the operations it returned. */
  rollback(request: RollbackRequest): Promise<RolledBack>
  /** The commits after the good one up to the bad one; the good one first, if requested. */
  commitsBetween(request: CommitRange): Promise<GitAnswer<readonly CommitLine[]>>
  /** The commits behind lines of a file at HEAD; null if HEAD has no such file. */
  blame(request: BlameRequest): Promise<GitAnswer<Blame | null>>
  diffstat(request: { readonly from: string; readonly to: string }): Promise<GitAnswer<readonly FileStat[]>>
}

export interface BlameRequest {
  /** Relative to the workspace. */
  readonly path: string
  /** Which lines of the committed content are asked about, numbered from 1; all if it returns null. */
  readonly lines: (content: Uint8Array) => readonly number[]
}

export interface Blame {
  /** The commit behind each line. */
  readonly lines: ReadonlyMap<number, WhyCommit>
}

export interface CommitRange {
  readonly good: string
  readonly bad: string
  readonly withGood?: boolean
}

export interface GitGround {
  readonly top: string
  /** Null before the first commit. */
  readonly commit: Oid | null
}

export interface Owner {
  readonly plan: PlanId
  readonly name: PlanName
  /** A separate branch of one task, for parallel work. */
  readonly task?: TaskName
}

export interface BranchRequest extends Owner {
  readonly base: string
  readonly at: Millis
}

export interface PlanBranch {
  readonly branch: string
  readonly ref: string
  readonly tip: Oid
  readonly made: 'now' | 'before'
  /** The creation of the branch, even by an earlier process, because a crash may have kept it from the journal. */
  readonly operation: RefOperation
}

export type PathContent =
  /** The current file or link in the workspace, or its absence. */
  | { readonly from: 'workspace' }
  | { readonly from: 'bytes'; readonly bytes: Uint8Array; readonly mode: '100644' | '100755' | '120000' }
  /** Read lazily, so that many files need not be in memory together. */
  | { readonly from: 'stored'; readonly read: () => Promise<Uint8Array>; readonly mode: '100644' | '100755' }
  | { readonly from: 'link'; readonly target: string }
  | { readonly from: 'nothing' }

export type WhenCheckedOut =
  | 'refuse'
  /** Moves the branch and leaves files and index there: git then shows the difference as staged changes. */
  | 'leave-files'

export interface CommitRequest extends Owner {
  /** Relative to the workspace, `/` between names; bytes that are not UTF-8 as lone surrogates. */
  readonly paths: ReadonlyMap<string, PathContent>
  readonly message: string
  readonly actor: Actor
  readonly at: Millis
  /** The task of this work on the branch of the plan, for the trailer and the record. */
  readonly for?: TaskName
  /** `leave`: omits paths that git ignores and the branch does not have. */
  readonly ignored?: 'commit' | 'leave'
  /** Idempotency key: a commit that carries it is found instead. */
  readonly key?: string
  /** Which attempt of the visit wrote it, for the trailer. */
  readonly attempt?: number
  /** The blob with the result, so that the work of an existing commit need not be repeated. */
  readonly result?: string
  /** `stage` also records the paths in the index where the branch is checked out: for worktrees of ours. */
  readonly whenCheckedOut?: 'refuse' | 'stage'
}

export type Committed =
  | {
      readonly status: 'committed'
      readonly commit: Oid
      readonly operation: RefOperation
      readonly paths: number
      readonly left: readonly string[]
    }
  | { readonly status: 'found'; readonly commit: Oid; readonly operation: RefOperation }
  | { readonly status: 'unchanged'; readonly commit: Oid; readonly left: readonly string[] }

export interface TagRequest {
  readonly plan: PlanId
  readonly name: string
  readonly target: string
  readonly message?: string
  readonly at: Millis
}

export interface WorktreeRequest extends Owner {
  readonly base: string
  /** The absolute parent folder of worktrees; the name inside it is derived from plan and task. */
  readonly folder: string
  readonly at: Millis
}

export interface AddedWorktree {
  readonly worktree: Worktree
  readonly operations: readonly GitOperation[]
}

export interface Worktree {
  readonly path: string
  readonly branch: string
  readonly head: Oid
}

export interface ScratchRequest {
  readonly plan: PlanId
  readonly path: string
  readonly commit: string
}

export interface CheckedOut {
  readonly commit: Oid
  /** The folder in the worktree that corresponds to the workspace in the repository. */
  readonly workspace: string
}

export interface TaskOwner extends Owner {
  readonly task: TaskName
}

export interface TaskRequest extends TaskOwner {
  /** Where the plan's branch begins, if it is created now. */
  readonly base: string
  readonly key: string
  /** Start again, even if there is a commit with this key. */
  readonly again: boolean
  readonly folder: string
  readonly at: Millis
}

export type BegunTask =
  | {
      readonly status: 'found'
      /** The blob with the result; null when the commit names none. */
      readonly result: string | null
      readonly path: string | null
    }
  | {
      readonly status: 'ready'
      readonly path: string
      readonly workspace: string
      readonly operations: readonly GitOperation[]
      /** The backup refs of what an earlier attempt left there. */
      readonly aside: readonly string[]
    }

export interface LandRequest extends Omit<MergeRequest, 'whenGone' | 'whenCheckedOut'> {
  readonly base: string
  readonly key: string
  readonly path: string | null
}

export type LandedTask =
  | { readonly status: 'conflict'; readonly paths: readonly string[] }
  | {
      readonly status: 'landed'
      readonly branch: PlanBranch
      /** Null when there was nothing to merge. */
      readonly merge: RefOperation | null
      readonly operations: readonly GitOperation[]
      readonly kept: Failure | null
    }

export interface RemovalRequest extends Owner {
  readonly path: string
  readonly at: Millis
  /** Ignored folders and files that can be recreated, e.g. `node_modules`. Any other ignored file prevents the removal. */
  readonly expendable?: readonly string[]
  /** Moves the folder aside before deleting it, so that an interruption never leaves half of it. */
  readonly stored?: StoredFiles
}

/** Files that are stored elsewhere and so need no commit. */
export interface StoredFiles {
  /** Which of these paths are stored elsewhere with their current content. */
  readonly has: (paths: readonly string[]) => Promise<ReadonlySet<string>>
  /** The files of the worktree before this check: a later difference prevents the removal. */
  readonly judged: FileStamps
}

export interface MergeRequest extends Owner {
  readonly task: TaskName
  readonly message: string
  readonly actor: Actor
  readonly at: Millis
  /** Idempotency key: a merge that carries it is found instead. */
  readonly key?: string
  readonly whenCheckedOut?: WhenCheckedOut
  readonly result?: string
  /** `already`: a missing branch was merged and deleted. */
  readonly whenGone?: 'refuse' | 'already'
}

export type Merged =
  | { readonly status: 'merged' | 'found'; readonly commit: Oid; readonly operation: RefOperation }
  | { readonly status: 'already'; readonly commit: Oid }
  /** Nothing was changed. */
  | { readonly status: 'conflict'; readonly paths: readonly string[]; readonly hint: string }

export interface RollbackRequest {
  readonly plan: PlanId
  readonly name: PlanName
  readonly actor: Actor
  /** In order of execution. */
  readonly operations: readonly GitOperation[]
  readonly at: Millis
  /** `revert` adds a reverting commit instead of removing commits, even where removing would be safe. */
  readonly prefer?: 'move' | 'revert'
  /** For commits that others may have: prepare a reverting commit, which a person may push, or refuse with the command to run. */
  readonly pushed?: 'revert' | 'refuse'
  readonly whenCheckedOut?: WhenCheckedOut
}

export interface RollbackStep {
  readonly do: 'move' | 'revert' | 'delete' | 'restore' | 'remove-worktree' | 'nothing' | 'refuse'
  /** The ref, or the path of a worktree. */
  readonly target: string
  readonly from: Oid | null
  readonly to: Oid | null
  readonly why: string
  readonly run: readonly string[]
}

export type RolledBack =
  | { readonly ok: true; readonly done: readonly GitOperation[]; readonly steps: readonly RollbackStep[] }
  /** `done` lists what happened before the failure; it must be recorded. */
  | {
      readonly ok: false
      readonly failure: Failure
      readonly done: readonly GitOperation[]
      readonly steps: readonly RollbackStep[]
    }

export interface CommitLine {
  readonly commit: Oid
  readonly subject: string
}

export interface FileStat {
  readonly path: string
  /** Lines; null for binary content. */
  readonly added: number | null
  readonly removed: number | null
}
