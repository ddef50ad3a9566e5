// Before a task is tried again, the files it may write go back to how they were before its first attempt. Each path that
// differs from then is judged:
//
//   equal to then                          not touched
//   changed after the last attempt ended   a person's: asked about, unless the plan says `recovery: {edits: set-back}`
//   written by another plan or task since  stays
//   anything else                          may be either's: set back, named in the journal, and kept for `restore`
//
// What a person decided holds for exactly what was shown: whatever they change afterwards is asked about again.

import type { EditChoice } from '../domain/event.ts'
import type { Millis, PlanId, Sha256 } from '../domain/id.ts'
import { type RestoreNote, restoreNoteName } from '../domain/restore-notes.ts'
import type { Failure, Prepared } from '../domain/result.ts'
import type { PlanState, TaskState } from '../domain/state.ts'
import type { Change, TreeEntry } from '../workspace/workspace.ts'
import { readChanges } from './footprint.ts'
import type { Rooms } from './rooms.ts'
import { isSame } from './written.ts'
import { type WrittenByOther, writtenByOthers } from './written-by-others.ts'

/** So many paths are named in the journal; the manifests hold them all. */
const PATHS_TOLD_MAX = 100

export interface RestoredFiles {
  readonly to: Sha256
  readonly saved: Sha256
  readonly files: readonly string[]
  readonly more?: number
  readonly kept?: readonly string[]
}

export type ScopeRestored =
  | { readonly status: 'restored'; readonly preimage: Sha256; readonly restored: RestoredFiles | null }
  | { readonly status: 'asked'; readonly edits: NonNullable<Prepared['edits']> }
  | { readonly status: 'failed'; readonly failure: Failure }

/**
 * `preimage` is the manifest of the scope before the first attempt of this visit. Where somebody changes files while they are
 * restored, everything is looked at again.
 */
export async function restoreScope(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  preimage: Sha256,
): Promise<ScopeRestored> {
  for (let tries = 1; ; tries++) {
    const restored = await tryRestore(rooms, state, task, preimage)
    const hasMoved = restored.status === 'failed' && isMoved(restored.failure)
    if (!hasMoved || tries >= TRIES_MAX) return restored
  }
}

const TRIES_MAX = 5

const isMoved = ({ class: kind, code, shortage }: Failure): boolean =>
  shortage === undefined && (kind === 'transient' || MOVED.has(code ?? ''))

const MOVED: ReadonlySet<string> = new Set(['errno:ENOENT', 'errno:ENOTDIR', 'errno:EEXIST', 'errno:ENOTEMPTY'])

async function tryRestore(rooms: Rooms, state: PlanState, task: TaskState, preimage: Sha256): Promise<ScopeRestored> {
  const found = await rooms.workspace.changesSince(preimage)
  if (!found.ok) return { status: 'failed', failure: found.failure }
  const cutOff = cutOffRestore(rooms, state, task, preimage)
  const judge = await attemptJudge(rooms, task, found.changedAt, cutOff)
  const others = found.changes.length === 0 ? NOBODY : await writtenByOthers(rooms, state, task)
  // Where all files were compared around another task, it may have seen our work; not what changed after ours had ended.
  const isOthers = (change: Change): boolean => {
    const { path, after } = change
    const other = others.get(path)
    return other !== undefined && isSame(other.entry, after) && (other.declared || judge.isPersons(change))
  }
  const edits = found.changes.filter(change => !isOthers(change) && judge.isPersons(change))
  const waits = state.definition.recovery?.edits !== 'set-back'
  const decided = waits ? await decide(rooms, task, edits, judge) : NOTHING_KEPT
  if (decided.undecided.length > 0) {
    const { undecided, unmerged } = decided
    return { status: 'asked', edits: await askedAbout(rooms, undecided, unmerged) }
  }
  const keep = new Set([...decided.keep, ...found.changes.filter(isOthers).map(({ path }) => path)])
  const name = noteName(state.id, task)
  const restored = await rooms.workspace.restore(preimage, {
    keep,
    write: decided.write,
    ...(judge.endedAt === undefined ? {} : { after: judge.endedAt }),
    ...(cutOff === null ? {} : { earlier: cutOff.saved }),
    // Named before the first file changes, so that nothing is lost when the process dies before the journal says it.
    onSaved: saved => {
      if (found.changes.length > 0) rooms.store.blobs.pin(name, JSON.stringify({ saved, to: preimage } satisfies Note))
    },
  })
  if (!restored.ok) return { status: 'failed', failure: restored.failure }
  const changed = cutOff === null ? restored.changed : await changedInAll(rooms, restored.saved, restored.manifest)
  const kept = [...keep, ...decided.write.keys()]
  const files = {
    to: restored.manifest,
    saved: restored.saved,
    files: changed.slice(0, PATHS_TOLD_MAX),
    ...(changed.length > PATHS_TOLD_MAX ? { more: changed.length - PATHS_TOLD_MAX } : {}),
    ...(kept.length === 0 ? {} : { kept: kept.slice(0, PATHS_TOLD_MAX) }),
  }
  return {
    status: 'restored',
    preimage: restored.manifest,
    restored: changed.length === 0 && kept.length === 0 ? null : files,
  }
}

const NOBODY: ReadonlyMap<string, WrittenByOther> = new Map()

/** Says of each path that differs from the pre-image whose work it is, and what the last attempt left there. */
interface AttemptJudge {
  readonly endedAt: Millis | undefined
  isPersons(change: Change): boolean
  /** Null where nobody knows what the attempt left. */
  leftAt(change: Change): TreeEntry | null | 'unknown'
}

async function attemptJudge(
  rooms: Rooms,
  { prepared, result, attempt, failures }: TaskState,
  changedAt: ReadonlyMap<string, Millis>,
  cutOff: CutOff | null,
): Promise<AttemptJudge> {
  // Plans under older rules do not say how it ended; it failed where no attempt of the visit was lost.
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
  const stood = cutOff === null ? null : await entriesOf(rooms, cutOff)
  const leftAt = ({ path, before }: Change) => (left === null ? 'unknown' : left.has(path) ? left.get(path)! : before)
  return {
    endedAt,
    leftAt,
    isPersons(change) {
      // A restore that was cut off has looked at it before, and found that it may be set back.
      if (stood !== null && isSame(change.after, stood.get(change.path) ?? change.before)) return false
      const was = leftAt(change)
      // What the attempt was seen to leave is its own, whenever that was.
      if (was !== 'unknown') return !isSame(was, change.after)
      return endedAt !== undefined && (changedAt.get(change.path) ?? 0) > endedAt
    },
  }
}

interface Decided {
  readonly keep: ReadonlySet<string>
  readonly write: ReadonlyMap<string, TreeEntry>
  readonly undecided: readonly Change[]
  /** Of these: what was to be merged and cannot be. */
  readonly unmerged: readonly string[]
}

const NOTHING_KEPT: Decided = { keep: new Set(), write: new Map(), undecided: [], unmerged: [] }

/** What a person chose about exactly these edits. */
async function decide(rooms: Rooms, task: TaskState, edits: readonly Change[], judge: AttemptJudge): Promise<Decided> {
  const chosen = task.prepared?.chosen
  const shown = chosen === undefined ? null : await readShown(rooms, chosen.shown)
  const keep = new Set<string>()
  const write = new Map<string, TreeEntry>()
  const undecided: Change[] = []
  const unmerged: string[] = []
  for (const edit of edits) {
    const { path, before } = edit
    const seen = shown?.get(path)
    const choice: EditChoice | null = seen === undefined ? null : (ownChoice(chosen?.choices, path) ?? chosen!.every)
    const merged = choice === 'merge' ? await mergeEdit(rooms, { ...edit, after: seen! }, judge) : null
    const isMerged = merged !== null && merged !== 'as it is' && isSame(merged, edit.after)
    if (seen === undefined || !(isSame(seen, edit.after) || isMerged)) undecided.push(edit)
    else if (choice === 'keep' || isMerged || merged === 'as it is') keep.add(path)
    else if (choice === 'take') continue
    else if (merged !== null) {
      if (isSame(merged, before)) continue
      write.set(path, merged)
    } else {
      undecided.push(edit)
      unmerged.push(path)
    }
  }
  return { keep, write, undecided, unmerged }
}

const ownChoice = (
  choices: { readonly [path: string]: EditChoice } | undefined,
  path: string,
): EditChoice | undefined => (choices !== undefined && Object.hasOwn(choices, path) ? choices[path] : undefined)

/** The person's edit without what the attempt wrote; null where the two cannot be told apart. */
async function mergeEdit(rooms: Rooms, edit: Change, judge: AttemptJudge): Promise<TreeEntry | 'as it is' | null> {
  const { before, after } = edit
  const left = judge.leftAt(edit)
  // Where the attempt left nothing of its own, or nobody knows what it left, all that differs counts as the person's.
  if (left === 'unknown' || isSame(left, before)) return 'as it is'
  if (left?.type !== 'file' || after?.type !== 'file' || before?.type !== 'file') return null
  const merged = await rooms.workspace.merge(left.sha256, after.sha256, before.sha256)
  return merged === null ? null : { type: 'file', mode: after.mode, ...merged }
}

async function askedAbout(rooms: Rooms, edits: readonly Change[], unmerged: readonly string[]) {
  const shown = await rooms.store.blobs.put(Buffer.from(JSON.stringify(edits)))
  const more = edits.length - PATHS_TOLD_MAX
  return {
    shown,
    paths: edits.slice(0, PATHS_TOLD_MAX).map(({ path }) => path),
    ...(more > 0 ? { more } : {}),
    ...(unmerged.length === 0 ? {} : { unmerged: unmerged.slice(0, PATHS_TOLD_MAX) }),
  }
}

async function readShown(rooms: Rooms, shown: Sha256): Promise<ReadonlyMap<string, TreeEntry | null>> {
  return new Map((await readChanges(rooms, shown)).map(({ path, after }) => [path, after]))
}

// ── a restore that was cut off ──────────────────────────────────────────────────────────────────────────────────────

type Note = RestoreNote
type CutOff = Note

const noteName = (plan: PlanId, { ordinal }: Pick<TaskState, 'ordinal'>): string => restoreNoteName(plan, ordinal)

/** What was saved by a restore of this task that no entry of the journal tells of; null when there is none. */
export function untoldRestore(rooms: Rooms, state: PlanState, task: TaskState): Note | null {
  const note = state.rules > 3 ? rooms.store.blobs.pinned(noteName(state.id, task)) : null
  if (note === null) return null
  const read = JSON.parse(note) as Note
  return state.restored.some(({ saved }) => saved === read.saved) ? null : read
}

/** When the plan has ended, the journal names everything that was saved. */
export function forgetRestores(rooms: Rooms, state: PlanState): void {
  for (const { task: name } of state.restored) {
    const task = state.tasks.get(name)
    if (task !== undefined && untoldRestore(rooms, state, task) === null)
      rooms.store.blobs.unpin(noteName(state.id, task))
  }
}

function cutOffRestore(rooms: Rooms, state: PlanState, task: TaskState, preimage: Sha256): CutOff | null {
  const note = untoldRestore(rooms, state, task)
  return note?.to === preimage ? note : null
}

async function entriesOf(rooms: Rooms, { saved, to }: CutOff): Promise<ReadonlyMap<string, TreeEntry | null>> {
  const compared = await rooms.workspace.compare(saved, to)
  return new Map(compared.ok ? compared.changes.map(({ path, before }) => [path, before]) : [])
}

async function changedInAll(rooms: Rooms, saved: Sha256, to: Sha256): Promise<readonly string[]> {
  const compared = await rooms.workspace.compare(saved, to)
  return compared.ok ? compared.changes.map(({ path }) => path) : []
}
