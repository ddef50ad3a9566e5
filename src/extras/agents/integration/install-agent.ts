// Installs Planfold into a coding agent, and uninstalls it. All changes are computed first and can be shown; then each file is written by
// one rename, and only if it has not changed since.
//
//   install    existing file ──→ with our entry, or our file      (refused: unreadable, or an entry of another)
//   uninstall  unchanged     ──→ restored to the byte
//              changed since ──→ only our entry is removed; a changed file of ours stays

import { isUtf8 } from 'node:buffer'
import { lstat, realpath, rmdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Sha256 } from '../../../domain/id.ts'
import { same } from '../../../domain/json.ts'
import {
  type EntryStatus,
  entryStatus,
  isEmptyJson,
  type JsonEntry,
  removeEntry,
  type SettingsEdit,
  setEntry,
} from '../../../format/text/json-entry.ts'
import { blockStatus, removeBlock, setBlock } from '../../../format/text/toml-block.ts'
import { Directory, makeFolder } from '../../../safety/files/directory.ts'
import { readFile, removeFile, replaceFile, sha256Of } from '../../../safety/files/regular-file.ts'
import { failureOf, ignoring } from '../../../safety/safety-refusal.ts'
import type { AgentFile, AgentSetup, InstallScope } from './agent-files.ts'
import {
  type InstallRecord,
  type RecordedEntry,
  type RecordedFile,
  readRecord,
  recordPath,
  removeRecord,
  writeRecord,
} from './install-record.ts'

export interface InstallAsk {
  readonly setup: AgentSetup
  readonly scope: InstallScope
  readonly records: string
}

/** `null`: the file does not exist, before or after. */
export interface FileChange {
  readonly path: string
  readonly before: string | null
  readonly after: string | null
}

export type InstallPlan =
  | {
      readonly ok: true
      readonly changes: readonly FileChange[]
      /** What is left unchanged, and why: a sentence each. */
      readonly notes: readonly string[]
      /** Writes the changes. Throws if a file has changed meanwhile; the record holds what was written by then. */
      readonly apply: () => Promise<void>
    }
  | { readonly ok: false; readonly refused: readonly { readonly path: string; readonly why: string }[] }

export async function planInstall(ask: InstallAsk): Promise<InstallPlan> {
  return await planWith(ask, withOurs, async ({ path, record, steps }) => {
    if (steps.length === 0) return
    const folders = await Promise.all([...steps.map(({ real }) => real), path].map(missingFolders))
    const written = new Map(steps.map(step => [step.file.path, recordOf(step)]))
    const kept = (record?.files ?? []).filter(one => !written.has(one.path))
    const made = [...new Set([...(record?.folders ?? []), ...folders.flat()])]
    const { agent } = ask.setup
    // Recorded first, so that an interrupted install can be undone.
    const files = [...kept, ...written.values()]
    await writeRecord(path, { planfold: 1, agent, scope: ask.scope, files, folders: made })
    for (const step of steps) await write(step)
  })
}

export async function planUninstall(ask: InstallAsk): Promise<InstallPlan> {
  return await planWith(ask, withoutOurs, async ({ path, record, steps }) => {
    for (const step of steps) await write(step)
    await removeRecord(path)
    const folders = [...new Set([...(record?.folders ?? []), ...ask.setup.folders])]
    for (const folder of folders.toSorted((a, b) => b.length - a.length))
      await ignoring(['ENOENT', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST'], () => rmdir(folder))
  })
}

interface Planned {
  readonly path: string
  readonly record: InstallRecord | null
  readonly steps: readonly Step[]
}

/** Computes the changes; `apply` writes them. */
async function planWith(
  ask: InstallAsk,
  work: (looked: Looked) => Outcome,
  apply: (planned: Planned) => Promise<void>,
): Promise<InstallPlan> {
  const path = recordPath(ask.records, ask.setup)
  const record = await readRecord(path)
  const looked = await lookAt(ask.setup, record)
  if (!looked.ok) return looked
  const worked = workOut(looked.files, work)
  if (!worked.ok) return worked
  const { steps, notes } = worked
  return { ok: true, changes: steps.map(changeOf), notes, apply: async () => await apply({ path, record, steps }) }
}

interface Looked {
  readonly file: AgentFile
  /** The path with all links followed. */
  readonly real: string
  readonly text: string | null
  readonly recorded: RecordedFile | null
}

const FILE_MAX_BYTES = 4 * 1024 * 1024

async function lookAt(
  { files }: AgentSetup,
  record: InstallRecord | null,
): Promise<{ readonly ok: true; readonly files: readonly Looked[] } | Extract<InstallPlan, { ok: false }>> {
  const [found, refused]: [Looked[], { path: string; why: string }[]] = [[], []]
  for (const wish of files) {
    const path = await pathOf(wish, record)
    const recorded = record?.files.find(one => one.path === path) ?? null
    try {
      const real = await realTarget(path, wish.within)
      found.push({ file: { ...wish, path }, real, text: await readText(real), recorded })
    } catch (error) {
      const failure = error instanceof Unfit ? error.message : failureOf('cannot be read', error)?.message
      if (failure === undefined) throw error
      refused.push({ path, why: failure })
    }
  }
  return refused.length === 0 ? { ok: true, files: found } : { ok: false, refused }
}

class Unfit extends Error {}

/** The file name that was used before, else the first that exists. */
async function pathOf(wish: AgentFile, record: InstallRecord | null): Promise<string> {
  if (wish.kind !== 'json' || wish.others === undefined) return wish.path
  const names = [wish.path, ...wish.others]
  const recorded = names.find(name => record?.files.some(file => file.path === name))
  if (recorded !== undefined) return recorded
  for (const name of names) if ((await ignoring(['ENOENT', 'ENOTDIR'], () => lstat(name))) !== null) return name
  return wish.path
}

/** Follows links. Refuses a path that leads out of `within`, or nowhere. */
async function realTarget(path: string, within: string): Promise<string> {
  const [real, bounds] = [await realAsFarAsThere(path), await realAsFarAsThere(within)]
  if (bounds !== '/' && !real.startsWith(`${bounds}/`))
    throw new Unfit(`is a link that leads out of ${within}, to ${real}`)
  return real
}

async function realAsFarAsThere(path: string): Promise<string> {
  const found = await ignoring(['ENOENT', 'ENOTDIR'], () => lstat(path))
  if (found !== null) {
    const real = await ignoring(['ENOENT', 'ELOOP'], () => realpath(path))
    if (real === null) throw new Unfit('is a broken symbolic link')
    return real
  }
  const above = await realAsFarAsThere(dirname(path))
  if ((await ignoring(['ENOENT'], () => stat(above)))?.isFile() === true)
    throw new Unfit(`cannot be made: ${above} is a file`)
  return join(above, basename(path))
}

async function readText(real: string): Promise<string | null> {
  const content = await inFolderOf(real, (folder, name) => readFile(folder, name, FILE_MAX_BYTES))
  if (content === null) return null
  if (!isUtf8(content.bytes)) throw new Unfit('is not UTF-8 text')
  if (content.links > 1) throw new Unfit(`is a hard link: the file has ${content.links} names`)
  return content.bytes.toString('utf8')
}

async function inFolderOf<T>(path: string, work: (folder: Directory, name: Buffer) => Promise<T>): Promise<T | null> {
  const folder = await ignoring(['ENOENT'], () => Directory.open(dirname(path)))
  if (folder === null) return null
  try {
    return await work(folder, Buffer.from(basename(path)))
  } finally {
    await folder.close()
  }
}

async function missingFolders(path: string): Promise<readonly string[]> {
  const missing: string[] = []
  for (let at = dirname(path); (await ignoring(['ENOENT'], () => lstat(at))) === null; at = dirname(at))
    missing.unshift(at)
  return missing
}

/** `base`: the file without our changes. */
interface Step extends Looked {
  readonly base: string | null
  readonly after: string | null
  readonly entries: readonly RecordedEntry[]
}

type Outcome =
  | ({ readonly type: 'change' } & Pick<Step, 'base' | 'after' | 'entries'>)
  | { readonly type: 'nothing' }
  | { readonly type: 'left'; readonly why: string }
  | { readonly type: 'refused'; readonly why: string }

type Worked =
  | { readonly ok: true; readonly steps: readonly Step[]; readonly notes: readonly string[] }
  | Extract<InstallPlan, { ok: false }>

function workOut(files: readonly Looked[], work: (looked: Looked) => Outcome): Worked {
  const steps: Step[] = []
  const notes: string[] = []
  const refused: { path: string; why: string }[] = []
  for (const looked of files) {
    const outcome = work(looked)
    const { path } = looked.file
    if (outcome.type === 'refused') refused.push({ path, why: outcome.why })
    else if (outcome.type === 'left') notes.push(`${path} ${outcome.why}`)
    else if (outcome.type === 'change' && outcome.after !== looked.text) steps.push({ ...looked, ...outcome })
  }
  return refused.length === 0 ? { ok: true, steps, notes } : { ok: false, refused }
}

const NOTHING = { type: 'nothing' } as const

function withOurs(looked: Looked): Outcome {
  const { file, text, recorded } = looked
  const undone = undo(looked)
  const base = undone === null ? text : undone.text
  switch (file.kind) {
    case 'whole':
      if (base === null) return { type: 'change', base, after: file.text, entries: [] }
      if (base === file.text) return NOTHING
      if (recorded !== null) return { type: 'left', why: 'was changed since it was installed; it stays as it is' }
      return { type: 'refused', why: 'is there already and was not made by Planfold; move it away first' }
    case 'json':
      return entriesInto(file.entries, base, recorded)
    case 'toml': {
      const found = blockStatus(base ?? '', file.block)
      if (!found.ok) return { type: 'refused', why: found.why }
      if (found.status === 'same') return NOTHING
      if (found.status === 'changed')
        return { type: 'left', why: 'has our table with other lines in it; it stays as it is' }
      if (found.status === 'other')
        return {
          type: 'refused',
          why: `has [${file.block.table.join('.')}] already, not made by Planfold; remove it first`,
        }
      return changed(base, setBlock(base ?? '', file.block))
    }
    default:
      return file satisfies never
  }
}

function entriesInto(wanted: readonly JsonEntry[], there: string | null, recorded: RecordedFile | null): Outcome {
  const held = (recorded?.entries ?? []).filter(({ entry }) => statusOf(there, entry) === 'same')
  const isWanted = ({ entry }: RecordedEntry): boolean => wanted.some(one => same(one, entry))
  if (held.every(isWanted) && wanted.every(entry => statusOf(there, entry) === 'same')) return NOTHING
  // Removes our entries first, also those of earlier versions, to get the original file.
  let base = there
  for (const { entry, made } of held.toReversed()) {
    const without = removeEntry(base ?? '', entry, { made })
    if (without.ok) base = without.text
  }
  if (recorded?.before === null && isEmptyJson(base ?? '')) base = null
  let after = base ?? ''
  const entries: RecordedEntry[] = []
  for (const entry of wanted) {
    const found = entryStatus(after, entry)
    if (!found.ok) return { type: 'refused', why: found.why }
    if (found.status === 'same') continue
    const where = entry.path.join('.')
    if (found.status === 'other')
      return recorded === null
        ? { type: 'refused', why: `has '${where}' already, not made by Planfold; remove it first` }
        : { type: 'left', why: `has another '${where}' than was installed; it stays as it is` }
    const edit = setEntry(after, entry)
    if (!edit.ok) return { type: 'refused', why: edit.why }
    after = edit.text
    entries.push({ entry, made: edit.made })
  }
  return { type: 'change', base, after, entries }
}

function statusOf(text: string | null, entry: JsonEntry): EntryStatus | null {
  const found = entryStatus(text ?? '', entry)
  return found.ok ? found.status : null
}

const changed = (base: string | null, edit: SettingsEdit): Outcome =>
  edit.ok ? { type: 'change', base, after: edit.text, entries: [] } : { type: 'refused', why: edit.why }

function withoutOurs(looked: Looked): Outcome {
  const { file, text, recorded } = looked
  if (text === null || hashOf(text) === recorded?.before) return NOTHING
  const undone = undo(looked)
  if (undone !== null) return { type: 'change', base: null, after: undone.text, entries: [] }
  switch (file.kind) {
    case 'whole':
      return text === file.text ? GONE : { type: 'left', why: 'was changed since it was installed; delete it yourself' }
    case 'json':
      return entriesOutOf(file.entries, text, recorded)
    case 'toml': {
      const found = blockStatus(text, file.block)
      if (!found.ok) return { type: 'refused', why: found.why }
      if (found.status === 'absent') return NOTHING
      if (found.status === 'other')
        return { type: 'left', why: `has [${file.block.table.join('.')}] without our mark; it stays` }
      const without = changed(null, removeBlock(text, file.block))
      return recorded?.before === null && without.type === 'change' && without.after?.trim() === '' ? GONE : without
    }
    default:
      return file satisfies never
  }
}

const GONE: Outcome = { type: 'change', base: null, after: null, entries: [] }

function entriesOutOf(ours: readonly JsonEntry[], text: string, recorded: RecordedFile | null): Outcome {
  let after = text
  for (const { entry, made } of (recorded?.entries ?? ours.map(one => ({ entry: one, made: 0 }))).toReversed()) {
    const found = entryStatus(after, entry)
    if (!found.ok) return { type: 'refused', why: found.why }
    if (found.status === 'absent') continue
    if (found.status === 'other' && recorded === null)
      return { type: 'left', why: `has '${entry.path.join('.')}' that was not made by Planfold; it stays` }
    const without = removeEntry(after, entry, { made })
    if (!without.ok) return { type: 'refused', why: without.why }
    after = without.text
  }
  if (after === text) return NOTHING
  return recorded?.before === null && isEmptyJson(after) ? GONE : { type: 'change', base: null, after, entries: [] }
}

/** The original file; null if it was changed after the install. */
function undo({ text, recorded }: Looked): { readonly text: string | null } | null {
  if (text === null || recorded === null || hashOf(text) !== recorded.after) return null
  if (recorded.before === null) return { text: null }
  if (recorded.undo === null) return null
  const { start, length, text: old } = recorded.undo
  const before = `${text.slice(0, start)}${old}${text.slice(start + length)}`
  return hashOf(before) === recorded.before ? { text: before } : null
}

const hashOf = (text: string): Sha256 => sha256Of(Buffer.from(text))

function recordOf({ file, base, after, entries }: Step): RecordedFile {
  return {
    path: file.path,
    before: base === null ? null : hashOf(base),
    after: hashOf(after ?? ''),
    undo: base === null ? null : spanOf(base, after ?? ''),
    entries,
  }
}

function spanOf(before: string, after: string): NonNullable<RecordedFile['undo']> {
  const most = Math.min(before.length, after.length)
  let [start, end] = [0, 0]
  while (start < most && before[start] === after[start]) start++
  while (end < most - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end++
  return { start, length: after.length - start - end, text: before.slice(start, before.length - end) }
}

const changeOf = ({ file, text, after }: Step): FileChange => ({ path: file.path, before: text, after })

async function write({ real, text, after }: Step): Promise<void> {
  const expect = text === null ? null : hashOf(text)
  if (after !== null) makeFolder(dirname(real), 0o755)
  await inFolderOf(real, async (folder, name) => {
    if (after !== null) await replaceFile(folder, name, { bytes: Buffer.from(after), expect, links: 'refuse' })
    else if (expect !== null) await removeFile(folder, name, expect)
  })
}
