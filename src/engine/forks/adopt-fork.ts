// Adopts a fork: applies its changes to the plan it was made from, as one entry of that plan's journal, which `undo` reverts. An adoption
// is a rollback in the other direction: the same intent, conflicts, choices and crash safety. When all changes were taken or declined,
// the folder of the fork is removed. Repeating the order completes what is left.
//
//   adopt ──► rollback.started (kind adopt) in the origin ──► files ──► rollback.finished ──► adopt ──► fork.adopted, folder gone

import type { Adoption, ForkAdopted, Rollback } from '../../domain/command.ts'
import type { EventOf } from '../../domain/event.ts'
import { advise, next, quoted } from '../../domain/hint.ts'
import type { PlanId } from '../../domain/id.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { Failure } from '../../domain/result.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { PLAN_ENDED } from '../../domain/status.ts'
import type { Entry, Updated } from '../../stores/store.ts'
import type { Change } from '../../workspace/workspace.ts'
import { refuseReservedFiles } from '../files/reserved-files.ts'
import { isGone, roomsOf } from '../git/plan-worktree.ts'
import type { AdoptAsk, Adopted } from '../orders.ts'
import type { AdoptionPreview, FilePreview } from '../queries.ts'
import { keepChanges, MissingChanges, readChanges } from '../rollback/attempt-changes.ts'
import { choiceFor } from '../rollback/perform-rollback.ts'
import { entriesAfter } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'
import type { Writing } from '../write-order.ts'
import { changedSince, createdBy, type ForkFiles, forkFiles, isFork, storeForkFiles } from './fork-changes.ts'
import { removeForkFolder } from './fork-folder.ts'

const TRIES_MAX = 5
const ANCESTORS_MAX = 20

interface Worked {
  readonly ok: true
  readonly into: PlanState
  readonly files: ForkFiles
  readonly changes: readonly Change[]
  readonly preview: readonly FilePreview[]
  /** The adoption of this fork that is in force. */
  readonly earlier: Earlier | null
  /** It was ordered and has not ended. */
  readonly isUnderWay: boolean
}

type WorkedOut = Worked | { readonly ok: false; readonly refusal: Refusal }

/** Computes what an adoption would do. `rooms` are those of the workspace. */
export async function previewAdoption(rooms: Rooms, state: PlanState, ask: AdoptAsk): Promise<AdoptionPreview> {
  const worked = await workOut(rooms, state, ask)
  if (!worked.ok) return worked
  const { into, files, changes, preview, earlier, isUnderWay } = worked
  return {
    ok: true,
    fork: { plan: state.id, name: state.definition.name },
    into: { plan: into.id, name: into.definition.name },
    status: isUnderWay ? 'under way' : changes.length > 0 ? 'open' : earlier === null ? 'unchanged' : 'adopted',
    seen: files.seen,
    changes,
    files: preview,
    left: files.left,
  }
}

export type Adopting =
  | { readonly ok: true; readonly updated: Extract<Updated, { ok: true }> | null; readonly adopted: Adopted }
  | { readonly ok: false; readonly refusal: Refusal }

export async function adopt(rooms: Rooms, fork: PlanState, ask: AdoptAsk, writing: Writing): Promise<Adopting> {
  for (let tries = 1; ; tries++) {
    const worked = await workOut(rooms, fork, ask)
    if (!worked.ok) return worked
    const { into, changes } = worked
    const target = { plan: into.id, name: into.definition.name }
    if (worked.isUnderWay) return { ok: true, updated: null, adopted: { status: 'ordered', into: target } }
    if (changes.length === 0) return await settle(rooms, fork, worked, ask, writing)
    const paths = changes.map(({ path }) => path)
    const refusal =
      (await refuseReservedFiles(roomsOf(rooms, into), into, paths)) ?? objection(worked, ask, fork.definition.name)
    if (refusal !== null) return { ok: false, refusal }
    if (PLAN_ENDED.has(fork.status)) await storeForkFiles(rooms, fork, worked.files)
    const adopts = await adoptionOf(rooms, fork, worked)
    const { expectedVersion: _, ...once } = writing
    const command = commandFor(rooms, into, adopts, ask)
    const updated = await rooms.store.update(into.id, command, { ...once, expectedVersion: into.version })
    if (updated.ok) return { ok: true, updated, adopted: { status: 'ordered', into: target } }
    if (updated.refusal.code !== 'conflict' || tries >= TRIES_MAX) return updated
  }
}

async function adoptionOf(rooms: Rooms, fork: PlanState, { changes, files }: Worked): Promise<Adoption> {
  const stored = await keepChanges(rooms, changes)
  if (stored === null) throw new Error('bug: an adoption of nothing was ordered')
  const { snapshot } = files
  return {
    fork: fork.id,
    name: fork.definition.name,
    changes: stored,
    snapshot,
  }
}

function commandFor(rooms: Rooms, into: PlanState, adopts: Adoption, { choices, every }: AdoptAsk): Rollback {
  return {
    type: 'rollback',
    id: Buffer.from(rooms.random(16)).toString('base64url'),
    at: rooms.clock.now(),
    kind: 'adopt',
    to: into.version,
    resets: [],
    compensate: [],
    filesOnly: true,
    keepGit: true,
    adopts,
    choices,
    every,
  }
}

async function workOut(rooms: Rooms, fork: PlanState, ask: AdoptAsk): Promise<WorkedOut> {
  try {
    const entries = await entriesAfter(rooms.store, fork.id, 0)
    const refusal = refuseFork(fork, entries)
    if (refusal !== null) return { ok: false, refusal }
    const into = await intoPlan(rooms, fork, ask.into)
    if ('code' in into) return { ok: false, refusal: into }
    const own = roomsOf(rooms, into)
    const found = await forkFiles(rooms, fork, entries)
    if (!found.ok) return no(found.failure, fork)
    const { files } = found
    const under = into.rollback?.adopts?.fork === fork.id
    if (under) return { ok: true, into, files, changes: [], preview: [], earlier: null, isUnderWay: true }
    const earlier = adoptionIn(await entriesAfter(rooms.store, into.id, 0), fork.id)
    const left = await leftToAdopt(rooms, fork, files, earlier)
    if (!left.ok) return no(left.failure, fork)
    const preview = await previewFiles(own, left.changes)
    if (!preview.ok) return no(preview.failure, fork)
    return { ok: true, into, files, changes: left.changes, preview: preview.paths, earlier, isUnderWay: false }
  } catch (error) {
    if (!(error instanceof MissingChanges)) throw error
    const hint = advise`run ${quoted('check', { readData: true })}`
    return no({ class: 'resource', message: error.message, hint, retryable: false }, fork)
  }
}

const no = ({ message, hint }: Failure, { definition }: PlanState): WorkedOut => ({
  ok: false,
  refusal: refuse('conflict', `cannot adopt '${definition.name}': ${message}`, hint),
})

function refuseFork(fork: PlanState, entries: readonly Entry[]): Refusal | null {
  const { name } = fork.definition
  if (fork.place === null)
    return refuse(
      'illegal-transition',
      `'${name}' is not a fork: it works in the workspace itself`,
      'there is nothing to adopt',
    )
  if (!isFork(createdBy(entries)))
    return refuse('not-supported', `'${name}' was not forked from a plan`, `take its branch: git merge plan/${name}`)
  if (fork.rollback !== null)
    return refuse(
      'not-ready',
      `a rollback of '${name}' is under way`,
      advise`let it end first: ${next('resume', { plan: name })}`,
    )
  const busy = fork.order.find(task => task.status === 'running' || task.claim !== null)
  if (busy === undefined) return null
  return refuse(
    'not-ready',
    `'${busy.definition.id}' of '${name}' is still working in its folder`,
    advise`wait for it, or pause the fork first: ${next('pause', { plan: name })}`,
  )
}

/** The plan that takes the changes: the named one, else the nearest ancestor whose folder exists. */
async function intoPlan(rooms: Rooms, fork: PlanState, named: string | undefined): Promise<PlanState | Refusal> {
  const way = 'name another plan that works in this workspace: --into PLAN'
  if (named !== undefined) {
    const found = await rooms.store.find(named)
    const state = found === null ? null : await rooms.store.state(found.plan)
    if (state === null) return refuse('not-found', `there is no plan '${named}'`, advise`see ${quoted('list')}`)
    return refuseInto(rooms, fork, state, way) ?? state
  }
  let at: PlanState = fork
  for (let up = 0; up < ANCESTORS_MAX; up++) {
    const above = at.origin === null ? null : await rooms.store.state(at.origin)
    if (above === null)
      return refuse('not-found', `the plan that '${fork.definition.name}' was forked from is not in this store`, way)
    if (!isGone(roomsOf(rooms, above))) return refuseInto(rooms, fork, above, way) ?? above
    at = above
  }
  return refuse('not-found', `no plan above '${fork.definition.name}' has a folder any more`, way)
}

function refuseInto(rooms: Rooms, fork: PlanState, into: PlanState, way: string): Refusal | null {
  const { name } = into.definition
  if (into.id === fork.id) return refuse('invalid', 'a fork cannot be adopted into itself', way)
  if (isGone(roomsOf(rooms, into))) return refuse('conflict', `the folder of '${name}' is gone`, way)
  if (into.archived) return refuse('illegal-transition', `'${name}' is archived, so nothing can be recorded in it`, way)
  if (into.status === 'draft')
    return refuse('illegal-transition', `'${name}' was not started, so nothing can be recorded in it`, way)
  return null
}

interface Earlier {
  readonly adoption: Adoption
  readonly version: number
  readonly open: ReadonlySet<string>
}

/** The last adoption of the fork that was not rolled back or undone since. */
function adoptionIn(entries: readonly Entry[], fork: PlanId): Earlier | null {
  const after: (Earlier | null)[] = [null]
  let now: Earlier | null = null
  let begun: EventOf<'rollback.started'> | null = null
  for (const { version, events } of entries) {
    for (const event of events) {
      if (event.type === 'rollback.started') begun = event
      if (event.type !== 'rollback.finished' || begun === null) continue
      if (begun.adopts?.fork === fork) now = { adoption: begun.adopts, version, open: openOf(event) }
      else if (begun.kind !== 'adopt' && begun.paths === undefined && begun.tasks === undefined)
        now = after[begun.to] ?? null
    }
    after[version] = now
  }
  return now
}

/** Files that were left without a choice to keep them. */
const openOf = ({ left = [] }: EventOf<'rollback.finished'>): ReadonlySet<string> =>
  new Set(left.flatMap(({ path, kept }) => (kept === true ? [] : [path])))

async function leftToAdopt(
  rooms: Rooms,
  fork: PlanState,
  files: ForkFiles,
  earlier: Earlier | null,
): Promise<
  { readonly ok: true; readonly changes: readonly Change[] } | { readonly ok: false; readonly failure: Failure }
> {
  if (earlier === null) return await changedSince(rooms, fork, files, null)
  const before = await readChanges(rooms, earlier.adoption.changes)
  const open = before.filter(({ path }) => earlier.open.has(path))
  const { snapshot } = earlier.adoption
  // Without a snapshot the changes are known from the journal only, then and now.
  if (snapshot === undefined || files.snapshot === undefined || snapshot === files.snapshot)
    return { ok: true, changes: open }
  const since = await changedSince(rooms, fork, files, snapshot)
  if (!since.ok) return since
  const moved = new Set(since.changes.map(({ path }) => path))
  return { ok: true, changes: [...since.changes, ...open.filter(({ path }) => !moved.has(path))] }
}

async function previewFiles({ snapshots }: Rooms, changes: readonly Change[]) {
  if (changes.length === 0) return { ok: true as const, paths: [] }
  if (snapshots === undefined)
    return {
      ok: false as const,
      failure: { class: 'policy' as const, message: 'this engine was opened without file snapshots', retryable: false },
    }
  const target = await snapshots.compose(changes.map(({ path, after }) => [path, after] as const))
  if (!target.ok) return target
  return await snapshots.preview(
    target.manifest,
    changes.map(({ path, before }) => [path, before] as const),
  )
}

function objection({ preview }: Worked, ask: AdoptAsk, name: string): Refusal | null {
  const undecided = preview.filter(({ path, conflict }) => conflict !== undefined && choiceFor(ask, path) === undefined)
  if (undecided.length === 0) return null
  const paths = undecided.map(({ path }) => path)
  const shown = paths.slice(0, 10).map(path => JSON.stringify(path))
  const more = paths.length > 10 ? ` and ${paths.length - 10} more` : ''
  return refuse(
    'conflict',
    `${shown.join(', ')}${more} changed here since '${name}' was forked; nothing was changed`,
    'choose keep, take or merge for each',
    paths,
  )
}

/** Nothing is left to adopt: removes the folder if it may go, and records in the fork where its work is. */
async function settle(
  rooms: Rooms,
  fork: PlanState,
  worked: Worked,
  ask: AdoptAsk,
  writing: Writing,
): Promise<Adopting> {
  const { into, earlier, files } = worked
  const target = { plan: into.id, name: into.definition.name }
  const why = PLAN_ENDED.has(fork.status)
    ? ask.keepFolder === true
      ? 'it was asked to be kept'
      : (await storeForkFiles(rooms, fork, files))
        ? await removeForkFolder(rooms, fork, files.snapshot, ask)
        : 'its content could not be recorded in the event log of the fork'
    : 'the fork has not ended'
  const fate: ForkAdopted = {
    into: into.id,
    name: into.definition.name,
    version: earlier?.version ?? null,
    folder: why === null ? 'removed' : 'kept',
    ...(why === null ? {} : { why }),
  }
  const adopted: Adopted = { status: 'settled', into: target, folder: fate.folder, ...(why === null ? {} : { why }) }
  if (isRecorded(files.entries, fate)) return { ok: true, updated: null, adopted }
  const { expectedVersion: _, ...once } = writing
  const updated = await rooms.store.update(fork.id, { type: 'adopted', ...fate }, once)
  // An archived fork takes no entry; the rest is done anyway.
  return { ok: true, updated: updated.ok ? updated : null, adopted }
}

function isRecorded(entries: readonly Entry[], { into, version, folder }: ForkAdopted): boolean {
  const last = entries.flatMap(({ events }) => events).findLast(event => event.type === 'fork.adopted')
  return last?.type === 'fork.adopted' && last.into === into && last.version === version && last.folder === folder
}
