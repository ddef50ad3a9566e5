// Everything a rollback does before its first change: it asks what will happen, demands a choice for every conflict, joins
// texts, stores what stands there now as a snapshot of its own, and sees that all it will need is in the store.

import type { Sha256 } from '../domain/id.ts'
import { failure, refuse } from '../safety/refused.ts'
import type { BytePath } from './manifest.ts'
import { mergeText } from './merge-text.ts'
import { pathBytes, pathText } from './path-text.ts'
import type { Intent, Step } from './rollback-intent.ts'
import { type Assessed, type Assessing, assess } from './rollback-plan.ts'
import { lookUp } from './snapshot-reading.ts'
import { parentOf, within } from './standing.ts'
import { type TreeRow, writeRoot, writeTree } from './tree-object.ts'
import { totalsOf } from './tree-walk.ts'
import type { Batch, Choice, LeftOut, RolledBack, SnapshotBlobs, WriteSet } from './workspace.ts'

export interface Preparing extends Assessing {
  readonly blobs: SnapshotBlobs
}

export type Prepared =
  | ({ readonly ok: true } & Pick<Intent, 'saved' | 'steps' | 'modes' | 'left' | 'merged'>)
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
  // What stands there is durable before anything is decided with it, and can be read back for joining.
  const saved = save(room, batch, assessed)
  await batch.close()

  const left: LeftOut[] = []
  const merged: string[] = []
  const joined: Uint8Array[] = []
  const steps: Step[] = []
  for (const each of assessed) {
    const { preview, have, want } = each
    const path = preview.path
    if (preview.why !== undefined) left.push({ path, reason: preview.why })
    if (preview.will === 'leave' || !('entry' in have) || !('entry' in want)) continue
    const choice = preview.conflict === undefined ? 'theirs' : choices.get(path)
    if (choice === 'mine') left.push({ path, reason: `kept: ${preview.conflict}` })
    else if (choice === 'theirs') steps.push({ path, have: have.entry, want: want.entry })
    else {
      const join = await joinTexts(room.blobs, each)
      if (join === null) left.push({ path, reason: 'the edits do not merge cleanly' })
      else {
        const [sha256] = [await room.blobs.put(join.bytes)]
        joined.push(join.bytes)
        merged.push(path)
        steps.push({
          path,
          have: have.entry,
          want: { type: 'file', mode: join.mode, size: join.bytes.length, sha256 },
        })
      }
    }
  }
  const all = await withFolders(room, steps)
  await demandContents(room.blobs, all)
  return { ok: true, saved, steps: all, modes: modesToOpen(room, all), left, merged }
}

/** A snapshot of these paths only, as they are now. */
function save(room: Preparing, batch: Batch, assessed: readonly Assessed[]): Sha256 {
  interface Node {
    readonly rows: Map<BytePath, TreeRow>
    readonly below: Map<BytePath, Node>
  }
  const top: Node = { rows: new Map(), below: new Map() }
  const nodeAt = (path: BytePath): Node => {
    if (path === '') return top
    const above = nodeAt(parentOf(path))
    const name = path.slice(path.lastIndexOf('/') + 1)
    const known = above.below.get(name)
    if (known !== undefined) return known
    const node: Node = { rows: new Map(), below: new Map() }
    above.below.set(name, node)
    return node
  }
  for (const { path, have } of assessed) {
    const name = path.slice(path.lastIndexOf('/') + 1)
    if ('blocked' in have) nodeAt(parentOf(path)).rows.set(name, { type: 'left', reason: have.blocked })
    else if (have.entry?.type === 'directory') nodeAt(path)
    else if (have.entry !== null) {
      const { entry } = have
      const row = entry.type === 'link' ? { type: 'link' as const, target: pathBytes(entry.target) } : entry
      nodeAt(parentOf(path)).rows.set(name, row)
    }
  }
  const write = (node: Node, path: BytePath): { readonly tree: Sha256; readonly rows: Map<BytePath, TreeRow> } => {
    for (const [name, below] of node.below) {
      const at = path === '' ? name : `${path}/${name}`
      const { tree, rows } = write(below, at)
      const stat = within(room.root, at, (folder, leaf) => folder.look(leaf))
      const mode = stat === null ? 0o755 : Number(stat.mode & 0o7777n)
      node.rows.set(name, { type: 'directory', mode, tree, totals: totalsOf(rows) })
    }
    const rows = new Map([...node.rows].sort(([a], [b]) => (a < b ? -1 : 1)))
    return { tree: batch.add(writeTree(rows)), rows }
  }
  const { tree, rows } = write(top, '')
  return batch.add(writeRoot({ tree, totals: totalsOf(rows), scopes: [], only: assessed.map(({ path }) => path) }))
}

/** The snapshot's text with what was edited since the plan left it. */
async function joinTexts(
  blobs: SnapshotBlobs,
  { left, have, want }: Assessed,
): Promise<{ readonly bytes: Buffer; readonly mode: number } | null> {
  if (left?.type !== 'file' || !('entry' in have) || !('entry' in want)) return null
  if (have.entry?.type !== 'file' || want.entry?.type !== 'file') return null
  const [base, mine, theirs] = await Promise.all([left, have.entry, want.entry].map(({ sha256 }) => blobs.get(sha256)))
  if (!base || !mine || !theirs) return null
  const bytes = mergeText(base, mine, theirs)
  // A mode somebody has set since is an edit too.
  return bytes === null ? null : { bytes, mode: have.entry.mode === left.mode ? want.entry.mode : have.entry.mode }
}

/** What is to be made needs the folders above it; those that are gone are made as the snapshot has them. */
async function withFolders(room: Preparing, steps: readonly Step[]): Promise<readonly Step[]> {
  const all = new Map(steps.map(step => [pathBytes(step.path), step]))
  for (const { path, want } of steps) {
    if (want === null) continue
    for (let above = parentOf(pathBytes(path)); above !== ''; above = parentOf(above)) {
      if (all.has(above) || within(room.root, above, (folder, name) => folder.look(name)) !== null) continue
      const said = await lookUp({ ...room.target, only: null }, above, room.state)
      const mode = 'entry' in said && said.entry?.type === 'directory' ? said.entry.mode : 0o755
      all.set(above, { path: pathText(above), have: null, want: { type: 'directory', mode } })
    }
  }
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, step]) => step)
}

/** Nothing is changed before all that is needed for it was read once, and so verified. */
async function demandContents(blobs: SnapshotBlobs, steps: readonly Step[]): Promise<void> {
  const needed = new Set(steps.flatMap(({ want }) => (want?.type === 'file' ? [want.sha256] : [])))
  blobs.touch(needed)
  for (const id of needed) {
    if ((await blobs.get(id)) === null)
      refuse('logic', `The stored content ${id} is missing; nothing was changed.`, 'Run `planfold check --read-data`.')
  }
}

/** Folders that must be written in but may not: they are opened, and get their mode again. */
function modesToOpen(room: Preparing, steps: readonly Step[]): Intent['modes'] {
  const modes = new Map<BytePath, number>()
  for (const { path } of steps) {
    const parent = parentOf(pathBytes(path))
    if (parent === '' || modes.has(parent)) continue
    const stat = within(room.root, parent, (folder, name) => folder.look(name))
    if (stat?.isDirectory() && (stat.mode & 0o300n) !== 0o300n) modes.set(parent, Number(stat.mode & 0o7777n))
  }
  return [...modes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([path, mode]) => [pathText(path), mode])
}

function undecided(paths: readonly string[]) {
  const more = paths.length > 10 ? ` and ${paths.length - 10} more` : ''
  const shown = paths.slice(0, 10).map(path => JSON.stringify(path))
  return failure(
    'policy',
    `Somebody has worked on ${shown.join(', ')}${more} since; nothing was changed.`,
    'Choose for each: keep mine, take theirs, or merge.',
  )
}
