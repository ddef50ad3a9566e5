// The door of `workspace/`: the files being worked on. In this release it captures and restores a task's declared write
// scope; whole-tree snapshots and git come behind the same door later.

import type { Sha256 } from '../domain/id.ts'
import type { Failure } from '../domain/result.ts'

export interface Workspace {
  /** Stores the present content of everything the patterns match and returns the manifest's blob id. */
  capture(patterns: readonly string[]): Promise<Captured>
  /**
   * Makes the scope equal to the manifest again. What stood there and differs is stored first (`saved`), so that no byte of
   * a person's work is lost. Running it again after a crash ends in the same state.
   */
  restore(manifest: Sha256): Promise<Restored>
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
      readonly left: readonly LeftOut[]
    }
  | { readonly ok: false; readonly failure: Failure }

/** What was not captured, and why: too big, special file, hard link, unreadable. */
export interface LeftOut {
  readonly path: string
  readonly reason: string
}

/** The content store behind it; `Store.blobs` serves. */
export interface Blobs {
  put(bytes: Uint8Array): Promise<Sha256>
  /** Verified against its hash; null when there is no such blob, throws when the bytes are damaged. */
  get(id: Sha256): Promise<Uint8Array | null>
}
