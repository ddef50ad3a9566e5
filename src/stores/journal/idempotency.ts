// Idempotency keys. A key is looked up and stored in the transaction of its request, so that both are durable or neither. A repeated
// request gets the answer to the first one.

import type { Actor, Millis, PlanId } from '../../domain/id.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { Once, Updated } from '../store.ts'
import type { OnceRecord, Tables, Transactions } from '../tables.ts'
import { type BodyBlobs, readEntry } from './entry.ts'
import type { States } from './plan-states.ts'

const ONCE_KEPT_MS = 48 * 60 * 60_000

export function usedFor(
  tables: Tables,
  actor: Actor,
  once: Once,
  kind: OnceRecord['kind'],
  now: Millis,
): OnceRecord | Refusal | null {
  const used = tables.once.get(actor, once.key)
  if (used === null || used.at < now - ONCE_KEPT_MS) return null
  if (used.hash === once.hash && used.kind === kind) return used
  return refuse('conflict', 'this Idempotency-Key was used for something else', 'use a new key for what is new')
}

export function answerAgain(tables: Tables, room: { states: States; blobs: BodyBlobs }, used: OnceRecord): Updated {
  const plan = used.id as PlanId
  const no = tables.journal.planNo(plan)
  const head = no === null ? null : tables.journal.head(no)
  const stored = no === null ? null : tables.journal.entry(no, used.version)
  if (head === null || stored === null) {
    return { ok: false, refusal: refuse('not-found', `plan ${plan}, which was made or changed with this key, is gone`) }
  }
  return {
    ok: true,
    version: used.version,
    position: stored.position,
    events: used.made ? readEntry(plan, stored, room.blobs).events : [],
    state: room.states.at(tables, plan, head).state,
    replayed: true,
  }
}

/** Only accepted requests are stored: one that was refused may be accepted later. */
export function remember(
  tables: Tables,
  actor: Actor,
  once: Once,
  answer: { readonly kind: OnceRecord['kind']; readonly id: string; readonly version: number; readonly made: boolean },
  now: Millis,
): void {
  tables.once.put({ actor, key: once.key, hash: once.hash, ...answer, at: now })
}

export async function forgetKeys(transactions: Transactions, now: Millis): Promise<void> {
  const before = now - ONCE_KEPT_MS
  if (!(await transactions.read(tables => tables.once.hasBefore(before)))) return
  await transactions.write(tables => tables.once.forget(before))
}
