// Writes the command of an order: who gives it, on which version of the plan, under which idempotency key; and builds the answer.

import { hash as digest } from 'node:crypto'
import type { Command } from '../domain/command.ts'
import { advise, quoted } from '../domain/hint.ts'
import type { Actor, PlanId, Sha256 } from '../domain/id.ts'
import type { Json } from '../domain/json.ts'
import type { Writer } from '../domain/plan.ts'
import { type Refusal, refuse } from '../domain/refusal.ts'
import type { PlanState } from '../domain/state/state.ts'
import { canonicalJson } from '../format/plan/hash.ts'
import type { Once, Updated, UpdateOptions } from '../stores/store.ts'
import type { SubmitOptions } from './engine.ts'
import { personOf } from './memory.ts'
import type { Order, Submitted, WrittenBy } from './orders.ts'
import type { Caller } from './roles.ts'
import type { Rooms } from './rooms.ts'

/** Objects to a command, asked inside the transaction with the current state; null if it may be written. */
export type Objection = (state: PlanState, command: Command) => Refusal | null

export interface Writing {
  readonly actor: Actor
  readonly objection?: Objection
  readonly expectedVersion?: number
  readonly once?: Once
  readonly whenHalted?: UpdateOptions['whenHalted']
  readonly isPerson?: boolean
  /** Whose user memory a plan may read. */
  readonly person?: Actor
}

/** The author of what an order adds. `whole`: their own document; else it is what the order changes. */
export function writerOf(
  { isPerson }: Writing,
  { written, whole }: { readonly written?: WrittenBy | undefined; readonly whole?: boolean } = {},
): Writer | undefined {
  if (isPerson !== true || written === 'others') return undefined
  return written === 'planner' ? 'draft' : whole === true ? 'person' : 'changes'
}

/** The key identifies `asked` if given, else exactly this order to this plan. */
export function writingOf(
  plan: PlanId | null,
  order: Order,
  caller: Pick<Caller, 'actor' | 'isPerson' | 'person'>,
  { expectedVersion, once, asked, objection }: SubmitOptions & Pick<Writing, 'objection'>,
): Writing {
  const { actor, isPerson } = caller
  return {
    actor,
    person: personOf(caller),
    isPerson,
    objection,
    expectedVersion,
    once:
      once === undefined
        ? undefined
        : asked === undefined
          ? { key: once, hash: hashOf({ plan, order } as unknown as Json) }
          : onceFor(once, asked),
  }
}

export const onceFor = (key: string, asked: Json): Once => ({ key, hash: hashOf({ asked }) })

const hashOf = (asked: Json): Sha256 => digest('sha256', canonicalJson(asked)) as Sha256

export async function write(
  { store }: Rooms,
  plan: PlanId,
  command: Command,
  { objection, isPerson: _, person: __, ...options }: Writing,
): Promise<Submitted> {
  if (objection === undefined) return submitted(await store.update(plan, command, options))
  return submitted(await store.updateFrom(plan, state => objection(state, command) ?? command, options))
}

export function submitted(updated: Updated): Submitted {
  if (!updated.ok) return updated
  return {
    ok: true,
    plan: updated.state.id,
    name: updated.state.definition.name,
    version: updated.version,
    events: updated.events,
    ...(updated.replayed === true ? { replayed: true } : {}),
  }
}

export const unnamed = (order: Order['type']): Submitted => ({
  ok: false,
  refusal: refuse('invalid', `'${order}' is about a plan, and none is named`, 'name one: its UUID or its name'),
})

export const noPlan = (name: string): Submitted => ({ ok: false, refusal: noPlanRefusal(name) })

export const noPlanRefusal = (name: string): Refusal =>
  refuse('not-found', `there is no plan '${name}'`, advise`see ${quoted('list')}`)
