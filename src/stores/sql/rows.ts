// Rows of the tables beside the plans as records, for every SQL store. Columns are selected under the names of the fields.

import type { PlanId, TaskName } from '../../domain/id.ts'
import type { Reserves } from '../../domain/result.ts'
import type { LogChunk, StoredLog } from '../store.ts'
import type { ClaimRecord, OnceRecord, OwnerRecord, ReservationRow } from '../tables.ts'

type AnyRow = Readonly<Record<string, unknown>>

export const OWNER = 'o.id, o.host, o.boot, o.pids, o.pid, o.start_time AS "startTime", o.expires, o.until, o.about'
export const HELD = `${OWNER}, p.id AS plan`
export const CLAIM = 'c.ordinal, c.token, c.boot, c.expires, c.until, c.lease'
export const CLAIM_AND_PLAN = `SELECT p.id AS plan, c.plan_no AS no, ${CLAIM} FROM task_claims c JOIN plans p USING (plan_no)`
export const RESERVATIONS = 'SELECT r.*, t.name FROM reservations r LEFT JOIN tasks t USING (plan_no, ordinal)'

export const ownerOf = (row: AnyRow): OwnerRecord => ({ ...row }) as unknown as OwnerRecord
export const claimOf = <C = ClaimRecord>(row: AnyRow): C => ({ ...row }) as unknown as C

export function heldOf({ plan, ...owner }: AnyRow): { readonly plan: PlanId; readonly owner: OwnerRecord } {
  return { plan: plan as PlanId, owner: ownerOf(owner) }
}

export const reservationOf = (row: AnyRow): ReservationRow => ({
  no: row.plan_no as number,
  ordinal: row.ordinal as number,
  visit: row.visit as number,
  reserves: JSON.parse(row.reserves as string) as Reserves,
  since: row.since as number,
  at: row.at as number,
  task: row.name as TaskName | null,
})

export const logOf = (plan: PlanId, row: AnyRow, text = row.text as string): StoredLog => ({
  plan,
  task: row.name as TaskName,
  visit: row.visit as number,
  attempt: row.attempt as number,
  stream: row.stream as LogChunk['stream'],
  at: row.at as number,
  text,
  seq: row.seq as number,
})

export const onceOf = (row: AnyRow): OnceRecord => ({ ...row, made: row.made === 1 }) as unknown as OnceRecord
