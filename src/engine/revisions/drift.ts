// What has changed since the definition took effect: commit and files, and by whom; and criteria that did not hold. Each revision is
// stamped with the state of the workspace. Changes by the plan's own tasks are no drift.

import type { Millis, PlanId, TaskName } from '../../domain/id.ts'
import { numberOf } from '../../domain/phrases.ts'
import { isWatched } from '../../domain/plan-rules/effect.ts'
import { DONE_TASK } from '../../domain/plan-rules/graph-rules.ts'
import type { WorkspaceStamp } from '../../domain/result.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { gitOperationsSince } from '../../domain/views/git-operations.ts'
import type { Entry } from '../../stores/store.ts'
import type { Change, TreeEntry } from '../../workspace/workspace.ts'
import { lostOutputs } from '../files/lost-outputs.ts'
import { isGone, roomsOf } from '../git/plan-worktree.ts'
import type { Drift, DriftedFile, UnmetCriterion } from '../queries.ts'
import { gitStanding, MissingChanges, readChanges, standingNow } from '../rollback/attempt-changes.ts'
import { changeTime } from '../rollback/change-owner.ts'
import { changesOf, composeSince, entriesAfter, followFiles, isSame, scopesIn } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'

/** The stamp of a plan; a draft is stamped when it is started. */
export async function stampOf(
  rooms: Rooms,
  plan: PlanId,
  when?: 'begun',
): Promise<{ readonly stamp?: WorkspaceStamp }> {
  const state = await rooms.store.state(plan)
  if (state === null || (when === 'begun' && state.status === 'draft')) return {}
  const made = await stamp(roomsOf(rooms, state), state)
  return made === undefined ? {} : { stamp: made }
}

/** The state of the workspace when a definition takes effect: the commit, and all files if the plan tracks them. */
async function stamp(rooms: Rooms, state: PlanState): Promise<WorkspaceStamp | undefined> {
  if (isGone(rooms)) return undefined
  const { definition } = state
  const seen = { definition, files: 'seen' as const }
  if (rooms.snapshots !== undefined && definition.tasks.some(task => isWatched(seen, task)))
    return await standingNow(rooms, state)
  const git = await gitStanding(rooms)
  return git === null ? undefined : { git, lacks: 'no task of the plan looks at all files' }
}

export async function drift(
  rooms: Rooms,
  state: PlanState,
  { files: wanted = true }: { readonly files?: boolean | undefined } = {},
): Promise<Drift> {
  // Without files only the stamp is read, however long the journal is.
  const after = wanted ? 0 : Math.max(0, state.stampedEntry - 1)
  const entries = wanted
    ? await entriesAfter(rooms.store, state.id, 0)
    : await rooms.store.read(state.id, { after, limit: 1 })
  const { at, version, standing } = stampIn(entries)
  const since = entries.filter(entry => entry.version > version)
  const found = wanted && !isGone(rooms) ? await movedFiles(rooms, state, { at, standing }, since, entries) : NONE
  return {
    revision: state.revision,
    since: { at, version },
    commit: await movedCommit(rooms, standing, () => (wanted ? since : entriesAfter(rooms.store, state.id, version))),
    ...found,
    unmet: unmetOf(state),
    outputs: wanted ? await lostOutputs(rooms, state) : [],
  }
}

function stampIn(entries: readonly Entry[]): {
  readonly at: Millis
  readonly version: number
  readonly standing: WorkspaceStamp | null
} {
  let last: { at: Millis; version: number; standing: WorkspaceStamp | null } = { at: 0, version: 0, standing: null }
  for (const { version, now, events } of entries) {
    for (const event of events) {
      if (event.type === 'plan.started' || event.type === 'plan.revised')
        last = { at: now, version, standing: event.stamp ?? null }
      // Recorded before revisions had stamps, or by a rule while the plan ran: a checkpoint serves as well.
      else if (event.type === 'checkpoint.taken' && last.standing === null)
        last = { at: now, version, standing: event.standing }
    }
  }
  return last
}

async function movedCommit(
  rooms: Rooms,
  then: WorkspaceStamp | null,
  since: () => readonly Entry[] | Promise<readonly Entry[]>,
): Promise<Drift['commit']> {
  if (then?.git === undefined || isGone(rooms)) return null
  const now = await gitStanding(rooms)
  const { head, branch } = then.git
  if (now === null || (now.head === head && now.branch === branch)) return null
  const own = gitOperationsSince(await since()).some(operation => JSON.stringify(operation).includes(`"${now.head}"`))
  const to = { head: now.head, branch: now.branch }
  return { from: { head, branch }, to, by: own && now.branch === branch ? 'plan' : 'somebody' }
}

type Files = Pick<Drift, 'files' | 'basis' | 'lacks'>
const NONE: Files = { files: [], basis: 'none', lacks: 'files were not looked at' }

async function movedFiles(
  rooms: Rooms,
  state: PlanState,
  { at, standing: then }: { readonly at: Millis; readonly standing: WorkspaceStamp | null },
  since: readonly Entry[],
  entries: readonly Entry[],
): Promise<Files> {
  if (rooms.snapshots === undefined) return { ...NONE, lacks: 'this engine was opened without file snapshots' }
  try {
    const until = entries.slice(0, entries.length - since.length)
    const written = await composeSince(rooms, since, { until, scopeOf: scopesIn(state) })
    const left = new Map(written.changes.map(({ path, after }) => [path, after]))
    const writers = await writersIn(rooms, then?.snapshot === undefined ? entries : since)
    const driftedFile = (change: Change): DriftedFile => ({
      path: change.path,
      what: change.before === null ? 'created' : change.after === null ? 'deleted' : 'changed',
      by: left.has(change.path) && isSame(left.get(change.path) ?? null, change.after) ? 'plan' : 'somebody',
      tasks: writers.get(change.path) ?? [],
    })
    if (then?.snapshot === undefined) {
      const lacks = then?.lacks ?? 'the revision was not stamped with its files'
      const now = await nowAt(rooms, [...left.keys()])
      const moved = written.changes.map(change => ({ ...change, after: now.get(change.path) ?? null }))
      const undone = undoneOf(written.changes, now)
      const earlier = await movedEarlier(rooms, until, at, left)
      return { files: [...moved.filter(isMoved), ...undone, ...earlier].map(driftedFile), basis: 'written', lacks }
    }
    const found = await rooms.snapshots.diff(then.snapshot, 'now')
    if (!found.ok) return { ...NONE, lacks: found.failure.message }
    const lacks = found.left.length === 0 ? null : `${numberOf(found.left.length, 'path')} could not be looked into`
    // If the plan wrote a path and the comparison shows no change, a person has reverted it.
    const shown = new Set(found.changes.map(({ path }) => path))
    const missing = written.changes.filter(({ path, before, after }) => !shown.has(path) && !isSame(before, after))
    const now = await nowAt(
      rooms,
      missing.map(({ path }) => path),
    )
    const undone = undoneOf(missing, now)
    return { files: [...found.changes.filter(isMoved), ...undone].map(driftedFile), basis: 'whole', lacks }
  } catch (error) {
    if (!(error instanceof MissingChanges)) throw error
    return { ...NONE, lacks: error.message }
  }
}

/** Paths that the plan wrote only before the revision, and a person has changed since. */
async function movedEarlier(
  rooms: Rooms,
  until: readonly Entry[],
  stampedAt: Millis,
  since: ReadonlyMap<string, TreeEntry | null>,
): Promise<readonly Change[]> {
  const all = await followFiles(
    until,
    changes => readChanges(rooms, changes),
    () => true,
  )
  const earlier = [...all].filter(([path]) => !since.has(path))
  const now = await nowAt(
    rooms,
    earlier.map(([path]) => path),
  )
  return earlier
    .map(([path, before]) => ({ path, before, after: now.get(path) ?? null }))
    .filter(change => isMoved(change) && changeTime(rooms.root, change.path) > stampedAt)
}

/** Changes of the plan that are gone: the file is as it was before them. */
const undoneOf = (written: readonly Change[], now: ReadonlyMap<string, TreeEntry | null>): readonly Change[] =>
  written.flatMap(({ path, before, after }) => {
    const stands = now.get(path) ?? null
    const change = { path, before: after, after: stands }
    return isSame(stands, before) && isMoved(change) ? [change] : []
  })

/** Folders come and go with their files. */
const isMoved = ({ before, after }: Change): boolean =>
  !isSame(before, after) && (before ?? after)?.type !== 'directory' && (after ?? before)?.type !== 'directory'

async function writersIn(rooms: Rooms, since: readonly Entry[]): Promise<ReadonlyMap<string, readonly TaskName[]>> {
  const writers = new Map<string, TaskName[]>()
  for (const { events } of since) {
    for (const event of events) {
      const changes = changesOf(event)
      if (changes === null || !('task' in event) || event.task === undefined) continue
      for (const { path } of await readChanges(rooms, changes)) {
        const known = writers.get(path) ?? []
        if (!known.includes(event.task)) writers.set(path, [...known, event.task])
      }
    }
  }
  return writers
}

async function nowAt(rooms: Rooms, paths: readonly string[]): Promise<ReadonlyMap<string, TreeEntry | null>> {
  const { snapshots } = rooms
  if (snapshots === undefined || paths.length === 0) return new Map()
  const taken = await snapshots.snapshot({ scopes: paths })
  const found = taken.ok ? await snapshots.entries(taken.manifest, paths) : taken
  return new Map(found.ok ? found.entries.map(({ path, entry }) => [path, entry]) : [])
}

function unmetOf({ order }: PlanState): readonly UnmetCriterion[] {
  return order.flatMap(({ definition: { id }, status, gate, result }): readonly UnmetCriterion[] => {
    const isOpen = status === 'failed' || gate?.asks.type === 'replan' || gate?.asks.type === 'recovery'
    if (!isOpen || result?.status !== 'failed') return []
    const refuted = (result.verdicts ?? []).filter(({ holds }) => holds === false)
    const stage = id === DONE_TASK ? 'done' : 'acceptance'
    if (refuted.length > 0)
      return refuted.map(({ criterion, evidence = null }) => ({ task: id, stage, criterion, evidence }))
    const [, criterion] = /^precondition failed: '(.*)'(?: \(|$)/s.exec(result.failure.message) ?? []
    return criterion === undefined
      ? []
      : [{ task: id, stage: 'precondition', criterion, evidence: result.failure.message }]
  })
}
