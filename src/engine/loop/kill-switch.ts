// The kill switch. `halt` first writes a note into the store; from then on nothing is started, resumed or claimed by any process of this
// store. Then it pauses every plan by force: running attempts are killed, and those that are unsafe to repeat are parked for a person's
// decision. `lift` removes the note; plans stay paused until they are resumed.

import { advise, next } from '../../domain/hint.ts'
import type { Actor, PlanId } from '../../domain/id.ts'
import { haltedBy } from '../../domain/phrases.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import type { PlanStatus } from '../../domain/status.ts'
import type { Halt, Store } from '../../stores/store.ts'
import type { KillSwitch } from '../engine.ts'
import { lazy } from '../lazy-imports.ts'
import type { Order } from '../orders.ts'
import type { Halted } from '../queries.ts'
import { type Caller, NotAllowed, requireAllPlans, requireRight } from '../roles.ts'
import type { Rooms } from '../rooms.ts'

const PAGE = 200
const OPEN: readonly PlanStatus[] = ['active', 'blocked']

/** Refuses orders that start work. Claims, and callers who may not administer, are not told how to lift the halt: a person decides that. */
export function haltRefusal({ rights }: Pick<Caller, 'rights'>, order: Order['type'], halt: Halt): Refusal {
  const hint =
    order === 'claim'
      ? 'stop working; you can claim again when a person has lifted the halt'
      : rights.has('administer')
        ? advise`to lift that: ${next('lift-halt')}`
        : 'stop working; an authorised person will lift it, then you can continue'
  return refuse('not-ready', `everything was ${haltedBy(halt)}`, hint)
}

/** Changing it needs the right to administer; reading it does not. */
export const killSwitch = (rooms: Rooms, caller: Caller): KillSwitch => ({
  halt: async reason => {
    requireHalting(caller)
    return await halt(rooms, reason, caller.actor)
  },
  lift: async () => {
    requireHalting(caller)
    const refusal = (await lazy.machineAnswer()).refuseProgram(rooms.environment, caller, 'lift the halt')
    if (refusal !== null) throw new NotAllowed({ ...refusal, lacks: 'administer' })
    return await rooms.store.halts.lift()
  },
  halted: async () => {
    requireRight(caller, 'read')
    return await rooms.store.halts.get()
  },
})

function requireHalting(caller: Caller): void {
  requireRight(caller, 'administer')
  requireAllPlans(caller)
}

/** A second halt keeps the first note, and pauses plans that were started in between. */
async function halt({ store, clock }: Rooms, reason: string | null, by: Actor): Promise<Halted> {
  const halted = await store.halts.put({ by, at: clock.now(), reason })
  const already = (await plansOf(store, ['paused'])).map(({ name }) => name)
  const paused: string[] = []
  const left: { name: string; why: string }[] = []
  for (const { plan, name } of await plansOf(store, OPEN)) {
    const updated = await pauseHalted(store, plan, halted)
    if (updated === null) paused.push(name)
    else left.push({ name, why: updated.message })
  }
  return { ...halted, paused, already, left }
}

export async function pauseHalted(store: Store, plan: PlanId, halt: Halt): Promise<Refusal | null> {
  const command = { type: 'pause', reason: haltedBy(halt), force: true, halt: true } as const
  const updated = await store.update(plan, command, { actor: halt.by as Actor })
  return updated.ok ? null : updated.refusal
}

async function plansOf(
  store: Store,
  statuses: readonly PlanStatus[],
): Promise<readonly { readonly plan: PlanId; readonly name: string }[]> {
  const found = new Map<PlanId, string>()
  for (const status of statuses) {
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await store.plans({ status, limit: PAGE, ...(cursor === '' ? {} : { cursor }) })
      for (const { id, name } of page.items) found.set(id, name)
      cursor = page.next
    }
  }
  return Array.from(found, ([plan, name]) => ({ plan, name }))
}
