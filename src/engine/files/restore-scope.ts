// Before a retry, restores the files that a task may write to their state before its first attempt. For each path:
//
//   unchanged                              not touched
//   changed after the last attempt ended   a person's edit: asked about, unless the plan says `recovery: {edits: set-back}`
//   written by another plan or task since  stays
//   anything else                          of unknown origin: restored, named in the journal, and backed up for `restore`
//
// A person's choice covers exactly the version that was shown; later edits are asked about again. That question carries the
// earlier choices about other paths, so none is asked twice.

import type { EditChoice } from '../../domain/event.ts'
import type { Millis, PlanId, Sha256 } from '../../domain/id.ts'
import { type RestoreNote, restoreNoteName } from '../../domain/restore-notes.ts'
import type { Failure, Prepared } from '../../domain/result.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import type { Change, TreeEntry } from '../../workspace/workspace.ts'
import { readChanges } from '../rollback/attempt-changes.ts'
import { isSame } from '../rollback/write-set.ts'
import type { Rooms } from '../rooms.ts'
import { type WrittenByOther, writtenByOthers } from './other-plans.ts'

/** At most this many paths are named in the journal; the manifests hold all. */
const PATHS_NAMED_MAX = 100

export interface RestoredFiles {
  readonly to: Sha256
  readonly saved: Sha256
  readonly files: readonly string[]
  readonly more?: number
  readonly kept?: readonly string[]
}

export type ScopeRestored =
  | {
      readonly status: 'restored'
      readonly preimage: Sha256
      readonly restored: RestoredFiles | null
      /** Restores that were interrupted before they were recorded. */
      readonly earlier: readonly RestoredFiles[]
    }
  | { readonly status: 'asked'; readonly edits: NonNullable<Prepared['edits']> }
  | { readonly status: 'failed'; readonly failure: Failure; readonly earlier?: readonly RestoredFiles[] }

/** `preimage`: the scope before the first attempt of this visit. If files change while it runs, everything is compared again. */
export async function restoreScope(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  preimage: Sha256,
): Promise<ScopeRestored> {
  // The state is live and may change while we wait for the files.
  const tried = { visit: task.visit, attempt: task.attempt }
  for (let tries = 1; ; tries++) {
    const restored = await tryRestore(rooms, state, task, tried, preimage)
    const hasMoved = restored.status === 'failed' && isMoved(restored.failure)
    if (hasMoved && tries < TRIES_MAX) continue
    // The task fails now, so this is the last chance to record what interrupted restores replaced.
    return restored.status === 'failed'
      ? { ...restored, earlier: await replacedByRestores(rooms, state, task) }
      : restored
  }
}

/** What unrecorded restores replaced and is still replaced. */
async function replacedByRestores(rooms: Rooms, state: PlanState, task: TaskState): Promise<readonly RestoredFiles[]> {
  const replaced: RestoredFiles[] = []
  for (const { saved, made } of unrecordedRestores(rooms, state, task)) {
    const now = await rooms.workspace.changesSince(saved)
    const differs = new Set(now.ok ? now.changes.map(({ path }) => path) : [])
    const paths = (await restoredBy(rooms, saved, made)).filter(path => differs.has(path))
    if (paths.length > 0) replaced.push(filesOf(made, saved, paths, []))
  }
  return replaced
}

/** Another process tried the task while this one hung; its work must not be reverted. */
async function isTakenOver({ store }: Rooms, { id }: PlanState, { definition }: TaskState, { visit, attempt }: Tried) {
  const now = (await store.state(id))?.tasks.get(definition.id)
  return now?.visit !== visit || now.attempt !== attempt
}

type Tried = Pick<TaskState, 'visit' | 'attempt'>

const TAKEN_OVER: Failure = {
  class: 'transient',
  code: 'taken-over',
  message: 'another process has tried the task meanwhile',
  retryable: true,
}

const TRIES_MAX = 5

export const isMoved = ({ class: kind, code, shortage }: Failure): boolean =>
  shortage === undefined && code !== TAKEN_OVER.code && (kind === 'transient' || MOVED.has(code ?? ''))

const MOVED: ReadonlySet<string> = new Set(['errno:ENOENT', 'errno:ENOTDIR', 'errno:EEXIST', 'errno:ENOTEMPTY'])

async function tryRestore(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  tried: Tried,
  preimage: Sha256,
): Promise<ScopeRestored> {
  const found = await rooms.workspace.changesSince(preimage)
  if (!found.ok) return { status: 'failed', failure: found.failure }
  const unrecorded = unrecordedRestores(rooms, state, task)
  const judge = await attemptJudge(
    rooms,
    task,
    found.changedAt,
    unrecorded.filter(note => note.to === preimage),
  )
  const others = found.changes.length === 0 ? NO_OTHERS : await writtenByOthers(rooms, state, task)
  const otherAt = ({ path, after }: Change): WrittenByOther | null => {
    const other = others.get(path)
    return other !== undefined && isSame(other.entry, after) ? other : null
  }
  // A snapshot of all files around another task may include our changes, but not those made after our attempt ended.
  const isOthers = (change: Change): boolean => {
    const other = otherAt(change)
    return other !== null && (other.declared || judge.isPersons(change))
  }
  // Within the plan, a declared scope tells whose change it is.
  const mayBeOthers = (change: Change): boolean => {
    const other = otherAt(change)
    return other !== null && other.plan !== state.id && !isOthers(change) && !judge.isCutOff(change)
  }
  const edits = found.changes.filter(change => mayBeOthers(change) || (!isOthers(change) && judge.isPersons(change)))
  const waits = state.definition.recovery?.edits !== 'set-back'
  const decided = waits ? await decide(rooms, task, edits, judge) : NOTHING_KEPT
  if (decided.undecided.length > 0) {
    const { undecided } = decided
    const plans = [...new Set(undecided.flatMap(change => (mayBeOthers(change) ? [otherAt(change)!.name] : [])))]
    return { status: 'asked', edits: await askedAbout(rooms, decided, plans) }
  }
  if (found.changes.length > 0 && (await isTakenOver(rooms, state, task, tried)))
    return { status: 'failed', failure: TAKEN_OVER }
  const keep = new Set([...decided.keep, ...found.changes.filter(isOthers).map(({ path }) => path)])
  const restored = await rooms.workspace.restore(preimage, {
    keep,
    write: decided.write,
    after: judge.endedAt,
    judged: found.changes,
    // Noted in the store before the first file changes, so that nothing is lost if we crash before the journal names it.
    onSaved: (saved, made) => {
      if (found.changes.length === 0) return
      const note: Note = { saved, to: preimage, made, visit: task.visit, attempt: task.attempt + 1 }
      rooms.store.blobs.pin(noteName(state.id, task), JSON.stringify([...unrecorded, note]))
    },
  })
  if (!restored.ok) return { status: 'failed', failure: restored.failure }
  const { changed } = restored
  const kept = [...keep, ...decided.write.keys()]
  const files = filesOf(
    restored.manifest,
    restored.saved,
    changed.filter(path => !decided.write.has(path)),
    kept,
  )
  const earlier: RestoredFiles[] = []
  for (const { saved, made } of unrecorded) earlier.push(filesOf(made, saved, await restoredBy(rooms, saved, made), []))
  return {
    status: 'restored',
    preimage: restored.manifest,
    restored: changed.length === 0 && kept.length === 0 ? null : files,
    earlier,
  }
}

const filesOf = (to: Sha256, saved: Sha256, changed: readonly string[], kept: readonly string[]): RestoredFiles => ({
  to,
  saved,
  files: changed.slice(0, PATHS_NAMED_MAX),
  ...(changed.length > PATHS_NAMED_MAX ? { more: changed.length - PATHS_NAMED_MAX } : {}),
  ...(kept.length === 0 ? {} : { kept: kept.slice(0, PATHS_NAMED_MAX) }),
})

const NO_OTHERS: ReadonlyMap<string, WrittenByOther> = new Map()

interface AttemptJudge {
  readonly endedAt: Millis | undefined
  isPersons(change: Change): boolean
  /** An interrupted restore already judged that it may be reverted. */
  isCutOff(change: Change): boolean
  leftAt(change: Change): TreeEntry | null | 'unknown'
}

async function attemptJudge(
  rooms: Rooms,
  { prepared, result, attempt, failures }: TaskState,
  changedAt: ReadonlyMap<string, Millis>,
  cutOff: readonly Note[],
): Promise<AttemptJudge> {
  // Without captured files the end of the attempt was not noted; it failed unless an attempt of the visit was lost.
  const { how, at: endedAt } = prepared?.ended ?? { how: attempt === failures ? 'failed' : 'lost', at: undefined }
  const wrote = how === 'failed' ? result?.wrote : undefined
  const left =
    wrote === undefined
      ? null
      : new Map(
          (wrote.changes === null ? [] : await readChanges(rooms, wrote.changes)).map(({ path, after }) => [
            path,
            after,
          ]),
        )
  const original = new Map<string, TreeEntry | null>()
  for (const { saved, made } of cutOff)
    for (const { path, before } of await differences(rooms, saved, made)) original.set(path, before)
  const leftAt = ({ path, before }: Change) => (left === null ? 'unknown' : left.has(path) ? left.get(path)! : before)
  const isCutOff = ({ path, after }: Change): boolean => original.has(path) && isSame(after, original.get(path) ?? null)
  return {
    endedAt,
    leftAt,
    isCutOff,
    isPersons(change) {
      if (isCutOff(change)) return false
      const was = leftAt(change)
      // Content that the attempt is known to have left is its own, whatever its time.
      if (was !== 'unknown') return !isSame(was, change.after)
      return endedAt !== undefined && (changedAt.get(change.path) ?? 0) > endedAt
    },
  }
}

interface Decided {
  readonly keep: ReadonlySet<string>
  readonly write: ReadonlyMap<string, TreeEntry>
  readonly settled: readonly Shown[]
  readonly undecided: readonly Change[]
  /** Undecided because they were to be merged and cannot be. */
  readonly unmerged: readonly string[]
}

/** An edit as shown to a person, with their earlier choice, if any. */
type Shown = Change & { readonly choice?: EditChoice }

const NOTHING_KEPT: Decided = { keep: new Set(), write: new Map(), settled: [], undecided: [], unmerged: [] }

async function decide(rooms: Rooms, task: TaskState, edits: readonly Change[], judge: AttemptJudge): Promise<Decided> {
  const chosen = task.prepared?.chosen
  const shown = chosen === undefined ? null : await readShown(rooms, chosen.shown)
  const keep = new Set<string>()
  const write = new Map<string, TreeEntry>()
  const settled: Shown[] = []
  const undecided: Change[] = []
  const unmerged: string[] = []
  for (const edit of edits) {
    const { path, before } = edit
    const seen = shown?.get(path)
    const choice = seen === undefined ? null : (ownChoice(chosen?.choices, path) ?? seen.choice ?? chosen!.every)
    const merged = choice === 'merge' ? await mergeEdit(rooms, { ...edit, after: seen!.after }, judge) : null
    const isMerged = merged !== null && merged !== 'as it is' && isSame(merged, edit.after)
    if (seen === undefined || choice === null || !(isSame(seen.after, edit.after) || isMerged)) {
      undecided.push(edit)
      continue
    }
    if (choice === 'merge' && merged === null) {
      undecided.push(edit)
      unmerged.push(path)
      continue
    }
    settled.push({ ...seen, choice })
    if (choice === 'keep' || isMerged || merged === 'as it is') keep.add(path)
    else if (merged !== null && !isSame(merged, before)) write.set(path, merged)
  }
  return { keep, write, settled, undecided, unmerged }
}

const ownChoice = (
  choices: { readonly [path: string]: EditChoice } | undefined,
  path: string,
): EditChoice | undefined => (choices !== undefined && Object.hasOwn(choices, path) ? choices[path] : undefined)

/** The edit without the attempt's own changes; null if they cannot be separated. */
async function mergeEdit(rooms: Rooms, edit: Change, judge: AttemptJudge): Promise<TreeEntry | 'as it is' | null> {
  const { before, after } = edit
  const left = judge.leftAt(edit)
  // If the attempt left nothing, or that is unknown, the whole difference counts as the person's.
  if (left === 'unknown' || isSame(left, before)) return 'as it is'
  if (left?.type !== 'file' || after?.type !== 'file' || before?.type !== 'file') return null
  const merged = await rooms.workspace.merge(left.sha256, after.sha256, before.sha256)
  return merged === null ? null : { type: 'file', mode: after.mode, ...merged }
}

async function askedAbout(
  rooms: Rooms,
  { undecided, settled, unmerged }: Decided,
  plans: readonly string[],
): Promise<NonNullable<Prepared['edits']>> {
  const shown = await rooms.store.blobs.put(Buffer.from(JSON.stringify([...undecided, ...settled])))
  const more = undecided.length - PATHS_NAMED_MAX
  return {
    shown,
    paths: undecided.slice(0, PATHS_NAMED_MAX).map(({ path }) => path),
    ...(more > 0 ? { more } : {}),
    ...(unmerged.length === 0 ? {} : { unmerged: unmerged.slice(0, PATHS_NAMED_MAX) }),
    ...(plans.length === 0 ? {} : { plans }),
  }
}

async function readShown(rooms: Rooms, shown: Sha256): Promise<ReadonlyMap<string, Shown>> {
  return new Map((await readChanges(rooms, shown)).map(edit => [edit.path, edit]))
}

type Note = RestoreNote

const noteName = (plan: PlanId, { ordinal }: Pick<TaskState, 'ordinal'>): string => restoreNoteName(plan, ordinal)

/** Restores of this task that the journal does not name, oldest first. */
export function unrecordedRestores(rooms: Rooms, state: PlanState, task: TaskState): readonly Note[] {
  const note = rooms.store.blobs.pinned(noteName(state.id, task))
  if (note === null) return []
  const isRecorded = ({ saved, visit, attempt }: Note): boolean =>
    state.restored.some(one => one.saved === saved) || (visit === task.visit && attempt <= task.attempt)
  return (JSON.parse(note) as readonly Note[]).filter(one => !isRecorded(one))
}

/** When the plan has ended, the journal names every backup. */
export function forgetRestores(rooms: Rooms, state: PlanState): void {
  for (const { task: name } of state.restored) {
    const task = state.tasks.get(name)
    if (task !== undefined && unrecordedRestores(rooms, state, task).length === 0)
      rooms.store.blobs.unpin(noteName(state.id, task))
  }
}

async function differences(rooms: Rooms, saved: Sha256, made: Sha256): Promise<readonly Change[]> {
  const compared = await rooms.workspace.compare(saved, made)
  return compared.ok ? compared.changes : []
}

const restoredBy = async (rooms: Rooms, saved: Sha256, made: Sha256): Promise<readonly string[]> =>
  (await differences(rooms, saved, made)).map(({ path }) => path)
