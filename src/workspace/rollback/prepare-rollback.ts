// Everything a rollback does before its first change: previews, demands a choice for every conflict, merges texts, stores the current files
// as a snapshot, and checks that everything it needs is in the store.

import * as fs from 'node:fs'
import { advise, quoted } from '../../domain/hint.ts'
import type { Sha256 } from '../../domain/id.ts'
import { failure, refuse } from '../../safety/safety-refusal.ts'
import { parentOf } from '../files/current-file.ts'
import { attempt, typeAt } from '../files/file-calls.ts'
import type { OpenFolder } from '../files/open-folder.ts'
import { pathBytes, pathText } from '../files/path-text.ts'
import type { BytePath } from '../snapshots/manifest.ts'
import { type Part, writePartial } from '../snapshots/partial-snapshot.ts'
import { lookUp } from '../snapshots/read-snapshot.ts'
import type { Stamp } from '../snapshots/stat-cache.ts'
import { ASIDE } from '../snapshots/tree-walk.ts'
import type { Batch, Choice, LeftOut, RolledBack, SnapshotBlobs, WriteSet } from '../workspace.ts'
import { mergeText } from './merge-text.ts'
import type { Intent, Step } from './rollback-intent.ts'
import { type Assessed, type Assessing, assess } from './rollback-plan.ts'

const CONTENTS_MAX_BYTES = 16 * 1024 * 1024

export interface Preparing extends Assessing {
  readonly blobs: SnapshotBlobs
}

export interface Begun {
  readonly contents: ReadonlyMap<Sha256, Uint8Array>
  readonly seen: ReadonlyMap<string, Stamp>
}

export type Prepared =
  | ({
      readonly ok: true
    } & Begun &
      Pick<Intent, 'saved' | 'steps' | 'modes' | 'left' | 'merged'>)
  | Extract<RolledBack, { ok: false }>

export async function prepare(
  room: Preparing,
  writeSet: WriteSet,
  choices: ReadonlyMap<string, Choice>,
): Promise<Prepared> {
  const batch = room.blobs.batch()
  const assessed = await assess({ ...room, keep: ({ sha256 }, bytes) => void batch.add(bytes, sha256) }, writeSet)
  const conflicts = assessed.map(({ preview }) => preview).filter(each => each.conflict && !choices.has(each.path))
  if (conflicts.length > 0) {
    await batch.close()
    return { ok: false, failure: undecided(conflicts.map(({ path }) => path)), conflicts }
  }
  // The current files must be durable before a decision uses them, and readable for merging.
  const look = onceEach(room.root)
  const saved = save(look, batch, assessed)
  const [stored, read] = await Promise.allSettled([batch.close(), readContents(room.blobs, wanted(assessed, choices))])
  if (stored.status === 'rejected') throw stored.reason
  if (read.status === 'rejected') throw read.reason

  const left: LeftOut[] = []
  const merged: string[] = []
  const steps: Step[] = []
  for (const each of assessed) {
    const { preview, have, want } = each
    const path = preview.path
    if (preview.why !== undefined) left.push({ path, reason: preview.why })
    if (preview.will === 'leave' || !('entry' in have) || !('entry' in want)) continue
    const choice = preview.conflict === undefined ? 'take' : choices.get(path)
    if (choice === 'keep') left.push({ path, reason: `kept: ${preview.conflict}`, kept: true })
    else if (choice === 'take') steps.push({ path, have: have.entry, want: want.entry, ...apartOf(each) })
    else {
      const join = await joinTexts(room.blobs, each)
      if (join === null) left.push({ path, reason: 'the edits do not merge cleanly' })
      else {
        const [sha256] = [await room.blobs.put(join.bytes)]
        merged.push(path)
        steps.push({
          path,
          have: have.entry,
          want: { type: 'file', mode: join.mode, size: join.bytes.length, sha256 },
        })
      }
    }
  }
  const all = await withFolders(room, look, steps)
  if (all.length > 0) demandAside(room.root)
  const modes = modesToOpen(look, all)
  return { ok: true, contents: read.value, seen: stampsOf(assessed), saved, steps: all, modes, left, merged }
}

/** The stamps of the files that were read, so that unchanged ones need not be read again. */
function stampsOf(assessed: readonly Assessed[]): ReadonlyMap<string, Stamp> {
  return new Map(
    assessed.flatMap(({ preview, have }) =>
      'entry' in have && have.stamp !== undefined ? [[preview.path, have.stamp] as const] : [],
    ),
  )
}

function save(look: Look, batch: Batch, assessed: readonly Assessed[]): Sha256 {
  const parts = assessed.map(({ path, have }): [BytePath, Part] =>
    'blocked' in have ? [path, { type: 'left', reason: have.blocked }] : [path, have.entry],
  )
  return writePartial(batch, new Map(parts), at => {
    const stat = look(at)
    return stat?.isDirectory() ? stat.mode & 0o7777 : 0o755
  })
}

type Look = (folder: BytePath) => fs.Stats | null

/** Caches the stat of a folder for many steps. It goes by path, so it may only be used to read modes, never to change anything. */
function onceEach(root: OpenFolder): Look {
  const seen = new Map<BytePath, fs.Stats | null>()
  return path => {
    const known = seen.get(path)
    if (known !== undefined) return known
    const stat = root.glance(path)
    seen.set(path, stat)
    return stat
  }
}

async function joinTexts(
  blobs: SnapshotBlobs,
  { left, have, want }: Assessed,
): Promise<{ readonly bytes: Buffer; readonly mode: number } | null> {
  if (left?.type !== 'file' || !('entry' in have) || !('entry' in want)) return null
  if (have.entry?.type !== 'file' || want.entry?.type !== 'file') return null
  // The plan left what the snapshot has, so there is no second edit to merge.
  if (left.sha256 === want.entry.sha256) return null
  const [base, mine, theirs] = await Promise.all([left, have.entry, want.entry].map(({ sha256 }) => blobs.get(sha256)))
  if (!base || !mine || !theirs) return null
  const bytes = mergeText(base, mine, theirs)
  // A changed mode is an edit too.
  return bytes === null ? null : { bytes, mode: have.entry.mode === left.mode ? want.entry.mode : have.entry.mode }
}

/** Adds the missing parent folders of files to create, as the snapshot has them. */
async function withFolders(room: Preparing, look: Look, steps: readonly Step[]): Promise<readonly Step[]> {
  const all = new Map(steps.map(step => [pathBytes(step.path), step]))
  for (const { path, want } of steps) {
    if (want === null) continue
    for (let above = parentOf(pathBytes(path)); above !== ''; above = parentOf(above)) {
      if (all.has(above) || look(above) !== null) continue
      const recorded = await lookUp({ ...room.target, only: null }, above, room.state)
      const mode = 'entry' in recorded && recorded.entry?.type === 'directory' ? recorded.entry.mode : 0o755
      all.set(above, { path: pathText(above), have: null, want: { type: 'directory', mode } })
    }
  }
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, step]) => step)
}

/** A mode applies to all hard links of a file, and only one of them is ours to change. */
const apartOf = ({ have }: Assessed): Pick<Step, 'apart'> =>
  'entry' in have && have.links !== undefined && have.links > 1 ? { apart: true } : {}

/** A rollback that has begun must be able to end, so its aside folder is checked first. */
function demandAside(root: OpenFolder): void {
  const { R_OK, W_OK, X_OK } = fs.constants
  const type = typeAt(root, ASIDE)
  if (type !== null && type !== 'directory')
    refuse('policy', `${ASIDE} is in the way; nothing was changed`, 'move it away and try again')
  const folder = type === null ? root.at(null) : root.at(ASIDE)
  if (!attempt(['EACCES', 'EPERM', 'EROFS'], () => fs.accessSync(folder, R_OK | W_OK | X_OK)))
    refuse('logic', 'the folder may not be written in; nothing was changed', 'check owner and mode')
}

function wanted(assessed: readonly Assessed[], choices: ReadonlyMap<string, Choice>): ReadonlySet<Sha256> {
  const taken = assessed.filter(({ preview }) => {
    if (preview.will === 'leave') return false
    return preview.conflict === undefined || choices.get(preview.path) === 'take'
  })
  return new Set(
    taken.flatMap(({ want }) => ('entry' in want && want.entry?.type === 'file' ? [want.entry.sha256] : [])),
  )
}

/** Reads and verifies everything that is needed before the first change. */
async function readContents(
  blobs: SnapshotBlobs,
  needed: ReadonlySet<Sha256>,
): Promise<ReadonlyMap<Sha256, Uint8Array>> {
  const contents = new Map<Sha256, Uint8Array>()
  let room = CONTENTS_MAX_BYTES
  blobs.touch(needed)
  for (const id of needed) {
    const bytes = await blobs.get(id)
    if (bytes === null)
      refuse(
        'logic',
        `the stored content ${id} is missing; nothing was changed`,
        advise`run ${quoted('check', { readData: true })}`,
      )
    room -= bytes.length
    if (room >= 0) contents.set(id, bytes)
  }
  return contents
}

/** Read-only folders that must be written: they are opened temporarily. */
function modesToOpen(look: Look, steps: readonly Step[]): Intent['modes'] {
  const modes = new Map<BytePath, number>()
  for (const { path } of steps) {
    const parent = parentOf(pathBytes(path))
    if (parent === '' || modes.has(parent)) continue
    const stat = look(parent)
    if (stat?.isDirectory() && (stat.mode & 0o300) !== 0o300) modes.set(parent, stat.mode & 0o7777)
  }
  return [...modes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([path, mode]) => [pathText(path), mode])
}

function undecided(paths: readonly string[]) {
  const more = paths.length > 10 ? ` and ${paths.length - 10} more` : ''
  const shown = paths.slice(0, 10).map(path => JSON.stringify(path))
  return failure(
    'policy',
    `somebody has worked on ${shown.join(', ')}${more} since; nothing was changed`,
    'choose keep, take or merge for each',
  )
}
