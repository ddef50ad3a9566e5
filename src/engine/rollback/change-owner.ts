// Whose a change is: when a path was changed last, and which of several visits that overlapped in time it is credited to.

import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Event, isAttemptEnd } from '../../domain/event.ts'
import type { Millis, Sha256, TaskName } from '../../domain/id.ts'
import { wroteIn } from '../../domain/result.ts'
import type { TaskState } from '../../domain/state/state.ts'
import type { Entry } from '../../stores/store.ts'
import type { Rooms } from '../rooms.ts'
import { readChanges } from './attempt-changes.ts'

// When a path was changed last, by the file system's own mark, and which paths were changed since an attempt ended: nobody of
// that attempt was alive then, so these are somebody else's work.

/** Of a path that is gone: when the nearest folder that is still there was changed. */
export function changeTime(root: string, path: string): Millis {
  for (let at = path; ; at = dirname(at)) {
    const stat = lstatSync(join(root, at), { throwIfNoEntry: false })
    if (stat !== undefined) return stat.ctimeMs
    if (at === '.' || at === '') return 0
  }
}

/** When a folder was made; null where the file system does not say, or it was moved or its mode changed since. */
export function madeAt(root: string, path: string): Millis | null {
  const stat = lstatSync(join(root, path), { throwIfNoEntry: false })
  return stat?.isDirectory() === true && stat.ctimeMs === stat.mtimeMs ? stat.birthtimeMs : null
}

/** So many are named; where there are more, nobody can say which. */
const PATHS_MAX = 1_000

/** Where all files are compared: the paths that changed after its last attempt. Null when nobody knows when that was. */
export async function editedSinceEnd(rooms: Rooms, { prepared }: TaskState): Promise<readonly string[] | null> {
  const { before, ended } = prepared ?? {}
  if (before === undefined || ended?.at === undefined) return null
  const found = await rooms.snapshots?.diff(before, 'now')
  if (found?.ok !== true) return null
  const { at } = ended
  const edited = found.changes.map(({ path }) => path).filter(path => changeTime(rooms.root, path) > at)
  return edited.length > PATHS_MAX ? null : edited
}

// Whose a change is, where visits of one plan overlapped in time. All files are compared around a task that declares no scope, so
// its change set also holds what others did meanwhile. What a task with a declared scope tells of is its own, whoever saw it too.
// Two tasks without a scope that overlapped cannot be told apart: they are one writer, and are rolled back together or not at all.

interface Span {
  readonly task: TaskName
  readonly isScoped: boolean
  readonly from: number
  /** Where its last attempt ended; endless while one is open. */
  to: number
  readonly told: { readonly at: number; readonly changes: Sha256 }[]
}

export class ChangeCredit {
  readonly #spans: ReadonlyMap<string, Span>
  /** By change set: the paths it names. */
  readonly #paths: ReadonlyMap<Sha256, ReadonlySet<string>>

  private constructor(spans: ReadonlyMap<string, Span>, paths: ReadonlyMap<Sha256, ReadonlySet<string>>) {
    this.#spans = spans
    this.#paths = paths
  }

  static async of(rooms: Rooms, entries: Iterable<Entry>): Promise<ChangeCredit> {
    const spans = spansOf(entries)
    const paths = new Map<Sha256, ReadonlySet<string>>()
    // Only where a task without a scope ran beside another can there be any doubt.
    const all = [...spans.values()]
    const doubtful = all.filter(span => all.some(other => other !== span && !other.isScoped && overlap(span, other)))
    for (const { changes } of doubtful.flatMap(({ told }) => told))
      if (!paths.has(changes)) paths.set(changes, new Set((await readChanges(rooms, changes)).map(({ path }) => path)))
    return new ChangeCredit(spans, paths)
  }

  /** Does this change of a task without a scope belong to one with a scope, that ran beside it and told of it afterwards? */
  isOthers(event: Event, path: string): boolean {
    return this.#isToldBeside(event, path, (told, at) => told > at)
  }

  /** Had one with a scope beside it written the path? Then this one may have looked during that, or have written over it later. */
  isPerhapsOthers(event: Event, path: string): boolean {
    return this.#isToldBeside(event, path, (told, at) => told < at)
  }

  #isToldBeside(event: Event, path: string, when: (told: number, at: number) => boolean): boolean {
    const [span, at] = this.#find(event)
    if (span === undefined || span.isScoped) return false
    return [...this.#spans.values()].some(
      other =>
        other.isScoped &&
        overlap(span, other) &&
        other.told.some(told => when(told.at, at) && this.#paths.get(told.changes)?.has(path) === true),
    )
  }

  /** Tasks without a scope that ran beside these and saw the same changes: nobody can tell whose they are. */
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

  #pathsOf({ told }: Span): ReadonlySet<string> {
    return new Set(told.flatMap(({ changes }) => [...(this.#paths.get(changes) ?? [])]))
  }

  #find(event: Event): readonly [Span | undefined, number] {
    const wrote = wroteIn(event)
    if (!('task' in event) || !('visit' in event) || wrote === undefined) return [undefined, 0]
    const span = this.#spans.get(`${event.task}/${event.visit}`)
    const told = span?.told.find(({ changes }) => changes === wrote.changes)
    return [span, told?.at ?? 0]
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
            told: [],
          })
      } else if (isAttemptEnd(event)) {
        const span = spans.get(`${event.task}/${event.visit}`)
        if (span === undefined) continue
        span.to = at
        const changes = wroteIn(event)?.changes
        if (changes != null) span.told.push({ at, changes })
      }
    }
  }
  return spans
}
