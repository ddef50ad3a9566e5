// The only write path. Inside the locked transaction: read the head, check lease and version, catch up, decide, append one entry, update
// the query tables. A failure before the first write fails this request only; a later one fails the whole transaction.

import type { Command, CommandOf } from '../../domain/command.ts'
import { decide } from '../../domain/decide.ts'
import { type Event, isAttemptEnd } from '../../domain/event.ts'
import type { Actor, PlanId } from '../../domain/id.ts'
import { CLAIM_LEASE_DEFAULT_MS } from '../../domain/limits.ts'
import { nextLookAt } from '../../domain/next-actions.ts'
import { hasConfidential } from '../../domain/plan-rules/confidential.ts'
import { refuse } from '../../domain/refusal.ts'
import { claimUntil, refuseAlive } from '../leases/claims.ts'
import type { Clock, Host } from '../leases/host.ts'
import { holdsLease, leaseFor } from '../leases/liveness.ts'
import { followReservations, granted } from '../leases/reservations.ts'
import { type Asked, LeaseLost, type Once, type Updated, type UpdateOptions, type WorkOut } from '../store.ts'
import type { Head, Tables } from '../tables.ts'
import { type BodyBlobs, sealEntry } from './entry.ts'
import { answerAgain, remember, usedFor } from './idempotency.ts'
import { emptyKept, type Kept, type States } from './plan-states.ts'
import { doneCount, planRecord, project } from './projection.ts'

export interface Appending {
  readonly states: States
  readonly blobs: BodyBlobs
  readonly clock: Clock
  readonly host: Host
  /** The duration of a lease that this process may renew by writing. */
  readonly leaseMsOf: (owner: string) => number | undefined
  /** Resuming replays at most about this many events, or one for each task if there are more, because folds are expensive. */
  readonly foldEvery: number
  readonly foldDue: (plan: PlanId, kept: Kept) => void
}

/** For a repeated key, returns the first answer without calling `write`; for a key of another request, a refusal. */
export function withKey(
  tables: Tables,
  room: Appending,
  actor: Actor,
  once: Once | undefined,
  write: () => Updated,
): Updated {
  if (once === undefined) return write()
  const now = room.clock.now()
  const used = usedFor(tables, actor, once, 'plan', now)
  if (used !== null) return 'code' in used ? { ok: false, refusal: used } : answerAgain(tables, room, used)
  const written = write()
  if (!written.ok) return written
  const { version, events, state } = written
  remember(tables, actor, once, { kind: 'plan', id: state.id, version, made: events.length > 0 }, now)
  return written
}

export function createPlan(tables: Tables, room: Appending, command: CommandOf<'create'>, actor: Actor): Updated {
  const { name } = command.definition
  if (tables.journal.planNo(command.plan) !== null) {
    return { ok: false, refusal: refuse('exists', `plan ${command.plan} exists already`) }
  }
  if (tables.journal.named(name) !== null) {
    return {
      ok: false,
      refusal: refuse(
        'exists',
        `a plan named '${name}' exists already`,
        'choose another name, or use the plan there is',
      ),
    }
  }
  const now = room.clock.now()
  const kept = emptyKept(0)
  const decision = decide(kept.state, command, now)
  if (!decision.ok) return decision
  const no = tables.journal.addPlan(command.plan, planRecord(kept.state))
  const plan = { ...kept, no }
  room.states.add(command.plan, plan)
  return append(tables, room, command.plan, plan, {
    command,
    events: decision.events,
    actor,
    now,
    fence: null,
    heldUntil: undefined,
  })
}

export function updatePlan(
  tables: Tables,
  room: Appending,
  plan: PlanId,
  asked: Asked | { readonly workOut: WorkOut },
  options: UpdateOptions,
): Updated {
  const no = room.states.numberOf(plan) ?? tables.journal.planNo(plan)
  const head = no === null ? null : tables.journal.head(no)
  if (head === null) return { ok: false, refusal: refuse('not-found', `there is no plan ${plan}`) }
  const monotonic = options.lease === undefined ? 0 : room.clock.monotonic()
  if (options.lease !== undefined) demandLease(head, plan, options.lease, room)
  if (options.expectedVersion !== undefined && options.expectedVersion !== head.version) {
    const message = `plan ${plan} is at version ${head.version}, not ${options.expectedVersion}`
    return { ok: false, refusal: refuse('conflict', message, 'read the plan again and decide anew') }
  }
  const halt = options.whenHalted === undefined ? null : tables.halts.get()
  if (halt !== null) return { ok: false, refusal: options.whenHalted!(halt) }
  const kept = room.states.at(tables, plan, head)
  const wanted = 'workOut' in asked ? asked.workOut(kept.state) : typeof asked === 'function' ? asked() : asked
  if ('code' in wanted) return { ok: false, refusal: wanted }
  const alive = refuseAlive(tables, room, kept, wanted)
  if (alive !== null) return { ok: false, refusal: alive }
  const command = granted(tables, head.no, wanted)
  if ('code' in command) return { ok: false, refusal: command }
  if (command.type === 'revise' && command.definition.name !== kept.state.definition.name) {
    const taken = tables.journal.named(command.definition.name)
    if (taken !== null)
      return {
        ok: false,
        refusal: refuse('exists', `a plan named '${taken.name}' exists already`, 'choose another name'),
      }
  }
  // Time never runs backwards within a plan, even if the wall clock does.
  const now = Math.max(room.clock.now(), head.at, options.notBefore ?? 0)
  const decision = ask(room.states, plan, kept, command, now)
  if (!decision.ok) return decision
  const { events } = decision
  const heldUntil = options.lease === undefined ? undefined : (head.ownerExpires ?? 0)
  if (events.length === 0) {
    const position = tables.journal.knownPosition()
    return { ok: true, version: head.version, position, events, state: kept.state, heldUntil }
  }
  room.states.touch(plan)
  if (options.lease !== undefined) renewOnTheWay(tables, room, head, monotonic)
  return append(tables, room, plan, kept, {
    command,
    events,
    actor: options.actor,
    now,
    fence: options.lease?.fence ?? null,
    heldUntil,
  })
}

function ask(states: States, plan: PlanId, kept: Kept, command: Command, now: number) {
  try {
    return decide(kept.state, command, now)
  } catch (bug) {
    // The state may be partly changed, and must not be used again.
    states.drop(plan)
    throw bug
  }
}

/** Fence and lease, checked where no other writer can change them (law L5). */
function demandLease(head: Head, plan: PlanId, lease: { owner: string; fence: number }, room: Appending): void {
  if (head.owner !== lease.owner || head.fence !== lease.fence) {
    throw new LeaseLost(`plan ${plan} is driven by someone else now`)
  }
  if (!holdsLease(room, { boot: head.ownerBoot ?? '', expires: head.ownerExpires ?? 0 })) {
    throw new LeaseLost(`the lease on plan ${plan} ran out before it was renewed`)
  }
}

/** A busy writer leaves the heartbeat thread little time, so commits also renew a lease after a third of its time. */
function renewOnTheWay(tables: Tables, room: Appending, head: Head, now: number): void {
  const leaseMs = room.leaseMsOf(head.owner!)
  if (leaseMs === undefined || head.ownerExpires! - now > (leaseMs * 2) / 3) return
  tables.owners.renew(head.owner!, leaseFor(room, leaseMs), now)
}

interface Happened {
  readonly command: Command
  readonly events: readonly Event[]
  readonly actor: Actor
  readonly now: number
  readonly fence: number | null
  readonly heldUntil: number | undefined
}

function append(tables: Tables, room: Appending, plan: PlanId, kept: Kept, happened: Happened): Updated {
  const { state } = kept
  const { events, now, heldUntil } = happened
  const version = state.version + 1
  const position = tables.journal.nextPosition()
  const { command, actor, fence } = happened
  const isKept = room.blobs.keepNow !== undefined && hasConfidential(state)
  const entry = { position, plan, version, now, actor, fence, command, events }
  const stored = sealEntry(kept, entry, room.blobs, isKept)
  state.version = version
  kept.hash = stored.hash
  kept.format = stored.format
  kept.tail += events.length
  tables.journal.addEntry(kept.no, stored, doneCount(state))
  if (isKept) tables.journal.keepOn?.(kept.no, room.host.host)
  tables.projections.apply(kept.no, project(events, now, state))
  tables.queue?.put(kept.no, () => ({
    at: nextLookAt(state, now),
    ...(events.some(setsPlace) ? { needs: state.definition.place ?? [] } : {}),
  }))
  for (const event of events) {
    if (event.type === 'plan.created' || event.type === 'plan.revised') kept.definitionVersion = version
    followClaim(tables, room, kept, event)
  }
  followReservations(tables, kept.no, state, { events, position, now })
  if (kept.tail >= room.foldEvery && kept.tail >= state.order.length) room.foldDue(plan, kept)
  return { ok: true, version, position, events, state, heldUntil }
}

const setsPlace = ({ type }: Event): boolean => type === 'plan.created' || type === 'plan.revised'

/** The lease of a claim begins with its entry, so that it expires even if the agent dies before its first heartbeat. */
function followClaim(tables: Tables, room: Appending, { no, state }: Kept, event: Event): void {
  const isEnd = isAttemptEnd(event)
  if (!isEnd && (event.type !== 'attempt.started' || event.claim === undefined)) return
  const task = state.tasks.get(event.task)
  if (task?.definition.action.type !== 'external') return
  if (isEnd && task.claim === null) tables.claims.remove(no, task.ordinal)
  else if (!isEnd && task.claim !== null)
    tables.claims.put(no, claimUntil(room, task.ordinal, task.claim.token, CLAIM_LEASE_DEFAULT_MS))
}
