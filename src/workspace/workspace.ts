// The door of `workspace/`: the files being worked on. A `Workspace` captures and restores a task's declared write scope;
// `Snapshots` keep the whole tree, say what changed between two of them, and roll back what a plan wrote.

import type { EditChoice } from '../domain/event.ts'
import type { Millis, Sha256 } from '../domain/id.ts'
import type { Failure } from '../domain/result.ts'

export * from './files/folder-removal.ts'

export interface Workspace {
  /** Stores the present content of everything the patterns match and returns the manifest's blob id. */
  capture(patterns: readonly string[]): Promise<Captured>
  /** Makes the scope equal to the manifest again; what differs is stored first (`saved`). May run again after a crash. */
  restore(manifest: Sha256, options?: RestoreOptions): Promise<Restored>
  /** What is different in the scope now. The contents that stand there are stored, so that nothing of it can be lost. */
  changesSince(manifest: Sha256): Promise<ScopeDifferences>
  /** What a restore set back, and what it made of it: the entries in which two manifests of one scope differ. */
  compare(saved: Sha256, to: Sha256): Promise<Differences>
  /** Answers when nobody rolls back or restores files here; absent where nobody else could. */
  quiet?(): Promise<void>
  /** Joins two edits of one stored text where they do not touch each other; null where they do, or where it is no text. */
  merge(base: Sha256, mine: Sha256, theirs: Sha256): Promise<{ readonly sha256: Sha256; readonly size: number } | null>
}

export interface RestoreOptions {
  readonly keep?: ReadonlySet<string>
  /** Paths that become something else than the manifest says; the contents are stored. */
  readonly write?: ReadonlyMap<string, TreeEntry>
  /** Empty directories that were changed later than this stay. */
  readonly after?: Millis
  /** What was found to differ, and judged. Where anything else is found now, nothing is changed, and the failure is transient. */
  readonly judged?: readonly Change[]
  /** Called before the first file is changed, with what stood there and what will stand there. */
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
  /** `left` is what the manifest never held: whoever says "restored" names it too. */
  | {
      readonly ok: true
      readonly saved: Sha256
      readonly changed: readonly string[]
      /** The scope as it stands now: the manifest, with what was kept or written instead. */
      readonly manifest: Sha256
      readonly left: readonly LeftOut[]
    }
  | { readonly ok: false; readonly failure: Failure }

/** How far a look at the files has come. `work` is the same for one piece of work, from its beginning until it is `done`. */
export interface FileProgress {
  readonly work: object
  readonly entries: number
  readonly done?: true
}

export type OnProgress = (progress: FileProgress) => void

/** Tells when a piece of work begins and ends, however that is. */
export async function reportWork<T>(
  onProgress: OnProgress | undefined,
  doing: (tell: (entries: number) => void) => Promise<T>,
): Promise<T> {
  const work = {}
  let entries = 0
  const tell = (count: number): void => {
    entries = count
    onProgress?.({ work, entries })
  }
  try {
    return await doing(tell)
  } finally {
    onProgress?.({ work, entries, done: true })
  }
}

/** What was not captured, and why: too big, special file, hard link, unreadable. */
export interface LeftOut {
  readonly path: string
  readonly reason: string
  /** In a rollback: somebody chose to keep what stands there. */
  readonly kept?: true
  /** In a rollback: the plan changed it, and it was never stored. */
  readonly uncovered?: true
}

/** The reason given for a path that no task may write, such as `.git`. */
export const PROTECTED = 'protected'
/** The reason given for a path in a snapshot that the ignore rules match. */
export const IGNORED = 'ignored'

/** The content store behind it; `Store.blobs` serves. */
export interface Blobs {
  put(bytes: Uint8Array): Promise<Sha256>
  /** Verified against its hash; null when there is no such blob, throws when the bytes are damaged. */
  get(id: Sha256): Promise<Uint8Array | null>
  /** The same as `put` for each, small ones together; all are durable when this answers. */
  putMany?(contents: Iterable<Uint8Array>): Promise<readonly Sha256[]>
}

export interface Batch {
  /** Takes the bytes; the caller may reuse its buffer. `id` spares hashing them again. */
  add(bytes: Uint8Array, id?: Sha256): Sha256
  /** Waits until not too much is under way. */
  room(): Promise<void>
  /** Everything that was added is durable when this answers. */
  close(): Promise<void>
  /** Bytes that were not stored before. */
  readonly bytes: number
}

export interface SnapshotBlobs extends Blobs {
  batch(): Batch
  /** Says that these blobs are used from now on, so that none is collected; answers with those that are missing. */
  touch(ids: Iterable<Sha256>): readonly Sha256[]
  /** A durable note; what it names by hash is kept until unpinned. 'written': a power cut may bring the one before back. */
  pin(name: string, note: string, until?: 'durable' | 'written'): void
  pinned(name: string): string | null
  unpin(name: string): void
}

/** Paths are text with slashes, relative to the workspace; bytes that are no UTF-8 are lone surrogates (U+DC80 to U+DCFF), so exact. */
export interface Snapshots {
  /** Stores the tree as it is now. Unchanged files are not read again, unchanged directories not stored again. */
  snapshot(options?: SnapshotOptions): Promise<Taken>
  /** What is different in `b`, or in the workspace now. */
  diff(a: Sha256, b: Sha256 | 'now', options?: { readonly paths?: readonly string[] }): Promise<Differences>
  /** Stores a snapshot that holds only these paths, of contents that are stored already; null where nothing stands. */
  compose(entries: Iterable<readonly [path: string, entry: TreeEntry | null]>): Promise<Composed>
  /** Writes the whole tree of a snapshot into a folder that is empty or not there, with other entries at some paths. */
  materialise(
    snapshot: Sha256,
    folder: string,
    instead?: Iterable<readonly [path: string, entry: TreeEntry | null]>,
  ): Promise<Materialised>
  entries(snapshot: Sha256, paths: readonly string[]): Promise<Entries>
  /** What a rollback would do with every path of the write set. Changes nothing. */
  preview(target: Sha256, writeSet: WriteSet): Promise<Previewed>
  /** Makes only these paths as the snapshot says, storing what differs. A conflict without choice refuses all. New edits stay, named. */
  rollback(target: Sha256, writeSet: WriteSet, options?: RollbackOptions): Promise<RolledBack>
  /** Finishes a rollback that was cut off, or tells again how the last one ended until that is `settled`; null: none. */
  resume(): Promise<RolledBack | null>
  /** The result of the last rollback is recorded elsewhere now. */
  settled(): Promise<void>
}

export interface SnapshotOptions {
  /** Patterns of what is captured even where it is ignored: declared write scopes, and what a task was seen to write. */
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
      /** What was new to the content store, manifests and all. */
      readonly stored: number
      /** Not captured, and why. What is ignored is not listed here. */
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
  /** `left`: what one side does not hold, so that nobody can say whether it changed. */
  | { readonly ok: true; readonly changes: readonly Change[]; readonly left: readonly LeftOut[] }
  | { readonly ok: false; readonly failure: Failure }

/** `changedAt`: when each path was changed last, by the file system's own mark; of a path that is gone, its folder. */
export type ScopeDifferences =
  | (Extract<Differences, { ok: true }> & { readonly changedAt: ReadonlyMap<string, Millis> })
  | { readonly ok: false; readonly failure: Failure }

export type Entries =
  | {
      readonly ok: true
      readonly entries: readonly { readonly path: string; readonly entry: TreeEntry | null; readonly left?: string }[]
    }
  | { readonly ok: false; readonly failure: Failure }

/** Each path a plan wrote, and what it left there: the `after` of its changes; null where it left nothing. */
export type WriteSet = Iterable<readonly [path: string, left: TreeEntry | null]>

export type Conflict = 'edited since' | 'appeared' | 'gone'
export type Choice = EditChoice

export interface Preview {
  readonly path: string
  /** With a conflict: what would happen if the snapshot's side were taken. */
  readonly will: 'restore' | 'create' | 'delete' | 'chmod' | 'leave'
  readonly conflict?: Conflict
  readonly why?: string
}

export type Previewed =
  | { readonly ok: true; readonly paths: readonly Preview[] }
  | { readonly ok: false; readonly failure: Failure }

export interface RollbackOptions {
  /** For each conflicting path: keep what stands there, take the snapshot's, or join both where they join cleanly. */
  readonly choices?: Iterable<readonly [path: string, choice: Choice]>
  /** For the caller: comes back with the result, also after a crash. */
  readonly about?: string
  /** Asked when everybody can see that files are about to be changed here, and nothing is changed yet; a failure stops it. */
  readonly refuse?: () => Promise<Failure | null>
}

export type RolledBack =
  | {
      readonly ok: true
      /** Holds what stood at the paths before; a rollback to it undoes this one. */
      readonly saved: Sha256
      readonly changed: readonly Change[]
      /** Paths of the write set that are not as the snapshot says, and why. */
      readonly left: readonly LeftOut[]
      readonly merged: readonly string[]
      /** Bytes somebody wrote into a file while it was being replaced, stored under their hash. */
      readonly kept: readonly { readonly path: string; readonly sha256: Sha256 }[]
      readonly about: string | null
    }
  | { readonly ok: false; readonly failure: Failure; readonly conflicts?: readonly Preview[] }
