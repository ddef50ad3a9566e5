// Carries out the steps of a rollback, in an order that may be cut off anywhere and begun again:
//
//   open folders ─▶ move aside what is replaced, children first ─▶ make folders, files and links, parents first
//     ─▶ set modes, children first ─▶ sync ─▶ look at what was moved aside once more, then drop it
//
// Nothing is overwritten. What stands there is moved aside by one rename, and only then looked at: if it is not what was
// seen and stored, it goes back, and the path is left alone. A new file takes its name only when it is whole, and only where the name is free. So whatever a person does meanwhile is on disk or stored, and named.

import * as fs from 'node:fs'
import { link, open, rename, symlink, unlink } from 'node:fs/promises'
import type { Sha256 } from '../domain/id.ts'
import { attempt, attempting, changeMode, synced, typeAt } from './file-attempts.ts'
import type { HeldFolder } from './held-folder.ts'
import { type BytePath, bytesOf } from './manifest.ts'
import { pathBytes, pathText } from './path-text.ts'
import type { Intent, Step } from './rollback-intent.ts'
import { isSameEntry } from './snapshot-reading.ts'
import { inFolder, parentOf, type Standing, standingAt, standingIn, within } from './standing.ts'
import { ASIDE } from './tree-walk.ts'
import type { Change, LeftOut, SnapshotBlobs, TreeEntry } from './workspace.ts'

export interface Stepping {
  readonly root: HeldFolder
  readonly blobs: SnapshotBlobs
  readonly now: () => number
  readonly breathe: () => Promise<void>
  /** It was begun before, so a step may be done, or half done. */
  readonly resuming: boolean
}

export interface Stepped {
  readonly changed: readonly Change[]
  readonly left: readonly LeftOut[]
  readonly kept: readonly { readonly path: string; readonly sha256: Sha256 }[]
}

const AT_ONCE = 64
const EDITED = 'edited during the rollback'
/** Where a hash is expected, one read is enough: bytes torn apart do not have it. */
const ANY_TIME = Number.POSITIVE_INFINITY
const HOLDS_OTHERS = 'the folder holds other files'
const NO_FOLDER = 'its folder is gone'

export async function carryOut(room: Stepping, intent: Intent): Promise<Stepped> {
  makeAside(room.root)
  const aside = room.root.enter(ASIDE)
  try {
    return await new Steps(room, intent, aside).run()
  } finally {
    aside.close()
    attempt(['ENOTEMPTY', 'EEXIST', 'ENOENT'], () => fs.rmdirSync(room.root.at(ASIDE)))
  }
}

type FileEntry = TreeEntry & { readonly type: 'file' }
type Numbered = Step & { readonly at: BytePath; readonly number: number }

class Steps {
  readonly #room: Stepping
  readonly #intent: Intent
  readonly #aside: HeldFolder
  readonly #steps: readonly Numbered[]
  readonly #left = new Map<BytePath, string>()
  readonly #kept: { path: string; sha256: Sha256 }[] = []

  constructor(room: Stepping, intent: Intent, aside: HeldFolder) {
    this.#room = room
    this.#intent = intent
    this.#aside = aside
    this.#steps = intent.steps.map((step, number) => ({ ...step, at: pathBytes(step.path), number }))
  }

  async run(): Promise<Stepped> {
    for (const [path, mode] of this.#intent.modes) this.#setMode(pathBytes(path), mode | 0o700, 'directory')
    const replaced = this.#steps.filter(isReplaced)
    await this.#side(
      replaced.filter(({ have }) => have!.type !== 'directory'),
      step => this.#moveAside(step),
    )
    for (const step of replaced.filter(({ have }) => have!.type === 'directory').toReversed()) this.#removeFolder(step)

    const made = this.#steps.filter(({ at, want }) => want !== null && !this.#left.has(at))
    for (const step of made.filter(({ want }) => want!.type === 'directory')) this.#makeFolder(step)
    await this.#side(
      made.filter(({ want }) => want!.type !== 'directory'),
      step => this.#make(step),
    )
    for (const [path, mode] of this.#finalModes()) this.#setMode(path, mode, 'directory')
    await this.#sync()
    await this.#side(this.#steps, step => this.#dropAside(step))
    return this.#result()
  }

  /** Side by side, a bounded number at a time: most of their time they wait for the file system. */
  async #side(steps: readonly Numbered[], act: (step: Numbered) => Promise<void>): Promise<void> {
    for (let at = 0; at < steps.length; at += AT_ONCE) {
      // All are waited for, also when one fails: none may go on behind our back.
      const ended = await Promise.allSettled(steps.slice(at, at + AT_ONCE).map(act))
      for (const each of ended) if (each.status === 'rejected') throw each.reason
    }
  }

  async #moveAside(step: Numbered): Promise<void> {
    const { at, have, want } = step
    await this.#in(step, async (folder, name) => {
      if (this.#room.resuming) {
        const moved = this.#aside.look(asideName(step)) !== null
        if (moved || isWanted(standingIn(folder, name, ANY_TIME), want)) return
      }
      const type = typeAt(folder, name)
      if (type !== have!.type) return this.#leave(at, type === null ? 'gone' : EDITED)
      const moved = await attempting(['ENOENT'], () => rename(folder.at(name), this.#aside.at(asideName(step))))
      if (!moved) this.#leave(at, 'gone')
    })
    if (this.#aside.look(asideName(step)) !== null) await this.#judgeAside(step)
  }

  #removeFolder({ at, have, want }: Numbered): void {
    within(this.#room.root, at, (folder, name) => {
      const type = typeAt(folder, name)
      if (type === null || (this.#room.resuming && type === want?.type)) return
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

  /** What was moved is what was seen, or goes back. */
  async #judgeAside(step: Numbered): Promise<void> {
    const standing = standingIn(this.#aside, asideName(step), ANY_TIME)
    if ('entry' in standing && isSameKind(standing.entry, step.have)) return
    this.#leave(step.at, EDITED)
    const back = within(this.#room.root, step.at, (folder, name) => {
      const from = this.#aside.at(asideName(step))
      if (folder.look(name) !== null) return false
      if ('entry' in standing && standing.entry?.type === 'directory') {
        return attempt(['ENOTEMPTY', 'EEXIST', 'ENOTDIR'], () => fs.renameSync(from, folder.at(name)))
      }
      if (!attempt(['EEXIST'], () => fs.linkSync(from, folder.at(name)))) return false
      fs.unlinkSync(from)
      return true
    })
    if (back !== true) await this.#store(step)
  }

  /** The bytes of what was moved aside are stored and named; only then it may go. */
  async #store(step: Numbered, name = asideName(step)): Promise<void> {
    const standing = standingIn(this.#aside, name, this.#room.now())
    if ('entry' in standing && standing.entry?.type === 'file') {
      const bytes = Buffer.from(standing.bytes!)
      const sha256 = await this.#room.blobs.put(bytes)
      // Once more, because storing took a while and the file may still be open somewhere.
      const again = standingIn(this.#aside, name, this.#room.now())
      if (!('entry' in again) || !isSameKind(again.entry, standing.entry)) return await this.#store(step, name)
      this.#kept.push({ path: step.path, sha256 })
      fs.unlinkSync(this.#aside.at(name))
    } else this.#leave(step.at, `what stood here lies in ${ASIDE}/${name}`)
  }

  async #make(step: Numbered): Promise<void> {
    const { at, have } = step
    const want = step.want!
    if (want.type === 'file' && have?.type === 'file' && !isReplaced(step)) {
      return this.#setMode(at, want.mode, 'file')
    }
    if (this.#left.has(at) || (this.#room.resuming && this.#isThere(step))) return
    await this.#in(step, async (folder, name) => {
      const placed =
        want.type === 'link'
          ? await attempting(['EEXIST'], () => symlink(bytesOf(pathBytes(want.target)), folder.at(name)))
          : want.type === 'file' && (await this.#makeFile(step, want, folder, name))
      if (!placed) this.#leave(at, EDITED)
    })
  }

  /**
   * Whole and durable under a name of ours first, then by a link, which takes the name only where it is free. Nothing is
   * written any more once others can see it. False when somebody has the name.
   */
  async #makeFile(step: Numbered, want: FileEntry, folder: HeldFolder, name: BytePath): Promise<boolean> {
    const bytes = await this.#room.blobs.get(want.sha256)
    if (bytes === null) throw new Error(`the stored content ${want.sha256} vanished`)
    const fresh = this.#aside.at(freshName(step))
    if (this.#room.resuming) await attempting(['ENOENT'], () => unlink(fresh))
    const file = await open(fresh, 'wx', 0o600)
    try {
      await file.writeFile(bytes)
      await file.chmod(want.mode)
      await file.sync()
    } finally {
      await file.close()
    }
    return await attempting(['EEXIST'], () => link(fresh, folder.at(name)))
  }

  #isThere({ at, want }: Numbered): boolean {
    return isWanted(standingAt(this.#room.root, at, ANY_TIME), want)
  }

  /** Folders that were opened get their mode again, those of the snapshot theirs; children first. */
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
    const parents = [...new Set(this.#steps.map(({ at }) => parentOf(at)))]
    for (let at = 0; at < parents.length; at += AT_ONCE) {
      const held = parents.slice(at, at + AT_ONCE).flatMap(path => this.#hold(path) ?? [])
      try {
        await Promise.all(held.map(folder => synced(folder.fd)))
      } finally {
        for (const folder of held) folder.close()
      }
    }
  }

  #hold(path: BytePath): HeldFolder | null {
    if (path === '') return this.#room.root.again()
    return within(this.#room.root, path, (folder, name) =>
      folder.look(name)?.isDirectory() === true ? folder.enter(name) : null,
    )
  }

  /** Somebody may have written into the old file, through a descriptor opened before it was moved. */
  async #dropAside(step: Numbered): Promise<void> {
    const name = asideName(step)
    if (step.want?.type === 'file') await attempting(['ENOENT'], () => unlink(this.#aside.at(freshName(step))))
    if (!isReplaced(step) || this.#aside.look(name) === null) return
    const standing = standingIn(this.#aside, name, ANY_TIME)
    if ('entry' in standing && isSameKind(standing.entry, step.have)) await unlink(this.#aside.at(name))
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

  #leave(path: BytePath, reason: string): void {
    if (!this.#left.has(path)) this.#left.set(path, reason)
  }

  async #in(step: Numbered, act: (folder: HeldFolder, name: BytePath) => Promise<void>): Promise<void> {
    const found = await inFolder(this.#room.root, step.at, async (folder, name) => {
      await act(folder, name)
      return true
    })
    if (found === null && step.want !== null) this.#leave(step.at, NO_FOLDER)
  }
}

/** Must what stands there go, or only get another mode? */
function isReplaced({ have, want }: Step): boolean {
  if (have === null) return false
  if (have.type === 'file' && want?.type === 'file') return have.sha256 !== want.sha256
  return have.type !== 'directory' || want?.type !== 'directory'
}

const isWanted = (standing: Standing, want: TreeEntry | null): boolean =>
  'entry' in standing && isSameEntry(standing.entry, want)

/** The same bytes or target; the mode may have changed, which loses nothing. */
function isSameKind(a: TreeEntry | null, b: TreeEntry | null): boolean {
  if (a?.type === 'file' && b?.type === 'file') return a.sha256 === b.sha256
  if (a?.type === 'directory' && b?.type === 'directory') return true
  return isSameEntry(a, b)
}

function makeAside(root: HeldFolder): void {
  attempt(['EEXIST'], () => fs.mkdirSync(root.at(ASIDE), 0o700))
}

const asideName = ({ number }: Numbered): BytePath => `${number}`
const freshName = ({ number }: Numbered): BytePath => `${number}.new`
