// Executes the steps of a rollback, in an order that may be interrupted anywhere and resumed:
//
//   write new files aside, durably ─▶ open folders ─▶ move aside what is replaced, and put the new file into its place
//     ─▶ remove folders, children first ─▶ make folders, files and links, parents first ─▶ set modes, children first
//     ─▶ sync ─▶ wait until nobody writes to files that were moved aside ─▶ check them again, then drop them
//
// Nothing is overwritten. The current file is moved aside by one rename and only then checked: if it is not what was seen and stored, it
// is put back, and the path is skipped. A new file takes its name only when it is complete, and only if the name is free. So everything
// a person does meanwhile is either on disk or stored, and reported.

import * as fs from 'node:fs'
import type { Sha256 } from '../../domain/id.ts'
import {
  ANY_TIME,
  type CurrentFile,
  fileStateIn,
  lookAt,
  openFolderAt,
  parentOf,
  readCurrentFile,
  within,
} from '../files/current-file.ts'
import {
  attempt,
  changeMode,
  dropFolder,
  type Fresh,
  forbidden,
  makeFolder,
  removeName,
  synced,
  typeAt,
  writeDurably,
  writeFresh,
} from '../files/file-calls.ts'
import { type OpenFolder, stampOf } from '../files/open-folder.ts'
import { untilClosed } from '../files/open-writers.ts'
import { pathBytes, pathText } from '../files/path-text.ts'
import { type BytePath, bytesOf } from '../snapshots/manifest.ts'
import { isSameEntry } from '../snapshots/read-snapshot.ts'
import type { Stamp } from '../snapshots/stat-cache.ts'
import { ASIDE } from '../snapshots/tree-walk.ts'
import type { Change, LeftOut, SnapshotBlobs, TreeEntry } from '../workspace.ts'
import type { Begun } from './prepare-rollback.ts'
import type { Intent, Step } from './rollback-intent.ts'

// The effect of one step, and whether a file is the expected one.

function isReplaced({ have, want, apart }: Step): boolean {
  if (have === null) return false
  if (have.type === 'file' && want?.type === 'file') return have.sha256 !== want.sha256 || apart === true
  return have.type !== 'directory' || want?.type !== 'directory'
}

/** Is it replaced directly by something else, in a folder that stays? */
function isSwap(step: Step): boolean {
  const { have, want } = step
  return isReplaced(step) && have!.type !== 'directory' && want !== null && want.type !== 'directory'
}

const needsFresh = (step: Step): boolean =>
  step.want?.type === 'file' && (step.have?.type !== 'file' || isReplaced(step))

const isWanted = (current: CurrentFile, want: TreeEntry | null): boolean =>
  'entry' in current && isSameEntry(current.entry, want)

/** The same bytes or target; the mode may have changed, which loses nothing. */
function isSameKind(a: TreeEntry | null, b: TreeEntry | null): boolean {
  if (a?.type === 'file' && b?.type === 'file') return a.sha256 === b.sha256
  if (a?.type === 'directory' && b?.type === 'directory') return true
  return isSameEntry(a, b)
}

/** Without the ctime, which a rename or hard link has changed. */
const isSameFile = (a: Stamp, b: Stamp): boolean =>
  a.ino === b.ino && a.mtimeNs === b.mtimeNs && a.size === b.size && a.mode === b.mode

/** Null when it is missing or damaged: one lost content must not prevent the others. */
const contentOf = (blobs: SnapshotBlobs, id: Sha256): Promise<Uint8Array | null> =>
  blobs.get(id).catch(error => ((error as Error).name === 'StoreDamaged' ? null : Promise.reject(error)))

export interface Stepping {
  readonly root: OpenFolder
  readonly blobs: SnapshotBlobs
  readonly now: () => number
  readonly yieldTurn: () => Promise<void>
  /** Before: a step may be done, or half done. */
  readonly begun: 'before' | Begun
  readonly failpoint?: ((name: string) => void) | undefined
}

interface Stepped {
  readonly changed: readonly Change[]
  readonly left: readonly LeftOut[]
  readonly kept: readonly { readonly path: string; readonly sha256: Sha256 }[]
}

const AT_ONCE = 64
const YIELD_STEPS = 16
const EDITED = 'edited during the rollback'
const HOLDS_OTHERS = 'the folder contains other files'
const NO_FOLDER = 'its folder is gone'
const NONE: ReadonlySet<BytePath> = new Set()
const LOST = 'its stored content is missing or damaged'

export async function carryOut(room: Stepping, intent: Intent): Promise<Stepped> {
  const all = makeFolder(room.root, ASIDE)
  // A separate folder, so that nothing is moved onto files that an earlier rollback had to leave.
  const aside = makeFolder(all, intent.aside)
  try {
    return await new Steps(room, intent, aside).run()
  } finally {
    aside.close()
    dropFolder(all, intent.aside)
    all.close()
    dropFolder(room.root, ASIDE)
  }
}

type Numbered = Step & { readonly at: BytePath; readonly number: number }

class Steps {
  readonly #room: Stepping
  readonly #intent: Intent
  readonly #aside: OpenFolder
  readonly #steps: readonly Numbered[]
  readonly #left = new Map<BytePath, string>()
  readonly #kept: { path: string; sha256: Sha256 }[] = []
  readonly #fresh = new Map<number, Stamp>()
  readonly #resuming: boolean
  readonly #asidePath: string

  constructor(room: Stepping, intent: Intent, aside: OpenFolder) {
    this.#room = room
    this.#intent = intent
    this.#aside = aside
    this.#asidePath = `${ASIDE}/${intent.aside}`
    this.#resuming = room.begun === 'before'
    this.#steps = intent.steps.map((step, number) => ({ ...step, at: pathBytes(step.path), number }))
  }

  async run(): Promise<Stepped> {
    await writeDurably(this.#steps.filter(needsFresh), step => this.#writeFresh(step))
    for (const [path, mode] of this.#intent.modes) this.#openFolder(pathBytes(path), mode)
    const replaced = this.#steps.filter(step => isReplaced(step) && !this.#left.has(step.at))
    await this.#each(
      'replace',
      replaced.filter(({ have }) => have!.type !== 'directory'),
      step => this.#replace(step),
    )
    const folders = replaced.filter(({ have }) => have!.type === 'directory').toReversed()
    await this.#each('remove', folders, async step => this.#removeFolder(step))

    const made = this.#steps.filter(({ at, want }) => want !== null && !this.#left.has(at))
    await this.#each(
      'make',
      made.filter(({ want }) => want!.type === 'directory'),
      async step => this.#makeFolder(step),
    )
    await this.#each(
      'make',
      made.filter(step => step.want!.type !== 'directory' && !isSwap(step)),
      async step => this.#make(step),
    )
    for (const [path, mode] of this.#finalModes()) this.#guarded(path, () => this.#setMode(path, mode, 'directory'))
    await this.#sync()
    const replacedAny = this.#steps.some(step => this.#aside.look(asideName(step)) !== null)
    const open = replacedAny ? await untilClosed(this.#asidePath, this.#room.yieldTurn) : NONE
    this.#room.failpoint?.('rollback.drop:before')
    await this.#side(this.#steps, step => this.#dropAside(step, open))
    return this.#result()
  }

  /** In parallel, bounded: they mostly wait for the disk. */
  async #side(steps: readonly Numbered[], act: (step: Numbered) => Promise<void>): Promise<void> {
    for (let at = 0; at < steps.length; at += AT_ONCE) {
      // Waits for all even when one fails, so that none continues in the background.
      const ended = await Promise.allSettled(steps.slice(at, at + AT_ONCE).map(act))
      for (const each of ended) if (each.status === 'rejected') throw each.reason
    }
  }

  /** One after the other, yielding in between. Skips what the file system refuses for good. */
  async #each(what: string, steps: readonly Numbered[], act: (step: Numbered) => Promise<void>): Promise<void> {
    for (const [at, step] of steps.entries()) {
      this.#room.failpoint?.(`rollback.${what}:before`)
      await act(step).catch(error => this.#refused(step.at, error))
      if (at % YIELD_STEPS === YIELD_STEPS - 1) await this.#room.yieldTurn()
    }
  }

  async #writeFresh(step: Numbered): Promise<Fresh | null> {
    const want = step.want as TreeEntry & { readonly type: 'file' }
    if (this.#resuming) {
      if (this.#isThere(step)) return null
      attempt(['ENOENT'], () => fs.unlinkSync(this.#aside.at(freshName(step))))
    }
    const { begun } = this.#room
    const known = begun === 'before' ? undefined : begun.contents.get(want.sha256)
    const bytes = known ?? (await contentOf(this.#room.blobs, want.sha256))
    if (bytes === null) {
      this.#leave(step.at, LOST)
      return null
    }
    const { yieldTurn } = this.#room
    const fresh = await writeFresh(this.#aside, freshName(step), { bytes, mode: want.mode, yieldTurn })
    this.#fresh.set(step.number, fresh.stamp)
    return fresh
  }

  /** The name is missing only between two consecutive calls. */
  async #replace(step: Numbered): Promise<void> {
    const found = within(this.#room.root, step.at, (folder, name) => {
      if (this.#moveAside(step, folder, name) === 'aside') {
        this.#room.failpoint?.('rollback.aside:after')
        this.#judgeAside(step)
      }
      if (isSwap(step) && !this.#left.has(step.at)) this.#place(step, folder, name)
      return true
    })
    if (found !== null) return
    if (this.#aside.look(asideName(step)) !== null) this.#judgeAside(step)
    if (step.want !== null) this.#leave(step.at, NO_FOLDER)
  }

  #moveAside(step: Numbered, folder: OpenFolder, name: BytePath): 'aside' | 'not' {
    const { at, have, want } = step
    if (this.#resuming) {
      if (this.#aside.look(asideName(step)) !== null) return 'aside'
      if (isWanted(fileStateIn(folder, name, ANY_TIME), want)) return 'not'
    }
    const type = typeAt(folder, name)
    const moved =
      type === have!.type && attempt(['ENOENT'], () => fs.renameSync(folder.at(name), this.#aside.at(asideName(step))))
    if (moved) return 'aside'
    this.#leave(at, type === null || type === have!.type ? 'gone' : EDITED)
    return 'not'
  }

  #removeFolder({ at, have, want }: Numbered): void {
    within(this.#room.root, at, (folder, name) => {
      const type = typeAt(folder, name)
      if (type === null || (this.#resuming && type === want?.type)) return
      if (type !== have!.type) return this.#leave(at, EDITED)
      if (!attempt(['ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'ENOENT'], () => fs.rmdirSync(folder.at(name))))
        this.#leave(at, HOLDS_OTHERS)
    })
  }

  #makeFolder({ at }: Numbered): void {
    const found = within(this.#room.root, at, (folder, name) => {
      const made = attempt(['EEXIST'], () => fs.mkdirSync(folder.at(name), 0o700))
      if (!made && folder.look(name)?.isDirectory() !== true) this.#leave(at, EDITED)
      return true
    })
    if (found === null) this.#leave(at, NO_FOLDER)
  }

  /** The moved file is the expected one, or is put back. */
  #judgeAside(step: Numbered): void {
    if (this.#isAsSeen(step)) return
    const current = fileStateIn(this.#aside, asideName(step), ANY_TIME)
    if ('entry' in current && isSameKind(current.entry, step.have)) return
    this.#leave(step.at, EDITED)
    this.#putBack(step)
  }

  /** By its stamp, without reading it. Before it is dropped it is read once more. */
  #isAsSeen(step: Numbered): boolean {
    const seen = this.#room.begun === 'before' ? undefined : this.#room.begun.seen.get(step.path)
    const stat = seen === undefined ? null : this.#aside.look(asideName(step))
    return seen !== undefined && stat?.isFile() === true && isSameFile(seen, stampOf(stat))
  }

  /** False when the name is taken, or the file is gone. */
  #putBack(step: Numbered): boolean {
    const from = this.#aside.at(asideName(step))
    const back = within(this.#room.root, step.at, (folder, name) => {
      if (folder.look(name) !== null) return false
      if (typeAt(this.#aside, asideName(step)) === 'directory') {
        return attempt(['ENOTEMPTY', 'EEXIST', 'ENOTDIR', 'EACCES'], () => fs.renameSync(from, folder.at(name)))
      }
      if (!attempt(['EEXIST', 'EACCES', 'EPERM'], () => fs.linkSync(from, folder.at(name)))) return false
      fs.unlinkSync(from)
      return true
    })
    return back === true
  }

  /** Stores and names the bytes of the file that was moved aside; only then may it be dropped. */
  async #store(step: Numbered): Promise<void> {
    const name = asideName(step)
    const current = fileStateIn(this.#aside, name, this.#room.now())
    if ('entry' in current && current.entry?.type === 'file') {
      const sha256 = await this.#room.blobs.put(Buffer.from(current.bytes!))
      // Again, because storing takes time and not every writer can be detected.
      const again = fileStateIn(this.#aside, name, this.#room.now())
      if (!('entry' in again) || !isSameKind(again.entry, current.entry)) return await this.#store(step)
      this.#kept.push({ path: step.path, sha256 })
      fs.unlinkSync(this.#aside.at(name))
    } else this.#leave(step.at, `the previous file is in ${this.#asidePath}/${name}`)
  }

  #make(step: Numbered): void {
    if (!isReplaced(step) && step.have?.type === 'file' && step.want?.type === 'file') {
      return this.#setMode(step.at, step.want.mode, 'file')
    }
    const found = within(this.#room.root, step.at, (folder, name) => {
      this.#place(step, folder, name)
      return true
    })
    if (found === null) this.#leave(step.at, NO_FOLDER)
  }

  /** By a hard link, which fails if the name is taken. */
  #place(step: Numbered, folder: OpenFolder, name: BytePath): void {
    if (this.#resuming && isWanted(fileStateIn(folder, name, ANY_TIME), step.want)) return
    const placed = attempt(['EEXIST', 'ENOENT'], () => {
      if (step.want?.type === 'link') fs.symlinkSync(bytesOf(pathBytes(step.want.target)), folder.at(name))
      else fs.linkSync(this.#aside.at(freshName(step)), folder.at(name))
    })
    if (!placed) this.#leave(step.at, EDITED)
  }

  #isThere({ at, want, number }: Numbered): boolean {
    const fresh = this.#fresh.get(number)
    if (fresh === undefined) return isWanted(readCurrentFile(this.#room.root, at, ANY_TIME), want)
    // With the same stamp it is our own file and nobody has written to it, so it need not be read again.
    const stat = lookAt(this.#room.root, at)
    return stat?.isFile() === true && isSameFile(fresh, stampOf(stat))
  }

  #finalModes(): readonly (readonly [BytePath, number])[] {
    const modes = new Map(this.#intent.modes.map(([path, mode]) => [pathBytes(path), mode]))
    for (const { at, want } of this.#steps) {
      if (this.#left.has(at)) continue
      if (want?.type === 'directory') modes.set(at, want.mode)
      else modes.delete(at)
    }
    return [...modes].sort(([a], [b]) => (a < b ? 1 : -1))
  }

  #setMode(path: BytePath, mode: number, type: 'directory' | 'file'): void {
    within(this.#room.root, path, (folder, name) => {
      const stat = folder.look(name)
      if (stat === null || !(type === 'file' ? stat.isFile() : stat.isDirectory())) return
      if (Number(stat.mode & 0o7777n) === mode) return
      changeMode(folder, name, mode)
    })
  }

  async #sync(): Promise<void> {
    const done = this.#steps.filter(({ at }) => !this.#left.has(at))
    const parents = [...new Set(done.map(({ at }) => parentOf(at)))]
    for (let at = 0; at < parents.length; at += AT_ONCE) {
      const held = parents.slice(at, at + AT_ONCE).flatMap(path => openFolderAt(this.#room.root, path) ?? [])
      try {
        // The first sync makes most file systems flush everything, so the others are cheap.
        for (const folder of held.slice(0, 1)) await synced(folder.fd)
        await Promise.all(held.slice(1).map(folder => synced(folder.fd)))
      } finally {
        for (const folder of held) folder.close()
      }
    }
  }

  /** A program may have written to the old file through an earlier descriptor. */
  async #dropAside(step: Numbered, open: ReadonlySet<BytePath>): Promise<void> {
    const name = asideName(step)
    // Asynchronous, because deleting may wait for the disk.
    if (needsFresh(step)) await removeName(this.#aside.at(freshName(step)))
    if (!isReplaced(step)) return
    const current = fileStateIn(this.#aside, name, ANY_TIME)
    if ('entry' in current && current.entry === null) return
    if (this.#left.has(step.at) && this.#putBack(step)) return
    if (open.has(name)) {
      return this.#leave(
        step.at,
        `a program still writes to the previous file, which is now in ${this.#asidePath}/${name}`,
      )
    }
    if ('entry' in current && isSameKind(current.entry, step.have)) await removeName(this.#aside.at(name))
    else await this.#store(step)
  }

  #result(): Stepped {
    const changed: Change[] = []
    for (const step of this.#steps) {
      if (this.#left.has(step.at)) continue
      if (this.#isThere(step)) changed.push({ path: step.path, before: step.have, after: step.want })
      else this.#leave(step.at, 'changed again')
    }
    const left = [...this.#left].map(([path, reason]) => ({ path: pathText(path), reason }))
    return { changed, left, kept: this.#kept }
  }

  #openFolder(path: BytePath, mode: number): void {
    // If this is not permitted, the change inside it will report that.
    attempt(['EACCES', 'EPERM', 'EROFS'], () => this.#setMode(path, mode | 0o700, 'directory'))
  }

  #guarded(path: BytePath, act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#refused(path, error)
    }
  }

  #refused(path: BytePath, error: unknown): void {
    const why = forbidden(error)
    if (why === null) throw error
    this.#leave(path, why)
  }

  #leave(path: BytePath, reason: string): void {
    if (!this.#left.has(path)) this.#left.set(path, reason)
  }
}

const asideName = ({ number }: Numbered): BytePath => `${number}`
const freshName = ({ number }: Numbered): BytePath => `${number}.new`
