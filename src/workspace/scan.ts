// Walks the directories that the patterns may reach and says what stands there. Links are recorded, never followed;
// protected places and Planfold's state are not entered; what cannot be read whole and steady is named as left out.

import type { Millis } from '../domain/id.ts'
import type { Directory, Name } from '../safety/directory.ts'
import { protectedBy } from '../safety/protected-path.ts'
import { codeOf, refuse } from '../safety/refused.ts'
import { writerOf } from '../safety/regular-file.ts'
import { inScope, mayHold } from '../safety/scope.ts'
import { type BytePath, type Entry, type Left, textOf } from './manifest.ts'
import { readSteadily, type SteadyFile } from './steady-read.ts'

const ENTRIES_MAX = 50_000
const TOTAL_MAX_BYTES = 256 * 1024 * 1024
const DEPTH_MAX = 200
const FILES_AT_ONCE = 8

export const PROTECTED = 'protected'
export const HARD_LINK = 'hard link: its content is kept, its other names are not'

export type Found = Entry | { readonly type: 'special' }

export interface ScanOptions {
  readonly root: Directory
  readonly patterns: readonly string[]
  /** Folded path of the state folder inside the workspace. */
  readonly state: readonly string[] | null
  /** Is called with every file's content, to store it or not. */
  readonly keep: (path: BytePath, content: SteadyFile) => Promise<void>
  /** What a manifest says stands here. If it is of another type now, that is in scope with all it holds. */
  readonly expected?: (path: BytePath) => Entry['type'] | undefined
  readonly now?: () => number
}

export interface Scan {
  readonly found: Map<BytePath, Found>
  readonly left: Left[]
  /** Directories in which there is nothing at all. */
  readonly empty: Set<BytePath>
  /** When each path, and each directory on the way, was changed last, by the file system's own mark; '' is the root. */
  readonly changedAt: Map<BytePath, Millis>
  entries: number
  bytes: number
}

export async function scanScope(options: ScanOptions): Promise<Scan> {
  const changedAt = new Map<BytePath, Millis>()
  const scan: Scan = { found: new Map(), left: [], empty: new Set(), changedAt, entries: 0, bytes: 0 }
  await scanDirectory(options, scan, { directory: options.root, path: '', depth: 0, whole: false })
  return scan
}

interface Place {
  readonly directory: Directory
  readonly path: BytePath
  readonly depth: number
  /** Everything below belongs to the scope, whatever the patterns say. */
  readonly whole: boolean
}

async function scanDirectory(options: ScanOptions, scan: Scan, place: Place): Promise<void> {
  const files: (() => Promise<void>)[] = []
  if (place.path === '') scan.changedAt.set('', Number((await place.directory.self()).ctimeMs))
  const names = (await place.directory.list()).toSorted(Buffer.compare)
  if (names.length === 0) scan.empty.add(place.path)
  for (const name of names) {
    // Whatever the patterns say: a scope of single files holds none of the temporary names beside them.
    if (writerOf(name) !== null) {
      await sweep(place.directory, name)
      continue
    }
    const path = place.path === '' ? name.toString('latin1') : `${place.path}/${name.toString('latin1')}`
    const text = textOf(path)
    const expected = options.expected?.(path)
    const inside = place.whole || expected !== undefined || inScope(options.patterns, text)
    const above = place.whole || mayHold(options.patterns, text)
    if (!inside && !above) continue
    if (protectedBy(text.split('/'), options.state) !== null) {
      scan.left.push({ path, reason: PROTECTED })
      continue
    }
    const stat = await place.directory.look(name)
    if (stat === null) continue
    scan.changedAt.set(path, Number(stat.ctimeMs))
    if (++scan.entries > ENTRIES_MAX) tooMuch(`more than ${ENTRIES_MAX} files`)
    if (stat.isDirectory()) {
      scan.found.set(path, { type: 'directory', mode: Number(stat.mode & 0o7777n) })
      const whole = place.whole || expected === 'file' || expected === 'link'
      if (above || whole) await enterDirectory(options, scan, { ...place, path, whole }, name)
    } else if (inside && stat.isSymbolicLink()) {
      scan.found.set(path, { type: 'link', target: (await place.directory.readLink(name)).toString('latin1') })
    } else if (inside && stat.isFile()) {
      files.push(() => scanFile(options, scan, place.directory, name, path))
    } else if (inside) {
      scan.found.set(path, { type: 'special' })
    }
  }
  for (let at = 0; at < files.length; at += FILES_AT_ONCE) {
    await Promise.all(files.slice(at, at + FILES_AT_ONCE).map(file => file()))
  }
}

async function enterDirectory(options: ScanOptions, scan: Scan, place: Place, name: Name): Promise<void> {
  if (place.depth >= DEPTH_MAX) {
    scan.left.push({ path: place.path, reason: `deeper than ${DEPTH_MAX} directories` })
    return
  }
  let directory: Directory
  try {
    directory = await place.directory.enter(name)
  } catch (error) {
    const code = codeOf(error) ?? ''
    if (!['EACCES', 'EPERM', 'ENOENT', 'ENOTDIR'].includes(code)) throw error
    // It went between the look and the step; what is not there needs no capture.
    if (code === 'ENOENT') scan.found.delete(place.path)
    else scan.left.push({ path: place.path, reason: 'unreadable' })
    return
  }
  try {
    await scanDirectory(options, scan, { ...place, directory, depth: place.depth + 1 })
  } catch (error) {
    if (!['EACCES', 'EPERM', 'ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) throw error
    scan.left.push({ path: place.path, reason: 'unreadable' })
  } finally {
    await directory.close()
  }
}

async function scanFile(
  options: ScanOptions,
  scan: Scan,
  directory: Directory,
  name: Name,
  path: BytePath,
): Promise<void> {
  const content = readSteadily(directory, name, options.now)
  if (content === null) return
  if (typeof content === 'string') {
    scan.left.push({ path, reason: content })
    return
  }
  scan.bytes += content.bytes.length
  if (scan.bytes > TOTAL_MAX_BYTES) tooMuch(`more than ${TOTAL_MAX_BYTES} bytes`)
  if (content.links > 1) scan.left.push({ path, reason: HARD_LINK })
  await options.keep(path, content)
  scan.found.set(path, { type: 'file', mode: content.mode, size: content.bytes.length, sha256: content.sha256 })
}

/** Removes a temporary file of ours whose writer is gone. */
async function sweep(directory: Directory, name: Name): Promise<void> {
  try {
    process.kill(writerOf(name)!, 0)
  } catch (error) {
    if (codeOf(error) === 'ESRCH') await directory.unlink(name).catch(ignoreGone)
  }
}

/** Several tasks may look through a folder at the same time, and others of them be quicker. */
function ignoreGone(error: unknown): void {
  if (codeOf(error) !== 'ENOENT') throw error
}

function tooMuch(what: string): never {
  refuse('logic', `The write scope holds ${what}; that is too much to capture.`, 'Narrow `write` of the task.')
}
