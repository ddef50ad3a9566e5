// The journal in SQLite: plans, heads, entries and stored folds. One entry is one row; hashes are 32 bytes. Heads of plans being written
// are cached until another connection writes to the file, which SQLite reports.

import type { Actor, PlanId, PlanName, Sha256 } from '../../domain/id.ts'
import type { Recent } from '../journal/changes.ts'
import type { StoredEntry } from '../journal/entry.ts'
import type { PlanRecord } from '../journal/projection.ts'
import type { Head, JournalTable, StoredFold } from '../tables.ts'
import type { Connection, ListStatement, Row, Statement, Value } from './driver.ts'

/** Hashes as text, made by SQLite: many small buffers would be slower. */
export const ENTRY =
  'e.format, e.position, e.old_position, e.version, e.at, e.actor, e.fence, e.body, lower(hex(e.blob)), lower(hex(e.hash))'
const HEADS_MAX = 1_000

const LAST_POSITION = `max(coalesce((SELECT max(position) FROM entries), 0),
  coalesce((SELECT max(position) FROM pruned), 0))`

export class SqliteJournal implements JournalTable {
  readonly #sql: Connection
  readonly #wrote: () => void
  /** The statements of every append, prepared once. */
  readonly #head: ListStatement
  readonly #entries: ListStatement
  readonly #position: Statement
  readonly #insert: Statement
  readonly #reach: Statement
  readonly #dataVersion: ListStatement
  readonly #heads = new Map<number, Head>()
  #lastPosition: number | null = null
  /** Reused for every entry; SQLite copies it. */
  readonly #hash = Buffer.alloc(32)
  #seen: Value | undefined

  constructor(sql: Connection, wrote: () => void) {
    this.#sql = sql
    this.#wrote = wrote
    this.#head = sql.prepareLists(`SELECT e.version, e.at, e.hash, h.reached, h.fence, o.id, o.boot, o.expires
      FROM heads h LEFT JOIN owners o ON o.owner_no = h.owner_no
      LEFT JOIN entries e ON e.plan_no = h.plan_no AND e.version = (SELECT max(version) FROM entries WHERE plan_no = h.plan_no)
      WHERE h.plan_no = ?`)
    this.#entries = sql.prepareLists(`SELECT ${ENTRY} FROM entries e
      WHERE e.plan_no = ? AND e.version >= ? AND e.version <= ? ORDER BY e.version`)
    this.#position = sql.prepare(`SELECT ${LAST_POSITION} AS position`)
    this.#insert = sql.prepare('INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
    this.#reach = sql.prepare('UPDATE heads SET reached = ? WHERE plan_no = ?')
    this.#dataVersion = sql.prepareLists('PRAGMA data_version')
  }

  /** Call after a write transaction began: the cache is valid if no other connection has written. */
  begun(): 'as it was' | 'moved' {
    const now = this.#dataVersion.get()?.[0]
    if (now === this.#seen) return 'as it was'
    this.forget()
    this.#seen = now
    return 'moved'
  }

  /** Call after a rollback, or after a row of heads or owners was written elsewhere. */
  forget(): void {
    this.#heads.clear()
    this.#lastPosition = null
  }

  planNo(plan: PlanId): number | null {
    return number(this.#sql.prepare('SELECT plan_no FROM plans WHERE id = ?').get(plan)?.plan_no)
  }

  planOf(no: number) {
    return named(this.#sql.prepare('SELECT id, name FROM plans WHERE plan_no = ?').get(no))
  }

  named(name: string) {
    return named(this.#sql.prepare('SELECT id, name FROM plans WHERE name = ?').get(name))
  }

  head(no: number): Head | null {
    const known = this.#heads.get(no)
    if (known !== undefined) return known
    const row = this.#head.get(no)
    if (row === undefined) return null
    const [version, at, hash, reached, fence, owner, ownerBoot, ownerExpires] = row
    const head = { no, version, at, hash: hex(hash), reached, fence, owner, ownerBoot, ownerExpires } as Head
    return { ...head, version: head.version ?? 0, at: head.at ?? 0 }
  }

  newestPosition(): number {
    return this.lastPosition()
  }

  lastPosition(): number {
    return this.#lastPosition ?? (this.#position.get()!.position as number)
  }

  knownPosition(): number {
    return this.lastPosition()
  }

  nextPosition(): number {
    return this.lastPosition() + 1
  }

  entry(no: number, version: number): StoredEntry | null {
    return this.entries(no, version - 1, version, 1)[0] ?? null
  }

  entries(no: number, after: number, upTo: number, limit: number): readonly StoredEntry[] {
    return this.#entries.all(no, after + 1, Math.min(upTo, after + limit)).map(entryOf)
  }

  since(after: number, limit: number, no: number | null) {
    // The plus forces the planner to use the position: a live tail is short, a plan's index is not.
    const one = no === null ? '' : 'AND +e.plan_no = ?'
    return this.#sql
      .prepareLists(`SELECT ${ENTRY}, p.id AS plan FROM entries e JOIN plans p ON p.plan_no = e.plan_no
        WHERE e.position > ? ${one} ORDER BY e.position LIMIT ?`)
      .all(after, ...(no === null ? [] : [no]), limit)
      .map(row => Object.assign(entryOf(row), { plan: row[10] as PlanId }))
  }

  fold(no: number): StoredFold | null {
    const row = this.#sql
      .prepare(
        'SELECT version, definition_version AS "definitionVersion", body, lower(hex(hash)) AS hash FROM folds WHERE plan_no = ?',
      )
      .get(no)
    return row === undefined ? null : ({ ...row } as unknown as StoredFold)
  }

  addPlan(id: PlanId, record: PlanRecord): number {
    this.#wrote()
    const { lastInsertRowid } = this.#sql
      .prepare(`INSERT INTO plans (id, name, title, goal_text, goal, session, agent, status, revision, tasks, archived, created_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)`)
      .run(
        id,
        record.name,
        record.title,
        record.goalText,
        record.goal,
        record.session,
        record.agent,
        record.status,
        record.revision,
        record.tasks,
        record.createdAt,
      )
    const no = Number(lastInsertRowid)
    this.#sql.prepare(`INSERT INTO heads (plan_no, reached, fence) VALUES (?, 0, 0)`).run(no)
    return no
  }

  addEntry(no: number, entry: StoredEntry, done: number): void {
    this.#wrote()
    const { format, position, oldPosition, version, at, actor, fence, body, blob, hash } = entry
    const stored = blob === null ? null : bytes(blob)
    this.#hash.write(hash, 'hex')
    const known = this.#heads.get(no)
    this.#insert.run(position, no, version, at, actor, fence, done, body, stored, this.#hash, format, oldPosition)
    // An owner records the reached version when it releases the plan; other writers at once.
    if (fence === null) this.#reach.run(version, no)
    if (this.#seen === undefined) return
    this.#lastPosition = position
    const { reached, fence: held, owner, ownerBoot, ownerExpires } = known ?? this.head(no)!
    if (this.#heads.size >= HEADS_MAX) this.#heads.clear()
    this.#heads.set(no, {
      no,
      version,
      at,
      hash,
      reached: fence === null ? version : reached,
      fence: held,
      owner,
      ownerBoot,
      ownerExpires,
    })
  }

  saveFold(no: number, { version, definitionVersion, body, hash }: StoredFold): void {
    this.#wrote()
    this.#sql
      .prepare('INSERT OR REPLACE INTO folds VALUES (?, ?, ?, ?, ?)')
      .run(no, version, definitionVersion, body, bytes(hash))
  }
}

export function entryOf(row: readonly Value[]): StoredEntry {
  const [format, position, oldPosition, version, at, actor, fence, body, blob, hash] = row
  return {
    format: format as number,
    position: position as number,
    oldPosition: oldPosition as number | null,
    version: version as number,
    at: at as number,
    actor: actor as Actor,
    fence: fence as number | null,
    body: body as string | null,
    blob: blob === '' ? null : (blob as Sha256),
    hash: hash as Sha256,
  }
}

const named = (row: Row | undefined) =>
  row === undefined ? null : { id: row.id as PlanId, name: row.name as PlanName }
const number = (value: Value | undefined): number | null => (typeof value === 'number' ? value : null)

export const bytes = (hash: string): Uint8Array => Buffer.from(hash, 'hex')

export function hex(value: Value | undefined): Sha256 {
  if (!(value instanceof Uint8Array)) return '' as Sha256
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex') as Sha256
}

// The journal of the writing connection, which also remembers its entries for followers in this process.

const NAMES_MAX = 1_000

export class NotingJournal extends SqliteJournal {
  readonly #recent: Recent
  /** By plan number, which is unique; only a rolled back plan leaves its number to another. */
  readonly #names = new Map<number, PlanId>()

  constructor(sql: Connection, wrote: () => void, recent: Recent) {
    super(sql, wrote)
    this.#recent = recent
  }

  override forget(): void {
    super.forget()
    this.#names.clear()
  }

  override addEntry(...written: Parameters<SqliteJournal['addEntry']>): void {
    const before = this.lastPosition()
    super.addEntry(...written)
    if (!this.#recent.isFollowed) return
    const [no, entry] = written
    this.#recent.wrote(this.#nameOf(no), entry, before)
  }

  #nameOf(no: number): PlanId {
    const known = this.#names.get(no)
    if (known !== undefined) return known
    const { id } = this.planOf(no)!
    if (this.#names.size >= NAMES_MAX) this.#names.clear()
    this.#names.set(no, id)
    return id
  }
}
