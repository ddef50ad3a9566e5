// Writes the tree of a snapshot into a new folder. It is built under a temporary name beside its place and renamed when complete and
// durable, so the final folder is never incomplete. Some paths may be replaced.

import * as fs from 'node:fs'
import { open, symlink } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { advise, quoted } from '../../domain/hint.ts'
import type { Sha256 } from '../../domain/id.ts'
import { removeTree } from '../../safety/files/directory.ts'
import { codeOf, isSystemError, orElseAsync, refuse } from '../../safety/safety-refusal.ts'
import { attempt, changeMode, synced } from '../files/file-calls.ts'
import { OpenFolder } from '../files/open-folder.ts'
import { pathBytes, pathText } from '../files/path-text.ts'
import type { Blobs, TreeEntry } from '../workspace.ts'
import { type BytePath, bytesOf, type Left } from './manifest.ts'
import { isSafeRelativePath } from './partial-snapshot.ts'
import { entryOf, type Side } from './read-snapshot.ts'

const AT_ONCE = 8
const FOLDER_MODE = 0o755

export interface Materialising {
  readonly blobs: Blobs
  readonly from: Side
  /** Replacements by path; null: nothing. */
  readonly instead: ReadonlyMap<BytePath, TreeEntry | null>
  readonly yieldTurn: () => Promise<void>
}

export interface Written {
  readonly files: number
  readonly left: readonly Left[]
}

export async function materialise(room: Materialising, folder: string): Promise<Written> {
  const place = resolve(folder)
  const mode = demandEmpty(place)
  fs.mkdirSync(dirname(place), { recursive: true })
  const growing = makeTemporary(place)
  try {
    const held = OpenFolder.open(growing)
    const writing = new Writing(room)
    try {
      await writing.folder(held, '', room.from.tree, insteadTree(room.instead))
    } finally {
      held.close()
    }
    fs.chmodSync(growing, mode)
    // Replaces an empty folder; fails for one that is no longer empty.
    fs.renameSync(growing, place)
    const above = fs.openSync(dirname(place), 'r')
    await synced(above).finally(() => fs.closeSync(above))
    return { files: writing.files, left: writing.left }
  } catch (error) {
    await discard(growing)
    if (['ENOTEMPTY', 'EEXIST'].includes(codeOf(error) ?? '')) notEmpty(place)
    throw error
  }
}

let number = 0

/** Skips names left by an earlier process with our pid. */
function makeTemporary(place: string): string {
  for (;;) {
    const growing = join(dirname(place), `${basename(place)}.tmp-${process.pid}-${++number}`)
    if (attempt(['EEXIST'], () => fs.mkdirSync(growing, { mode: 0o700 }))) return growing
  }
}

/** The mode to give it: its own if it exists. */
function demandEmpty(place: string): number {
  const stat = fs.lstatSync(place, { throwIfNoEntry: false })
  if (stat === undefined) return FOLDER_MODE
  if (!stat.isDirectory() || fs.readdirSync(place).length > 0) notEmpty(place)
  return stat.mode & 0o7777
}

function notEmpty(place: string): never {
  refuse('policy', `${JSON.stringify(place)} is there already and not empty`, 'name an empty or a new folder')
}

interface Instead {
  /** Undefined: only for paths below it. */
  entry?: TreeEntry | null
  readonly below: Map<BytePath, Instead>
}

function insteadTree(entries: Materialising['instead']): Instead {
  const top: Instead = { below: new Map() }
  for (const [path, entry] of entries) {
    let here = top
    for (const name of path.split('/')) {
      const next = here.below.get(name) ?? { below: new Map() }
      here.below.set(name, next)
      here = next
    }
    here.entry = entry
  }
  return top
}

const makesSomething = ({ below }: Instead): boolean =>
  [...below.values()].some(each => (each.entry !== null && each.entry !== undefined) || makesSomething(each))

class Writing {
  readonly #room: Materialising
  readonly left: Left[] = []
  files = 0

  constructor(room: Materialising) {
    this.#room = room
  }

  async folder(held: OpenFolder, path: BytePath, tree: Sha256 | null, instead: Instead | null): Promise<void> {
    const rows = tree === null ? new Map() : await this.#room.from.load(tree)
    const leaves: [BytePath, TreeEntry & { readonly type: 'file' | 'link' }][] = []
    for (const name of new Set([...rows.keys(), ...(instead?.below.keys() ?? [])])) {
      if (name.includes('/') || !isSafeRelativePath(name))
        refuse('logic', `the snapshot holds the name ${JSON.stringify(pathText(name))}, which is none`)
      const at = path === '' ? name : `${path}/${name}`
      const row = rows.get(name)
      const other = instead?.below.get(name) ?? null
      const entry = chosen(row === undefined ? null : entryOf(row), other)
      if (row?.type === 'left' && other?.entry === undefined) this.left.push({ path: at, reason: row.reason })
      if (entry === null) continue
      if (entry.type !== 'directory') leaves.push([name, entry])
      else await this.#below(held, name, at, entry.mode, row?.type === 'directory' ? row.tree : null, other)
    }
    for (let at = 0; at < leaves.length; at += AT_ONCE) {
      const ended = await Promise.allSettled(
        leaves.slice(at, at + AT_ONCE).map(([name, entry]) => this.#leaf(held, name, entry)),
      )
      for (const each of ended) if (each.status === 'rejected') throw each.reason
    }
    await synced(held.fd)
    await this.#room.yieldTurn()
  }

  async #below(
    held: OpenFolder,
    name: BytePath,
    path: BytePath,
    mode: number,
    tree: Sha256 | null,
    instead: Instead | null,
  ): Promise<void> {
    fs.mkdirSync(held.at(name), 0o700)
    const below = held.enter(name)
    try {
      await this.folder(below, path, tree, instead)
    } finally {
      below.close()
    }
    changeMode(held, name, mode)
  }

  async #leaf(held: OpenFolder, name: BytePath, entry: TreeEntry & { readonly type: 'file' | 'link' }): Promise<void> {
    if (entry.type === 'link') return await symlink(bytesOf(pathBytes(entry.target)), held.at(name))
    const bytes = await this.#room.blobs.get(entry.sha256)
    if (bytes === null)
      refuse(
        'logic',
        `the stored content ${entry.sha256} is missing`,
        advise`run ${quoted('check', { readData: true })}`,
      )
    const file = await open(held.at(name), 'wx', 0o600)
    try {
      await file.writeFile(bytes)
      await file.chmod(entry.mode)
      await file.sync()
    } finally {
      await file.close()
    }
    this.files++
  }
}

/** A replacement, a folder with replacements below it, or the entry of the snapshot. */
function chosen(entry: TreeEntry | null, instead: Instead | null): TreeEntry | null {
  if (instead?.entry !== undefined) return instead.entry
  if (entry?.type === 'directory' || instead === null || !makesSomething(instead)) return entry
  return { type: 'directory', mode: FOLDER_MODE }
}

/** What cannot be removed stays under its temporary name. */
const discard = (path: string): Promise<void> => orElseAsync(() => removeTree(path), undefined, isSystemError)
