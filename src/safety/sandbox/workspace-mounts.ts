// The workspace as a sandboxed command sees it: read-only, with writable mounts on top.
//
//   `dist/**`, own task   the parent of `dist` is writable, and every other name in it is mounted read-only: `dist` can be removed,
//                         replaced and made again
//   `dist/**`, otherwise  `dist` is created if necessary, and is the only writable folder; also if it has too many siblings
//   `VERSION`, `*.md`     their folder is writable, and everything else in it is mounted read-only
//
// In a folder that is writable for some names only, new names can be created, and a read-only mount disappears when a process outside
// replaces its name (an editor that saves by rename). So both are checked when the command has ended.

import { type Dirent, lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { orElse } from '../../domain/json.ts'
import { asksFirst } from '../../domain/plan-rules/instruction-file.ts'
import { protectedBy } from '../files/protected-path.ts'
import { realOrNull } from '../files/real-path.ts'
import { writerOf } from '../files/regular-file.ts'
import { isWithin } from '../find-program.ts'
import { refuse } from '../safety-refusal.ts'
import { covers, inScope, mayHold, type Patterns } from '../scope.ts'
import { isMadeFolder, MadeFolders } from './mount-points.ts'
import type { Beyond, BorrowedFolder, OwnView, WorkspaceCopy } from './sandbox.ts'

export interface WorkspaceMounts {
  readonly mounts: readonly string[]
  readonly writable: readonly string[]
  /** Applied last, after everything inside is mounted: hides Planfold's state by a read-only folder. */
  readonly last: readonly string[]
  /** In-memory folders over caches of tools in the workspace. */
  readonly scratch: readonly string[]
  lookAfter(): Beyond
  release(): void
}

/** Each read-only name is a mount: a thousand take a second, and bubblewrap supports about three thousand. */
const CLOSED_MAX = 2_000
/** With more siblings than this, the folder itself is mounted, and cannot be removed. */
const BESIDE_MAX = 200
/** The limit of names to search for protected paths in a writable folder, level by level; deeper levels are skipped. */
const LOOKED_AT_MAX = 50_000

/**
 * Read-only even if the patterns match: protected paths, and agent instructions that no pattern names. Naming such a file in a pattern needs
 * an approval (`plan-rules/impact.ts`); a wildcard does not, so it does not include them.
 */
export function isClosed(write: Patterns, path: string): boolean {
  if (protectedBy(path.split('/'), null) !== null) return true
  return asksFirst(path) && !(write ?? []).some(pattern => asksFirst(pattern) && inScope([pattern], path))
}

interface Place {
  readonly root: string
  readonly stateDir: string
  readonly cwd?: string
  readonly write: Patterns
  readonly read?: readonly string[]
  readonly scratch?: readonly string[]
  readonly borrowed?: readonly BorrowedFolder[]
  /** The user's own command may also remove and recreate what it may write. */
  readonly own?: Pick<OwnView, 'isLimited'>
}

export function workspaceMounts(place: Place, lookedAtMax = LOOKED_AT_MAX): WorkspaceMounts {
  const root = realpathSync(place.root)
  const folders = new MadeFolders()
  try {
    const scratch = scratchFolders(root, place, folders)
    const isOwn = place.own !== undefined && place.own.isLimited !== true
    const survey = new Survey({ root, write: place.write, isOwn, lookedAtMax, folders, scratch: new Set(scratch) })
    survey.look()
    const mounts = ['--ro-bind', root, root]
    for (const folder of survey.writable) mounts.push('--bind', join(root, folder), join(root, folder))
    // A name that was removed meanwhile must not prevent the user's own command; it is reported afterwards as changed.
    const bind = isOwn ? '--ro-bind-try' : '--ro-bind'
    for (const path of survey.closed.keys()) mounts.push(bind, join(root, path), join(root, path))
    const hidden = place.read === undefined ? [] : hiddenFiles(root, place.read, place.write)
    const scratchMounts = scratch.flatMap(folder => ['--size', String(SCRATCH_MAX_BYTES), '--tmpfs', folder])
    const state = hiddenState(root, place.stateDir)
    return {
      mounts: [...mounts, ...borrowedMounts(place), ...hidden, ...scratchMounts, ...state, ...repositoryMounts(root)],
      last: state.slice(1).flatMap(folder => ['--remount-ro', folder]),
      writable: survey.writable.map(folder => join(root, folder)),
      scratch,
      lookAfter: () => withoutScratch(survey.lookAgain(), root, place),
      release: () => folders.release(),
    }
  } catch (error) {
    folders.release()
    throw error
  }
}

/** An empty in-memory folder with the shared paths. The workspace itself cannot be written, so nothing is checked afterwards. */
export function copyMounts(root: string, { shared, maxBytes }: WorkspaceCopy): WorkspaceMounts {
  const places = shared.map(path => join(root, path))
  return {
    mounts: [
      ...['--size', String(maxBytes), '--tmpfs', root],
      ...places.flatMap(place => ['--ro-bind-try', place, place]),
      ...repositoryMounts(root),
    ],
    writable: [],
    last: [],
    scratch: [root],
    lookAfter: () => ({ appeared: [], changed: [] }),
    release: () => {},
  }
}

const SCRATCH_MAX_BYTES = 2 * 1024 ** 3
const NODE_CACHES = ['.cache', '.vite', '.vite-temp']
/** Files that indicate pytest, whose cache is beside them. */
const PYTHON_MARKS = ['pyproject.toml', 'pytest.ini', 'setup.cfg', 'setup.py', 'tox.ini', 'conftest.py']
const PACKAGES_MAX = 200
const SCRATCH = new RegExp(
  `(^|/)(node_modules/(${NODE_CACHES.map(name => name.replace('.', '\\.')).join('|')})|\\.pytest_cache|target)$`,
)

/** May the folder exist only because a command needs it for its caches? */
export const isScratch = (path: string): boolean => SCRATCH.test(path)

/**
 * Caches that tools write into the workspace, whatever the task declares: they get an in-memory folder. Searched in the working directory,
 * its parents, and packages up to two levels below the root. `__pycache__` is disabled by a variable instead.
 */
function scratchFolders(root: string, place: Place, folders: MadeFolders): readonly string[] {
  const { cwd = root, read, write } = place
  const seen = read === undefined || write === null ? null : [...read, ...write]
  const found: string[] = []
  const add = (path: string): void => {
    const isHidden = seen !== null && !covers(seen, relative(root, dirname(path)))
    // Nothing can be made in a folder that is only shown.
    const borrowed = place.borrowed?.find(({ to }) => dirname(path) === to)
    if (borrowed !== undefined && !isDirectory(path.replace(borrowed.to, borrowed.from))) return
    if (!isHidden && !covers(write, relative(root, path)) && folders.need(path)) found.push(path)
  }
  for (const folder of packageFolders(root, cwd)) {
    const modules = join(folder, 'node_modules')
    if (isDirectory(modules)) for (const name of NODE_CACHES) add(join(modules, name))
    if (PYTHON_MARKS.some(name => lstatSync(join(folder, name), NO_ENTRY) !== undefined))
      add(join(folder, '.pytest_cache'))
    // Tests in Rust build first.
    if (lstatSync(join(folder, 'Cargo.lock'), NO_ENTRY) !== undefined) add(join(folder, 'target'))
  }
  for (const pattern of scratchIn(root, place)) {
    const at = join(root, pattern.slice(0, -'/**'.length))
    const isNew = lstatSync(at, NO_ENTRY) === undefined || isMadeFolder(at)
    // An existing folder stays as it is.
    if (pattern.endsWith('/**') && !/[*?]/.test(at) && isNew) add(at)
  }
  return found
}

function scratchIn(root: string, { cwd = root, scratch = [] }: Place): readonly string[] {
  const folder = relative(root, realOrNull(cwd) ?? root)
  return scratch.map(pattern => below(folder, pattern))
}

/** Separates expected new names from unexpected ones. */
function withoutScratch(beyond: Beyond, root: string, place: Place): Beyond {
  const scratch = scratchIn(root, place)
  const left = beyond.appeared.filter(path => inScope(scratch, path))
  if (left.length === 0) return beyond
  return { ...beyond, appeared: beyond.appeared.filter(path => !left.includes(path)), left }
}

function packageFolders(root: string, cwd: string): readonly string[] {
  const folders = new Set([root])
  for (let at = realOrNull(cwd) ?? root; at !== root && isWithin(at, root); at = dirname(at)) folders.add(at)
  let level = [root]
  for (let depth = 0; depth < 2; depth++) {
    level = level.flatMap(above =>
      namesIn(above)
        .filter(entry => entry.isDirectory() && entry.name !== 'node_modules' && !entry.name.startsWith('.'))
        .map(({ name }) => join(above, name)),
    )
    for (const folder of level) if (folders.size < PACKAGES_MAX) folders.add(folder)
    if (level.length > PACKAGES_MAX) break
  }
  return [...folders]
}

/** Hidden folders are empty, hidden files cannot be opened. The repository's own folder stays, because git needs it. */
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
      if (mounts.length > CLOSED_MAX * 3)
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

/** A virtual environment names its own place in its programs, so it is shown there, too. */
function borrowedMounts({ borrowed = [], read }: Place): readonly string[] {
  return borrowed.flatMap(({ from, to }) => [
    ...['--ro-bind', from, to],
    ...(read === undefined && /(^|\/)\.?venv$/.test(to) ? ['--ro-bind', from, from] : []),
  ])
}

/** Hides Planfold's state, except a workspace inside it: a worktree of a plan. */
function hiddenState(root: string, stateDir: string): readonly string[] {
  const state = realOrNull(stateDir)
  return state !== null && state !== root && isWithin(state, root) ? ['--tmpfs', state] : []
}

/** A worktree names its repository in a file; git inside must be able to read that. */
function repositoryMounts(root: string): readonly string[] {
  const mounts: string[] = []
  const git = join(root, '.git')
  const stat = lstatSync(git, { throwIfNoEntry: false })
  if (stat?.isFile()) {
    const named = /^gitdir: (.+)$/m.exec(readFileSync(git, 'utf8').slice(0, 4_096))?.[1]
    const own = named === undefined ? null : realOrNull(resolve(root, named.trim()))
    if (own !== null) {
      const common = commonFolder(own)
      // The repository must refer back to this folder.
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

/** The writable folders, the read-only names in them, and the existing names; relative to the root, which is ''. */
class Survey {
  readonly #root: string
  readonly #write: Patterns
  readonly #isOwn: boolean
  readonly #folders: MadeFolders
  readonly #scratch: ReadonlySet<string>
  readonly writable: string[] = []
  readonly closed = new Map<string, FileStamp>()
  /** Folders with declared files among others, with their names and the targets of their links. */
  readonly #partly = new Map<string, ReadonlyMap<string, string | null>>()
  /** Fully writable folders, and how many of their levels were searched. */
  readonly #guarded = new Map<string, number>()
  readonly #lookedAtMax: number
  /** Existing read-only paths, which are never reported as new. */
  readonly #existed = new Set<string>()
  readonly #mounted = new Map<string, FileStamp>()

  constructor(options: {
    readonly root: string
    readonly write: Patterns
    readonly isOwn: boolean
    readonly lookedAtMax: number
    readonly folders: MadeFolders
    /** Absolute: they are covered by in-memory folders, so they need not be read-only. */
    readonly scratch: ReadonlySet<string>
  }) {
    this.#root = options.root
    this.#write = options.write
    this.#isOwn = options.isOwn
    this.#lookedAtMax = options.lookedAtMax
    this.#folders = options.folders
    this.#scratch = options.scratch
  }

  look(): void {
    if (this.#write === null || covers(this.#write, '')) {
      this.#open('')
    } else {
      const folders = new Set(this.#write.map(pattern => this.#folderOf(pattern)))
      // Outer folders first: inner mounts cover them.
      for (const folder of [...folders].sort()) {
        if (folder === null || this.writable.some(outer => isBelow(folder, outer))) continue
        if (covers(this.#write, folder)) this.#open(folder)
        else {
          this.writable.push(folder)
          this.#divide(folder)
        }
      }
    }
    for (const folder of this.writable) this.#mounted.set(folder, stampAt(join(this.#root, folder)))
  }

  /** The folder to mount writable for a pattern, created if missing; null when a link or a file is in the way. */
  #folderOf(pattern: string): string | null {
    const parts = pattern.split('/').filter(part => part !== '.' && part !== '')
    const wild = parts.findIndex(part => /[*?]/.test(part))
    const literal = wild < 0 ? parts : parts.slice(0, wild)
    const isFolder =
      wild < 0
        ? pattern.endsWith('/') || (!pattern.endsWith('/.') && this.#isFolder(literal.join('/')))
        : wild === parts.length - 1 && parts[wild] === '**'
    const holding = wild < 0 || isFolder ? literal.slice(0, -1) : literal
    const there = this.#existing(isFolder ? literal : holding)
    if (there === null) return null
    const known = this.#existing(holding)!
    const isSmall = this.#entries(known).length <= BESIDE_MAX
    // Created below an existing folder and written through that one, so it stays if other mount points are removed.
    if (this.#isOwn && isSmall) {
      this.#make(holding)
      return known
    }
    const wanted = isFolder ? literal : holding
    return this.#make(wanted) ? wanted.join('/') : known
  }

  #isFolder(path: string): boolean {
    return isDirectory(join(this.#root, path))
  }

  /** The nearest existing folder on the way; null when a link or a file is in the way. */
  #existing(parts: readonly string[]): string | null {
    let folder = ''
    for (const part of parts) {
      const stat = lstatSync(join(this.#root, folder, part), NO_ENTRY)
      if (stat === undefined) return folder
      if (!stat.isDirectory()) return null
      folder = below(folder, part)
    }
    return folder
  }

  /** False when one of them cannot be created, or would be protected. */
  #make(parts: readonly string[]): boolean {
    return parts.every((_, at) => {
      const path = parts.slice(0, at + 1).join('/')
      return (this.#isFolder(path) || !this.#isProtected(path)) && this.#folders.need(join(this.#root, path))
    })
  }

  #open(folder: string): void {
    this.writable.push(folder)
    this.#guard(folder)
  }

  /** A folder with declared files: all other names become read-only. */
  #divide(folder: string): void {
    const names = new Map<string, string | null>()
    for (const entry of this.#entries(folder)) {
      const path = below(folder, entry.name)
      names.set(entry.name, entry.isSymbolicLink() ? linkAt(join(this.#root, path)) : null)
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

  /** Level by level, so that protected paths near the top are found even in the largest folder. A level is searched completely. */
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
    this.#existed.add(path)
    // A link cannot be a mount point; beside declared files, its target is compared afterwards.
    if (entry.isSymbolicLink() || isOurs(entry.name) || this.#scratch.has(join(this.#root, path))) return
    this.closed.set(path, stampAt(join(this.#root, path)))
    if (this.closed.size > CLOSED_MAX)
      refuse(
        'policy',
        `more than ${CLOSED_MAX} names stand beside what it may write, and each would need a mount of its own in the sandbox`,
        'let it write whole folders (`docs/**`), or keep what it writes in a folder of its own',
      )
  }

  lookAgain(): Beyond {
    const appeared: string[] = []
    const changed: string[] = []
    for (const [folder, names] of this.#partly) {
      for (const entry of this.#entries(folder))
        if (!names.has(entry.name)) this.#judgeNew(below(folder, entry.name), entry, appeared)
      for (const [name, was] of names) {
        const path = below(folder, name)
        if (was !== null && this.#existed.has(path) && linkAt(join(this.#root, path)) !== was) changed.push(path)
      }
    }
    for (const [folder, levels] of this.#guarded)
      for (const [path] of this.#protectedIn(folder, { names: Number.POSITIVE_INFINITY, levels }).places)
        if (!this.#existed.has(path)) appeared.push(path)
    for (const [path, was] of [...this.closed, ...this.#mounted]) {
      const at = join(this.#root, path)
      const now = stampAt(at)
      const isRemovedByUs = now === GONE && this.#folders.made.has(at)
      if (now !== was && !isRemovedByUs) changed.push(path === '' ? '.' : path)
    }
    return { appeared, changed }
  }

  #judgeNew(path: string, entry: Dirent, found: string[]): void {
    if (isOurs(entry.name) || isMadeFolder(join(this.#root, path))) return
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
    return namesIn(join(this.#root, folder))
  }
}

/** Identifies a version of a file, as text. The ctime cannot be forged, so equal texts mean an unchanged file. */
type FileStamp = string
const GONE: FileStamp = ''

/** For a folder only its identity: a mount on it covers everything below, despite changes by others. */
function stampAt(path: string): FileStamp {
  const stat = orElse(() => lstatSync(path, { bigint: true, throwIfNoEntry: false }), undefined)
  if (stat === undefined) return GONE
  const { dev, ino, birthtimeNs, size, mtimeNs, ctimeNs } = stat
  return (stat.isDirectory() ? [dev, ino, birthtimeNs] : [dev, ino, size, mtimeNs, ctimeNs]).join(' ')
}

/** A temporary file of this process, which is about to replace a file of another task. */
const isOurs = (name: string): boolean => name.startsWith('.') && writerOf(Buffer.from(name)) === process.pid

const NO_ENTRY = { throwIfNoEntry: false } as const
const isDirectory = (path: string): boolean => lstatSync(path, NO_ENTRY)?.isDirectory() === true

const namesIn = (folder: string): readonly Dirent[] => orElse(() => readdirSync(folder, { withFileTypes: true }), [])

const below = (folder: string, name: string): string => (folder === '' ? name : `${folder}/${name}`)
const isBelow = (path: string, folder: string): boolean => folder === '' || isWithin(path, folder)

const linkAt = (path: string): string | null => orElse(() => readlinkSync(path), null)

const readOrNull = (path: string): string | null => orElse(() => readFileSync(path, 'utf8').slice(0, 4_096), null)
