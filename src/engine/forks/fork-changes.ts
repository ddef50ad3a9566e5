// The changes of a fork: its files compared with those it started with. Read from its folder while that exists, then from the snapshot that
// was stored when the fork ended or was last adopted, else from the change sets of its journal.

import type { Event, EventOf } from '../../domain/event.ts'
import { type Actor, checkpointName, type PlanId, type Sha256, type TaskName } from '../../domain/id.ts'
import type { Failure, WorkspaceStamp } from '../../domain/result.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { PLAN_ENDED } from '../../domain/status.ts'
import type { Entry } from '../../stores/store.ts'
import type { Change, LeftOut } from '../../workspace/workspace.ts'
import { isGone, roomsOf } from '../git/plan-worktree.ts'
import { declaredScopes, standingNow } from '../rollback/attempt-changes.ts'
import { composeSince, entriesAfter, scopesIn } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'

const ENGINE = 'engine' as Actor

export interface ForkFiles {
  /** `folder`: as it is now. `end`: as it was when the fork ended, or was adopted later. `journal`: what its tasks recorded. */
  readonly seen: 'folder' | 'end' | 'journal'
  readonly snapshot?: Sha256
  /** All files at the start; absent in forks of older releases. */
  readonly start?: Sha256
  readonly left: readonly LeftOut[]
  readonly entries: readonly Entry[]
}

type Answer<T> = ({ readonly ok: true } & T) | { readonly ok: false; readonly failure: Failure }

export const isFork = (created: EventOf<'plan.created'>): boolean =>
  created.forkedAt !== undefined && created.place !== undefined

export function createdBy(entries: readonly Entry[]): EventOf<'plan.created'> {
  const created = entries[0]?.events[0]
  if (created?.type !== 'plan.created') throw new Error('bug: the journal of a plan begins with its creation')
  return created
}

export async function forkFiles(
  rooms: Rooms,
  state: PlanState,
  entries: readonly Entry[],
): Promise<Answer<{ readonly files: ForkFiles }>> {
  const { start } = createdBy(entries)
  const known = { entries, start }
  const own = roomsOf(rooms, state)
  if (!isGone(own)) {
    const taken = await own.snapshots?.snapshot({ scopes: declaredScopes(state.definition) })
    if (taken === undefined)
      return {
        ok: false,
        failure: { class: 'policy', message: 'this engine was opened without file snapshots', retryable: false },
      }
    if (!taken.ok) return taken
    return { ok: true, files: { seen: 'folder', snapshot: taken.manifest, left: taken.left, ...known } }
  }
  const ended = endedFiles(entries)
  if (ended !== null) return { ok: true, files: { seen: 'end', snapshot: ended, left: [], ...known } }
  return { ok: true, files: { seen: 'journal', left: [], ...known } }
}

/** The snapshot of its end, unless the fork has continued since. */
function endedFiles(entries: readonly Entry[]): Sha256 | null {
  let found: Sha256 | null = null
  for (const event of eventsOf(entries)) {
    if (event.type === 'checkpoint.taken' && event.why === 'ended') found = event.standing.snapshot ?? null
    else if (event.type === 'attempt.started' || event.type === 'rollback.finished') found = null
  }
  return found
}

export async function changedSince(
  rooms: Rooms,
  state: PlanState,
  { snapshot, start, entries }: ForkFiles,
  since: Sha256 | null,
): Promise<Answer<{ readonly changes: readonly Change[] }>> {
  const from = since ?? start
  if (snapshot !== undefined && from !== undefined && rooms.snapshots !== undefined)
    return await rooms.snapshots.diff(from, snapshot)
  const written = await composeSince(roomsOf(rooms, state), entries, { scopeOf: scopesIn(state) })
  return { ok: true, changes: written.changes }
}

/** Stores the files of a fork that has ended, once for each end, so that they outlive its folder. */
export async function storeForkEnd(rooms: Rooms, plan: PlanId): Promise<void> {
  const state = await rooms.store.state(plan)
  if (state === null || state.place === null || state.origin === null || !PLAN_ENDED.has(state.status)) return
  const own = roomsOf(rooms, state)
  if (state.archived || own.snapshots === undefined || isGone(own)) return
  const entries = await entriesAfter(rooms.store, plan, 0)
  if (!isFork(createdBy(entries)) || isStored(entries)) return
  const standing = await standingNow(own, state)
  if (standing.snapshot === undefined) return
  await takeEnd(rooms, state, standing, state.version)
}

/** Stores later work as the fork's end, so that an adoption can be repeated. False if its files or its journal have changed meanwhile. */
export async function storeForkFiles(rooms: Rooms, state: PlanState, files: ForkFiles): Promise<boolean> {
  const { seen, snapshot, entries } = files
  if (seen !== 'folder' || snapshot === undefined || endedFiles(entries) === snapshot) return true
  const standing = await standingNow(roomsOf(rooms, state), state)
  if (standing.snapshot !== snapshot) return false
  return await takeEnd(rooms, state, standing, entries.at(-1)?.version ?? state.version)
}

/** Refused if the fork continues meanwhile; then its next end is stored. */
async function takeEnd(
  rooms: Rooms,
  { id }: PlanState,
  standing: WorkspaceStamp,
  expectedVersion: number,
): Promise<boolean> {
  const name = checkpointName('end' as TaskName, rooms.clock.now())
  const command = { type: 'checkpoint', name, standing, why: 'ended' } as const
  return (await rooms.store.update(id, command, { actor: ENGINE, expectedVersion })).ok
}

/** Since it last ended. */
function isStored(entries: readonly Entry[]): boolean {
  let stored = false
  for (const event of eventsOf(entries)) {
    if (event.type === 'plan.finished' || event.type === 'plan.cancelled') stored = false
    else if (event.type === 'checkpoint.taken' && event.why === 'ended') stored = true
  }
  return stored
}

function* eventsOf(entries: readonly Entry[]): Generator<Event> {
  for (const { events } of entries) yield* events
}
