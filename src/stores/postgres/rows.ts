// Rows of PostgreSQL as records, and the questions that load them.

import type { Actor, Millis, PlanId, PlanName, Sha256, TaskName } from '../../domain/id.ts'
import type { Reserves } from '../../domain/result.ts'
import type { StoredEntry } from '../journal/entry.ts'
import type { UnreadLog } from '../search/search-tables.ts'
import { foldedWords } from '../search/words.ts'
import type { LogChunk, StoredLog } from '../store.ts'
import {
  type ClaimRecord,
  eachLoaded,
  type Head,
  type OnceRecord,
  type OwnerRecord,
  type ReservationRow,
  type StoredFold,
  type StreamHead,
} from '../tables.ts'
import type { BlobsPostgres } from './blobs-postgres.ts'
import type { Query, Row } from './connection/connection.ts'
import { vectorOf } from './sql-postgres.ts'
import type { KnownPlan } from './working-set.ts'

const WORDS_MAX = 20_000
const WORD_MAX = 200

/** Transactions with a higher number may still be under way. */
export const HORIZON = '(SELECT base FROM meta) + pg_snapshot_xmin(pg_current_snapshot())::text::bigint * 1024'
export const hex = (column: string): string => `encode(${column}, 'hex') AS ${column.slice(column.indexOf('.') + 1)}`
export const FIELDS = `e.plan_no, e.format, e.position, e.old_position, e.version, e.at, e.actor, e.fence, e.body, ${hex('e.blob')}, ${hex('e.hash')}`
export const ENTRY = `SELECT ${FIELDS} FROM entries e`
export const ENTRY_AND_PLAN = `SELECT ${FIELDS}, p.id FROM entries e JOIN plans p USING (plan_no)`
export const OWNER = 'o.id, o.host, o.boot, o.pids, o.pid, o.start_time, o.expires, o.until, o.about'
export const RESERVATIONS = 'SELECT r.*, t.name FROM reservations r LEFT JOIN tasks t USING (plan_no, ordinal)'
export const LOG = `SELECT l.*, t.name, p.id AS plan, h.home FROM task_logs l JOIN tasks t USING (plan_no, ordinal) JOIN plans p USING (plan_no)
    JOIN heads h USING (plan_no)`
export const STREAM = `SELECT stream_no, id, version, ${hex('hash')}, row FROM streams`
export const UNOWNED = { owner: null, ownerBoot: null, ownerExpires: null } as const

export const versionOf = ({ version }: StoredEntry): number => version
export const positionOf = ({ position }: StoredEntry): number => position
export const seqOf = ({ seq }: UnreadLog): number => seq

export const one = (rows: readonly Row[]): Row | undefined => rows[0]

export async function loadPlan(
  query: Query,
  by: { readonly no: number } | { readonly id: string },
): Promise<KnownPlan | null> {
  const row = one(
    await query(
      `SELECT h.plan_no, p.id, p.name, h.version, h.at, ${hex('h.hash')}, h.fence, h.owner, h.home, o.boot, o.expires,
        (SELECT coalesce(jsonb_agg(to_jsonb(r) ORDER BY r.ordinal), '[]') FROM reservations r WHERE r.plan_no = h.plan_no AND r.ended IS NULL) AS reservations
        FROM heads h JOIN plans p USING (plan_no) LEFT JOIN owners o ON o.id = h.owner WHERE ${'no' in by ? 'h.plan_no' : 'p.id'} = $1`,
      ['no' in by ? by.no : by.id],
    ),
  )
  if (row === undefined) return null
  const { plan_no: no, id, name, version, at, hash, fence, owner, home, boot, expires } = row
  const found = { no, version, at, hash, reached: version, fence, owner, home, ownerBoot: boot, ownerExpires: expires }
  const reservations = (row.reservations as readonly Row[]).map(one => reservationOf({ ...one, name: null }))
  return { id: id as string, name: name as string, head: found as Head, reservations }
}

export const newestPosition = async (query: Query): Promise<number> =>
  one(await query('SELECT coalesce(max(position), 0) AS position FROM entries'))!.position as number

export const lastPosition = async (query: Query): Promise<number> =>
  one(
    await query(
      `SELECT greatest((SELECT max(position) FROM entries WHERE position < ${HORIZON}), (SELECT max(position) FROM pruned), 0) AS position`,
    ),
  )!.position as number

export const loadOwner = async (query: Query, id: string): Promise<OwnerRecord | null> => {
  const row = one(await query(`SELECT ${OWNER} FROM owners o WHERE o.id = $1`, [id]))
  return row === undefined ? null : ownerOf(row)
}

export async function loadHolder(
  query: Query,
  no: number,
): Promise<{ readonly owner: OwnerRecord; readonly since: Millis } | null> {
  const row = one(
    await query(`SELECT ${OWNER}, h.owner_since FROM heads h JOIN owners o ON o.id = h.owner WHERE h.plan_no = $1`, [
      no,
    ]),
  )
  return row === undefined ? null : { owner: ownerOf(row), since: row.owner_since as Millis }
}

export const loadSeq = async (query: Query, root: string): Promise<number> =>
  (one(await query('SELECT seq FROM roots WHERE root = $1', [root]))?.seq ?? 0) as number

export const loadTaskName = async (query: Query, no: number, ordinal: number): Promise<TaskName | null> =>
  (one(await query('SELECT name FROM tasks WHERE plan_no = $1 AND ordinal = $2', [no, ordinal]))?.name ??
    null) as TaskName | null

export const withNames = (
  rows: readonly ReservationRow[],
  nameOfTask: (ordinal: number) => TaskName | null,
): readonly ReservationRow[] => eachLoaded(rows, row => ({ ...row, task: row.task ?? nameOfTask(row.ordinal) }))

export const nameOf = (row: Row | undefined): { readonly id: PlanId; readonly name: PlanName } | null =>
  row === undefined ? null : { id: row.id as PlanId, name: row.name as PlanName }

export const entryOf = (row: Row): StoredEntry => ({
  format: row.format as number,
  position: row.position as number,
  oldPosition: row.old_position as number | null,
  version: row.version as number,
  at: row.at as number,
  actor: row.actor as Actor,
  fence: row.fence as number | null,
  body: row.body as string | null,
  blob: row.blob as Sha256 | null,
  hash: row.hash as Sha256,
})

export const foldOf = (row: Row | undefined): StoredFold | null =>
  row === undefined
    ? null
    : {
        version: row.version as number,
        definitionVersion: row.definition_version as number,
        body: row.body as Uint8Array,
        hash: row.hash as Sha256,
      }

export const ownerOf = (row: Row): OwnerRecord => ({
  id: row.id as string,
  host: row.host as string,
  boot: row.boot as string,
  pids: row.pids as string,
  pid: row.pid as number,
  startTime: row.start_time as string,
  expires: row.expires as number,
  until: row.until as Millis,
  about: row.about as string,
})

export const claimOf = (row: Row | undefined): ClaimRecord | null =>
  row === undefined
    ? null
    : {
        ordinal: row.ordinal as number,
        token: row.token as string,
        boot: row.boot as string,
        expires: row.expires as number,
        until: row.until as number,
        lease: row.lease as number | null,
      }

export const reservationOf = (row: Row): ReservationRow => ({
  no: row.plan_no as number,
  ordinal: row.ordinal as number,
  visit: row.visit as number,
  reserves: JSON.parse(row.reserves as string) as Reserves,
  since: row.since as number,
  at: row.at as number,
  task: row.name as TaskName | null,
})

export const logOf = (plan: PlanId, row: Row, blobs: BlobsPostgres): StoredLog => ({
  plan,
  task: row.name as TaskName,
  visit: row.visit as number,
  attempt: row.attempt as number,
  stream: row.stream as LogChunk['stream'],
  at: row.at as number,
  text: row.home === null ? (row.text as string) : blobs.openText(row.text as string),
  seq: row.seq as number,
})

export const streamOf = (row: Row | undefined): StreamHead | null =>
  row === undefined
    ? null
    : {
        no: row.stream_no as number,
        id: row.id as string,
        version: row.version as number,
        hash: row.hash as string,
        row: row.row as string,
      }

export const onceOf = (row: Row | undefined): OnceRecord | null =>
  row === undefined ? null : ({ ...row, made: row.made === 1 } as unknown as OnceRecord)

export const wordsIn = (text: string, kind: 'plan' | 'task' | 'log'): string =>
  vectorOf(
    [...foldedWords(text)].slice(0, WORDS_MAX).map(word => word.slice(0, WORD_MAX)),
    kind,
  )
