// The Engine door in this process: turns orders into commands, queries into answers. It makes the ids, hashes and tokens that
// commands carry, and holds no state of its own.

import type { Command } from '../domain/command.ts'
import { type Actor, type PlanId, type PlanName, planId } from '../domain/id.ts'
import { keepItems } from '../domain/items.ts'
import { CLAIM_LEASE_DEFAULT_MS, CLAIM_LEASE_MAX_MS, NAME_TRIES_MAX } from '../domain/limits.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { refuse } from '../domain/refusal.ts'
import { definitionHash } from '../format/hash.ts'
import type { Updated } from '../stores/store.ts'
import { answer } from './answers.ts'
import type { AnswerOf, Engine, Order, QueryOf, QueryType, Submitted } from './engine.ts'
import { sweepClaims } from './janitor.ts'
import { judgeReport } from './report.ts'
import type { Rooms } from './rooms.ts'

type OrderOf<T extends Order['type']> = Extract<Order, { readonly type: T }>

export class EngineLocal implements Engine {
  readonly #rooms: Rooms

  constructor(rooms: Rooms) {
    this.#rooms = rooms
  }

  async submit(
    plan: string | null,
    order: Order,
    actor: Actor,
    options: { readonly expectedVersion?: number } = {},
  ): Promise<Submitted> {
    if (order.type === 'create') return await this.#create(order, actor)
    const found = plan === null ? null : await this.#rooms.store.find(plan)
    if (found === null)
      return { ok: false, refusal: refuse('not-found', `there is no plan '${plan ?? ''}'`, 'see `planfold list`') }
    switch (order.type) {
      case 'claim':
        return await this.#claim(found.plan, order, actor)
      case 'heartbeat':
        return await this.#heartbeat(found.plan, found.name, order)
      case 'report': {
        const state = await this.#rooms.store.state(found.plan)
        const result = state === null ? order.result : await judgeReport(this.#rooms, state, order)
        return await this.#update(found.plan, { ...order, by: actor, result }, actor, options)
      }
      case 'revise': {
        const state = await this.#rooms.store.state(found.plan)
        const definition = state === null ? order.definition : keepItems(state.definition, order.definition)
        return await this.#update(
          found.plan,
          { ...order, definition, hash: definitionHash(definition) },
          actor,
          options,
        )
      }
      default:
        return await this.#update(found.plan, order, actor, options)
    }
  }

  async ask<T extends QueryType>(query: QueryOf<T>): Promise<AnswerOf<T>> {
    return await answer(this.#rooms, query)
  }

  watch: Engine['watch'] = options => this.#rooms.store.watch(options)

  async close(): Promise<void> {
    await this.#rooms.store.close()
  }

  async #create(order: OrderOf<'create'>, actor: Actor): Promise<Submitted> {
    const { store, clock, random } = this.#rooms
    for (let tries = 1; tries <= NAME_TRIES_MAX; tries++) {
      const name = tries === 1 ? order.definition.name : (`${order.definition.name}-${tries}` as PlanName)
      const definition: PlanDefinition = { ...order.definition, name }
      const { origin, session, goal, source, imported } = order
      const updated = await store.create(
        {
          type: 'create',
          plan: planId(clock.now(), random(10)),
          definition,
          hash: definitionHash(definition),
          ...(origin === undefined ? {} : { origin }),
          ...(session === undefined ? {} : { session }),
          ...(goal === undefined ? {} : { goal }),
          ...(source === undefined ? {} : { source }),
          ...(imported === undefined ? {} : { imported }),
        },
        actor,
      )
      if (updated.ok || updated.refusal.code !== 'exists' || order.taken !== 'number') return submitted(updated)
    }
    return {
      ok: false,
      refusal: refuse(
        'limit',
        `no free name was found for '${order.definition.name}'`,
        'choose another name, or prune old plans',
      ),
    }
  }

  async #claim(plan: PlanId, order: OrderOf<'claim'>, actor: Actor): Promise<Submitted> {
    const { store } = this.#rooms
    const leaseMs = leaseOf(order.leaseMs)
    const token = this.#token()
    await sweepClaims(store, plan)
    const updated = await this.#update(
      plan,
      { type: 'claim', token, by: actor, ...(order.task === undefined ? {} : { task: order.task }) },
      actor,
    )
    if (!updated.ok) return updated
    const started = updated.events.find(event => event.type === 'attempt.started')
    if (started === undefined) return updated
    await store.claims.touch(plan, started.task, token, leaseMs)
    return { ...updated, claim: { task: started.task, token, expiresInMs: leaseMs } }
  }

  async #heartbeat(plan: PlanId, name: string, order: OrderOf<'heartbeat'>): Promise<Submitted> {
    const { store } = this.#rooms
    const leaseMs = leaseOf(order.leaseMs)
    const state = await store.state(plan)
    const alive = await store.claims.touch(plan, order.task, order.token, leaseMs)
    if (!alive || state === null)
      return {
        ok: false,
        refusal: refuse(
          'conflict',
          `the claim on '${order.task}' is not held by this token`,
          'it may have lapsed; claim it again',
        ),
      }
    return {
      ok: true,
      plan,
      name,
      version: state.version,
      events: [],
      claim: { task: order.task, token: order.token, expiresInMs: leaseMs },
    }
  }

  async #update(
    plan: PlanId,
    command: Command,
    actor: Actor,
    options: { readonly expectedVersion?: number } = {},
  ): Promise<Submitted> {
    return submitted(await this.#rooms.store.update(plan, command, { actor, ...options }))
  }

  #token(): string {
    return Buffer.from(this.#rooms.random(16)).toString('base64url')
  }
}

function submitted(updated: Updated): Submitted {
  if (!updated.ok) return updated
  return {
    ok: true,
    plan: updated.state.id,
    name: updated.state.definition.name,
    version: updated.version,
    events: updated.events,
  }
}

/** Zero, negative or absurd leases fall back to sane ones. */
function leaseOf(ms: number | undefined): number {
  return ms === undefined || !(ms > 0) ? CLAIM_LEASE_DEFAULT_MS : Math.min(ms, CLAIM_LEASE_MAX_MS)
}
