// Claims of agents on external tasks. The journal has the claimant; the lease is stored beside the journal, so that a heartbeat costs one
// small row and no entry.

import type { Command } from '../../domain/command.ts'
import type { PlanId, TaskName } from '../../domain/id.ts'
import { CLAIM_LEASE_DEFAULT_MS, CLAIM_LEASE_MAX_MS } from '../../domain/limits.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { States } from '../journal/plan-states.ts'
import type { Claims } from '../store.ts'
import { type ClaimRecord, eachLoaded, type Tables, type Transactions } from '../tables.ts'
import type { Clock, Host } from './host.ts'

interface Keeping {
  readonly transactions: Transactions
  readonly states: States
  readonly clock: Clock
  readonly host: Host
}

export function claimsOn(room: Keeping): Claims {
  const { transactions } = room
  return {
    touch: (plan, task, token, leaseMs) =>
      transactions.write(tables => {
        const held = heldToken(room, tables, plan, task)
        if (held === null || held.token !== token) return null
        const asked = leaseMs ?? tables.claims.get(held.no, held.ordinal)?.lease ?? CLAIM_LEASE_DEFAULT_MS
        const claim = claimUntil(room, held.ordinal, token, asked)
        tables.claims.put(held.no, claim)
        return claim.lease
      }),

    lapsed: async only => {
      const { found, stale } = await transactions.read(tables => {
        const found: { plan: PlanId; task: TaskName; token: string }[] = []
        const stale: { no: number; ordinal: number }[] = []
        const no = only === undefined ? null : tables.journal.planNo(only)
        if (only !== undefined && no === null) return { found, stale }
        const lapsed = tables.claims.all(no).filter(claim => isLapsed(room, claim))
        eachLoaded(lapsed, claim => {
          const task = tables.projections.taskName(claim.no, claim.ordinal)
          // A row may outlive its claim, when the task was reported or released: such rows are removed below.
          if (task !== null && heldToken(room, tables, claim.plan, task)?.token === claim.token) {
            found.push({ plan: claim.plan, task, token: claim.token })
          } else stale.push(claim)
        })
        return { found, stale }
      })
      if (stale.length > 0) {
        await transactions.write(tables => {
          for (const { no, ordinal } of stale) tables.claims.remove(no, ordinal)
        })
      }
      return found
    },
  }
}

export function claimUntil(
  room: { clock: Clock; host: Host },
  ordinal: number,
  token: string,
  leaseMs: number,
): ClaimRecord & { readonly lease: number } {
  const lease = leaseMs > 0 ? Math.min(leaseMs, CLAIM_LEASE_MAX_MS) : CLAIM_LEASE_DEFAULT_MS
  const { clock, host } = room
  const expires = Math.floor(clock.monotonic() + lease)
  return { ordinal, token, boot: host.boot, expires, until: clock.now() + lease, lease }
}

/** By the monotonic clock within one boot; after a restart only by the wall clock. */
function isLapsed({ clock, host }: Pick<Keeping, 'clock' | 'host'>, claim: ClaimRecord): boolean {
  return claim.boot === host.boot ? claim.expires <= clock.monotonic() : claim.until <= clock.now()
}

/** Checked in the transaction that ends the claim, because of a possible late heartbeat. Null when it has expired. */
export function refuseAlive(
  tables: Tables,
  room: Pick<Keeping, 'clock' | 'host'>,
  { no, state }: { readonly no: number; readonly state: PlanState },
  command: Command,
): Refusal | null {
  if (command.type !== 'lapse' || command.released === true) return null
  const task = state.tasks.get(command.task)
  const row = task === undefined ? null : tables.claims.get(no, task.ordinal)
  if (row === null || row.token !== command.token || isLapsed(room, row)) return null
  return refuse('conflict', `the claim on '${command.task}' was renewed meanwhile`)
}

function heldToken({ states }: Keeping, tables: Tables, plan: PlanId, task: TaskName) {
  const no = tables.journal.planNo(plan)
  const head = no === null ? null : tables.journal.head(no)
  if (head === null) return null
  const state = states.at(tables, plan, head).state.tasks.get(task)
  return state?.claim == null ? null : { no: head.no, ordinal: state.ordinal, token: state.claim.token }
}
