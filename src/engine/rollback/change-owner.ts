// Whose a change is: when a path changed last, and to which of several overlapping visits a change is credited.

import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Event, isAttemptEnd } from '../../domain/event.ts'
import type { Millis, Sha256, TaskName } from '../../domain/id.ts'
import { wroteIn } from '../../domain/result.ts'
import type { TaskState } from '../../domain/state/state.ts'
import type { Entry } from '../../stores/store.ts'
import type { Rooms } from '../rooms.ts'
import { readChanges } from './attempt-changes.ts'

/** The last change of a path by its ctime; for a deleted path, that of the nearest existing folder. */
export function changeTime(root: string, path: string): Millis {
  for (let at = path; ; at = dirname(at)) {
    const stat = lstatSync(join(root, at), { throwIfNoEntry: false })
    if (stat !== undefined) return stat.ctimeMs
    if (at === '.' || at === '') return 0
  }
}

/** Creation time of a folder; null if the file system does not tell, or if it was moved or its mode changed since. */
export function madeAt(root: string, path: string): Millis | null {
  const stat = lstatSync(join(root, path), { throwIfNoEntry: false })
  return stat?.isDirectory() === true && stat.ctimeMs === stat.mtimeMs ? stat.birthtimeMs : null
}

/** If more paths changed, none is listed, and their owner is unknown. */
const PATHS_MAX = 1_000

/**
 * With snapshots of all files: paths that changed after the last attempt ended, which are therefore another's work. Null if that time is
 * unknown, the files cannot be compared, or too many changed.
 */
export async function editedSinceEnd(rooms: Rooms, { prepared }: TaskState): Promise<readonly string[] | null> {
  const { before, ended } = prepared ?? {}
  if (before === undefined || ended?.at === undefined) return null
  const found = await rooms.snapshots?.diff(before, 'now')
  if (found?.ok !== true) return null
  const { at } = ended
  const edited = found.changes.map(({ path }) => path).filter(path => changeTime(rooms.root, path) > at)
  return edited.length > PATHS_MAX ? null : edited
}

// Credits changes when visits of one plan overlap in time. The change set of a task without a scope contains everything that changed
// meanwhile. A change recorded by a task with a declared scope belongs to that task. Overlapping tasks without scopes cannot be separated:
// they count as one writer, and are rolled back together or not at all.

interface Span {
  readonly task: TaskName
  readonly isScoped: boolean
  readonly from: number
  /** Where its last attempt ended; infinite while one is open. */
  to: number
  readonly recorded: { readonly at: number; readonly changes: Sha256 }[]
}

export class ChangeCredit {
  readonly #spans: ReadonlyMap<string, Span>
  readonly #paths: ReadonlyMap<Sha256, ReadonlySet<string>>

  private constructor(spans: ReadonlyMap<string, Span>, paths: ReadonlyMap<Sha256, ReadonlySet<string>>) {
    this.#spans = spans
    this.#paths = paths
  }

  static async of(rooms: Rooms, entries: Iterable<Entry>): Promise<ChangeCredit> {
    const spans = spansOf(entries)
    const paths = new Map<Sha256, ReadonlySet<string>>()
    // Doubt exists only if a task without a scope overlapped another.
    const all = [...spans.values()]
    const doubtful = all.filter(span => all.some(other => other !== span && !other.isScoped && overlap(span, other)))
    for (const { changes } of doubtful.flatMap(({ recorded }) => recorded))
      if (!paths.has(changes)) paths.set(changes, new Set((await readChanges(rooms, changes)).map(({ path }) => path)))
    return new ChangeCredit(spans, paths)
  }

  /** Does this change in the snapshot of a task without a scope belong to an overlapping task with a scope, recorded later? */
  isOthers(event: Event, path: string): boolean {
    return this.#isRecordedBeside(event, path, (recordedAt, at) => recordedAt > at)
  }

  /**
   * Had an overlapping task with a scope written the path before? Then this snapshot may contain a state in between, or this task may have
   * overwritten it.
   */
  isPerhapsOthers(event: Event, path: string): boolean {
    return this.#isRecordedBeside(event, path, (recordedAt, at) => recordedAt < at)
  }

  #isRecordedBeside(event: Event, path: string, when: (recordedAt: number, at: number) => boolean): boolean {
    const [span, at] = this.#find(event)
    if (span === undefined || span.isScoped) return false
    return [...this.#spans.values()].some(
      other =>
        other.isScoped &&
        overlap(span, other) &&
        other.recorded.some(one => when(one.at, at) && this.#paths.get(one.changes)?.has(path) === true),
    )
  }

  /** Overlapping tasks without a scope that recorded the same changes. */
  sharedWith(tasks: readonly TaskName[]): readonly TaskName[] {
    const loose = [...this.#spans.values()].filter(({ isScoped }) => !isScoped)
    const ours = loose.filter(({ task }) => tasks.includes(task))
    const theirs = loose.filter(({ task }) => !tasks.includes(task))
    const isShared = (one: Span, other: Span): boolean => {
      const seen = this.#pathsOf(one)
      return overlap(one, other) && [...this.#pathsOf(other)].some(path => seen.has(path))
    }
    return [...new Set(theirs.filter(other => ours.some(one => isShared(one, other))).map(({ task }) => task))]
  }

  #pathsOf({ recorded }: Span): ReadonlySet<string> {
    return new Set(recorded.flatMap(({ changes }) => [...(this.#paths.get(changes) ?? [])]))
  }

  #find(event: Event): readonly [Span | undefined, number] {
    const wrote = wroteIn(event)
    if (!('task' in event) || !('visit' in event) || wrote === undefined) return [undefined, 0]
    const span = this.#spans.get(`${event.task}/${event.visit}`)
    const own = span?.recorded.find(({ changes }) => changes === wrote.changes)
    return [span, own?.at ?? 0]
  }
}

const overlap = (a: Span, b: Span): boolean => a.from <= b.to && b.from <= a.to

function spansOf(entries: Iterable<Entry>): ReadonlyMap<string, Span> {
  const spans = new Map<string, Span>()
  let at = 0
  for (const { events } of entries) {
    for (const event of events) {
      at++
      if (event.type === 'attempt.started') {
        const key = `${event.task}/${event.visit}`
        const known = spans.get(key)
        if (known !== undefined) known.to = Number.POSITIVE_INFINITY
        else if (event.preimage !== undefined || event.before !== undefined)
          spans.set(key, {
            task: event.task,
            isScoped: event.preimage !== undefined,
            from: at,
            to: Number.POSITIVE_INFINITY,
            recorded: [],
          })
      } else if (isAttemptEnd(event)) {
        const span = spans.get(`${event.task}/${event.visit}`)
        if (span === undefined) continue
        span.to = at
        const changes = wroteIn(event)?.changes
        if (changes != null) span.recorded.push({ at, changes })
      }
    }
  }
  return spans
}
