// The recorded versions of a file, over all plans that work in the same folder: every change of a path that an attempt, a rollback or a
// restore recorded, in the order of the store. A path is followed through renames: within one change set, a file that appeared is the one
// that was deleted if their content is equal or similar; and a file whose content was elsewhere before was renamed in between.
//
//   backwards(path, now)   from what stands at the path now to its first recorded version: for `why`
//   today(path, since)     what the file is called now: for what was learnt about it

import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { type Event, isAttemptEnd } from '../../domain/event.ts'
import type { Actor, Millis, PlanId, Sha256 } from '../../domain/id.ts'
import { mapLines, TEXT_MAX_BYTES, textLines } from '../../format/text/line-map.ts'
import { openGate } from '../../safety/files/path-gate.ts'
import type { Answer } from '../../safety/safety-refusal.ts'
import type { Position } from '../../stores/store.ts'
import type { Change, TreeEntry } from '../../workspace/workspace.ts'
import type { Rooms } from '../rooms.ts'
import { changesOf, isDeclaredBy } from './other-plans.ts'

/** An event that changed files, and where it stands in the store. */
export interface ChangeRecord {
  readonly plan: PlanId
  readonly position: Position
  readonly version: number
  readonly now: Millis
  readonly actor: Actor
  readonly event: Event
  /** The blob with its changes. */
  readonly changes: Sha256
  /** When it began: for an attempt, the first start of its visit. */
  readonly began: Position
}

/** One recorded change of one file. */
export interface RecordedChange {
  readonly record: ChangeRecord
  /** The path of the file after it; for a deleted file, the path it had. */
  readonly path: string
  /** Its path before; another path if this change renamed it. */
  readonly from: string
  readonly before: TreeEntry | null
  readonly after: TreeEntry | null
}

const PAGE = 500
/** Pairs of a deleted and a new file that are compared by lines, for one change set. */
const COMPARED_MAX = 50
/** Change sets that are searched for a file that a person renamed and edited. */
const SEARCHED_MAX = 1_000
/** The share of lines that must be equal for a rename. */
const SIMILAR_MIN = 0.5

export class RecordedChanges {
  readonly #rooms: Rooms
  readonly #records: readonly ChangeRecord[]
  readonly #bytes = new Map<Sha256, Buffer | null>()
  readonly #parsed = new Map<Sha256, readonly Change[]>()
  readonly #renames = new Map<Sha256, ReadonlyMap<string, string>>()
  readonly #lines = new Map<Sha256, readonly string[] | null>()
  /** Change sets that were pruned: what they changed is unknown. */
  missing = 0

  private constructor(rooms: Rooms, records: readonly ChangeRecord[]) {
    this.#rooms = rooms
    this.#records = records
  }

  /** All changes in the folder of these rooms, `place` as in the state of a plan: in another folder the same path is another file. */
  static async read(rooms: Rooms, place: string | null = null): Promise<RecordedChanges> {
    const records: ChangeRecord[] = []
    const begun = new Map<string, Position>()
    const here = new Set<PlanId>()
    const end = await rooms.store.position()
    for (let at = 0; at < end; ) {
      const page = await rooms.store.since(at, PAGE)
      const last = page.at(-1)
      if (last === undefined) break
      at = last.position
      for (const { plan, events, position, version, now, actor } of page) {
        for (const event of events) {
          if (event.type === 'plan.created' && (event.place ?? null) === place)
            if ((await rooms.store.shared?.workspaceOf(plan))?.here !== false) here.add(plan)
          if (!here.has(plan)) continue
          const visit = 'visit' in event ? `${plan}/${event.task}/${event.visit}` : null
          if (event.type === 'attempt.started' && !begun.has(visit!)) begun.set(visit!, position)
          const changes = event.type === 'files.restored' ? event.changes : changesOf(event)
          if (changes === null) continue
          const began = (isAttemptEnd(event) && begun.get(visit!)) || position
          records.push({ plan, position, version, now, actor, event, changes, began })
        }
      }
    }
    return new RecordedChanges(rooms, records)
  }

  /** The changes of the file that stands at `path` now as `now`, newest first. */
  async backwards(path: string, now: TreeEntry | null): Promise<readonly RecordedChange[]> {
    const found: RecordedChange[] = []
    let [at, name, stands] = [this.#records.length, path, now]
    for (;;) {
      while (at-- > 0) {
        const change = await this.#changeAt(this.#records[at]!, name)
        if (change === null || isRecordedAgain(change, found)) continue
        found.push(change)
        name = change.from
        stands = change.before
      }
      const elsewhere =
        isFile(stands) && stands.size > 0 ? await this.#standsElsewhere(name, stands, found.at(-1)) : null
      if (elsewhere === null) return found
      ;[at, name] = elsewhere
    }
  }

  /** What the file at `path` then is called now, by the renames of plans since. */
  async today(path: string, since: Millis): Promise<string> {
    let name = path
    for (const record of this.#records)
      if (record.now > since && (await this.#mentions(record, name)))
        name = [...(await this.#renamesIn(record))].find(([, from]) => from === name)?.[0] ?? name
    return name
  }

  /** The lines of a content; for one that is binary or too large its hash as the only line; null if it is not stored. */
  async lines(entry: TreeEntry | null): Promise<readonly string[] | null> {
    if (entry?.type !== 'file') return entry?.type === 'link' ? [entry.target] : []
    if (entry.size > TEXT_MAX_BYTES) return [entry.sha256]
    if (!this.#lines.has(entry.sha256)) {
      const bytes = await this.#rooms.store.blobs.get(entry.sha256)
      this.#lines.set(entry.sha256, bytes === null ? null : (textLines(bytes) ?? [entry.sha256]))
    }
    return this.#lines.get(entry.sha256)!
  }

  /** Of the file as it stands now, which may be stored nowhere. */
  learn(entry: TreeEntry, lines: readonly string[] | null): void {
    if (isFile(entry)) this.#lines.set(entry.sha256, lines ?? [entry.sha256])
  }

  async #changeAt(record: ChangeRecord, path: string): Promise<RecordedChange | null> {
    if (!(await this.#mentions(record, path))) return null
    const change = (await this.#changes(record)).find(one => one.path === path)
    if (change === undefined || (isNoFile(change.before) && isNoFile(change.after))) return null
    const from = change.before === null ? (await this.#renamesIn(record)).get(path) : undefined
    if (from === undefined) return { record, ...change, from: path }
    const before = (await this.#changes(record)).find(one => one.path === from)!.before
    return { record, path, from, before, after: change.after }
  }

  /** A cheap look before a change set is parsed, which may name thousands of paths. */
  async #mentions({ changes }: ChangeRecord, text: string): Promise<boolean> {
    if (!this.#bytes.has(changes)) {
      const bytes = await this.#rooms.store.blobs.get(changes)
      if (bytes === null) this.missing++
      this.#bytes.set(changes, bytes === null ? null : Buffer.from(bytes))
    }
    return this.#bytes.get(changes)?.includes(JSON.stringify(text)) === true
  }

  async #changes({ changes }: ChangeRecord): Promise<readonly Change[]> {
    const known = this.#parsed.get(changes)
    if (known !== undefined) return known
    const bytes = this.#bytes.get(changes) ?? (await this.#rooms.store.blobs.get(changes))
    const parsed = bytes === null ? [] : (JSON.parse(Buffer.from(bytes).toString()) as readonly Change[])
    this.#parsed.set(changes, parsed)
    return parsed
  }

  /** Of one change set: the new path of each renamed file, and its old one. */
  async #renamesIn(record: ChangeRecord): Promise<ReadonlyMap<string, string>> {
    const known = this.#renames.get(record.changes)
    if (known !== undefined) return known
    const all = await this.#changes(record)
    const gone = new Map(
      all.flatMap(({ path, before, after }) => (after === null && isFile(before) ? [[path, before]] : [])),
    )
    const made = all.filter(({ before, after }) => before === null && isFile(after))
    const renames = new Map<string, string>()
    let compared = 0
    for (const isSimilar of [false, true]) {
      for (const { path, after } of made) {
        if (renames.has(path)) continue
        let best: { readonly from: string; readonly share: number } | undefined
        for (const [from, before] of gone) {
          if (isSimilar && compared++ >= COMPARED_MAX) break
          const share = isSimilar ? await this.#similarity(before, after) : hashOf(before) === hashOf(after) ? 1 : 0
          const isNamesake = share === best?.share && nameOf(from) === nameOf(path)
          if (share >= SIMILAR_MIN && (share > (best?.share ?? 0) || isNamesake)) best = { from, share }
        }
        if (best === undefined) continue
        renames.set(path, best.from)
        gone.delete(best.from)
      }
    }
    this.#renames.set(record.changes, renames)
    return renames
  }

  /** The share of lines that two contents have in common, from 0 to 1. */
  async #similarity(a: TreeEntry | null, b: TreeEntry | null): Promise<number> {
    const [older, newer] = [await this.lines(a), await this.lines(b)]
    const longer = Math.max(older?.length ?? 0, newer?.length ?? 0)
    return older === null || newer === null || longer === 0 ? 0 : mapLines(older, newer).kept / longer
  }

  /**
   * A file of which nothing older is recorded at this path: where it was before, if a person renamed it between two records, or since the
   * last one. Then another path had the same content and is gone. If they also edited it since, the content is similar.
   */
  async #standsElsewhere(
    path: string,
    stands: FileEntry,
    until: RecordedChange | undefined,
  ): Promise<readonly [at: number, path: string] | null> {
    const end = until === undefined ? this.#records.length : this.#records.indexOf(until.record)
    for (let at = end; at-- > 0; ) {
      const record = this.#records[at]!
      if (!(await this.#mentions(record, stands.sha256))) continue
      for (const { path: other, after } of await this.#changes(record))
        if (other !== path && hashOf(after) === stands.sha256 && (await this.#isGone(other, at))) return [at + 1, other]
    }
    return (await this.#isCommitted(path)) ? null : await this.#similarElsewhere(stands, end)
  }

  /** The most similar of the newest contents of paths that are gone; a rollback may have left several of one path. */
  async #similarElsewhere(stands: FileEntry, end: number): Promise<readonly [at: number, path: string] | null> {
    const tried = new Set<Sha256>()
    let best: { readonly at: number; readonly path: string; readonly share: number } | null = null
    for (let at = end; at-- > Math.max(0, end - SEARCHED_MAX) && tried.size < COMPARED_MAX; )
      for (const { path, after } of await this.#changes(this.#records[at]!)) {
        if (!isFile(after) || after.size === 0 || tried.has(after.sha256)) continue
        // A plan or a rollback may have made another file of that name since.
        if (this.#isOnDisk(path) && !(await this.#isGone(path, at))) continue
        tried.add(after.sha256)
        const share = await this.#similarity(after, stands)
        if (share >= SIMILAR_MIN && share > (best?.share ?? 0)) best = { at, path, share }
      }
    return best === null ? null : [best.at + 1, best.path]
  }

  /** A file of HEAD has a history of its own there, so it is not taken for another one that it only resembles. */
  async #isCommitted(path: string): Promise<boolean> {
    const found = await this.#rooms.git?.blame({ path, lines: () => [] })
    return found?.ok === true && found.value !== null
  }

  /** Nothing was at the path any more when it was next recorded, or is there now. */
  async #isGone(path: string, after: number): Promise<boolean> {
    for (const record of this.#records.slice(after + 1)) {
      const change = await this.#changeAt(record, path)
      if (change !== null) return change.before === null || change.from !== path
    }
    return !this.#isOnDisk(path)
  }

  #isOnDisk(path: string): boolean {
    return lstatSync(join(this.#rooms.root, path), { throwIfNoEntry: false }) !== undefined
  }
}

/**
 * A task without a scope records everything that changed meanwhile. What a task with a scope recorded later, and had begun before, is that
 * task's work.
 */
const isRecordedAgain = ({ record }: RecordedChange, newer: readonly RecordedChange[]): boolean =>
  !isDeclaredBy(record.event) &&
  newer.some(({ record: other }) => isDeclaredBy(other.event) && other.began < record.position)

type FileEntry = Extract<TreeEntry, { type: 'file' }>
const isFile = (entry: TreeEntry | null): entry is FileEntry => entry?.type === 'file'
const isNoFile = (entry: TreeEntry | null): boolean => entry === null || entry.type === 'directory'
const hashOf = (entry: TreeEntry | null): Sha256 | null => (isFile(entry) ? entry.sha256 : null)
const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

/** The content of a file of the workspace now, never through a link; null if there is none. */
export async function readNow(
  { root, stateDir }: Pick<Rooms, 'root' | 'stateDir'>,
  path: string,
): Promise<Answer<Uint8Array | null>> {
  const opened = await openGate({ root, stateDir })
  if (!opened.ok) return opened
  const gate = opened.value
  const read = await gate.read(path)
  await gate.close()
  return read.ok ? { ok: true, value: read.value?.bytes ?? null } : read
}
