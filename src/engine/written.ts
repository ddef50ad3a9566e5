// What a plan wrote since an entry, as one change for each path: what stood there before the first of its changes, and what the
// last of them left. Where somebody else wrote in between, what the plan left before that counts, so that it is told as an edit.

import { scopeOf } from '../domain/effect.ts'
import type { Event } from '../domain/event.ts'
import type { Millis, PlanId, Sha256, TaskName } from '../domain/id.ts'
import type { PlanState } from '../domain/state.ts'
import { covers, inScope } from '../safety/scope.ts'
import type { Entry, Page, PlanRow, Store } from '../stores/store.ts'
import type { Change, TreeEntry } from '../workspace/workspace.ts'
import { ChangeCredit } from './change-credit.ts'
import { readChanges } from './footprint.ts'
import type { Rooms } from './rooms.ts'

export interface Written {
  readonly changes: readonly Change[]
  /** Versions that stood between two changes of the plan and were not of its making. */
  readonly kept: readonly { readonly path: string; readonly sha256: Sha256 }[]
  /** Tasks that cannot be told apart from those asked for: none declared a scope, and they ran at the same time. */
  readonly shared: readonly TaskName[]
}

export interface WrittenBy {
  /** Only these paths, and what lies below them. */
  readonly paths?: readonly string[] | undefined
  readonly tasks?: readonly TaskName[] | undefined
  /** The plan itself, and since when: what other plans wrote in the same files is found. */
  readonly beside?: { readonly plan: PlanId; readonly place: string | null; readonly since: Millis } | undefined
  /** The entries before: what was under way then and never said what it wrote is looked at as well. */
  readonly until?: Iterable<Entry> | undefined
  /** What a task declares to write. */
  readonly scopeOf?: ((task: TaskName) => readonly string[]) | undefined
}

interface Known {
  target: TreeEntry | null
  /** How many visits had begun before its first change, where that was a rollback's; else null. */
  readonly setBackAfter: number | null
  left: TreeEntry | null
  readonly states: (TreeEntry | null)[]
  readonly changes: Change[]
  isBroken: boolean
}

/** `entries` are those behind the entry that is gone to, in order. */
export async function composeSince(rooms: Rooms, entries: Iterable<Entry>, by: WrittenBy = {}): Promise<Written> {
  const known = new Map<string, Known>()
  const kept: { path: string; sha256: Sha256 }[] = []
  const visits = new Map<string, Visit>()
  const told: Sha256[] = []
  begunIn(by, visits, told)
  const since = [...entries]
  const credit = await ChangeCredit.of(rooms, [...(by.until ?? []), ...since])
  const shared = by.tasks === undefined ? [] : credit.sharedWith(by.tasks)
  const others: Change[] = []
  const unsure = new Set<string>()
  const isWanted = (path: string): boolean => by.paths === undefined || isNamed(by.paths, path)
  const add = (change: Change, isRollback: boolean): void => {
    const { path, before, after } = change
    if (!isWanted(path)) return
    const seen = known.get(path)
    if (seen === undefined) {
      const setBackAfter = isRollback ? visits.size : null
      const one = { target: before, left: after, states: [before, after], changes: [change], isBroken: false }
      known.set(path, { ...one, setBackAfter })
      return
    }
    if (!seen.states.some(state => isSame(state, before))) {
      seen.isBroken = true
      if (before?.type === 'file') kept.push({ path, sha256: before.sha256 })
    }
    seen.states.push(before, after)
    seen.changes.push(change)
    if (!seen.isBroken) seen.left = after
  }
  for (const { events } of since) {
    for (const event of events) {
      const task = 'task' in event ? event.task : undefined
      const isOurs = by.tasks === undefined || (task !== undefined && by.tasks.includes(task))
      if (isOurs) follow(visits, event, told.length)
      const changes = changesOf(event)
      if (changes === null) continue
      const visit = 'visit' in event ? visits.get(`${event.task}/${event.visit}`) : undefined
      for (const change of ownChanges(
        await readChanges(rooms, changes),
        await leftBy(rooms, told.slice(visit?.from ?? told.length)),
      )) {
        if (credit.isOthers(event, change.path)) continue
        if (isOurs) add(change, event.type === 'rollback.finished')
        // What a rollback or undo of the plan put back is Planfold's own doing, not somebody's.
        else if (event.type !== 'rollback.finished') others.push(change)
        if (visit?.isUnsure === true) unsure.add(change.path)
      }
    }
  }
  // The first that looked decides, so it comes last.
  for (const [at, visit] of [...[...visits.values()].entries()].reverse())
    if (visit.isOpen) await addUnknown(rooms, visit, at, known, by, told.slice(visit.from))
  for (const other of [...others, ...(await writtenByOthers(rooms, by))]) {
    const one = known.get(other.path)
    // Seen by both, so perhaps not ours: as if somebody had edited it, so that a person chooses.
    if (one?.changes.some(ours => isSame(ours.before, other.before) || isSame(ours.after, other.after)) === true)
      one.left = one.target
  }
  for (const path of unsure) {
    const one = known.get(path)
    if (one !== undefined) one.left = one.target
  }
  keepFoldersOf(known, kept)
  return {
    changes: [...known].map(([path, { target, left }]) => ({ path, before: target, after: left })),
    kept,
    shared,
  }
}

/** What somebody put into a folder the plan had made, and the plan then took away with it, comes back: so the folder stays. */
function keepFoldersOf(known: Map<string, Known>, kept: { path: string; sha256: Sha256 }[]): void {
  for (const [path, { target }] of [...known]) {
    if (target === null) continue
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      const above = known.get(path.slice(0, at))
      if (above === undefined || above.target?.type === 'directory') continue
      if (above.target === null) {
        above.target = above.states.find(state => state?.type === 'directory') ?? { type: 'directory', mode: 0o755 }
        continue
      }
      // Where a file stood before, nothing can lie below it.
      if (target.type === 'file') kept.push({ path, sha256: target.sha256 })
      known.delete(path)
      break
    }
  }
}

type Look = { readonly preimage?: Sha256 | undefined; readonly before?: Sha256 | undefined }

/** What stood before a visit began, and whether an attempt of it has not said yet what it wrote. */
interface Visit {
  readonly task: TaskName
  look: Look
  /** How many change sets had been told when it began. */
  readonly from: number
  isOpen: boolean
  /** An attempt of it ended nobody knows when: what was written until the next one may be somebody else's. */
  isUnsure: boolean
}

/** What had begun before the entry that is gone to, and what was told until then: that is not to be undone. */
function begunIn({ until = [], tasks }: WrittenBy, visits: Map<string, Visit>, told: Sha256[]): void {
  for (const { events } of until) {
    for (const event of events) {
      const changes = changesOf(event)
      if (changes !== null) told.push(changes)
      if (!('task' in event) || event.task === undefined || tasks?.includes(event.task) === false) continue
      follow(visits, event, told.length)
      const isOver =
        event.type === 'attempt.lost' || event.type === 'attempt.failed' || event.type === 'attempt.succeeded'
      const visit = isOver ? visits.get(`${event.task}/${event.visit}`) : undefined
      if (visit !== undefined) visit.isOpen = false
    }
  }
}

/** All files are looked at before the first attempt of a visit only; a later one is held against the same look. */
function follow(visits: Map<string, Visit>, event: Event, from: number): void {
  if (event.type === 'attempt.started') {
    const { preimage, before } = event
    const key = `${event.task}/${event.visit}`
    const known = visits.get(key)
    if (known !== undefined) {
      known.isOpen = true
      // A person's edits that were kept belong to what stood before.
      if (preimage !== undefined) known.look = { preimage, before }
    } else if (preimage !== undefined || before !== undefined)
      visits.set(key, { task: event.task, look: { preimage, before }, from, isOpen: true, isUnsure: false })
  } else if (event.type === 'attempt.lost') {
    const visit = visits.get(`${event.task}/${event.visit}`)
    // A scope is set back before the next attempt; all files are not.
    if (visit?.look.before !== undefined) visit.isUnsure = true
  } else if (event.type === 'attempt.succeeded' || event.type === 'attempt.failed') {
    const visit = visits.get(`${event.task}/${event.visit}`)
    if (visit !== undefined && event.result.wrote !== undefined) visit.isOpen = false
  }
}

/** What stood at each path after these change sets. */
async function leftBy(rooms: Rooms, told: readonly Sha256[]): Promise<ReadonlyMap<string, TreeEntry | null>> {
  const left = new Map<string, TreeEntry | null>()
  for (const id of told) for (const { path, after } of await readChanges(rooms, id)) left.set(path, after)
  return left
}

/** Without what was told since it began and before the entry that is gone to: not its work, or not to be undone. */
function ownChanges(changes: readonly Change[], others: ReadonlyMap<string, TreeEntry | null>): readonly Change[] {
  if (others.size === 0) return changes
  return changes.flatMap(change => {
    const before = others.has(change.path) ? (others.get(change.path) ?? null) : change.before
    return isSame(before, change.after) ? [] : [{ ...change, before }]
  })
}

/**
 * It ended nobody knows how. What differs now may be its work or somebody's: told as an edit, so that a person chooses. What a
 * rollback set back afterwards, as its work, is what stood before it, and not what it left.
 */
async function addUnknown(
  rooms: Rooms,
  visit: Visit,
  at: number,
  known: Map<string, Known>,
  by: WrittenBy,
  beside: readonly Sha256[],
): Promise<void> {
  const { preimage, before } = visit.look
  const found =
    preimage !== undefined
      ? await rooms.workspace.changesSince(preimage)
      : before !== undefined
        ? await rooms.snapshots?.diff(before, 'now')
        : undefined
  if (found?.ok !== true) return
  const others = await leftBy(rooms, beside)
  const own = ownChanges(found.changes, others)
  const differs = new Map(own.map(change => [change.path, change.before]))
  const isSetBack = ({ setBackAfter }: Known) => setBackAfter !== null && setBackAfter > at
  for (const [path, one] of known) {
    const isLookedAt = preimage === undefined || inScope(by.scopeOf?.(visit.task) ?? [], path)
    if (!isSetBack(one) || !isLookedAt || differs.has(path)) continue
    if (others.has(path)) one.target = others.get(path) ?? null
    // It stands as it stood before.
    else known.delete(path)
  }
  for (const [path, was] of differs) {
    const one = known.get(path)
    if (one !== undefined && isSetBack(one)) one.target = was
    if (one !== undefined || (by.paths !== undefined && !isNamed(by.paths, path))) continue
    known.set(path, { target: was, left: was, states: [was], changes: [], isBroken: true, setBackAfter: null })
  }
}

/** What other plans in this workspace wrote meanwhile. Where nobody declares what it writes, each sees the other's work. */
async function writtenByOthers(rooms: Rooms, { beside }: WrittenBy): Promise<readonly Change[]> {
  const found: Change[] = []
  if (beside === undefined) return found
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Page<PlanRow> = await rooms.store.plans({ limit: PAGE, ...(cursor && { cursor }) })
    cursor = page.next
    for (const { id, updatedAt, startedAt } of page.items) {
      if (id === beside.plan || startedAt === null || updatedAt < beside.since) continue
      // In another folder the same path is another file.
      if ((await rooms.store.state(id))?.place !== beside.place) continue
      for (const { now, events } of await entriesAfter(rooms.store, id, 0)) {
        if (now < beside.since) continue
        for (const event of events) {
          const changes = changesOf(event)
          if (changes !== null) found.push(...(await readChanges(rooms, changes)))
        }
      }
    }
  }
  return found
}

/** The change set an event names. */
export function changesOf(event: Event): Sha256 | null {
  switch (event.type) {
    case 'attempt.succeeded':
    case 'attempt.failed':
    case 'compensation.finished':
    case 'compensation.retried':
      return event.result.wrote?.changes ?? null
    case 'rollback.finished':
      return event.changes
    default:
      return null
  }
}

export function isSame(a: TreeEntry | null, b: TreeEntry | null): boolean {
  if (a === null || b === null || a.type !== b.type) return a === b
  if (a.type === 'link') return a.target === (b as typeof a).target
  if (a.type === 'directory') return a.mode === (b as typeof a).mode
  return a.sha256 === (b as typeof a).sha256 && a.mode === (b as typeof a).mode
}

function isNamed(patterns: readonly string[], path: string): boolean {
  return inScope(patterns, path) || covers(patterns, path) || patterns.some(one => path.startsWith(`${trimmed(one)}/`))
}

const trimmed = (pattern: string): string => (pattern.endsWith('/') ? pattern.slice(0, -1) : pattern)

const PAGE = 500

/** The whole journal of a plan behind an entry. */
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

/** What each task of a plan declares to write, as the plan stands now. */
export function scopesIn({ definition, tasks }: PlanState): NonNullable<WrittenBy['scopeOf']> {
  const scopes = new Map(Array.from(tasks.values(), task => [task.definition.id, scopeOf(definition, task.definition)]))
  return task => scopes.get(task) ?? []
}
