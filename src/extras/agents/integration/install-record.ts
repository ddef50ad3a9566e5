// The record of an install, from which it can be undone to the byte: one file for each agent and place, in the user's Planfold settings. It
// holds hashes and replaced parts, never a copy of another program's settings.

import { mkdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Sha256 } from '../../../domain/id.ts'
import type { JsonEntry } from '../../../format/text/json-entry.ts'
import { sha256Of } from '../../../safety/files/regular-file.ts'
import { ignoring } from '../../../safety/safety-refusal.ts'
import type { AgentSetup, InstallScope } from './agent-files.ts'

export interface InstallRecord {
  readonly planfold: 1
  readonly agent: string
  readonly scope: InstallScope
  readonly files: readonly RecordedFile[]
  /** Created for these files, the outermost first. */
  readonly folders: readonly string[]
}

export interface RecordedFile {
  readonly path: string
  /** Null: there was no such file. */
  readonly before: Sha256 | null
  readonly after: Sha256
  /** How to restore the file: replace `length` characters from `start` with `text`. */
  readonly undo: { readonly start: number; readonly length: number; readonly text: string } | null
  /** In a JSON file: the added entries, in order. */
  readonly entries: readonly RecordedEntry[]
}

export interface RecordedEntry {
  readonly entry: JsonEntry
  /** How many objects and lists were created around it. */
  readonly made: number
}

export function recordFolder(home: string, environment: { readonly [name: string]: string | undefined }): string {
  const config = environment.XDG_CONFIG_HOME
  return join(config?.startsWith('/') === true ? config : join(home, '.config'), 'planfold/installed')
}

export function recordPath(folder: string, { agent, files }: AgentSetup): string {
  const place = sha256Of(Buffer.from(files[0]!.path)).slice(0, 16)
  return join(folder, `${agent}-${place}.json`)
}

/** Null if there is none, or it is unreadable: then only obvious entries of ours are removed. */
export async function readRecord(path: string): Promise<InstallRecord | null> {
  const text = await ignoring(['ENOENT', 'ENOTDIR'], () => readFile(path, 'utf8'))
  if (text === null) return null
  try {
    const found: unknown = JSON.parse(text)
    return isRecord(found) ? found : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

export async function writeRecord(path: string, record: InstallRecord): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  // By one rename: half a record would be useless.
  const fresh = `${path}.new`
  await writeFile(fresh, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600, flush: true })
  await rename(fresh, path)
}

/** Also removes empty folders of records. */
export async function removeRecord(path: string): Promise<void> {
  for (const file of [path, `${path}.new`]) await rm(file, { force: true })
  for (const folder of [dirname(path), dirname(dirname(path))])
    await ignoring(['ENOENT', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST'], () => rmdir(folder))
}

function isRecord(value: unknown): value is InstallRecord {
  if (!isObject(value) || value.planfold !== 1 || !Array.isArray(value.files) || !isTexts(value.folders)) return false
  return value.files.every(
    file =>
      isObject(file) &&
      typeof file.path === 'string' &&
      (file.before === null || typeof file.before === 'string') &&
      typeof file.after === 'string' &&
      Array.isArray(file.entries) &&
      file.entries.every(isEntry) &&
      (file.undo === null ||
        (isObject(file.undo) &&
          typeof file.undo.start === 'number' &&
          typeof file.undo.length === 'number' &&
          typeof file.undo.text === 'string')),
  )
}

const isEntry = (value: unknown): boolean =>
  isObject(value) &&
  typeof value.made === 'number' &&
  isObject(value.entry) &&
  isTexts(value.entry.path) &&
  value.entry.value !== undefined

const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(one => typeof one === 'string')
