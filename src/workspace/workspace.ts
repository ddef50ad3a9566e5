// Door of `workspace/`: the files of a plan. A `Workspace` captures and restores a task's declared write scope; `Snapshots` store the whole
// tree, compare, and roll back.

import type { EditChoice } from '../domain/event.ts'
import type { Millis, Sha256 } from '../domain/id.ts'
import type { Failure } from '../domain/result.ts'

export * from './files/folder-removal.ts'

export interface Workspace {
  /** Stores everything that the patterns match and returns the manifest's blob id. */
  capture(patterns: readonly string[]): Promise<Captured>
  /** Makes the scope equal to the manifest; stores differing files first (`saved`). Repeatable after a crash. */
  restore(manifest: Sha256, options?: RestoreOptions): Promise<Restored>
  /** The current differences in the scope. Differing contents are stored, so that none can be lost. */
  changesSince(manifest: Sha256): Promise<ScopeDifferences>
  /** The changes of a restore: the entries in which two manifests of one scope differ. */
  compare(saved: Sha256, to: Sha256): Promise<Differences>
  /** Resolves when no process rolls back or restores files here, or after half a minute; absent where no other process could. */
  quiet?(): Promise<void>
  /** Merges two edits of a stored text; null when they touch, or for a file that is no text. */
  merge(base: Sha256, mine: Sha256, theirs: Sha256): Promise<{ readonly sha256: Sha256; readonly size: number } | null>
}

export interface RestoreOptions {
  readonly keep?: ReadonlySet<string>
  /** Paths with another target than the manifest's, with their folders; the contents are stored. Null: nothing. */
  readonly write?: ReadonlyMap<string, TreeEntry | null>
  /** Empty directories that were changed later than this stay. */
  readonly after?: Millis
  /** The differences that were approved. If others are found now, nothing is changed and the failure is transient. */
  readonly judged?: readonly Change[]
  /** Called before the first change, with the manifests of the current and the target files. */
  readonly onSaved?: (saved: Sha256, made: Sha256) => void
}

export type Captured =
  | {
      readonly ok: true
      readonly manifest: Sha256
      readonly files: number
      readonly bytes: number
      readonly left: readonly LeftOut[]
    }
  | { readonly ok: false; readonly failure: Failure }

export type Restored =
  /** `left`: paths that were left out of the manifest, which a message about the restore must name. */
  | {
      readonly ok: true
      readonly saved: Sha256
      readonly changed: readonly string[]
      /** The manifest of the scope after the restore, with kept or replaced files. */
      readonly manifest: Sha256
      readonly left: readonly LeftOut[]
    }
  | { readonly ok: false; readonly failure: Failure }

/** Progress of a scan. `work` identifies it from its start until `done`. */
export interface FileProgress {
  readonly work: object
  readonly entries: number
  readonly done?: true
}

export type OnProgress = (progress: FileProgress) => void

/** Reports the start and the end, even of a failure. */
export async function reportWork<T>(
  onProgress: OnProgress | undefined,
  doing: (report: (entries: number) => void) => Promise<T>,
): Promise<T> {
  const work = {}
  let entries = 0
  const report = (count: number): void => {
    entries = count
    onProgress?.({ work, entries })
  }
  try {
    return await doing(report)
  } finally {
    onProgress?.({ work, entries, done: true })
  }
}

/** What was not captured, and why: too big, special file, hard link, unreadable. */
export interface LeftOut {
  readonly path: string
  readonly reason: string
  /** In a rollback: a person chose to keep the current file. */
  readonly kept?: true
  /** In a rollback: the plan changed it, and it was never stored. */
  readonly uncovered?: true
}

/** The reason for a path that no task may write, such as `.git`. */
export const PROTECTED = 'protected'
/** The reason for an ignored path in a snapshot. */
export const IGNORED = 'ignored'

/** The content store; `Store.blobs` implements it. */
export interface Blobs {
  put(bytes: Uint8Array): Promise<Sha256>
  /** Verified against its hash; null for a missing blob, throws for a damaged one. */
  get(id: Sha256): Promise<Uint8Array | null>
  /** `put` for many, batched; all are durable on return. */
  putMany?(contents: Iterable<Uint8Array>): Promise<readonly Sha256[]>
}

export interface Batch {
  /** Copies the bytes, so the caller may reuse its buffer. `id` avoids hashing them again. */
  add(bytes: Uint8Array, id?: Sha256): Sha256
  /** Backpressure: waits until not too much is pending. */
  room(): Promise<void>
  /** Everything added is durable on return. */
  close(): Promise<void>
  /** Bytes that were not stored before. */
  readonly bytes: number
}

export interface SnapshotBlobs extends Blobs {
  batch(): Batch
  /** Marks blobs as used, so that they are not collected; returns the missing ones. */
  touch(ids: Iterable<Sha256>): readonly Sha256[]
  /** A durable note; blobs it names are kept until it is unpinned. 'written': a power failure may restore the previous note. */
  pin(name: string, note: string, until?: 'durable' | 'written'): void
  pinned(name: string): string | null
  unpin(name: string): void
}

/** Paths are text with slashes, relative to the workspace; bytes that are not UTF-8 are lone surrogates (U+DC80 to U+DCFF). */
export interface Snapshots {
  /** Stores the current tree. Unchanged files are not read again, unchanged directories not stored again. */
  snapshot(options?: SnapshotOptions): Promise<Taken>
  /** The changes from `a` to `b`, or to the current files. */
  diff(a: Sha256, b: Sha256 | 'now', options?: { readonly paths?: readonly string[] }): Promise<Differences>
  /** Stores a snapshot of these paths only, of stored contents; null where there is nothing. */
  compose(entries: Iterable<readonly [path: string, entry: TreeEntry | null]>): Promise<Composed>
  /** Writes a snapshot's tree into an empty or missing folder, with some paths replaced. */
  materialise(
    snapshot: Sha256,
    folder: string,
    instead?: Iterable<readonly [path: string, entry: TreeEntry | null]>,
  ): Promise<Materialised>
  entries(snapshot: Sha256, paths: readonly string[]): Promise<Entries>
  /** What a rollback would do with every path of the write set. Changes nothing. */
  preview(target: Sha256, writeSet: WriteSet): Promise<Previewed>
  /**
   * Restores only these paths, storing current contents first. Refused if a conflict has no choice. Concurrent edits stay and are reported.
   */
  rollback(target: Sha256, writeSet: WriteSet, options?: RollbackOptions): Promise<RolledBack>
  /** Finishes an interrupted rollback, or returns the result of the last one until it is `settled`; null: none. */
  resume(): Promise<RolledBack | null>
  /** The caller has recorded the result of the last rollback: forget it. */
  settled(): Promise<void>
}

export interface SnapshotOptions {
  /** Patterns to capture even if ignored: declared write scopes, and what a task was seen to write. */
  readonly scopes?: readonly string[]
}

export type TreeEntry =
  | { readonly type: 'file'; readonly mode: number; readonly size: number; readonly sha256: Sha256 }
  | { readonly type: 'link'; readonly target: string }
  | { readonly type: 'directory'; readonly mode: number }

export type Taken =
  | {
      readonly ok: true
      readonly manifest: Sha256
      readonly files: number
      readonly bytes: number
      /** Bytes that were new to the content store, manifests included. */
      readonly stored: number
      /** Not captured, and why. Without ignored paths. */
      readonly left: readonly LeftOut[]
    }
  | { readonly ok: false; readonly failure: Failure }

export type Composed =
  | { readonly ok: true; readonly manifest: Sha256 }
  | { readonly ok: false; readonly failure: Failure }

export type Materialised =
  | { readonly ok: true; readonly files: number; readonly left: readonly LeftOut[] }
  | { readonly ok: false; readonly failure: Failure }

export interface Change {
  readonly path: string
  readonly before: TreeEntry | null
  readonly after: TreeEntry | null
}

export type Differences =
  /** `left`: paths that were left out of one side, so that changes are unknown. */
  | { readonly ok: true; readonly changes: readonly Change[]; readonly left: readonly LeftOut[] }
  | { readonly ok: false; readonly failure: Failure }

/** `changedAt`: the ctime of each path; for a removed path, of its folder. */
export type ScopeDifferences =
  | (Extract<Differences, { ok: true }> & { readonly changedAt: ReadonlyMap<string, Millis> })
  | { readonly ok: false; readonly failure: Failure }

export type Entries =
  | {
      readonly ok: true
      readonly entries: readonly { readonly path: string; readonly entry: TreeEntry | null; readonly left?: string }[]
    }
  | { readonly ok: false; readonly failure: Failure }

/** Each path a plan wrote, with its result (the `after` of its changes); null for a removed path. */
export type WriteSet = Iterable<readonly [path: string, left: TreeEntry | null]>

export type Conflict = 'edited since' | 'appeared' | 'gone'
export type Choice = EditChoice

export interface Preview {
  readonly path: string
  /** For a conflict: the effect of taking the snapshot's version. */
  readonly will: 'restore' | 'create' | 'delete' | 'chmod' | 'leave'
  readonly conflict?: Conflict
  readonly why?: string
}

export type Previewed =
  | { readonly ok: true; readonly paths: readonly Preview[] }
  | { readonly ok: false; readonly failure: Failure }

export interface RollbackOptions {
  /** For each conflict: keep the current file, take the snapshot's, or merge both if they do not touch. */
  readonly choices?: Iterable<readonly [path: string, choice: Choice]>
  /** The caller's data, returned with the result, even after a crash. */
  readonly about?: string
  /** Called when the lock is visible to others and nothing is changed yet; a failure stops the rollback. */
  readonly refuse?: () => Promise<Failure | null>
}

export type RolledBack =
  | {
      readonly ok: true
      /** The previous contents; rolling back to it undoes this rollback. */
      readonly saved: Sha256
      readonly changed: readonly Change[]
      /** Paths of the write set that differ from the snapshot, and why. */
      readonly left: readonly LeftOut[]
      readonly merged: readonly string[]
      /** Bytes written to a file while it was being replaced, stored under their hash. */
      readonly kept: readonly { readonly path: string; readonly sha256: Sha256 }[]
      readonly about: string | null
    }
  | { readonly ok: false; readonly failure: Failure; readonly conflicts?: readonly Preview[] }
