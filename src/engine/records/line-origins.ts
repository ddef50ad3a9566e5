// Where the lines of a file come from: they are followed from today's content back through its recorded versions, newest first, until the
// change before which they did not exist.
//
//   a task wrote a version      lines that the version before did not have are the task's
//   two versions do not meet    another person changed the file in between. If an older version has exactly this content, a person put it
//                               back, and its lines are followed from there; else the new lines were changed by hand
//   a rollback, undo, restore   its lines are followed from the older version that it put back; an adopted fork counts as one

import { type Event, isAttemptEnd } from '../../domain/event.ts'
import { mapLines } from '../../format/text/line-map.ts'
import type { TreeEntry } from '../../workspace/workspace.ts'
import { isDeclaredBy } from '../files/other-plans.ts'
import type { RecordedChange, RecordedChanges } from '../files/recorded-changes.ts'

export type LineOrigin =
  | { readonly by: 'task'; readonly change: RecordedChange }
  /** A rollback or restore left it, and no stored version has it. */
  | { readonly by: 'plan'; readonly change: RecordedChange }
  /** A person changed it between these two. Null: before the first record, or since the last one. */
  | { readonly by: 'hand'; readonly after: RecordedChange; readonly before: RecordedChange | null }
  /** It was there before the first record. */
  | { readonly by: 'before' }
  /** The version that this change left or met is no longer stored. */
  | { readonly by: 'unknown'; readonly change: RecordedChange }

export interface Followed {
  readonly changes: RecordedChanges
  /** As `RecordedChanges.backwards` gives them. */
  readonly versions: readonly RecordedChange[]
}

/** Lines of a version, and the line of today's file that each became. Two lists, as a long file passes through many versions. */
interface Lines {
  readonly there: readonly number[]
  readonly today: readonly number[]
}

/** The origin of each of these lines of `now`. */
export async function lineOrigins(
  followed: Followed,
  now: TreeEntry,
  asked: readonly number[],
): Promise<ReadonlyMap<number, LineOrigin>> {
  const found = new Map<number, LineOrigin>()
  await follow(followed, { stands: now, at: 0, lines: { there: asked, today: asked }, newer: null }, found)
  return found
}

interface Position {
  readonly stands: TreeEntry
  /** The version that is looked at next. */
  readonly at: number
  readonly lines: Lines
  /** The change that found this content. */
  readonly newer: RecordedChange | null
}

async function follow(followed: Followed, from: Position, found: Map<number, LineOrigin>): Promise<void> {
  const { versions, changes } = followed
  let { stands, at, lines, newer } = from
  const settle = (of: Lines, origin: LineOrigin): void => {
    for (const line of of.today) found.set(line, origin)
  }
  while (lines.today.length > 0) {
    const change = versions[at]
    if (change === undefined) return settle(lines, { by: 'before' })
    const isMade = hasSameContent(change.after, stands)
    if (!isMade || isReturn(change.record.event)) {
      const back = earlierVersion(versions, isMade ? at + 1 : at, stands)
      if (back !== null) {
        newer = change
        at = back
        continue
      }
    }
    const before = isMade ? foundBy(versions, at) : change.after
    const parted = await part(changes, before, stands, lines)
    if (parted === null) return settle(lines, { by: 'unknown', change })
    if (!isMade) settle(parted.born, { by: 'hand', after: change, before: newer })
    else if (isReturn(change.record.event)) {
      const left = await followReturned(followed, { stands, at: at + 1, lines: parted.born, newer: change }, found)
      settle(left, { by: 'plan', change })
    } else settle(parted.born, { by: 'task', change })
    if (before === null) return
    lines = parted.kept
    stands = before
    if (isMade) {
      newer = change
      at++
    }
  }
}

/** Lines that a rollback put together from several versions: each is followed from the newest that has it. */
async function followReturned(followed: Followed, from: Position, found: Map<number, LineOrigin>): Promise<Lines> {
  let left = from.lines
  const tried = new Set<string>()
  for (let at = from.at; at < followed.versions.length && left.today.length > 0; at++) {
    for (const [content, next] of [
      [followed.versions[at]!.after, at],
      [followed.versions[at]!.before, at + 1],
    ] as const) {
      if (content?.type !== 'file' || tried.has(content.sha256)) continue
      tried.add(content.sha256)
      const parted = await part(followed.changes, content, from.stands, left)
      if (parted === null || parted.kept.today.length === 0) continue
      await follow(followed, { stands: content, at: next, lines: parted.kept, newer: from.newer }, found)
      left = parted.born
    }
  }
  return left
}

/** Which of the lines the older content has, numbered as there, and which are new. Null: a content is not stored. */
async function part(
  changes: RecordedChanges,
  older: TreeEntry | null,
  newer: TreeEntry,
  lines: Lines,
): Promise<{ readonly kept: Lines; readonly born: Lines } | null> {
  const [a, b] = [await changes.lines(older), await changes.lines(newer)]
  if (a === null || b === null) return null
  const map = mapLines(a, b)
  const [kept, born] = [NO_LINES(), NO_LINES()]
  for (const [at, line] of lines.there.entries()) {
    const place = map.older(line)
    const side = place === null ? born : kept
    side.there.push(place ?? line)
    side.today.push(lines.today[at]!)
  }
  return { kept, born }
}

const NO_LINES = (): { readonly there: number[]; readonly today: number[] } => ({ there: [], today: [] })

/**
 * What a change found. A task without a scope records everything since its visit began; what was recorded meanwhile, by another task or by
 * an earlier attempt of its own, is not its work.
 */
function foundBy(versions: readonly RecordedChange[], at: number): TreeEntry | null {
  const { record, before } = versions[at]!
  const next = versions[at + 1]
  const isMeanwhile =
    next !== undefined &&
    isAttemptEnd(record.event) &&
    !isDeclaredBy(record.event) &&
    next.record.position > record.began
  return isMeanwhile ? next.after : before
}

/** The next older version that has exactly this content: the place in the list from which it is followed. */
function earlierVersion(versions: readonly RecordedChange[], from: number, content: TreeEntry): number | null {
  for (let at = from; at < versions.length; at++) {
    if (hasSameContent(versions[at]!.after, content)) return at
    if (hasSameContent(versions[at]!.before, content)) return at + 1
  }
  return null
}

/** Events that put earlier contents back, instead of writing new ones. */
const isReturn = ({ type }: Event): boolean => type === 'rollback.finished' || type === 'files.restored'

const hasSameContent = (a: TreeEntry | null, b: TreeEntry | null): boolean =>
  a?.type === 'file' && b?.type === 'file'
    ? a.sha256 === b.sha256
    : a?.type === 'link' && b?.type === 'link' && a.target === b.target
