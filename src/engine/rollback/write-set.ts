// The write set of a plan since an entry of its journal: one change for each path, from the content before the first change to what the
// last change left. If another wrote in between, what the plan had left before that counts, so that their work appears as an edit.

import { type Event, isAttemptEnd } from '../../domain/event.ts'
import type { Millis, Sha256, TaskName } from '../../domain/id.ts'
import { SIGN_SLACK_MS } from '../../domain/limits.ts'
import { scopeOf } from '../../domain/plan-rules/effect.ts'
import type { UncoveredPath } from '../../domain/result.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { covers, inScope } from '../../safety/scope.ts'
import type { Entry } from '../../stores/store.ts'
import type { Change, LeftOut, TreeEntry } from '../../workspace/workspace.ts'
import { type Beside, changesOf, isDeclaredBy, type OthersChange, otherPlans } from '../files/other-plans.ts'
import type { Rooms } from '../rooms.ts'
import { readChanges } from './attempt-changes.ts'
import { ChangeCredit, changeTime, madeAt } from './change-owner.ts'
import { foldersAbove, unclaimedIn } from './unclaimed-paths.ts'
import { changedUnstored, leftUncovered, unstoredBy } from './uncovered-paths.ts'

export { changesOf, entriesAfter } from '../files/other-plans.ts'

export interface Written {
  readonly changes: readonly Change[]
  /** Content of each path before the first of these changes and after the last, whoever wrote in between; only differences. */
  readonly seen: readonly Change[]
  /** Versions between two changes of the plan that the plan did not make. */
  readonly kept: readonly { readonly path: string; readonly sha256: Sha256 }[]
  readonly shared: readonly TaskName[]
  readonly aside: readonly LeftOut[]
  readonly uncovered: readonly LeftOut[]
  /** Paths that may have been edited by another plan: its name. */
  readonly doubted: ReadonlyMap<string, string>
  /** Paths that may be another's work: undeclared, and changed while this task without a scope ran. An undo does not ask again. */
  readonly unclaimed: ReadonlyMap<string, TaskName>
  /** Paths of attempts that were running when the rollback was ordered; the person was asked about them. */
  readonly underWay: ReadonlySet<string>
}

interface WrittenBy {
  readonly kind?: 'rollback' | 'undo' | 'adopt' | undefined
  readonly rollback?: string | undefined
  readonly paths?: readonly string[] | undefined
  readonly tasks?: readonly TaskName[] | undefined
  /** The plan itself and a time, to find what other plans wrote in the same files since. */
  readonly beside?: Beside | undefined
  /** The earlier entries: visits that were open at their end and never recorded their changes are examined too. */
  readonly until?: Iterable<Entry> | undefined
  readonly scopeOf?: ((task: TaskName) => readonly string[]) | undefined
  readonly claimedBy?: ((task: TaskName) => readonly string[]) | undefined
}

interface Known {
  target: TreeEntry | null
  /** How many visits had started before its first change, if that was a rollback's; else null. */
  readonly setBackAfter: number | null
  left: TreeEntry | null
  readonly states: (TreeEntry | null)[]
  readonly changes: Change[]
  isBroken: boolean
  /** Recorded by a task that declares the path, so it is the plan's own. */
  isDeclared: boolean
  isClaimed: boolean
  looseTask: TaskName | null
  recordedAt: Millis
}

/** The journal up to the target entry and after it. For an undo, attempts that the rollback ended count as ended before it. */
export function splitAt(
  entries: readonly Entry[],
  { to, kind }: { readonly to: number; readonly kind: 'rollback' | 'undo' | 'adopt' },
): { readonly until: readonly Entry[]; readonly since: readonly Entry[] } {
  const until = entries.slice(0, to)
  const since = entries.slice(to)
  if (kind !== 'undo') return { until, since }
  const finished = since.findIndex(({ events }) => events.some(({ type }) => type === 'rollback.finished'))
  const ended = since.slice(0, finished + 1)
  const pick = (wanted: boolean) =>
    ended.map(entry => ({ ...entry, events: entry.events.filter(event => isAttemptEnd(event) === wanted) }))
  return { until: [...until, ...pick(true)], since: [...pick(false), ...since.slice(finished + 1)] }
}

/** `entries` are those after the target entry, in order. */
export async function composeSince(rooms: Rooms, entries: Iterable<Entry>, by: WrittenBy = {}): Promise<Written> {
  const known = new Map<string, Known>()
  const kept: { path: string; sha256: Sha256 }[] = []
  const visits = new Map<string, Visit>()
  const recorded: Sha256[] = []
  collectUntil(by, visits, recorded)
  const since = [...entries]
  const credit = await ChangeCredit.of(rooms, [...(by.until ?? []), ...since])
  const shared = by.tasks === undefined ? [] : credit.sharedWith(by.tasks)
  const others: Change[] = []
  const unsure: Doubt[] = []
  const ends: Change[] = []
  const intermediate: IntermediateChange[] = []
  const underWay = new Set<string>()
  const uncovered = new Map<string, UncoveredPath>()
  let isOrdered = false
  const isWanted = (path: string): boolean => by.paths === undefined || isNamed(by.paths, path)
  const add = (change: Change, event: Event, recordedAt: Millis): void => {
    const { path, before, after } = change
    if (!isWanted(path)) return
    const isRollback = event.type === 'rollback.finished'
    const isDeclared = isDeclaredBy(event)
    const task = 'task' in event ? (event.task ?? null) : null
    const isClaimed = !isRollback && (isDeclared || (task !== null && inScope(by.claimedBy?.(task) ?? [], path)))
    const looseTask = isDeclared ? null : task
    const seen = known.get(path)
    if (seen === undefined) {
      const setBackAfter = isRollback ? visits.size : null
      const one = {
        target: before,
        left: after,
        states: [before, after],
        changes: [change],
        isBroken: false,
        isDeclared,
        isClaimed,
        looseTask,
        recordedAt,
      }
      known.set(path, { ...one, setBackAfter })
      return
    }
    if (!seen.states.some(state => isSame(state, before))) {
      seen.isBroken = true
      if (before?.type === 'file') kept.push({ path, sha256: before.sha256 })
    }
    seen.isDeclared ||= isDeclared
    seen.isClaimed ||= isClaimed
    seen.looseTask ??= looseTask
    seen.recordedAt = recordedAt
    seen.states.push(before, after)
    seen.changes.push(change)
    if (!seen.isBroken) seen.left = after
  }
  for (const { events, now } of since) {
    for (const event of events) {
      if (event.type === 'rollback.started' && event.id === by.rollback) isOrdered = true
      const task = 'task' in event ? event.task : undefined
      const isOurs = by.tasks === undefined || (task !== undefined && by.tasks.includes(task))
      if (isOurs) follow(visits, event, recorded.length, now)
      const visit = 'visit' in event ? visits.get(`${event.task}/${event.visit}`) : undefined
      if (isOrdered && visit !== undefined && isAttemptEnd(event)) visit.wasUnderWay = true
      if (isOurs && 'result' in event)
        for (const one of unstoredBy(rooms, event.result)) if (isWanted(one.path)) uncovered.set(one.path, one)
      const changes = changesOf(event)
      if (changes === null) continue
      for (const change of ownChanges(
        await readChanges(rooms, changes),
        await leftBy(rooms, recorded.slice(visit?.from ?? recorded.length)),
      )) {
        if (credit.isOthers(event, change.path)) continue
        if (visit !== undefined && isInScopeBeside(visit, change.path, visits.values(), by)) continue
        const one = known.get(change.path)
        if (
          isOurs &&
          one !== undefined &&
          visit?.look.before !== undefined &&
          credit.isPerhapsOthers(event, change.path)
        )
          intermediate.push({ change, left: one.left, since: visit.look.before })
        if (isOurs) add(change, event, now)
        // Content that a rollback of this plan restored was written by Planfold, not by a person.
        else if (event.type !== 'rollback.finished') others.push(change)
        if (visit?.wasUnderWay === true) underWay.add(change.path)
        if (visit !== undefined && isDoubted(visit, change.path) && !isFolderOf(rooms, visit, change))
          unsure.push({ change, isEdit: !visit.isUnsure && !visit.isDoubtful })
        else ends.push(change)
      }
    }
  }
  await dropIntermediate(rooms, intermediate, known)
  // The visit with the earliest snapshot decides, so it comes last.
  for (const [at, visit] of [...[...visits.values()].entries()].reverse())
    if (visit.isOpen)
      for (const path of await addUnknown(rooms, visit, at, known, by, recorded.slice(visit.from), uncovered))
        if (visit.wasUnderWay) underWay.add(path)
  for (const other of others) {
    const one = known.get(other.path)
    // Both tasks saw the change, so it may not be ours: treated as an edit, so that a person chooses.
    if (one !== undefined && isSeenToo(one, other)) one.left = one.target
  }
  const { aside, doubted } = await removeOthersChanges(rooms, by, known, visits)
  for (const doubt of unsure) {
    const one = known.get(doubt.change.path)
    if (one !== undefined && !isExplained(doubt, ends)) one.left = one.target
  }
  keepFoldersOf(known, kept)
  // A file that stays keeps its folders.
  for (const path of aside.keys()) for (const folder of foldersAbove(path)) known.delete(folder)
  return {
    changes: [...known].map(([path, { target, left }]) => ({ path, before: target, after: left })),
    seen: [...known].flatMap(([path, { states }]) => {
      const [before = null, after = null] = [states[0], states.at(-1)]
      return isSame(before, after) ? [] : [{ path, before, after }]
    }),
    kept,
    shared,
    aside: [...aside].map(([path, reason]) => ({ path, reason })),
    uncovered: [...uncovered.values()].filter(({ path }) => !known.has(path)).map(leftUncovered),
    doubted,
    unclaimed: unclaimedIn(known, by.kind),
    underWay,
  }
}

/** Recorded by a task without a scope, for a path that an overlapping task with a scope had recorded before. */
interface IntermediateChange {
  readonly change: Change
  readonly left: TreeEntry | null
  /** The snapshot before the task that recorded it. */
  readonly since: Sha256
}

/** Drops changes seen while another task was still writing, if the file is now as that task left it. */
async function dropIntermediate(
  rooms: Rooms,
  intermediate: readonly IntermediateChange[],
  known: ReadonlyMap<string, Known>,
): Promise<void> {
  for (const { change, left, since } of intermediate) {
    const one = known.get(change.path)
    if (one === undefined || !isSame(one.left, change.after) || isSame(left, change.after)) continue
    const found = await rooms.snapshots?.diff(since, 'now')
    if (found?.ok !== true) continue
    const now = found.changes.find(({ path }) => path === change.path)
    // No difference to the snapshot means: the content is that of the snapshot.
    if (!isSame(now === undefined ? change.before : now.after, left)) continue
    one.left = left
    one.states.push(left)
  }
}

/** Removes changes that certainly belong to other plans: without a declared scope, a task is credited with them too. */
async function removeOthersChanges(
  rooms: Rooms,
  { beside }: WrittenBy,
  known: Map<string, Known>,
  visits: ReadonlyMap<string, Visit>,
): Promise<{ readonly aside: ReadonlyMap<string, string>; readonly doubted: ReadonlyMap<string, string> }> {
  const aside = new Map<string, string>()
  const doubted = new Map<string, string>()
  const others = await otherPlans(rooms, beside)
  const loose = [...visits.values()].filter(({ look }) => look.before !== undefined)
  // A rollback of another plan does not respect reservations, so a task of ours may have recorded what it restored.
  for (const [path, one] of [...known]) {
    const theirs = others.changes.filter(other => other.path === path)
    const plan = theirs.find(
      other => other.isRollback && one.changes.some(ours => isSame(ours.after, other.after)),
    )?.plan
    if (plan === undefined || !one.changes.every(ours => isTheirs(ours, theirs))) continue
    aside.set(path, `plan '${plan}' was rolled back there at the same time`)
    known.delete(path)
  }
  // Declared scopes are reserved across plans, so only undeclared paths are in doubt.
  for (const [path, one] of [...known].filter(([, { isDeclared }]) => !isDeclared)) {
    const seen = others.changes.filter(other => other.path === path && isSeenToo(one, other))
    // Our attempt recorded nothing, and the other plan recorded this change: it is theirs.
    const isUnrecorded = one.recordedAt === Number.POSITIVE_INFINITY
    const declared =
      seen.find(({ isDeclared }) => isDeclared || isUnrecorded)?.plan ??
      loose.map(({ began, over }) => others.declaredBy(path, began, over)).find(plan => plan !== null)
    if (declared !== undefined) {
      aside.set(path, `it is the work of plan '${declared}', which ran at the same time`)
      known.delete(path)
      continue
    }
    // A running task will record its changes later; this may be one of them.
    const unfinished = others.unfinishedBy(one.recordedAt)
    const plan = seen[0]?.plan ?? unfinished ?? others.loose
    if (plan === null) continue
    doubted.set(path, plan)
    // Both may have made it: treated as an edit, so that it stays.
    if (seen.length > 0 || unfinished !== null) one.left = one.target
  }
  return { aside, doubted }
}

const isSameChange = (a: Change, b: Change): boolean => isSame(a.before, b.before) && isSame(a.after, b.after)

/**
 * Identical to a change that another plan recorded there; or the final state of a declared file of another plan, of which our snapshot may
 * show an intermediate state.
 */
const isTheirs = (ours: Change, theirs: readonly OthersChange[]): boolean =>
  theirs.some(other => isSameChange(ours, other) || (other.isDeclared && isSame(ours.after, other.after)))

const isSeenToo = ({ changes }: Known, other: Change): boolean =>
  changes.some(ours => isSame(ours.before, other.before) || isSame(ours.after, other.after))

/** A file that a person put into a folder of the plan, and that the plan removed with it, is restored; so its folders stay. */
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
      // If the target is a file, nothing can be below it.
      if (target.type === 'file') kept.push({ path, sha256: target.sha256 })
      known.delete(path)
      break
    }
  }
}

type Look = { readonly preimage?: Sha256 | undefined; readonly before?: Sha256 | undefined }

/** The state of a visit: its snapshot, and whether an attempt has not recorded its changes yet. */
interface Visit {
  readonly task: TaskName
  look: Look
  readonly from: number
  isOpen: boolean
  /** Ended by the rollback that is being performed. */
  wasUnderWay: boolean
  /** The end of one of its attempts is unknown: changes until the next attempt may be another's. */
  isUnsure: boolean
  /** Was unsure, and no snapshot was taken before the next attempt. */
  isDoubtful: boolean
  readonly began: Millis
  /** When it ended; infinite while it has not. */
  over: Millis
  /** Paths that changed between two of its attempts, and so are another's work. */
  readonly edited: Set<string>
  /** Later changes are not its work; null while an attempt runs, or if unknown. */
  endedAt: Millis | null
  readonly ran: { readonly from: Millis; readonly to: Millis }[]
  beganLast: Millis
}

/** A folder created while an attempt of the visit ran is its work, even if others have put files into it since. */
function isFolderOf({ root }: Rooms, { ran }: Visit, { path, before, after }: Change): boolean {
  if (after?.type !== 'directory' || before?.type === 'directory') return false
  const made = madeAt(root, path)
  return made !== null && ran.some(({ from, to }) => from <= made && made <= to)
}

/**
 * For a task without a scope: is the path in the scope of an overlapping task that has not recorded its changes yet? Then it belongs to
 * that task.
 */
function isInScopeBeside(visit: Visit, path: string, all: Iterable<Visit>, { scopeOf: declared }: WrittenBy): boolean {
  if (visit.look.before === undefined || declared === undefined) return false
  for (const other of all) {
    const isBeside = other.isOpen && other.look.preimage !== undefined && other.over >= visit.began
    if (isBeside && inScope(declared(other.task), path)) return true
  }
  return false
}

const isDoubted = ({ isUnsure, isDoubtful, edited }: Visit, path: string): boolean =>
  isUnsure || isDoubtful || edited.has(path)

/** A change that may be another's although this visit recorded it. */
interface Doubt {
  readonly change: Change
  /** The only doubt is that the path changed between two attempts of the visit. */
  readonly isEdit: boolean
}

/** Changed between two attempts, but by another task of the plan, and unchanged since that task ended. */
const isExplained = ({ isEdit, change }: Doubt, ends: readonly Change[]): boolean =>
  isEdit && ends.some(({ path, after }) => path === change.path && isSame(after, change.after))

/** Collects visits that started before the target entry, and change sets recorded until then: those are not undone. */
function collectUntil({ until = [], tasks }: WrittenBy, visits: Map<string, Visit>, recorded: Sha256[]): void {
  for (const { events, now } of until) {
    for (const event of events) {
      const changes = changesOf(event)
      if (changes !== null) recorded.push(changes)
      if (!('task' in event) || event.task === undefined || tasks?.includes(event.task) === false) continue
      follow(visits, event, recorded.length, now)
      const visit = isAttemptEnd(event) && 'visit' in event ? visits.get(`${event.task}/${event.visit}`) : undefined
      if (visit !== undefined) visit.isOpen = false
    }
  }
}

/** Only the first attempt of a visit takes a snapshot of all files; later attempts are compared with the same one. */
function follow(visits: Map<string, Visit>, event: Event, from: number, now: Millis): void {
  if (event.type === 'attempt.started') {
    const { preimage, before } = event
    const key = `${event.task}/${event.visit}`
    const known = visits.get(key)
    if (known !== undefined) {
      known.isOpen = true
      known.endedAt = null
      known.over = Number.POSITIVE_INFINITY
      known.beganLast = now
      if (event.edited === undefined) known.isDoubtful ||= known.isUnsure
      else known.isUnsure = false
      for (const path of event.edited ?? []) known.edited.add(path)
      // Kept edits of a person belong to the content before the attempt.
      if (preimage !== undefined) known.look = { preimage, before }
    } else if (preimage !== undefined || before !== undefined)
      visits.set(key, {
        task: event.task,
        look: { preimage, before },
        from,
        isOpen: true,
        wasUnderWay: false,
        isUnsure: false,
        isDoubtful: false,
        began: now,
        over: Number.POSITIVE_INFINITY,
        edited: new Set(),
        endedAt: null,
        ran: [],
        beganLast: now,
      })
  } else if (event.type === 'attempt.lost') {
    const visit = visits.get(`${event.task}/${event.visit}`)
    if (visit === undefined) return
    if (event.wrote !== undefined) return closeVisit(visit, now)
    // A scope is restored before the next attempt; without a scope nothing is.
    if (visit.look.before !== undefined) visit.isUnsure = true
    visit.endedAt = event.byUs === true ? now : event.lastSign === undefined ? null : event.lastSign + SIGN_SLACK_MS
    if (visit.endedAt !== null) visit.ran.push({ from: visit.beganLast, to: visit.endedAt })
  } else if (event.type === 'attempt.succeeded' || event.type === 'attempt.failed') {
    const visit = visits.get(`${event.task}/${event.visit}`)
    if (visit === undefined) return
    if (event.result.wrote !== undefined) return closeVisit(visit, now)
    visit.over = now
    visit.ran.push({ from: visit.beganLast, to: now })
  }
}

function closeVisit(visit: Visit, now: Millis): void {
  visit.over = now
  visit.ran.push({ from: visit.beganLast, to: now })
  visit.isOpen = false
}

async function leftBy(rooms: Rooms, recorded: readonly Sha256[]): Promise<ReadonlyMap<string, TreeEntry | null>> {
  const left = new Map<string, TreeEntry | null>()
  for (const id of recorded) for (const { path, after } of await readChanges(rooms, id)) left.set(path, after)
  return left
}

/** Without changes recorded between its start and the target entry: not its work, or not to be undone. */
function ownChanges(changes: readonly Change[], others: ReadonlyMap<string, TreeEntry | null>): readonly Change[] {
  if (others.size === 0) return changes
  return changes.flatMap(change => {
    const before = others.has(change.path) ? (others.get(change.path) ?? null) : change.before
    return isSame(before, change.after) ? [] : [{ ...change, before }]
  })
}

/**
 * Nothing recorded what an open visit changed. Changes up to its last known moment are its work; later ones, or all if that is unknown, are
 * treated as edits. Returns paths known only from here.
 */
async function addUnknown(
  rooms: Rooms,
  visit: Visit,
  at: number,
  known: Map<string, Known>,
  by: WrittenBy,
  beside: readonly Sha256[],
  uncovered: Map<string, UncoveredPath>,
): Promise<readonly string[]> {
  const { preimage, before } = visit.look
  const found =
    preimage !== undefined
      ? await rooms.workspace.changesSince(preimage)
      : before !== undefined
        ? await rooms.snapshots?.diff(before, 'now')
        : undefined
  const unstored =
    found?.ok === true
      ? changedUnstored(rooms, found.left, visit.began)
      : found === undefined
        ? []
        : [{ path: by.scopeOf?.(visit.task).join(', ') || '.', reason: found.failure.message }]
  for (const one of unstored) if (by.paths === undefined || isNamed(by.paths, one.path)) uncovered.set(one.path, one)
  if (found?.ok !== true) return []
  const others = await leftBy(rooms, beside)
  const own = ownChanges(found.changes, others)
  const differs = new Map(own.map(change => [change.path, change]))
  const { endedAt, isDoubtful, edited } = visit
  const isOwn = (change: Change): boolean =>
    isFolderOf(rooms, visit, change) ||
    (endedAt !== null && !isDoubtful && !edited.has(change.path) && changeTime(rooms.root, change.path) <= endedAt)
  const isSetBack = ({ setBackAfter }: Known) => setBackAfter !== null && setBackAfter > at
  for (const [path, one] of known) {
    const isLookedAt = preimage === undefined || inScope(by.scopeOf?.(visit.task) ?? [], path)
    if (!isSetBack(one) || !isLookedAt || differs.has(path)) continue
    if (others.has(path)) one.target = others.get(path) ?? null
    // Restored to its earlier content.
    else known.delete(path)
  }
  const added: string[] = []
  for (const [path, change] of differs) {
    const { before: was, after } = change
    const one = known.get(path)
    if (one !== undefined && isSetBack(one)) one.target = was
    if (one !== undefined || (by.paths !== undefined && !isNamed(by.paths, path))) continue
    const left = isOwn(change) ? after : was
    added.push(path)
    known.set(path, {
      target: was,
      left,
      states: [was, after],
      changes: [change],
      isBroken: true,
      isDeclared: preimage !== undefined,
      isClaimed: preimage !== undefined || inScope(by.claimedBy?.(visit.task) ?? [], path),
      looseTask: preimage === undefined ? visit.task : null,
      recordedAt: Number.POSITIVE_INFINITY,
      setBackAfter: null,
    })
  }
  return added
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

/** The declared scope of each task, by the current definition. */
export function scopesIn({ definition, tasks }: PlanState): NonNullable<WrittenBy['scopeOf']> {
  const scopes = new Map(Array.from(tasks.values(), task => [task.definition.id, scopeOf(definition, task.definition)]))
  return task => scopes.get(task) ?? []
}

/** Includes `effects`. */
export function claimsIn(state: PlanState): NonNullable<WrittenBy['claimedBy']> {
  const scopes = scopesIn(state)
  return task => [...scopes(task), ...(state.tasks.get(task)?.definition.effects ?? [])]
}

/** Follows files through the journal. `stands`: has the event happened at the point of interest? After one that has not, none has. */
export async function followFiles(
  entries: Iterable<Entry>,
  read: (changes: Sha256) => Promise<readonly Change[]>,
  stands: (entry: Entry, event: Event) => boolean,
): Promise<Map<string, TreeEntry | null>> {
  const at = new Map<string, TreeEntry | null>()
  /** Changes of failed attempts, until they are restored before the next attempt. */
  const failed = new Map<TaskName, Change[]>()
  for (const entry of entries) {
    for (const event of entry.events) {
      if (event.type === 'workspace.restored' && stands(entry, event)) {
        for (const { path, before } of failed.get(event.task)?.toReversed() ?? []) at.set(path, before)
        failed.delete(event.task)
      }
      const changes = changesOf(event)
      if (changes === null) continue
      const happened = stands(entry, event)
      const all = await read(changes)
      for (const { path, before, after } of all) {
        if (happened) at.set(path, after)
        else if (!at.has(path)) at.set(path, before)
      }
      if (event.type === 'attempt.failed' && happened)
        failed.set(event.task, [...(failed.get(event.task) ?? []), ...all])
      if (event.type === 'attempt.succeeded') failed.delete(event.task)
    }
  }
  return at
}
