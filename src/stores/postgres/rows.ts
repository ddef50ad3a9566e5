// Rows of PostgreSQL as records, and the questions that load them.

import type { Actor, PlanId, PlanName, Sha256, TaskName } from '../../domain/id.ts'
import type { StoredEntry } from '../journal/entry.ts'
import { foldedWords } from '../search/words.ts'
import { reservationOf } from '../sql/rows.ts'
import { eachLoaded, type Head, type ReservationRow } from '../tables.ts'
import type { Asked } from './answers.ts'
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
export const LOG = `SELECT l.*, t.name, p.id AS plan, h.home FROM task_logs l JOIN tasks t USING (plan_no, ordinal) JOIN plans p USING (plan_no)
    JOIN heads h USING (plan_no)`
export const STREAM = `SELECT stream_no AS no, id, version, ${hex('hash')}, row FROM streams`
export const UNOWNED = { owner: null, ownerBoot: null, ownerExpires: null } as const

export const versionOf = ({ version }: StoredEntry): number => version
export const positionOf = ({ position }: { readonly position?: unknown }): number => position as number
export const seqOf = ({ seq }: { readonly seq?: unknown }): number => seq as number

export const one = (rows: readonly Row[]): Row | undefined => rows[0]

type PlanKey = 'h.plan_no' | 'p.id'

export async function loadPlan(query: Query, by: PlanKey, value: Asked): Promise<KnownPlan | null> {
  return (await loadPlans(query, by, [value])).get(value) ?? null
}

/** Those that exist, by what was asked. */
export async function loadPlans(
  query: Query,
  by: PlanKey,
  values: readonly Asked[],
): Promise<ReadonlyMap<Asked, KnownPlan>> {
  const rows = await query(
    `SELECT h.plan_no, p.id, p.name, h.version, h.at, ${hex('h.hash')}, h.fence, h.owner, h.home, o.boot, o.expires,
      (SELECT coalesce(jsonb_agg(to_jsonb(r) ORDER BY r.ordinal), '[]') FROM reservations r WHERE r.plan_no = h.plan_no AND r.ended IS NULL) AS reservations
      FROM heads h JOIN plans p USING (plan_no) LEFT JOIN owners o ON o.id = h.owner WHERE ${by} = ANY($1)`,
    [values],
  )
  return new Map(rows.map(row => [(by === 'p.id' ? row.id : row.plan_no) as Asked, knownPlan(row)]))
}

function knownPlan(row: Row): KnownPlan {
  const { plan_no: no, id, name, version, at, hash, fence, owner, home, boot, expires } = row
  const found = { no, version, at, hash, reached: version, fence, owner, home, ownerBoot: boot, ownerExpires: expires }
  const reservations = (row.reservations as readonly Row[]).map(one => reservationOf({ ...one, name: null }))
  return { id: id as string, name: name as string, head: found as Head, reservations }
}

export const POSITION = 'SELECT coalesce(max(position), 0) AS position FROM entries'
export const LAST_POSITION = `SELECT greatest((SELECT max(position) FROM entries WHERE position < ${HORIZON}), (SELECT max(position) FROM pruned), 0) AS position`

export const withNames = (
  rows: readonly ReservationRow[],
  nameOfTask: (ordinal: number) => TaskName | null,
): readonly ReservationRow[] => eachLoaded(rows, row => ({ ...row, task: row.task ?? nameOfTask(row.ordinal) }))

export const nameOf = ({ id, name }: Row): { readonly id: PlanId; readonly name: PlanName } => ({ id, name }) as never

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

export const wordsIn = (text: string, kind: 'plan' | 'task' | 'log'): string =>
  vectorOf(
    [...foldedWords(text)].slice(0, WORDS_MAX).map(word => word.slice(0, WORD_MAX)),
    kind,
  )
