// The door of the git room: what planfold does in a repository, and how it is taken back. Everything is said in values:
// each change of a ref is a `GitOperation` with what stood there before and after, for the journal; each no is a Failure
// with what to do next. Nothing here moves HEAD, stages in a person's index or writes a person's files unless asked to,
// and nothing ever resets, cleans, stashes or pushes.

import type { Actor, Millis, PlanId, PlanName, TaskName } from '../../domain/id.ts'
import type { Failure, GitStanding } from '../../domain/result.ts'
import type { FileStamps } from '../files/folder-removal.ts'
import type { GitOperation, RefOperation } from './operation-list.ts'

export * from './bisect.ts'
export * from './message.ts'
export * from './operation-list.ts'
export * from './pr-text.ts'

/** The name of a commit, tree or blob: 40 or 64 hexadecimal digits, as the repository's object format has it. */
export type Oid = string

export type GitAnswer<T> =
  | { readonly ok: true; readonly value: T }
  /** `list` names what stands in the way: files, commits or branches; `files` says what git knows of each file. */
  | {
      readonly ok: false
      readonly failure: Failure
      readonly list?: readonly string[]
      readonly files?: ReadonlyMap<string, LoneFile>
    }

/** Why the content of a file is in no commit. Ignore rules say nothing about a file that is committed or staged. */
export type LoneFile = 'ignored' | 'untracked' | 'changed' | 'staged'

export interface Git {
  /** What a worktree is made from: the top folder of the working tree, and the commit of HEAD. */
  ground(): Promise<GitAnswer<GitGround>>
  /** The little that a checkpoint needs, with one process; null, and none, where there is no repository. */
  standing(): Promise<GitAnswer<GitStanding | null>>
  /** Is the repository that of this folder? Writes are refused when it is not; planning can ask before. */
  mayWrite(): Promise<GitAnswer<null>>
  /** Makes the branch of a plan or of one of its tasks at `base`, without moving HEAD; finds it again when this plan made it. */
  ensureBranch(request: BranchRequest): Promise<GitAnswer<PlanBranch>>
  /** One commit on one of our branches, built in an index of its own. */
  commitPaths(request: CommitRequest): Promise<GitAnswer<Committed>>
  createTag(request: TagRequest): Promise<GitAnswer<RefOperation>>
  addWorktree(request: WorktreeRequest): Promise<GitAnswer<AddedWorktree>>
  listWorktrees(plan: PlanId): Promise<GitAnswer<readonly Worktree[]>>
  /** Removes a worktree of ours when everything in it is committed and reachable; else refuses with the list of what is not. */
  removeWorktree(request: RemovalRequest): Promise<GitAnswer<{ readonly operations: readonly GitOperation[] }>>
  /** Checks a commit out in a worktree without a branch that holds nobody's work; makes it when it is not there. */
  checkOutScratch(request: ScratchRequest): Promise<GitAnswer<CheckedOut>>
  removeScratch(request: Omit<ScratchRequest, 'commit'>): Promise<GitAnswer<{ readonly removed: boolean }>>
  mergeBack(request: MergeRequest): Promise<GitAnswer<Merged>>
  /** Finds what a task committed under this key, or makes its worktree ready, on a branch of its own at the tip of the plan's. */
  beginTask(request: TaskRequest): Promise<GitAnswer<BegunTask>>
  /** Merges the branch of a task into the plan's; then worktree and branch go, unless something in them is kept nowhere else. */
  landTask(request: LandRequest): Promise<GitAnswer<LandedTask>>
  /** What a rollback of these operations would do. Changes nothing. */
  previewRollback(request: RollbackRequest): Promise<GitAnswer<readonly RollbackStep[]>>
  /** Takes operations back. Undoing a rollback is the rollback of the operations it answered with. */
  rollback(request: RollbackRequest): Promise<RolledBack>
  /** Those after the good one, up to the bad one; the good one before them when it is asked for. */
  commitsBetween(request: CommitRange): Promise<GitAnswer<readonly CommitLine[]>>
  diffstat(request: { readonly from: string; readonly to: string }): Promise<GitAnswer<readonly FileStat[]>>
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
  /** A branch of its own for one task, for work done in parallel. */
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
  /** The making of it, also when that was before: a crash may have kept it from the journal. */
  readonly operation: RefOperation
}

export type PathContent =
  /** What stands in the workspace at this path: a file, a link, or nothing. */
  | { readonly from: 'workspace' }
  | { readonly from: 'bytes'; readonly bytes: Uint8Array; readonly mode: '100644' | '100755' | '120000' }
  /** Read when its turn comes, so that many files need not be held at once. */
  | { readonly from: 'stored'; readonly read: () => Promise<Uint8Array>; readonly mode: '100644' | '100755' }
  | { readonly from: 'link'; readonly target: string }
  | { readonly from: 'nothing' }

export type WhenCheckedOut =
  | 'refuse'
  /** Move the branch, leave files and index there as they are: git then shows the difference as staged changes. */
  | 'leave-files'

export interface CommitRequest extends Owner {
  /** Relative to the workspace, `/` between names; bytes that are no UTF-8 as lone surrogates. */
  readonly paths: ReadonlyMap<string, PathContent>
  readonly message: string
  readonly actor: Actor
  readonly at: Millis
  /** The task whose work it holds, on the branch of the plan: for the trailer and the record. */
  readonly for?: TaskName
  /** `leave`: paths that git ignores and the branch does not hold are left out. */
  readonly ignored?: 'commit' | 'leave'
  /** The same key never commits twice: a commit that carries it is found again. */
  readonly key?: string
  /** The blob with the result of the work, so that a commit found again need not be redone. */
  readonly result?: string
  /** `stage` also records the committed paths in the index where the branch is checked out: for worktrees of ours. */
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
  /** The absolute folder worktrees are put into; the name inside it is made from plan and task. */
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
  /** The folder of it that the workspace is in the repository. */
  readonly workspace: string
}

export interface TaskOwner extends Owner {
  readonly task: TaskName
}

export interface TaskRequest extends TaskOwner {
  /** Where the plan's branch begins, when it is made now. */
  readonly base: string
  readonly key: string
  /** Begin anew, whatever was committed under this key. */
  readonly again: boolean
  readonly folder: string
  readonly at: Millis
}

export type BegunTask =
  | {
      readonly status: 'found'
      /** The blob that holds how it ended; null when the commit names none. */
      readonly result: string | null
      readonly path: string | null
    }
  | {
      readonly status: 'ready'
      readonly path: string
      readonly workspace: string
      readonly operations: readonly GitOperation[]
      /** The refs that hold what an attempt before had left there. */
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
  /** Ignored folders and files that can be made again, e.g. `node_modules`. Any other ignored file stops the removal. */
  readonly expendable?: readonly string[]
  /** Moves the folder aside before deleting it, so that an interruption never leaves half of it. */
  readonly stored?: StoredFiles
}

/** What is stored elsewhere need not be committed. */
export interface StoredFiles {
  /** Of these paths in the worktree, those whose content as it stands is stored elsewhere. */
  readonly has: (paths: readonly string[]) => Promise<ReadonlySet<string>>
  /** The files of the worktree before they were judged: any difference at the end stops the removal. */
  readonly judged: FileStamps
}

export interface MergeRequest extends Owner {
  readonly task: TaskName
  readonly message: string
  readonly actor: Actor
  readonly at: Millis
  /** The same key never merges twice: a merge that carries it is found again. */
  readonly key?: string
  readonly whenCheckedOut?: WhenCheckedOut
  /** The blob that holds how the work ended. */
  readonly result?: string
  /** `already`: a branch that is no longer there was merged and dropped. */
  readonly whenGone?: 'refuse' | 'already'
}

export type Merged =
  | { readonly status: 'merged' | 'found'; readonly commit: Oid; readonly operation: RefOperation }
  | { readonly status: 'already'; readonly commit: Oid }
  /** Nothing was changed; both branches stand as they did. */
  | { readonly status: 'conflict'; readonly paths: readonly string[]; readonly hint: string }

export interface RollbackRequest {
  readonly plan: PlanId
  readonly name: PlanName
  readonly actor: Actor
  /** In the order in which they happened. */
  readonly operations: readonly GitOperation[]
  readonly at: Millis
  /** `revert` adds a commit that undoes instead of taking commits away, also where taking away would be safe. */
  readonly prefer?: 'move' | 'revert'
  /** What others may have already: a revert commit is prepared, which a person may push; or it is refused, with what to run. */
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
  /** `done` is what happened before the world said no; it must be recorded all the same. */
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
