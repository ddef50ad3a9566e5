// The Engine door in this process: turns orders into commands, queries into answers. It makes the ids, hashes and tokens that
// commands carry, and holds no state of its own.

import type { Decide } from '../domain/command.ts'
import { type Actor, type CheckpointName, checkpointName, type PlanId, type TaskName } from '../domain/id.ts'
import type { Json } from '../domain/json.ts'
import { keepItems } from '../domain/plan-rules/for-each.ts'
import { claimNotHeld } from '../domain/rules/task-orders.ts'
import { hasDueAlarm } from '../domain/state/alarms.ts'
import { definitionHash } from '../format/plan/hash.ts'
import type { Entry, Found } from '../stores/store.ts'
import { answer } from './answer-query.ts'
import { claim, heartbeat, report, withClaim } from './attempts/claims.ts'
import { releaseClaim, sweepClaims } from './attempts/lapsed-claims.ts'
import type { AnyQuery, Engine, EngineInProcess, KillSwitch, RollbackAsk, SubmitOptions } from './engine.ts'
import { newQuestionId } from './gates/inbox-id.ts'
import { refuseGroundless, roomsOf } from './git/plan-worktree.ts'
import { lazy } from './lazy-imports.ts'
import { noteOrder } from './loop/attendant.ts'
import { killSwitch, refuseHalted } from './loop/kill-switch.ts'
import type { Order, Submitted } from './orders.ts'
import { offerAnswers } from './permissions/inbox-answers.ts'
import { ORDER_RIGHTS, QUERY_RIGHTS } from './permissions/needed-rights.ts'
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
import { approvedBy, create, keptOthers, policyAnew, policyOnResume, startOf } from './revisions/create-plan.ts'
import { SEALS, sealed } from './revisions/edit-tasks.ts'
import { actingAs, type Caller, denyWithout, NotAllowed, type Right, requireRight } from './roles.ts'
import { standingNow } from './rollback/attempt-changes.ts'
import type { Rooms } from './rooms.ts'
import {
  noPlan,
  type Objection,
  onceFor,
  submitted,
  unnamed,
  type Writing,
  write,
  writerOf,
  writingOf,
} from './write-order.ts'

const ROLLBACK_TRIES_MAX = 5
/** What a program without types asks for and nobody has heard of is only for those who may do everything. */
const UNKNOWN: Right = 'administer'

/** What makes work begin, and so is refused while everything is halted. */
const BEGINS: ReadonlySet<Order['type']> = new Set(['start', 'resume', 'claim', 'retry', 'fork'])

type OrderOf<T extends Order['type']> = Extract<Order, { readonly type: T }>

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

  get goals(): Engine['goals'] {
    return ownGoals(this.#rooms.store, this.caller)
  }

  async submit(plan: string | null, order: Order, options: SubmitOptions = {}): Promise<Submitted> {
    const { caller } = this
    const refusal =
      denyWithout(caller, ORDER_RIGHTS[order.type] ?? UNKNOWN) ??
      (isScoped(caller) ? await refuseOutOfScope(this.#rooms, caller, plan, order) : null)
    if (refusal !== null) return { ok: false, refusal }
    const done = await this.#carryOutAsCaller(plan, order, options)
    return isScoped(caller) ? await hideHolder(this.#rooms, caller, done) : done
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
    // Looked at only now: seldom does anybody loosen a plan.
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
    if (order.type === 'create') return await create(rooms, order, writingOf(null, order, this.caller, options))
    const found = plan === null ? null : await rooms.store.find(plan)
    if (found === null) return plan === null || plan === '' ? unnamed(order.type) : noPlan(plan)
    const writing = writingOf(found.plan, order, this.caller, options)
    // Nothing is looked at, judged or made ready a second time.
    const before = writing.once === undefined ? null : await rooms.store.answered(actor, writing.once)
    if (before !== null)
      return order.type === 'claim' ? await withClaim(rooms, order, submitted(before)) : submitted(before)
    noteOrder(rooms.store, found.plan)
    const done = SEALS.has(order.type)
      ? await sealed(rooms, found.plan, writing, again => this.#write(found, order, again))
      : await this.#write(found, order, writing)
    // In a draft nothing becomes true by itself.
    if (done.ok && done.events[0]?.type !== 'task.added') await this.#tend(found.plan)
    if (done.ok && done.events.some(({ type }) => type === 'plan.finished'))
      await (await lazy.forkChanges()).storeForkEnd(rooms, found.plan)
    return done
  }

  async #write(
    { plan, name }: Found,
    order: Exclude<Order, { readonly type: 'create' }>,
    writing: Writing,
  ): Promise<Submitted> {
    const rooms = this.#rooms
    const by: string = writing.actor
    const begins = BEGINS.has(order.type) || (order.type === 'revise' && order.goOn !== undefined)
    const halted = begins ? refuseHalted(rooms, this.caller, order.type) : null
    if (halted !== null) return { ok: false, refusal: halted }
    switch (order.type) {
      case 'start': {
        const groundless = await refuseGroundless(rooms, plan)
        if (groundless !== null) return { ok: false, refusal: groundless }
        const starting = await startOf(rooms, plan)
        if (!starting.ok) return starting
        const approves = await approvedBy(rooms, plan, order, writing)
        return await write(rooms, plan, { type: 'start', ...starting.start, ...approves }, writing)
      }
      case 'checkpoint':
        return await this.#checkpoint(plan, order, writing)
      case 'rollback':
        return await this.#rollback(plan, name, 'rollback', order, writing)
      case 'undo':
        return await this.#rollback(plan, name, 'undo', order, writing)
      case 'restore': {
        const state = await rooms.store.state(plan)
        if (state === null) return noPlan(name)
        const { restoreFiles } = await lazy.keptFiles()
        return await restoreFiles(roomsOf(rooms, state), state, order, writing)
      }
      case 'fork': {
        const state = await rooms.store.state(plan)
        if (state === null) return noPlan(name)
        const forking = await (await lazy.forkPlan()).fork(rooms, state, order, writing)
        const made = forking.ok ? submitted(forking.updated) : forking
        return made.ok && forking.ok ? { ...made, fork: forking.fork } : made
      }
      case 'adopt': {
        const state = await rooms.store.state(plan)
        if (state === null) return noPlan(name)
        const adopting = await (await lazy.adoptFork()).adopt(rooms, state, order, writing)
        if (!adopting.ok) return adopting
        const { updated, adopted } = adopting
        const said =
          updated === null ? { ok: true as const, plan, name, version: state.version, events: [] } : submitted(updated)
        return said.ok ? { ...said, adopted } : said
      }
      case 'claim':
        return await claim(rooms, plan, order, writing)
      case 'heartbeat':
        return await this.#heartbeat({ plan, name }, order)
      case 'release':
        return await releaseClaim(rooms, plan, order, writing)
      case 'report':
        return await report(rooms, plan, order, writing)
      case 'revise': {
        const state = await rooms.store.state(plan)
        const definition = state === null ? order.definition : keepItems(state.definition, order.definition)
        const anew = await policyAnew(rooms, state)
        if (!anew.ok) return anew
        const stamp = await (await lazy.drift()).stampOf(rooms, plan, 'begun')
        const hash = definitionHash(definition)
        const { written, file, ...said } = order
        const writer = writerOf(writing, { written, whole: file !== undefined })
        const others = writer !== 'person' || state === null ? {} : keptOthers(state, definition, file ?? [])
        return await write(
          rooms,
          plan,
          { ...said, definition, hash, writer, ...others, ...stamp, ...anew.policy },
          writing,
        )
      }
      case 'add':
      case 'change':
      case 'remove':
      case 'reorder':
      case 'outline':
        return await (await lazy.editTasks()).edit(rooms, plan, order, writing)
      case 'annotate':
      case 'evaluate':
      case 'finish':
        return await (await lazy.editTasks()).keep(rooms, plan, order, writing)
      case 'ask': {
        const { text, form, task } = order
        return await write(rooms, plan, { type: 'ask', text, form, task, id: newQuestionId(rooms.random), by }, writing)
      }
      case 'decide':
        return await this.#decide(plan, order, writing)
      case 'answer': {
        const state = await rooms.store.state(plan)
        const isOurs = state?.questions.some(
          ({ id, network, sandbox, budget, agent, outside }) =>
            id === order.id && (network ?? sandbox ?? budget ?? agent ?? outside),
        )
        const refusal =
          state === null || isOurs !== true
            ? null
            : await (await lazy.machineAnswer()).keepForMachine(rooms, this.caller, state, order)
        if (refusal !== null) return { ok: false, refusal }
        return await write(rooms, plan, { ...order, by }, writing)
      }
      case 'raise': {
        const refusal = (await lazy.machineAnswer()).refuseProgram(rooms.environment, this.caller, 'add to a budget')
        return refusal === null ? await write(rooms, plan, { ...order, by }, writing) : { ok: false, refusal }
      }
      case 'resume':
      case 'retry': {
        const state = await rooms.store.state(plan)
        const anew = await (order.type === 'resume' ? policyOnResume : policyAnew)(rooms, state)
        if (!anew.ok) return anew
        const { policy } = anew
        return await write(
          rooms,
          plan,
          order.type === 'resume' ? { ...order, ...policy } : { ...order, by, ...policy },
          writing,
        )
      }
      case 'skip':
        return await write(rooms, plan, { ...order, by }, writing)
      case 'judge':
      case 'propose':
      case 'assess':
      case 'append': {
        const { replan } = await lazy.proposals()
        return await replan(rooms, plan, order, writing, command => write(rooms, plan, command, writing))
      }
      case 'review': {
        await this.#tend(plan)
        const decisions = order.decisions.map(each => ({ ...each, ...sightOf(each), type: 'decide' as const, by }))
        return await write(rooms, plan, { type: 'review', decisions }, writing)
      }
      case 'pause':
        return await write(rooms, plan, order.force === true ? { ...order, halt: false } : order, writing)
      default:
        return await write(rooms, plan, order, writing)
    }
  }

  ask<T extends QueryType>(query: QueryOf<T>): Promise<AnswerOf<T>> {
    const { caller } = this
    const denial = denyWithout(caller, QUERY_RIGHTS[query.type] ?? UNKNOWN)
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

  /** For everybody who uses the store. */
  async close(): Promise<void> {
    requireRight(this.caller, 'administer')
    await this.#rooms.store.close()
  }

  /** Gates that nobody has made ready, or that ran out while nobody looked, are seen to first. */
  async #tend(plan: PlanId): Promise<void> {
    const state = await this.#rooms.store.state(plan)
    if (state !== null && hasDueAlarm(state, this.#rooms.clock.now()))
      await (await lazy.dueQuestions()).raiseDueQuestions(this.#rooms, plan)
  }

  async #heartbeat({ plan, name }: Pick<Found, 'plan' | 'name'>, order: OrderOf<'heartbeat'>): Promise<Submitted> {
    const claim = (await this.#rooms.store.state(plan))?.tasks.get(order.task)?.claim
    const own = claim?.by === this.caller.actor ? claim.token : undefined
    const token = order.token ?? own
    if (token === undefined) return { ok: false, refusal: claimNotHeld(order.task) }
    return await heartbeat(this.#rooms, plan, name, { ...order, token })
  }

  async #decide(plan: PlanId, { edits, ...order }: OrderOf<'decide'>, writing: Writing): Promise<Submitted> {
    await this.#tend(plan)
    const command = { ...order, ...sightOf(order), by: writing.actor as string }
    if (edits === undefined) return await write(this.#rooms, plan, command, writing)
    const state = await this.#rooms.store.state(plan)
    if (state === null) return noPlan(plan)
    const made = await (await lazy.gateChecks()).withEdits(roomsOf(this.#rooms, state), state, order.task, edits)
    if (!made.ok) return made
    // Agreed to as the plan stands now: whoever moves it meanwhile makes it something else.
    return await write(
      this.#rooms,
      plan,
      { ...command, edits: { ...made.edits, writer: writerOf(writing) } },
      { ...writing, expectedVersion: writing.expectedVersion ?? made.version },
    )
  }

  async #checkpoint(plan: PlanId, order: OrderOf<'checkpoint'>, writing: Writing): Promise<Submitted> {
    const { store, clock } = this.#rooms
    const state = await store.state(plan)
    if (state === null) return noPlan(plan)
    const made = checkpointName(state.definition.name as string as TaskName, clock.now())
    const name = (order.name ?? made) as CheckpointName
    if (order.name !== undefined) {
      const { refuseName } = await lazy.checkpoints()
      const refusal = await refuseName(this.#rooms, state, name)
      if (refusal !== null) return { ok: false, refusal }
    }
    const standing = await standingNow(roomsOf(this.#rooms, state), state)
    return await write(this.#rooms, plan, { type: 'checkpoint', name, standing }, writing)
  }

  /** Worked out from the journal as it is; when the plan moves meanwhile, worked out again. */
  async #rollback(
    plan: PlanId,
    name: string,
    kind: 'rollback' | 'undo',
    order: RollbackAsk,
    writing: Writing,
  ): Promise<Submitted> {
    const { workOut, objection } = await lazy.rollbackPreview()
    // What an agent that is gone left behind is known from then on as its work.
    await sweepClaims(this.#rooms, plan)
    for (let tries = 1; ; tries++) {
      const state = await this.#rooms.store.state(plan)
      if (state === null) return noPlan(plan)
      const worked = await workOut(roomsOf(this.#rooms, state), state, kind, order)
      if (!worked.ok) return worked
      const refusal = objection(worked, name)
      if (refusal !== null) return { ok: false, refusal }
      const id = Buffer.from(this.#rooms.random(16)).toString('base64url')
      const command = { ...worked.command, id, at: this.#rooms.clock.now() }
      const updated = await write(this.#rooms, plan, command, {
        ...writing,
        // What it means was worked out for this version, and counts for no other.
        expectedVersion: writing.expectedVersion ?? worked.version,
      })
      const hasMoved = !updated.ok && updated.refusal.code === 'conflict' && writing.expectedVersion === undefined
      if (!hasMoved || tries >= ROLLBACK_TRIES_MAX) return updated
    }
  }
}

/** Whoever approves and names no hash of what they were shown has approved it unseen. */
const sightOf = ({ verdict, hash, unseen }: Pick<Decide, 'verdict' | 'hash' | 'unseen'>): { readonly unseen?: true } =>
  unseen === true || (hash === undefined && (verdict === 'approved' || verdict === 'chosen')) ? { unseen: true } : {}
