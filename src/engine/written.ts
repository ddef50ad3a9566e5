// What a plan wrote since an entry, as one change for each path: what stood there before the first of its changes, and what the
// last of them left. Where somebody else wrote in between, what the plan left before that counts, so that it is told as an edit.

import type { Event } from '../domain/event.ts'
import type { Millis, PlanId, Sha256, TaskName } from '../domain/id.ts'
import { covers, inScope } from '../safety/scope.ts'
import type { Entry, Page, PlanRow, Store } from '../stores/store.ts'
import type { Change, TreeEntry } from '../workspace/workspace.ts'
import { readChanges } from './footprint.ts'
import type { Rooms } from './rooms.ts'

export interface Written {
  readonly changes: readonly Change[]
  /** Versions that stood between two changes of the plan and were not of its making. */
  readonly kept: readonly { readonly path: string; readonly sha256: Sha256 }[]
}

export interface WrittenBy {
  /** Only these paths, and what lies below them. */
  readonly paths?: readonly string[] | undefined
  readonly tasks?: readonly TaskName[] | undefined
  /** The plan itself, and since when: what other plans wrote in the same files is found. */
  readonly beside?: { readonly plan: PlanId; readonly since: Millis } | undefined
}

interface Known {
  readonly target: TreeEntry | null
  left: TreeEntry | null
  readonly states: (TreeEntry | null)[]
  readonly changes: Change[]
  isBroken: boolean
}

/** `entries` are those behind the entry that is gone to, in order. */
export async function composeSince(rooms: Rooms, entries: Iterable<Entry>, by: WrittenBy = {}): Promise<Written> {
  const known = new Map<string, Known>()
  const kept: { path: string; sha256: Sha256 }[] = []
  const open = new Map<string, Look>()
  const others: Change[] = []
  const isWanted = (path: string): boolean => by.paths === undefined || isNamed(by.paths, path)
  const add = (change: Change): void => {
    const { path, before, after } = change
    if (!isWanted(path)) return
    const seen = known.get(path)
    if (seen === undefined) {
      known.set(path, { target: before, left: after, states: [before, after], changes: [change], isBroken: false })
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
  for (const { events } of entries) {
    for (const event of events) {
      const task = 'task' in event ? event.task : undefined
      const isOurs = by.tasks === undefined || (task !== undefined && by.tasks.includes(task))
      if (isOurs) follow(open, event)
      const changes = changesOf(event)
      if (changes === null) continue
      for (const change of await readChanges(rooms, changes)) {
        if (isOurs) add(change)
        else others.push(change)
      }
    }
  }
  for (const look of open.values()) await addUnknown(rooms, look, known, isWanted)
  for (const other of [...others, ...(await writtenByOthers(rooms, by))]) {
    const one = known.get(other.path)
    // Seen by both, so perhaps not ours: as if somebody had edited it, so that a person chooses.
    if (one?.changes.some(ours => isSame(ours.before, other.before) || isSame(ours.after, other.after)) === true)
      one.left = one.target
  }
  return { changes: [...known].map(([path, { target, left }]) => ({ path, before: target, after: left })), kept }
}

type Look = { readonly preimage?: Sha256 | undefined; readonly before?: Sha256 | undefined }

/** Visits that began and of which nobody has said what they wrote. */
function follow(open: Map<string, Look>, event: Event): void {
  if (event.type === 'attempt.started') {
    const { preimage, before } = event
    const key = `${event.task}/${event.visit}`
    if ((preimage !== undefined || before !== undefined) && !open.has(key)) open.set(key, { preimage, before })
  } else if (
    (event.type === 'attempt.succeeded' || event.type === 'attempt.failed') &&
    event.result.wrote !== undefined
  )
    open.delete(`${event.task}/${event.visit}`)
}

/** It ended nobody knows how. What differs now may be its work or somebody's: told as an edit, so that a person chooses. */
async function addUnknown(
  rooms: Rooms,
  { preimage, before }: Look,
  known: Map<string, Known>,
  isWanted: (path: string) => boolean,
): Promise<void> {
  const found =
    preimage !== undefined
      ? await rooms.workspace.changesSince(preimage)
      : before !== undefined
        ? await rooms.snapshots?.diff(before, 'now')
        : undefined
  if (found?.ok !== true) return
  for (const { path, before: was } of found.changes) {
    if (isWanted(path) && !known.has(path))
      known.set(path, { target: was, left: was, states: [was], changes: [], isBroken: true })
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
