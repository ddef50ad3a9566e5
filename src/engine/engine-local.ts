// The Engine door in this process: turns orders into commands, queries into answers. It makes the ids, hashes and tokens that
// commands carry, and holds no state of its own.

import { isNeglected } from '../domain/alarms.ts'
import type { Command } from '../domain/command.ts'
import {
  type Actor,
  type CheckpointName,
  checkpointName,
  type PlanId,
  type PlanName,
  planId,
  type TaskName,
} from '../domain/id.ts'
import { keepItems } from '../domain/items.ts'
import { CLAIM_LEASE_DEFAULT_MS, CLAIM_LEASE_MAX_MS, NAME_TRIES_MAX } from '../domain/limits.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { refuse } from '../domain/refusal.ts'
import type { Result } from '../domain/result.ts'
import type { PlanState } from '../domain/state.ts'
import { isClaimable } from '../domain/task-graph.ts'
import { definitionHash } from '../format/hash.ts'
import type { Found, Updated } from '../stores/store.ts'
import { answer } from './answers.ts'
import { heldToEffects } from './effects.ts'
import type { AnswerOf, Engine, KillSwitch, Order, QueryOf, QueryType, RollbackAsk, Submitted } from './engine.ts'
import { lookAfter, lookBeforeClaim, standingNow } from './footprint.ts'
import { killSwitch, refuseHalted } from './halting.ts'
import { newQuestionId } from './inbox-id.ts'
import { sweepClaims } from './janitor.ts'
import { late } from './late.ts'
import { roomsOf } from './places.ts'
import { placeFor, refuseGroundless } from './placing.ts'
import { judgeReport } from './report.ts'
import type { Rooms } from './rooms.ts'

/** The rules plans are started under from now on; what older ones did stays as they said. */
const RULES = 3
const CLAIM_TRIES_MAX = 20
const ROLLBACK_TRIES_MAX = 5

/** What makes work begin, and so is refused while everything is halted. */
const BEGINS: ReadonlySet<Order['type']> = new Set(['start', 'resume', 'claim', 'retry', 'fork'])

type OrderOf<T extends Order['type']> = Extract<Order, { readonly type: T }>

export class EngineLocal implements Engine {
  readonly #rooms: Rooms
  readonly killSwitch: KillSwitch

  constructor(rooms: Rooms) {
    this.#rooms = rooms
    this.killSwitch = killSwitch(rooms)
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
    const submitted = await this.#submit(found, order, actor, options)
    if (submitted.ok) await this.#tend(found.plan)
    return submitted
  }

  async #submit(
    found: Found,
    order: Exclude<Order, { readonly type: 'create' }>,
    actor: Actor,
    options: { readonly expectedVersion?: number },
  ): Promise<Submitted> {
    const halted = BEGINS.has(order.type) ? refuseHalted(this.#rooms) : null
    if (halted !== null) return { ok: false, refusal: halted }
    switch (order.type) {
      case 'start': {
        const groundless = await refuseGroundless(this.#rooms, found.plan)
        if (groundless !== null) return { ok: false, refusal: groundless }
        const files = this.#rooms.snapshots === undefined ? {} : { files: 'seen' as const }
        const stamp = await (await late.drift()).stampOf(this.#rooms, found.plan)
        return await this.#update(found.plan, { type: 'start', rules: RULES, ...files, ...stamp }, actor, options)
      }
      case 'checkpoint':
        return await this.#checkpoint(found.plan, order, actor)
      case 'rollback':
        return await this.#rollback(found.plan, found.name, 'rollback', order, actor)
      case 'undo':
        return await this.#rollback(found.plan, found.name, 'undo', order, actor)
      case 'fork': {
        const state = await this.#rooms.store.state(found.plan)
        if (state === null) return { ok: false, refusal: refuse('not-found', 'there is no such plan') }
        const forking = await (await late.forking()).fork(this.#rooms, state, order, actor)
        const made = forking.ok ? submitted(forking.updated) : forking
        return made.ok && forking.ok ? { ...made, fork: forking.fork } : made
      }
      case 'claim':
        return await this.#claim(found.plan, order, actor)
      case 'heartbeat':
        return await this.#heartbeat(found.plan, found.name, order)
      case 'report': {
        const state = await this.#rooms.store.state(found.plan)
        const result = state === null ? order.result : await this.#reported(state, order)
        return await this.#update(found.plan, { ...order, by: actor, result }, actor, options)
      }
      case 'revise': {
        const state = await this.#rooms.store.state(found.plan)
        const definition = state === null ? order.definition : keepItems(state.definition, order.definition)
        const stamp = await (await late.drift()).stampOf(this.#rooms, found.plan, 'begun')
        const command = { ...order, definition, hash: definitionHash(definition), ...stamp }
        return await this.#update(found.plan, command, actor, options)
      }
      case 'ask':
        return await this.#update(found.plan, { ...order, id: newQuestionId(this.#rooms.random), by: actor }, actor)
      case 'decide':
        return await this.#decide(found.plan, order, actor, options)
      case 'answer':
      case 'retry':
      case 'skip':
        return await this.#update(found.plan, { ...order, by: actor }, actor, options)
      case 'judge':
      case 'propose':
      case 'assess':
      case 'append': {
        const { replan } = await late.replanning()
        return await replan(this.#rooms, found.plan, order, actor, command =>
          this.#update(found.plan, command, actor, options),
        )
      }
      case 'review': {
        await this.#tend(found.plan)
        const decisions = order.decisions.map(each => ({ ...each, type: 'decide' as const, by: actor as string }))
        return await this.#update(found.plan, { type: 'review', decisions }, actor, options)
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
          ...(await placeFor(this.#rooms, definition)),
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

  async #claim(plan: PlanId, order: OrderOf<'claim'>, actor: Actor, tries = 1): Promise<Submitted> {
    const { store } = this.#rooms
    const leaseMs = leaseOf(order.leaseMs)
    const token = this.#token()
    await sweepClaims(store, plan)
    const state = await store.state(plan)
    const wanted = order.task === undefined ? state?.claimable.peek(isClaimable) : state?.tasks.get(order.task)
    const look =
      state === null || wanted === undefined ? {} : await lookBeforeClaim(roomsOf(this.#rooms, state), state, wanted)
    // Files are looked at for one task; when another is faster, the next try looks again.
    const task = order.task ?? (Object.keys(look).length === 0 ? undefined : wanted?.definition.id)
    const updated = await this.#update(
      plan,
      {
        type: 'claim',
        token,
        by: actor,
        ...(task === undefined ? {} : { task }),
        ...(Object.keys(look).length === 0 ? {} : { prepared: look }),
      },
      actor,
    )
    if (!updated.ok && order.task === undefined && task !== undefined && tries < CLAIM_TRIES_MAX)
      return await this.#claim(plan, order, actor, tries + 1)
    if (!updated.ok) return updated
    const started = updated.events.find(event => event.type === 'attempt.started')
    if (started === undefined) return updated
    await store.claims.touch(plan, started.task, token, leaseMs)
    return { ...updated, claim: { task: started.task, token, expiresInMs: leaseMs } }
  }

  /** Judged like an attempt of ours, and what was written since the claim is seen. */
  async #reported(state: PlanState, order: OrderOf<'report'>): Promise<Result> {
    const task = state.tasks.get(order.task)
    const look = task?.claim == null ? null : task.prepared
    const own = roomsOf(this.#rooms, state)
    const [result, wrote] = [await judgeReport(own, state, order), await lookAfter(own, state, look)]
    const whole = wrote === null ? result : { ...result, wrote }
    return task === undefined ? whole : await heldToEffects(own, state, task, whole)
  }

  /** Gates that nobody has made ready, or that ran out while nobody looked, are seen to first. */
  async #tend(plan: PlanId): Promise<void> {
    const state = await this.#rooms.store.state(plan)
    if (state !== null && isNeglected(state, this.#rooms.clock.now()))
      await (await late.tending()).tend(this.#rooms, plan)
  }

  async #decide(
    plan: PlanId,
    { edits, ...order }: OrderOf<'decide'>,
    actor: Actor,
    options: { readonly expectedVersion?: number },
  ): Promise<Submitted> {
    await this.#tend(plan)
    const command = { ...order, by: actor as string }
    if (edits === undefined) return await this.#update(plan, command, actor, options)
    const state = await this.#rooms.store.state(plan)
    if (state === null) return { ok: false, refusal: refuse('not-found', 'there is no such plan') }
    const made = await (await late.gateEdits()).withEdits(roomsOf(this.#rooms, state), state, order.task, edits)
    if (!made.ok) return made
    // Agreed to as the plan stands now: whoever moves it meanwhile makes it something else.
    const expectedVersion = options.expectedVersion ?? made.version
    return await this.#update(plan, { ...command, edits: made.edits }, actor, { expectedVersion })
  }

  async #checkpoint(plan: PlanId, order: OrderOf<'checkpoint'>, actor: Actor): Promise<Submitted> {
    const { store, clock } = this.#rooms
    const state = await store.state(plan)
    if (state === null) return { ok: false, refusal: refuse('not-found', 'there is no such plan') }
    const made = checkpointName(state.definition.name as string as TaskName, clock.now())
    const name = (order.name ?? made) as CheckpointName
    if (order.name !== undefined) {
      const { refuseName } = await late.checkpoints()
      const refusal = await refuseName(this.#rooms, state, name)
      if (refusal !== null) return { ok: false, refusal }
    }
    return await this.#update(
      plan,
      { type: 'checkpoint', name, standing: await standingNow(roomsOf(this.#rooms, state), state) },
      actor,
    )
  }

  /** Worked out from the journal as it is; when the plan moves meanwhile, worked out again. */
  async #rollback(
    plan: PlanId,
    name: string,
    kind: 'rollback' | 'undo',
    order: RollbackAsk,
    actor: Actor,
  ): Promise<Submitted> {
    const { workOut, objection } = await late.asking()
    for (let tries = 1; ; tries++) {
      const state = await this.#rooms.store.state(plan)
      if (state === null) return { ok: false, refusal: refuse('not-found', 'there is no such plan') }
      const worked = await workOut(roomsOf(this.#rooms, state), state, kind, order)
      if (!worked.ok) return worked
      const refusal = objection(worked, name)
      if (refusal !== null) return { ok: false, refusal }
      const command = { ...worked.command, id: this.#token(), at: this.#rooms.clock.now() }
      const updated = await this.#update(plan, command, actor, { expectedVersion: worked.version })
      const hasMoved = !updated.ok && updated.refusal.code === 'conflict'
      if (!hasMoved || tries >= ROLLBACK_TRIES_MAX) return updated
    }
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
