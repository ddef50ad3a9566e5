// The Engine in this process: turns orders into commands, and answers queries. It creates the ids, hashes and tokens of commands, and holds
// no state of its own.

import type { Actor } from '../domain/id.ts'
import type { Json } from '../domain/json.ts'
import type { Entry, Halt } from '../stores/store.ts'
import { answer, QUERIES } from './answer-query.ts'
import { withClaim } from './attempts/claims.ts'
import type { AnyQuery, Engine, EngineInProcess, KillSwitch, SubmitOptions } from './engine.ts'
import { lazy } from './lazy-imports.ts'
import { noteOrder } from './loop/attendant.ts'
import { haltRefusal, killSwitch } from './loop/kill-switch.ts'
import type { Memory } from './memory.ts'
import { ORDERS, raiseDue, rowOf } from './order-table.ts'
import type { Order, OrderType, Submitted } from './orders.ts'
import { offerAnswers } from './permissions/inbox-answers.ts'
import {
  answerInScope,
  hideHolder,
  hideOutOfScope,
  isScoped,
  refuseOutOfScope,
  watchInScope,
} from './permissions/scope.ts'
import { ownGoals, ownSessions } from './permissions/streams.ts'
import type { AnswerOf, QueryOf, QueryType } from './queries.ts'
import { sealed } from './revisions/edit-tasks.ts'
import { actingAs, type Caller, denyWithout, NotAllowed, type Right, requireRight } from './roles.ts'
import type { Rooms } from './rooms.ts'
import { noPlan, type Objection, onceFor, submitted, unnamed, type Writing, writingOf } from './write-order.ts'

export class EngineLocal implements EngineInProcess {
  readonly #rooms: Rooms
  readonly caller: Caller

  constructor(rooms: Rooms, caller: Caller) {
    this.#rooms = rooms
    this.caller = caller
  }

  as(caller: Caller | Actor): EngineLocal {
    return new EngineLocal(this.#rooms, actingAs(this.caller, caller))
  }

  get killSwitch(): KillSwitch {
    return killSwitch(this.#rooms, this.caller)
  }

  get sessions(): Engine['sessions'] {
    return ownSessions(this.#rooms.store, this.caller)
  }

  get memory(): Memory {
    const own = async () => (await lazy.ownMemory()).ownMemory(this.#rooms, this)
    return {
      remember: async item => await (await own()).remember(item),
      recall: async query => await (await own()).recall(query),
      forget: async item => await (await own()).forget(item),
    }
  }

  get goals(): Engine['goals'] {
    return ownGoals(this.#rooms.store, this.caller)
  }

  async submit(plan: string | null, order: Order, options: SubmitOptions = {}): Promise<Submitted> {
    const { caller } = this
    const refusal =
      denyWithout(caller, this.rightFor(order.type)) ??
      (isScoped(caller) ? await refuseOutOfScope(this.#rooms, caller, plan, order) : null)
    if (refusal !== null) return { ok: false, refusal }
    const done = await this.#carryOutAsCaller(plan, order, options)
    return isScoped(caller) ? await hideHolder(this.#rooms, caller, done) : done
  }

  rightFor(order: OrderType): Right {
    return rowOf(order).right
  }

  async answered(once: string, asked: Json): Promise<Submitted | null> {
    requireRight(this.caller, 'operate')
    const before = await this.#rooms.store.answered(this.caller.actor, onceFor(once, asked))
    if (before === null) return null
    const done = submitted(before)
    return isScoped(this.caller) ? await hideOutOfScope(this.#rooms, this.caller, done) : done
  }

  async #carryOutAsCaller(plan: string | null, order: Order, options: SubmitOptions): Promise<Submitted> {
    if (this.caller.rights.has('decide')) return await this.#carryOut(plan, order, options)
    const { keepGates, gateObjection } = await lazy.gateRules()
    const { loosenObjection, ownUntil } = await lazy.looseningRules()
    const kept = keepGates(order)
    if ('code' in kept) return { ok: false, refusal: kept }
    let isLoosened = false
    const loosens = loosenObjection(() => {
      isLoosened = true
    })
    const objection: Objection = (state, command) => gateObjection(state, command) ?? loosens(state, command)
    const done = await this.#carryOut(plan, kept, { ...options, objection })
    if (!isLoosened || plan === null) return done
    // Computed only now, because orders that loosen a plan are rare.
    const found = await this.#rooms.store.find(plan)
    const own = found === null ? null : await ownUntil(this.#rooms, found.plan, this.caller.actor)
    if (own === null) return done
    const mine: Objection = (state, command) => (state.version === own ? gateObjection : objection)(state, command)
    return await this.#carryOut(plan, kept, { ...options, objection: mine })
  }

  async #carryOut(
    plan: string | null,
    order: Order,
    options: SubmitOptions & Pick<Writing, 'objection'>,
  ): Promise<Submitted> {
    const rooms = this.#rooms
    const { actor } = this.caller
    if (order.type === 'create') {
      const writing = writingOf(null, order, this.caller, options)
      return await ORDERS.create.run({ rooms, caller: this.caller, writing }, order)
    }
    const found = plan === null ? null : await rooms.store.find(plan)
    if (found === null) return plan === null || plan === '' ? unnamed(order.type) : noPlan(plan)
    const { run, begins, seals } = rowOf(order.type)
    const whenHalted = begins?.(order) === true ? (halt: Halt) => haltRefusal(this.caller, order.type, halt) : undefined
    const writing = { ...writingOf(found.plan, order, this.caller, options), whenHalted }
    // A repeated request must not capture files or run checks again.
    const before = writing.once === undefined ? null : await rooms.store.answered(actor, writing.once)
    if (before !== null)
      return order.type === 'claim' ? await withClaim(rooms, order, submitted(before)) : submitted(before)
    noteOrder(rooms.store, found.plan)
    const write = async (again: Writing): Promise<Submitted> => {
      // Asked here before files are captured, and again inside the transaction.
      const halt = whenHalted === undefined ? null : await rooms.store.halts.get()
      if (halt !== null) return { ok: false, refusal: whenHalted!(halt) }
      return await run({ rooms, caller: this.caller, ...found, writing: again }, order)
    }
    const done = seals === true ? await sealed(rooms, found.plan, writing, write) : await write(writing)
    // A draft has no due questions or alarms.
    if (done.ok && done.events[0]?.type !== 'task.added') await raiseDue(rooms, found.plan)
    if (done.ok && done.events.some(({ type }) => type === 'plan.finished')) {
      await (await lazy.forkChanges()).storeForkEnd(rooms, found.plan)
      // A race may have waited for a person while no worker drove the plan.
      await (await lazy.tryFolders()).removeLeftTries(rooms)
    }
    return done
  }

  ask<T extends QueryType>(query: QueryOf<T>): Promise<AnswerOf<T>> {
    const { caller } = this
    const denial = denyWithout(caller, QUERIES[query.type]?.right ?? 'administer')
    if (denial !== null) return Promise.reject(new NotAllowed(denial))
    const asked = query as AnyQuery
    const found = isScoped(caller) ? answerInScope(this.#rooms, caller, asked) : answer(this.#rooms, query)
    const isOffering = asked.type === 'inbox' || asked.type === 'reviews'
    return (isOffering ? found.then(all => offerAnswers(caller, asked, all)) : found) as Promise<AnswerOf<T>>
  }

  watch(options: Parameters<Engine['watch']>[0]): AsyncIterable<Entry> {
    const { caller } = this
    requireRight(caller, 'read')
    return isScoped(caller) ? watchInScope(this.#rooms, caller, options) : this.#rooms.store.watch(options)
  }

  async close(): Promise<void> {
    requireRight(this.caller, 'administer')
    await this.#rooms.store.close()
  }
}
