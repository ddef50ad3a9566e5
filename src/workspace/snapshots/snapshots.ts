// Implements snapshots: takes, compares, and rolls back, one at a time. An interrupted rollback is finished before the next snapshot or
// rollback.

import { realpathSync } from 'node:fs'
import type { Sha256 } from '../../domain/id.ts'
import { CAPTURED_FILE_MAX_BYTES } from '../../domain/limits.ts'
import { stateInside } from '../../safety/files/path-gate.ts'
import { type Answer, Refused, refuse } from '../../safety/safety-refusal.ts'
import { patternError } from '../../safety/scope.ts'
import { fileStateIn, modeAt, within } from '../files/current-file.ts'
import { OpenFolder } from '../files/open-folder.ts'
import { notesOf, pathBytes, pathText } from '../files/path-text.ts'
import { prepare } from '../rollback/prepare-rollback.ts'
import { forgetIntent, readIntent, writeIntent } from '../rollback/rollback-intent.ts'

import { type Hold, holdRollbacks, waitForRollbacks } from '../rollback/rollback-lock.ts'
import { type Assessing, assess } from '../rollback/rollback-plan.ts'
import { carryOut, type Stepping } from '../rollback/rollback-steps.ts'
import { storing } from '../scope/store-files.ts'
import type * as door from '../workspace.ts'
import { reportWork } from '../workspace.ts'

import type { BytePath } from './manifest.ts'
import { materialise } from './materialise.ts'
import { checkedParts, demandStored, writePartial } from './partial-snapshot.ts'
import { differences, lookUp, openSnapshot, type Side } from './read-snapshot.ts'
import { isUnchanged, StatCache } from './stat-cache.ts'
import { type Tree, writeRoot } from './tree-object.ts'
import { type Walked, type WalkOptions, walkTree } from './tree-walk.ts'

export interface SnapshotsOptions {
  readonly root: string
  readonly stateDir: string
  readonly blobs: door.SnapshotBlobs
  readonly now?: () => number
  /** Larger files are left out and reported. */
  readonly fileMaxBytes?: number
  /** Shared with the captures of write scopes in the same folder; default: a separate one. */
  readonly cache?: () => StatCache
  readonly onProgress?: door.OnProgress
  /** The delay before recently changed files are checked again. */
  readonly pauseMs?: number
  /** Test hook for kill points in a rollback. */
  readonly failpoint?: Stepping['failpoint']
}

const WALKS_MAX = 3
const TURNS_MAX = 5
/** A large walk takes long enough by itself; after a small one we wait, so that a writer can finish. */
const LARGE_ENTRIES = 2_000
const PAUSE_MS = 25
const TREES_MAX = 20_000

export function openSnapshots(options: SnapshotsOptions): door.Snapshots {
  return new SnapshotsOfFolder(options)
}

interface Room extends Pick<Assessing, 'root' | 'state' | 'now' | 'yieldTurn'> {
  readonly report: (entries: number) => void
}

class SnapshotsOfFolder implements door.Snapshots {
  readonly #options: SnapshotsOptions
  #cache: StatCache | null = null
  #last: Promise<unknown> = Promise.resolve()
  #trees = new Map<Sha256, Tree>()

  constructor(options: SnapshotsOptions) {
    this.#options = { ...options, blobs: notesOf(options.blobs, options) }
  }

  async snapshot({ scopes = [] }: door.SnapshotOptions = {}): Promise<door.Taken> {
    return flat(
      await this.#alone('taking a snapshot', async room => {
        checkPatterns(scopes)
        await this.#finishInTurn(room)
        const { blobs } = this.#options
        const distrust = new Set<Sha256>()
        const unstable = new Set<BytePath>()
        let stored = 0
        for (let tried = 1; ; tried++) {
          const batch = blobs.batch()
          const walked = await this.#walk(room, scopes, batch, { distrust, unstable })
          const moved = await changedAgain(room, walked, this.#options.pauseMs ?? PAUSE_MS)
          const missing = blobs.touch(walked.reused)
          const root = { tree: walked.tree, totals: walked.totals, scopes, only: null }
          const manifest = missing.length + moved.length === 0 ? batch.add(writeRoot(root)) : null
          await batch.close()
          stored += batch.bytes
          if (manifest !== null) {
            this.#cache?.save()
            const { files, bytes } = walked.totals
            return { manifest, files, bytes, stored, left: asLeftOut(walked.left) }
          }
          if (tried > WALKS_MAX * 2)
            refuse('transient', 'the files and their stored contents do not come to rest', 'try again in a while')
          for (const id of missing) distrust.add(id)
          if (tried >= WALKS_MAX) for (const path of moved) unstable.add(path)
        }
      }),
    )
  }

  async diff(
    a: Sha256,
    b: Sha256 | 'now',
    options: { readonly paths?: readonly string[] } = {},
  ): Promise<door.Differences> {
    return flat(
      await this.#alone('comparing', async room => {
        checkPatterns(options.paths ?? [])
        const { blobs } = this.#options
        const before = await openSnapshot(blobs, a, this.#recall())
        const after =
          b === 'now' ? await this.#asItIs(room, before.scopes) : await openSnapshot(blobs, b, this.#recall())
        const { changes, left } = await differences(before, after, options.paths ?? null)
        return { changes, left: asLeftOut(left) }
      }),
    )
  }

  async compose(entries: Iterable<readonly [path: string, entry: door.TreeEntry | null]>): Promise<door.Composed> {
    return flat(
      await this.#alone('putting a snapshot together', async ({ root, state }) => {
        const { blobs } = this.#options
        const parts = checkedParts(entries, state)
        const batch = blobs.batch()
        demandStored(blobs, parts)
        const manifest = writePartial(batch, parts, folder => modeAt(root, folder))
        await batch.close()
        return { manifest }
      }),
    )
  }

  async materialise(
    snapshot: Sha256,
    folder: string,
    instead: Iterable<readonly [path: string, entry: door.TreeEntry | null]> = [],
  ): Promise<door.Materialised> {
    return flat(
      await this.#alone('writing a snapshot into a folder', async ({ yieldTurn }) => {
        const { blobs } = this.#options
        const from = await openSnapshot(blobs, snapshot, this.#recall())
        if (from.only !== null)
          refuse('logic', 'this snapshot contains only some paths', 'begin with one of the whole workspace')
        const written = await materialise({ blobs, from, instead: checkedParts(instead, null), yieldTurn }, folder)
        return { files: written.files, left: asLeftOut(written.left) }
      }),
    )
  }

  async entries(snapshot: Sha256, paths: readonly string[]): Promise<door.Entries> {
    return flat(
      await this.#alone('reading the snapshot', async ({ state }) => {
        const side = await openSnapshot(this.#options.blobs, snapshot, this.#recall())
        const entries = []
        for (const path of paths) {
          const recorded = await lookUp(side, pathBytes(path), state)
          entries.push(
            'entry' in recorded ? { path, entry: recorded.entry } : { path, entry: null, left: recorded.left },
          )
        }
        return { entries }
      }),
    )
  }

  async preview(target: Sha256, writeSet: door.WriteSet): Promise<door.Previewed> {
    return flat(
      await this.#alone('looking at the files', async room => {
        const side = await openSnapshot(this.#options.blobs, target, this.#recall())
        const assessed = await assess({ ...room, target: side }, writeSet)
        return { paths: assessed.map(({ preview }) => preview) }
      }),
    )
  }

  async rollback(
    target: Sha256,
    writeSet: door.WriteSet,
    { choices = [], about, refuse: refusal }: door.RollbackOptions = {},
  ): Promise<door.RolledBack> {
    const answer = await this.#alone('rolling back', room =>
      this.#holding(async (hold): Promise<door.RolledBack> => {
        await this.#finish(room, hold)
        const refused = (await refusal?.()) ?? null
        if (refused !== null) return { ok: false, failure: refused }
        const { blobs, failpoint } = this.#options
        const side = await openSnapshot(blobs, target, this.#recall())
        const prepared = await prepare({ ...room, blobs, target: side }, writeSet, new Map(choices))
        if (!prepared.ok) return prepared
        const { saved, steps, modes, left, merged, contents, seen } = prepared
        const aside = hold.name
        writeIntent(blobs, { rollback: 1, aside, about: about ?? null, target, saved, steps, modes, left, merged })
        failpoint?.('rollback.intent:after')
        return (
          (await this.#finish(room, hold, { contents, seen })) ??
          refuse('unknown', 'the rollback is gone before it began', 'begin it again')
        )
      }),
    )
    return answer.ok ? answer.value : answer
  }

  async resume(): Promise<door.RolledBack | null> {
    const answer = await this.#alone('finishing a rollback', room => this.#finishAny(room))
    return answer.ok ? answer.value : answer
  }

  async settled(): Promise<void> {
    await this.#alone('recording a rollback', () =>
      this.#holding(async () => {
        const note = readIntent(this.#options.blobs)
        if (note !== null && 'ended' in note) forgetIntent(this.#options.blobs)
      }),
    )
  }

  /** With the lock, so that no other process changes or executes the intent. */
  async #holding<T>(work: (hold: Hold) => Promise<T>): Promise<T> {
    const hold = await holdRollbacks(this.#options)
    try {
      return await work(hold)
    } finally {
      hold.release()
    }
  }

  /** Finishes an open rollback. Takes the lock only if there is one. */
  async #finishAny(room: Room): Promise<door.RolledBack | null> {
    const note = readIntent(this.#options.blobs)
    if (note === null) return null
    if ('ended' in note) return note.ended
    return await this.#holding(hold => this.#finish(room, hold))
  }

  /** Like `#finishAny`, but waits for another process that is finishing it. */
  async #finishInTurn(room: Room): Promise<void> {
    for (let tried = 1; ; tried++) {
      try {
        await this.#finishAny(room)
        return
      } catch (error) {
        if (tried >= TURNS_MAX || !(error instanceof Refused) || error.failure.class !== 'transient') throw error
        await waitForRollbacks(this.#options)
      }
    }
  }

  /** Executes an intent, or returns its result; null for none. One that began now has its contents in memory. */
  async #finish(room: Room, _hold: Hold, begun: Stepping['begun'] = 'before'): Promise<door.RolledBack | null> {
    const { blobs, failpoint } = this.#options
    const note = readIntent(blobs)
    if (note === null) return null
    if ('ended' in note) return note.ended
    const { changed, left, kept } = await carryOut({ ...room, blobs, begun, failpoint }, note)
    const { saved, merged, about } = note
    const notMerged = new Set(left.map(({ path }) => path))
    const ended = {
      ok: true,
      saved,
      changed,
      left: [...note.left, ...left],
      merged: merged.filter(path => !notMerged.has(path)),
      kept,
      about,
    } as const
    failpoint?.('rollback.end:before')
    writeIntent(blobs, { rollback: 1, ended })
    failpoint?.('rollback.end:after')
    return ended
  }

  async #asItIs(room: Room, scopes: readonly string[]): Promise<Side> {
    const { tree, trees } = await this.#walk(room, scopes, null, { distrust: new Set(), unstable: new Set() })
    return { tree, only: null, load: async id => trees.get(id)! }
  }

  async #walk(
    { root, state, now, report }: Room,
    scopes: readonly string[],
    batch: door.Batch | null,
    doubts: Pick<WalkOptions, 'distrust' | 'unstable'>,
  ): Promise<Walked> {
    const { cache } = this.#options
    this.#cache ??= cache?.() ?? new StatCache(this.#options.stateDir, realpathSync(this.#options.root))
    const maxBytes = this.#options.fileMaxBytes ?? CAPTURED_FILE_MAX_BYTES
    const walked = await walkTree({
      root,
      state,
      scopes,
      cache: this.#cache,
      ...doubts,
      batch,
      now,
      maxBytes,
      report,
    })
    const recalled = this.#recall()
    for (const [id, rows] of walked.trees) recalled.set(id, rows)
    return walked
  }

  #recall(): Map<Sha256, Tree> {
    if (this.#trees.size > TREES_MAX) this.#trees = new Map()
    return this.#trees
  }

  async #alone<T>(doing: string, work: (room: Room) => Promise<T>): Promise<Answer<T>> {
    const before = this.#last
    const mine = (async () => {
      await before
      return await storing(doing, async () => {
        const root = OpenFolder.open(this.#options.root)
        try {
          // Without a clock no file counts as settled.
          const now = this.#options.now ?? (() => Number.NEGATIVE_INFINITY)
          const state = await stateInside(this.#options)
          return await reportWork(this.#options.onProgress, report => work({ root, state, now, yieldTurn, report }))
        } finally {
          root.close()
        }
      })
    })()
    this.#last = mine.catch(() => {})
    return await mine
  }
}

const yieldTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** Of the recently changed files, those that have changed again: they are being written. */
async function changedAgain({ root }: Room, { fresh, entries }: Walked, pauseMs: number): Promise<readonly BytePath[]> {
  if (fresh.size === 0) return []
  if (entries < LARGE_ENTRIES) await new Promise<void>(resolve => setTimeout(resolve, pauseMs))
  const moved: BytePath[] = []
  for (const [path, file] of fresh) {
    const same = within(root, path, (folder, name) => {
      const stat = folder.look(name)
      if (stat === null || !isUnchanged(file, stat)) return false
      const current = fileStateIn(folder, name, Number.POSITIVE_INFINITY)
      return 'entry' in current && current.entry?.type === 'file' && current.entry.sha256 === file.row.sha256
    })
    if (same !== true) moved.push(path)
  }
  return moved
}

function flat<T extends object>(answer: Answer<T>) {
  return answer.ok ? { ok: true as const, ...answer.value } : answer
}

const asLeftOut = (left: Walked['left']): readonly door.LeftOut[] =>
  left.map(({ path, reason }) => ({ path: pathText(path), reason }))

function checkPatterns(patterns: readonly string[]): void {
  for (const pattern of patterns) {
    const wrong = patternError(pattern)
    if (wrong !== null) refuse('policy', `the pattern ${JSON.stringify(pattern)} ${wrong}`, 'correct it')
  }
}
