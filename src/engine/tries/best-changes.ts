// Writes the changes of the best try into the workspace, as the work of its attempt, and takes them back if the attempt fails. Edits that a
// person made meanwhile stay: in the same file they are merged, and where both changed the same lines the person decides and nothing is
// written before. Files that change between the comparison and the write are compared again. Repeatable after a crash.

import { createHash } from 'node:crypto'
import type { Actor, PlanId, Sha256, TaskName } from '../../domain/id.ts'
import { permitFor } from '../../domain/network-decision.ts'
import type { Field } from '../../domain/plan.ts'
import type { Failure } from '../../domain/result.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { openRace, type Race, triedAt } from '../../domain/tries/race.ts'
import type { Change, TreeEntry } from '../../workspace/workspace.ts'
import { isMoved } from '../files/restore-scope.ts'
import { newQuestionId } from '../gates/inbox-id.ts'
import { diffText, redactFor } from '../judges/judged-work.ts'
import { readChanges } from '../rollback/attempt-changes.ts'
import { isSame } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'
import { type Entries, entriesNow, writable } from './entries-now.ts'

const ENGINE = 'engine' as Actor
const SHOWN_MAX = 2_000
const TRIES_MAX = 5

export type Applied =
  | { readonly ok: true }
  /** A person is asked. */
  | { readonly ok: false; readonly asked: string }
  | { readonly ok: false; readonly failure: Failure }

interface Applying {
  readonly rooms: Rooms
  readonly state: PlanState
  readonly task: TaskState
  readonly race: Race
  readonly number: number
  readonly changes: readonly Change[]
  /** Recorded before the first file changes. */
  readonly onSaved: (saved: Sha256, overwrote: readonly string[]) => Promise<void>
}

export async function applyBest(applying: Applying): Promise<Applied> {
  if (applying.changes.length === 0) return { ok: true }
  return await untilAtRest(() => apply(applying))
}

/** Files that change meanwhile are compared again, a few times. */
async function untilAtRest(act: () => Promise<Applied>): Promise<Applied> {
  for (let tried = 1; ; tried++) {
    const done = await act()
    if (done.ok || 'asked' in done || tried >= TRIES_MAX || !isMoved(done.failure)) return done
  }
}

async function apply(applying: Applying): Promise<Applied> {
  const { rooms, race, changes, onSaved } = applying
  const now = await entriesNow(rooms, race.start, changes)
  if (!now.ok) return now
  const { saved, entries } = now
  const { write, touching } = await mergeEdits(rooms, changes, entries)
  const paths = touching.map(({ path }) => path)
  const choice = touching.length === 0 ? 'none' : await chosen(applying, touching, entries)
  if (choice === 'asked')
    return { ok: false, asked: `you and the best try changed the same lines of ${paths.join(', ')}` }
  if (choice === 'take') for (const { path, after } of touching) write.set(path, after)
  // Where a file stays, no folder can be made.
  else for (const path of write.keys()) if (paths.some(kept => path.startsWith(`${kept}/`))) write.delete(path)
  await onSaved(saved, choice === 'take' ? paths : [])
  const all = await writable(rooms.root, write, entries)
  if (all.size === 0) return { ok: true }
  const restored = await rooms.workspace.restore(saved, { write: all, judged: [] })
  return restored.ok ? { ok: true } : restored
}

/** Takes the changes back after the attempt has failed. What others changed since stays. The failure if some of the changes stay as well. */
export async function takeBack(rooms: Rooms, plan: PlanId, task: TaskName): Promise<Failure | null> {
  const now = (await rooms.store.state(plan))?.tasks.get(task)
  const race = now === undefined ? null : openRace(now)
  const best = race === null ? undefined : triedAt(race, race.judged?.best ?? null)
  if (race?.applied === undefined || best?.changes == null) return null
  const changes = await readChanges(rooms, best.changes)
  const done = await untilAtRest(() => takeBackNow(rooms, race, changes))
  return done.ok || 'asked' in done ? null : done.failure
}

async function takeBackNow(rooms: Rooms, race: Race, changes: readonly Change[]): Promise<Applied> {
  const now = await entriesNow(rooms, race.start, changes)
  if (!now.ok) return now
  const found = await writtenIn(rooms, race, changes)
  if (!found.ok) return found
  const write = new Map<string, TreeEntry | null>()
  const left: string[] = []
  for (const [path, { before, wrote: ours }] of found.written) {
    const current = now.entries.get(path) ?? null
    // Where nothing stands, nothing of the try stands.
    if (isSame(current, before) || (current === null && ours !== null)) continue
    if (isSame(current, ours)) write.set(path, before)
    else if (current?.type === 'directory' && ours?.type === 'directory') continue
    else {
      const merged = await mergedEntry(rooms, ours, current, before)
      if (merged === null) left.push(path)
      else if (!isSame(merged, current)) write.set(path, merged)
    }
  }
  const all = await writable(rooms.root, write, now.entries)
  const restored = all.size === 0 ? null : await rooms.workspace.restore(now.saved, { write: all, judged: [] })
  if (restored?.ok === false) return restored
  return left.length === 0 ? { ok: true } : { ok: false, failure: stays(left) }
}

const stays = (paths: readonly string[]): Failure => ({
  class: 'logic',
  code: 'tries:left',
  message: `${paths.join(', ')} changed since, in the same lines`,
  retryable: false,
})

/** What was at a path before the best try was written there, and what was written. */
type Written = ReadonlyMap<string, { readonly before: TreeEntry | null; readonly wrote: TreeEntry | null }>

/** It follows from the files that were saved before, so it is known after an interruption, too. */
async function writtenIn(
  rooms: Rooms,
  { applied }: Race,
  changes: readonly Change[],
): Promise<{ readonly ok: true; readonly written: Written } | { readonly ok: false; readonly failure: Failure }> {
  const written = new Map<string, { before: TreeEntry | null; wrote: TreeEntry | null }>()
  if (applied === undefined) return { ok: true, written }
  const own = new Map(changes.map(change => [change.path, change]))
  for (const { saved, paths } of [{ saved: applied.saved, paths: null }, ...(applied.overwrote ?? [])]) {
    const since = await rooms.workspace.changesSince(saved)
    if (!since.ok) return since
    for (const { path, before: was } of since.changes) {
      const change = own.get(path)
      if (change === undefined || (paths !== null && !paths.includes(path)) || isSame(was, change.after)) continue
      const isTaken = paths !== null || isSame(was, change.before)
      const wrote = isTaken ? change.after : await mergedEntry(rooms, change.before, was, change.after)
      if (isTaken || wrote !== null) written.set(path, { before: was, wrote })
    }
  }
  return { ok: true, written }
}

async function mergeEdits(rooms: Rooms, changes: readonly Change[], now: Entries) {
  const write = new Map<string, TreeEntry | null>()
  const touching: Change[] = []
  for (const change of changes) {
    const { path, before, after } = change
    const current = now.get(path) ?? null
    if (isSame(current, after)) continue
    if (isSame(current, before)) write.set(path, after)
    // Both made the folder, or the person changed its mode: it stays.
    else if (current?.type === 'directory' && (after ?? before)?.type === 'directory') continue
    else {
      const both = await mergedEntry(rooms, before, current, after)
      if (both === null) touching.push(change)
      // An earlier, interrupted attempt had merged them.
      else if (!isSame(both, current)) write.set(path, both)
    }
  }
  return { write, touching }
}

/** Null if they cannot be merged. */
async function mergedEntry(
  rooms: Rooms,
  base: TreeEntry | null,
  mine: TreeEntry | null,
  theirs: TreeEntry | null,
): Promise<TreeEntry | null> {
  if (base?.type !== 'file' || mine?.type !== 'file' || theirs?.type !== 'file') return null
  const both = await rooms.workspace.merge(base.sha256, mine.sha256, theirs.sha256)
  return both === null ? null : { type: 'file', mode: mine.mode, ...both }
}

const FORM: readonly Field[] = [
  {
    name: 'allow',
    label: 'yes: the version of the try, and yours is backed up; no: yours',
    type: 'choice',
    choices: ['yes', 'no'],
  },
]

/** The answer holds for exactly these versions: who edits on is asked again. */
async function chosen(
  { rooms, state, task: { definition, visit }, number }: Applying,
  touching: readonly Change[],
  now: Entries,
): Promise<'take' | 'keep' | 'asked'> {
  const versions = touching.map(({ path, after }) => [path, after, now.get(path) ?? null])
  const rule = `tries:${createHash('sha256')
    .update(JSON.stringify([visit, number, versions]))
    .digest('hex')
    .slice(0, 32)}`
  const permit = permitFor(state.permits, definition.id, rule)
  if (permit !== null) return permit.allowed ? 'take' : 'keep'
  const redact = await redactFor(rooms, state)
  const yours = touching.map(change => ({ ...change, after: now.get(change.path) ?? null }))
  const [mine, other] = [
    await diffText(rooms, yours, SHOWN_MAX, redact),
    await diffText(rooms, touching, SHOWN_MAX, redact),
  ]
  const shown = `Your edit:\n${mine}\n\nTry ${number}:\n${other}`
  const text = `You and try ${number} of task '${definition.id}' changed the same lines. Take the version of the try?\n${shown}`
  const id = newQuestionId(() => createHash('sha256').update(`${state.id}/${definition.id}/${rule}`).digest())
  const asking = { type: 'ask', id, task: definition.id, by: 'planfold', text, form: FORM, agent: { rule } } as const
  await rooms.store.update(state.id, asking, { actor: ENGINE })
  return 'asked'
}
