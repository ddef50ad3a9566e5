// The workspace as a sandboxed command sees it: all of it read-only, and over that what may be written. A pattern that means a whole
// folder makes that folder writable. One that means single files makes the folder they stand in writable, and everything else in
// that folder is mounted read-only over it; only new names are left then, and they are looked for when the command has ended.
// Nothing is created: a folder that is not there yet is written through the one that would hold it.

import { type Dirent, lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { asksFirst } from '../../domain/plan-rules/instruction-file.ts'
import { protectedBy } from '../files/protected-path.ts'
import { realOrNull } from '../files/real-path.ts'
import { isWithin } from '../find-program.ts'
import { refuse } from '../safety-refusal.ts'
import { covers, inScope, mayHold, type Patterns } from '../scope.ts'

export interface WorkspaceMounts {
  readonly mounts: readonly string[]
  readonly writable: readonly string[]
  /** Paths below the root that are there now, were not before, and may not be: beyond the patterns, or protected. */
  lookAfter(): readonly string[]
}

/** More mounts than this, and a command would start slowly: then `write` has to name folders. */
const MOUNTS_MAX = 4_000
/** So many names are looked at for protected places in a folder that is writable as a whole, level by level; deeper ones are not looked for. */
const LOOKED_AT_MAX = 50_000

/**
 * Closed to a command, whatever its patterns match: protected places, and instructions for agents that no pattern names. A pattern that
 * names such a file is asked about before the task begins (`plan-rules/impact.ts`); a wildcard is not, so it does not stand for it.
 */
export function isClosed(write: Patterns, path: string): boolean {
  if (protectedBy(path.split('/'), null) !== null) return true
  return asksFirst(path) && !(write ?? []).some(pattern => asksFirst(pattern) && inScope([pattern], path))
}

interface Place {
  readonly root: string
  readonly stateDir: string
  readonly write: Patterns
  readonly read?: readonly string[]
}

export function workspaceMounts(place: Place, lookedAtMax = LOOKED_AT_MAX): WorkspaceMounts {
  const root = realpathSync(place.root)
  const survey = new Survey(root, place.write, lookedAtMax)
  survey.look()
  const mounts = ['--ro-bind', root, root]
  for (const folder of survey.writable) mounts.push('--bind', join(root, folder), join(root, folder))
  for (const path of survey.closed) mounts.push('--ro-bind', join(root, path), join(root, path))
  const hidden = place.read === undefined ? [] : hiddenFiles(root, place.read, place.write)
  return {
    mounts: [...mounts, ...hidden, ...hiddenState(root, place.stateDir), ...repositoryMounts(root)],
    writable: survey.writable.map(folder => join(root, folder)),
    lookAfter: () => survey.lookAgain(),
  }
}

/**
 * What may be neither read nor written is not there: a folder is empty, and a file cannot be opened (a device that stands in a mount
 * without devices). The folder of the repository itself stays, or git would not work at all.
 */
function hiddenFiles(root: string, read: readonly string[], write: Patterns): readonly string[] {
  const seen = write === null ? read : [...read, ...write]
  const mounts: string[] = []
  const look = (folder: string): void => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = below(folder, entry.name)
      if (path === '.git' || entry.isSymbolicLink() || inScope(seen, path) || covers(seen, path)) continue
      if (entry.isDirectory() && mayHold(seen, path)) look(path)
      else if (entry.isDirectory()) mounts.push('--tmpfs', join(root, path), '--remount-ro', join(root, path))
      else mounts.push('--ro-bind', '/dev/null', join(root, path))
      if (mounts.length > MOUNTS_MAX * 4)
        refuse(
          'policy',
          'more files would have to be hidden from it than can be',
          'name whole folders in `read` (`src/**`)',
        )
    }
  }
  look('')
  return mounts
}

/** Planfold's state is not there, except a workspace that stands in it: a worktree of a plan. */
function hiddenState(root: string, stateDir: string): readonly string[] {
  const state = realOrNull(stateDir)
  return state !== null && state !== root && isWithin(state, root) ? ['--tmpfs', state, '--remount-ro', state] : []
}

/** A worktree names the repository it belongs to in a file; git inside must be able to read that. */
function repositoryMounts(root: string): readonly string[] {
  const mounts: string[] = []
  const git = join(root, '.git')
  const stat = lstatSync(git, { throwIfNoEntry: false })
  if (stat?.isFile()) {
    const named = /^gitdir: (.+)$/m.exec(readFileSync(git, 'utf8').slice(0, 4_096))?.[1]
    const own = named === undefined ? null : realOrNull(resolve(root, named.trim()))
    if (own !== null) {
      const common = commonFolder(own)
      // Only what refers back to this folder is its repository.
      const back = readOrNull(join(own, 'gitdir'))
      if (back !== null && realOrNull(dirname(back.trim())) === root) mounts.push('--ro-bind', common, common)
    }
  }
  return mounts
}

function commonFolder(own: string): string {
  const named = readOrNull(join(own, 'commondir'))
  return named === null ? own : (realOrNull(resolve(own, named.trim())) ?? own)
}

/** What is writable, what in it is closed, and which names stood there; all relative to the root, which is ''. */
class Survey {
  readonly #root: string
  readonly #write: Patterns
  readonly writable: string[] = []
  readonly closed: string[] = []
  /** Folders that hold declared files beside others, with the names they had and where their links led. */
  readonly #partly = new Map<string, ReadonlyMap<string, string | null>>()
  /** Folders that are writable as a whole, and how many levels of them were looked through. */
  readonly #guarded = new Map<string, number>()
  readonly #lookedAtMax: number
  /** What may not be written and was there before: it is never taken for new. */
  readonly #stood = new Set<string>()

  constructor(root: string, write: Patterns, lookedAtMax: number) {
    this.#root = root
    this.#write = write
    this.#lookedAtMax = lookedAtMax
  }

  look(): void {
    if (this.#write === null || covers(this.#write, '')) {
      this.#open('')
      return
    }
    const folders = new Set(this.#write.map(pattern => this.#folderOf(pattern)))
    // The outer ones first: an inner one lies over it.
    for (const folder of [...folders].sort()) {
      if (folder !== null && ![...this.writable].some(outer => isBelow(folder, outer))) {
        if (covers(this.#write, folder)) this.#open(folder)
        else {
          this.writable.push(folder)
          this.#divide(folder)
        }
      }
    }
  }

  /** The nearest folder that is there and would hold what the pattern means; null when a link is in the way. */
  #folderOf(pattern: string): string | null {
    const parts = pattern.split('/').filter(part => part !== '.' && part !== '')
    const wild = parts.findIndex(part => /[*?]/.test(part))
    const literal = wild < 0 ? (pattern.endsWith('/') ? parts : parts.slice(0, -1)) : parts.slice(0, wild)
    let folder = ''
    for (const part of literal) {
      const stat = lstatSync(join(this.#root, folder, part), { throwIfNoEntry: false })
      if (stat === undefined) return folder
      if (!stat.isDirectory()) return null
      folder = below(folder, part)
    }
    return folder
  }

  /** All of a folder is writable, but for what is protected in it. */
  #open(folder: string): void {
    this.writable.push(folder)
    this.#guard(folder)
  }

  /** A folder with declared files in it: the others are closed one by one. */
  #divide(folder: string): void {
    const names = new Map<string, string | null>()
    for (const entry of this.#entries(folder)) {
      const path = below(folder, entry.name)
      names.set(entry.name, entry.isSymbolicLink() ? readlinkSync(join(this.#root, path)) : null)
      if (this.#isProtected(path)) this.#close(path, entry)
      else if (!entry.isDirectory()) inScope(this.#write, path) || this.#close(path, entry)
      else if (covers(this.#write, path)) this.#guard(path)
      else if (mayHold(this.#write, path)) this.#divide(path)
      else this.#close(path, entry)
    }
    this.#partly.set(folder, names)
  }

  #guard(folder: string): void {
    const { places, levels } = this.#protectedIn(folder, { names: this.#lookedAtMax, levels: Number.POSITIVE_INFINITY })
    for (const [path, entry] of places) this.#close(path, entry)
    this.#guarded.set(folder, levels)
  }

  /** Level by level, so that the places near the top are found in the largest folder. A level is looked through as a whole. */
  #protectedIn(
    folder: string,
    max: { readonly names: number; readonly levels: number },
  ): { readonly places: readonly [string, Dirent][]; readonly levels: number } {
    const places: [string, Dirent][] = []
    let seen = 0
    let level = [folder]
    for (let levels = 0; level.length > 0; levels++) {
      if (levels === max.levels || seen > max.names) return { places, levels }
      const next: string[] = []
      for (const at of level) {
        for (const entry of this.#entries(at)) {
          seen++
          const path = below(at, entry.name)
          if (this.#isProtected(path)) places.push([path, entry])
          else if (entry.isDirectory() && entry.name !== 'node_modules') next.push(path)
        }
      }
      level = next
    }
    return { places, levels: Number.POSITIVE_INFINITY }
  }

  #close(path: string, entry: Dirent): void {
    this.#stood.add(path)
    // A link cannot be mounted over; beside declared files, where it leads is compared afterwards.
    if (entry.isSymbolicLink()) return
    this.closed.push(path)
    if (this.closed.length > MOUNTS_MAX)
      refuse(
        'policy',
        `more than ${MOUNTS_MAX} files stand beside those it may write, and each would have to be closed`,
        'write whole folders (`docs/**`), or keep what it writes in a folder of its own',
      )
  }

  /** What is new and may not be. */
  lookAgain(): readonly string[] {
    const found: string[] = []
    for (const [folder, names] of this.#partly) {
      for (const entry of this.#entries(folder)) {
        const path = below(folder, entry.name)
        const was = names.get(entry.name)
        if (was === undefined) this.#judgeNew(path, entry, found)
        else if (was !== null && linkAt(join(this.#root, path)) !== was) found.push(path)
      }
    }
    for (const [folder, levels] of this.#guarded)
      for (const [path] of this.#protectedIn(folder, { names: Number.POSITIVE_INFINITY, levels }).places)
        if (!this.#stood.has(path)) found.push(path)
    return found
  }

  #judgeNew(path: string, entry: Dirent, found: string[]): void {
    if (this.#isProtected(path)) found.push(path)
    else if (!entry.isDirectory()) inScope(this.#write, path) || found.push(path)
    else if (mayHold(this.#write, path)) {
      for (const inner of this.#entries(path)) this.#judgeNew(below(path, inner.name), inner, found)
    } else found.push(path)
  }

  #isProtected(path: string): boolean {
    return isClosed(this.#write, path)
  }

  #entries(folder: string): readonly Dirent[] {
    try {
      return readdirSync(join(this.#root, folder), { withFileTypes: true })
    } catch {
      return []
    }
  }
}

const below = (folder: string, name: string): string => (folder === '' ? name : `${folder}/${name}`)
const isBelow = (path: string, folder: string): boolean => folder === '' || isWithin(path, folder)

function linkAt(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    return null
  }
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').slice(0, 4_096)
  } catch {
    return null
  }
}
