// The files that a command names, and their contents: `sh x.sh` does what x.sh says, so an approval of the command includes x.sh as it is.
// Read synchronously, so that nothing of ours runs between two reads. Only files covered by an approval are read.

import { createHash } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { isAbsolute, join, relative, resolve } from 'node:path'
import type { ShownFile } from '../../domain/gates/consent.ts'
import type { Sha256 } from '../../domain/id.ts'
import { inheritedEnvironment, type Variables } from '../../safety/environment.ts'
import { isProgram, readPlainFileNow } from '../../safety/files/plain-file.ts'
import { realOrNull } from '../../safety/files/real-path.ts'

/** A command that names more than this is not started. */
const NAMES_MAX = 50_000
const NAME_MAX = 4_096
const FOLDER_FILES_MAX = 2_000
const FOLDER_BYTES_MAX = 64 * 1024 * 1024
/** Contents up to this size are stored to be shown; larger ones are known by their hash. */
export const KEPT_MAX = 1024 * 1024
const CHUNK = 1024 * 1024

export interface Named extends ShownFile {
  /** The content of a small file in the workspace; else null. */
  readonly bytesThere: Buffer | null
}

/** The files and folders among the words of a command, sorted by name. */
export function namedFiles(root: string, cwd: string, argv: readonly string[]): readonly Named[] {
  const found = new Map<string, Named>()
  const base = realOrNull(root) ?? root
  const from = resolve(base, cwd)
  let looked = 0
  const look = (name: string, isScript: boolean): void => {
    if (looked++ >= NAMES_MAX) throw new Error(`the command has more than ${NAMES_MAX} words that may name files`)
    const file = fileAt(base, from, name, isScript) ?? (isScript ? null : folderAt(base, from, name))
    if (file !== null) found.set(file.path, file)
  }
  for (const word of argv) {
    for (const name of optionOf(word)) look(name, false)
    // A word with blanks or operators may be a script. The names in it are looked up in the workspace only.
    if (/[\s;|&<>'"`]/.test(word)) for (const name of scriptWords(word)) look(name, true)
  }
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

function optionOf(word: string): readonly string[] {
  const at = word.indexOf('=')
  return at < 0 ? [word] : [word, word.slice(at + 1)]
}

/** Names that a script may contain: its words as a shell splits them, without quotes, and the text between any two special characters. */
export function scriptWords(script: string): readonly string[] {
  const words = new Set(script.split(/[\s'"`;|&<>(){}=,]+/))
  for (const word of shellWords(script)) for (const name of optionOf(word)) words.add(name)
  words.delete('')
  return [...words]
}

/** Splits at unquoted blanks, operators and redirections. Variables are not expanded. */
function shellWords(script: string): readonly string[] {
  const words: string[] = []
  let word = ''
  let quote = ''
  for (let at = 0; at < script.length; at++) {
    const sign = script[at]!
    if (sign === '\\' && quote !== "'" && at + 1 < script.length) word += script[++at]!
    else if (sign === quote) quote = ''
    else if (quote === '' && (sign === "'" || sign === '"')) quote = sign
    else if (quote === '' && CUTS.includes(sign)) {
      words.push(word)
      word = ''
    } else word += sign
  }
  return [...words, word]
}

const CUTS = ' \t\r\n;|&<>()`'

function fileAt(root: string, from: string, name: string, onlyInside: boolean): Named | null {
  if (name === '' || name.length > NAME_MAX || name.includes('\0')) return null
  const path = resolve(from, name)
  const real = realOrNull(path)
  if (real === null) return null
  const isInside = isWithin(root, real)
  if (onlyInside && !isInside) return null
  const stat = statSync(real, { throwIfNoEntry: false })
  if (stat?.isFile() !== true) return null
  const shown = isWithin(root, path) ? relative(root, path) : path
  try {
    if (stat.size > KEPT_MAX) return { path: shown, sha256: hashOf(real), bytes: stat.size, bytesThere: null }
    const bytes = readPlainFileNow(real, KEPT_MAX)
    if (bytes === null) throw new Error('unreadable')
    return { path: shown, sha256: sha256(bytes), bytes: bytes.length, bytesThere: isInside ? bytes : null }
  } catch {
    // The file is unreadable, so its content is unknown.
    return {
      path: shown,
      sha256: sha256(Buffer.from(`unreadable ${stat.size} ${stat.mtimeMs}`)),
      bytes: stat.size,
      bytesThere: null,
    }
  }
}

/** A folder of the workspace with all its files, if the word is written as a path, `dist/` or `./dist`. A bare word may mean anything. */
function folderAt(root: string, from: string, name: string): Named | null {
  if (!name.includes('/') || name.length > NAME_MAX || name.includes('\0')) return null
  const real = realOrNull(resolve(from, name))
  if (real === null || !isWithin(root, real) || statSync(real, { throwIfNoEntry: false })?.isDirectory() !== true)
    return null
  const path = `${relative(root, real)}/`
  const hash = createHash('sha256')
  let bytes = 0
  let files = 0
  for (const entry of readdirSync(real, { recursive: true, withFileTypes: true }).sort(byPlace)) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    bytes += statSync(file, { throwIfNoEntry: false })?.size ?? 0
    if (++files > FOLDER_FILES_MAX || bytes > FOLDER_BYTES_MAX)
      return { path: `${path} (too large to be looked through)`, sha256: sha256(path), bytes: 0, bytesThere: null }
    hash.update(`${relative(real, file)}\0${hashOf(file)}\0`)
  }
  return { path, sha256: hash.digest('hex') as Sha256, bytes, bytesThere: null }
}

const placeOf = ({ parentPath, name }: { readonly parentPath: string; readonly name: string }): string =>
  join(parentPath, name)
const byPlace = (a: Parameters<typeof placeOf>[0], b: Parameters<typeof placeOf>[0]): number =>
  placeOf(a) < placeOf(b) ? -1 : 1

/** The path of the program that the first word starts. Another program of the same name has another path. */
export function programOf(root: string, cwd: string, word: string, environment: Variables): string | null {
  const base = realOrNull(root) ?? root
  const inside = (path: string): string => (isWithin(base, path) ? relative(base, path) : path)
  if (word.includes('/')) {
    const path = resolve(base, cwd, word)
    return isProgram(path) ? inside(path) : null
  }
  for (const folder of (inheritedEnvironment(environment).PATH ?? '').split(':')) {
    const path = join(folder, word)
    if (isProgram(path)) return inside(path)
  }
  return null
}

export function remotesOf(root: string): { readonly [name: string]: string } {
  const config = gitConfig(root)
  const remotes: [string, string][] = []
  let section: string | null = null
  for (const line of config.split('\n')) {
    const heading = /^\s*\[(?:remote\s+"(.*)")?/.exec(line)
    if (heading !== null) section = heading[1] ?? null
    const url = /^\s*(url|pushurl)\s*=\s*(.*?)\s*$/i.exec(line)
    if (url !== null && section !== null) remotes.push([`${section}${url[1] === 'url' ? '' : ' (push)'}`, url[2]!])
  }
  return Object.fromEntries(remotes.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function gitConfig(root: string): string {
  for (let folder = resolve(root); ; folder = resolve(folder, '..')) {
    const found = textOf(join(folder, '.git', 'config')) ?? configOfWorktree(folder)
    if (found !== null) return found
    if (folder === resolve(folder, '..')) return ''
  }
}

function configOfWorktree(folder: string): string | null {
  const pointer = /^gitdir:\s*(.+?)\s*$/m.exec(textOf(join(folder, '.git')) ?? '')?.[1]
  if (pointer === undefined) return null
  const own = resolve(folder, pointer)
  const common = textOf(join(own, 'commondir'))?.trim()
  return textOf(join(common === undefined ? own : resolve(own, common), 'config'))
}

function textOf(path: string): string | null {
  return readPlainFileNow(path, KEPT_MAX)?.toString('utf8') ?? null
}

/** The content at a path of the workspace: the hash of a file, else its kind; null if nothing exists. */
export function contentAt(root: string, path: string): { readonly is: string | null; readonly bytes: Buffer | null } {
  const file = resolve(root, path)
  const real = realOrNull(file)
  if (real === null) return { is: null, bytes: null }
  const stat = statSync(real, { throwIfNoEntry: false })
  if (stat === undefined) return { is: null, bytes: null }
  if (!stat.isFile()) return { is: stat.isDirectory() ? 'a folder' : 'a special file', bytes: null }
  const named = fileAt(realOrNull(root) ?? root, root, path, false)
  return named === null ? { is: null, bytes: null } : { is: named.sha256, bytes: named.bytesThere }
}

function isWithin(root: string, path: string): boolean {
  const inside = relative(root, path)
  return inside !== '' && inside !== '..' && !inside.startsWith('../') && !isAbsolute(inside)
}

export const sha256 = (bytes: Uint8Array | string): Sha256 => createHash('sha256').update(bytes).digest('hex') as Sha256

function hashOf(path: string): Sha256 {
  const hash = createHash('sha256')
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!fstatSync(file).isFile()) throw new Error('it is no longer a file')
    const chunk = Buffer.allocUnsafe(CHUNK)
    for (;;) {
      const read = readSync(file, chunk, 0, CHUNK, null)
      if (read === 0) return hash.digest('hex') as Sha256
      hash.update(chunk.subarray(0, read))
    }
  } finally {
    closeSync(file)
  }
}
