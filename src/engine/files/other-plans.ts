// Changes by others in the same files: by other plans of the workspace, and by other tasks of the plan.
//
//   writtenByOthers   for each path, what others left there last since this task's files were captured (attempts that succeeded,
//                     compensations, rollbacks of other plans): restoring before a retry must not touch it
//   otherPlans        all changes recorded by other plans since a time, and when their tasks worked in which scopes. A task
//                     without a scope is credited with every change around it, so changes of others must be removed. A path in
//                     the declared scope of another plan's task belongs to that plan; if neither declared it, nobody can tell

import type { Event, EventOf } from '../../domain/event.ts'
import type { Millis, PlanId, Sha256, TaskName } from '../../domain/id.ts'
import { scopeOf } from '../../domain/plan-rules/effect.ts'
import { reservedScope } from '../../domain/reservation.ts'
import { wroteIn } from '../../domain/result.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { ENDED, PLAN_ENDED } from '../../domain/status.ts'
import { inScope } from '../../safety/scope.ts'
import type { Entry, Page, PlanRow, Store } from '../../stores/store.ts'
import type { Change, TreeEntry } from '../../workspace/workspace.ts'
import { readChanges, readOthersChanges } from '../rollback/attempt-changes.ts'
import type { Rooms } from '../rooms.ts'

export const changesOf = (event: Event): Sha256 | null =>
  event.type === 'rollback.finished' ? event.changes : (wroteIn(event)?.changes ?? null)

const PAGE = 500

export async function entriesAfter(store: Pick<Store, 'read'>, plan: PlanId, after: number): Promise<readonly Entry[]> {
  const all: Entry[] = []
  for (let at = after; ; ) {
    const page = await store.read(plan, { after: at, limit: PAGE })
    all.push(...page)
    const last = page.at(-1)
    if (last === undefined) return all
    at = last.version
  }
}

export interface WrittenByOther {
  /** What the other task left at the path; null if it deleted it. */
  readonly entry: TreeEntry | null
  readonly plan: PlanId
  readonly name: string
  readonly task: TaskName | null
  /** False: the task declared no scope, so a concurrent task may have made the change. */
  readonly declared: boolean
}

/** By path; empty unless the task's files were captured in this visit. */
export async function writtenByOthers(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
): Promise<ReadonlyMap<string, WrittenByOther>> {
  const found = new Map<string, WrittenByOther>()
  const after = await capturedAfter(rooms, state, task)
  if (after === null) return found
  const planAt = plansSeenFrom(rooms, state)
  // What is written while we read is not waited for: in a busy store the reading would not end.
  const end = await rooms.store.position()
  for (let at = after; at < end; ) {
    const page = await rooms.store.since(at, PAGE)
    const last = page.at(-1)
    if (last === undefined) break
    at = last.position
    for (const { plan, events } of page) {
      for (const event of events) {
        const changes = COMPLETES.has(event.type) ? changesOf(event) : null
        if (changes === null) continue
        const { isBeside, name } = await planAt(plan)
        if (!isBeside) continue
        const by = 'task' in event ? (event.task ?? null) : null
        // Of this plan, only completed work of other tasks counts.
        if (plan === state.id && (by === null || by === task.definition.id)) continue
        const other = { plan, name, task: by, declared: isDeclaredBy(event) }
        const read = plan === state.id ? readChanges : readOthersChanges
        for (const change of (await read(rooms, changes)) ?? [])
          found.set(change.path, { ...other, entry: change.after })
      }
    }
  }
  return found
}

/** A journal position that is certainly before the capture; null if the files were not captured. */
async function capturedAfter(rooms: Rooms, state: PlanState, task: TaskState): Promise<number | null> {
  if (task.prepared?.preimage === undefined) return null
  let readied: number | null = null
  for (const entry of await entriesAfter(rooms.store, state.id, 0)) {
    if (isReadied(entry, task)) readied = entry.position
    if (isBegun(entry, task)) return readied ?? Math.max(0, entry.position - 1)
  }
  return null
}

const isReadied = ({ events }: Entry, { definition: { id } }: TaskState): boolean =>
  events.some(event => event.type === 'task.readied' && event.tasks.includes(id))

const isBegun = ({ events }: Entry, { definition: { id }, visit }: TaskState): boolean =>
  events.some(event => event.type === 'attempt.started' && event.task === id && event.visit === visit)

/** Does a plan work in the same folder, and what is it called? In another folder the same path is another file. */
function plansSeenFrom(
  { store }: Rooms,
  { place }: PlanState,
): (plan: PlanId) => Promise<{ readonly isBeside: boolean; readonly name: string }> {
  const known = new Map<PlanId, { readonly isBeside: boolean; readonly name: string }>()
  return async plan => {
    const seen = known.get(plan)
    if (seen !== undefined) return seen
    // Read once for each plan: from a database it takes a while.
    const other = await store.state(plan)
    const found = { isBeside: other?.place === place, name: other?.definition.name ?? plan }
    known.set(plan, found)
    return found
  }
}

const COMPLETES: ReadonlySet<Event['type']> = new Set([
  'attempt.succeeded',
  'compensation.finished',
  'rollback.finished',
])

export interface Beside {
  readonly plan: PlanId
  readonly place: string | null
  readonly since: Millis
}

export interface OthersChange extends Change {
  readonly plan: string
  /** Only the task's declared scope was compared, so the change is its own. */
  readonly isDeclared: boolean
  readonly isRollback: boolean
}

interface OthersVisit {
  readonly plan: string
  /** Null if all files were compared. */
  readonly scope: readonly string[] | null
  /** Its reservation, also if all files were compared. */
  readonly reserves: readonly string[]
  readonly from: Millis
  to: Millis
}

interface OtherPlans {
  readonly changes: readonly OthersChange[]
  /** The plan in whose declared scope the path was during this time; null if none. */
  declaredBy(path: string, from: Millis, to: Millis): string | null
  reserved(since: Millis): readonly (readonly string[])[]
  readonly atWork: readonly { readonly from: Millis; readonly scope: readonly string[] }[]
  /** A plan with a task without a scope at some time since then; null if none. */
  readonly loose: string | null
  /** A plan with an unfinished task without a scope that had started by then; null if none. */
  unfinishedBy(time: Millis): string | null
}

const NO_OTHERS: OtherPlans = {
  changes: [],
  declaredBy: () => null,
  reserved: () => [],
  atWork: [],
  loose: null,
  unfinishedBy: () => null,
}

/** Otherwise the event has a snapshot of all files. */
export const isDeclaredBy = (event: Event): boolean => wroteIn(event)?.snapshot === undefined

/** The snapshot is taken some time before the start is recorded, and other tasks may have ended in between. */
const LOOK_MS = 60_000

export async function otherPlans(rooms: Rooms, beside: Beside | undefined): Promise<OtherPlans> {
  if (beside === undefined) return NO_OTHERS
  const changes: OthersChange[] = []
  const visits: OthersVisit[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Page<PlanRow> = await rooms.store.plans({ limit: PAGE, ...(cursor && { cursor }) })
    cursor = page.next
    for (const { id, name, status, updatedAt, startedAt } of page.items) {
      const isStill = updatedAt < beside.since
      if (id === beside.plan || startedAt === null || (isStill && PLAN_ENDED.has(status))) continue
      const state = await rooms.store.state(id)
      // A running task has not recorded its changes yet.
      if (isStill && state?.order.some(task => task.status === 'running') !== true) continue
      if (state === null || state.place !== beside.place) continue
      const entries = await entriesAfter(rooms.store, id, 0)
      visits.push(...visitsIn(state, entries).filter(({ to }) => to >= beside.since))
      const edited = new Map<string, Set<string>>()
      for (const { now, events } of entries) {
        for (const event of events) {
          if (event.type === 'attempt.started') noteEdited(edited, event)
          if (now < beside.since) continue
          const changeSet = changesOf(event)
          if (changeSet === null) continue
          const by = { plan: name, isDeclared: isDeclaredBy(event), isRollback: event.type === 'rollback.finished' }
          // A change between two attempts of a task is not its work.
          const others = 'visit' in event ? edited.get(`${event.task}/${event.visit}`) : undefined
          // A change set whose blob is gone names no paths.
          for (const change of (await readOthersChanges(rooms, changeSet)) ?? [])
            if (others?.has(change.path) !== true) changes.push({ ...change, ...by })
        }
      }
    }
  }
  return {
    changes,
    declaredBy: (path, from, to) =>
      visits.find(one => one.scope !== null && one.from <= to && one.to >= from - LOOK_MS && inScope(one.scope, path))
        ?.plan ?? null,
    reserved: since => visits.filter(({ to }) => to >= since).map(({ reserves }) => reserves),
    atWork: visits
      .filter(({ to }) => to === Number.POSITIVE_INFINITY)
      .map(({ from, reserves }) => ({ from, scope: reserves })),
    loose: visits.find(({ scope }) => scope === null)?.plan ?? null,
    unfinishedBy: time =>
      visits.find(({ scope, from, to }) => scope === null && from <= time && to === Number.POSITIVE_INFINITY)?.plan ??
      null,
  }
}

function noteEdited(
  edited: Map<string, Set<string>>,
  { task, visit, edited: paths = [] }: EventOf<'attempt.started'>,
): void {
  if (paths.length === 0) return
  const key = `${task}/${visit}`
  edited.set(key, new Set([...(edited.get(key) ?? []), ...paths]))
}

function visitsIn(state: PlanState, entries: readonly Entry[]): readonly OthersVisit[] {
  const visits = new Map<string, OthersVisit>()
  for (const { now, events } of entries) {
    for (const event of events) {
      if (!('task' in event) || event.task === undefined) continue
      const task = state.tasks.get(event.task)
      if (event.type === 'attempt.started') {
        const isLookedAt = event.preimage !== undefined || event.before !== undefined
        const key = `${event.task}/${event.visit}`
        if (!isLookedAt || task === undefined || visits.has(key)) continue
        const scope = event.preimage === undefined ? null : (scopeOf(state.definition, task.definition) ?? [])
        const reserves = reservedScope(state.definition, task.definition)
        visits.set(key, { plan: state.definition.name, scope, reserves, from: now, to: Number.POSITIVE_INFINITY })
      } else if ('visit' in event) {
        const visit = visits.get(`${event.task}/${event.visit}`)
        const isOver = task === undefined || task.visit !== event.visit || ENDED.has(task.status)
        if (visit !== undefined && isOver) visit.to = now
      }
    }
  }
  return [...visits.values()]
}
