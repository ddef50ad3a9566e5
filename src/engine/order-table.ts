// Every order: the right it needs, and what it does. The compiler reports a missing row. The keys are in format/wire/orders.ts.

import type { Decide } from '../domain/command.ts'
import { type CheckpointName, checkpointName, type PlanId, type TaskName } from '../domain/id.ts'
import { keepItems } from '../domain/plan-rules/for-each.ts'
import { claimNotHeld } from '../domain/rules/task-orders.ts'
import { hasDueAlarm } from '../domain/state/alarms.ts'
import type { PlanState } from '../domain/state/state.ts'
import { definitionHash } from '../format/plan/hash.ts'
import { claim, heartbeat, report } from './attempts/claims.ts'
import { releaseClaim, sweepClaims } from './attempts/lapsed-claims.ts'
import { uploadPart } from './attempts/uploads.ts'
import { newQuestionId } from './gates/inbox-id.ts'
import { refuseGroundless, roomsOf } from './git/plan-worktree.ts'
import { lazy } from './lazy-imports.ts'
import type { Orders, OrderType, ReplanningOrder, RevisingOrder, RollbackAsk, Submitted } from './orders.ts'
import { approvedBy, create, keptOthers, policyAnew, policyOnResume, startOf } from './revisions/create-plan.ts'
import type { Caller, Right } from './roles.ts'
import { standingNow } from './rollback/attempt-changes.ts'
import type { Rooms } from './rooms.ts'
import { noPlan, submitted, type Writing, write, writerOf } from './write-order.ts'

const ROLLBACK_TRIES_MAX = 5

export interface Ordering {
  readonly rooms: Rooms
  readonly caller: Caller
  readonly writing: Writing
}
export interface OrderingAbout extends Ordering {
  readonly plan: PlanId
  readonly name: string
}

type Run<T extends OrderType> = (
  given: T extends 'create' ? Ordering : OrderingAbout,
  order: Orders[T],
) => Promise<Submitted>

interface Traits<T extends OrderType> {
  /** True if it starts work, so that it is refused while everything is halted. */
  readonly begins?: (order: Orders[T]) => boolean
  /** It needs the whole definition: a draft whose tasks were added one by one is sealed first. */
  readonly seals?: true
}

interface Row<T extends OrderType> extends Traits<T> {
  readonly right: Right
  readonly run: Run<T>
}

const operate = <T extends OrderType>(run: Run<T>, traits?: Traits<T>): Row<T> => ({ right: 'operate', run, ...traits })
const decide = <T extends OrderType>(run: Run<T>, traits?: Traits<T>): Row<T> => ({ right: 'decide', run, ...traits })

const always = (): boolean => true

const asItIs = ({ rooms, plan, writing }: OrderingAbout, order: Orders['archive' | 'cancel' | 'note']) =>
  write(rooms, plan, order, writing)

const inTheirName = ({ rooms, plan, writing }: OrderingAbout, order: Orders['annotate' | 'raise' | 'skip']) =>
  write(rooms, plan, { ...order, by: writing.actor }, writing)

const edit = async ({ rooms, plan, writing }: OrderingAbout, order: RevisingOrder): Promise<Submitted> =>
  await (await lazy.editTasks()).edit(rooms, plan, order, writing)

const replan = async ({ rooms, plan, writing }: OrderingAbout, order: ReplanningOrder): Promise<Submitted> =>
  await (await lazy.proposals()).replan(rooms, plan, order, writing, command => write(rooms, plan, command, writing))

export const ORDERS: { readonly [T in OrderType]: Row<T> } = {
  create: operate(({ rooms, writing }, order) => create(rooms, order, writing)),
  revise: operate(revise, { begins: ({ goOn }) => goOn !== undefined }),
  start: operate(start, { begins: always, seals: true }),
  pause: operate(({ rooms, plan, writing }, order) =>
    write(rooms, plan, order.force === true ? { ...order, halt: false } : order, writing),
  ),
  resume: operate(
    async ({ rooms, plan, writing }, order) => {
      const anew = await policyOnResume(rooms, await rooms.store.state(plan), writing)
      return anew.ok ? await write(rooms, plan, { ...order, ...anew.policy }, writing) : anew
    },
    { begins: always },
  ),
  cancel: operate(asItIs),
  archive: operate(asItIs),
  claim: operate(({ rooms, plan, writing }, order) => claim(rooms, plan, order, writing), { begins: always }),
  heartbeat: operate(async ({ rooms, caller, plan, name }, order) => {
    const held = (await rooms.store.state(plan))?.tasks.get(order.task)?.claim
    const token = order.token ?? (held?.by === caller.actor ? held.token : undefined)
    if (token === undefined) return { ok: false, refusal: claimNotHeld(order.task) }
    return await heartbeat(rooms, plan, name, { ...order, token })
  }),
  release: operate(({ rooms, plan, writing }, order) => releaseClaim(rooms, plan, order, writing)),
  upload: operate(({ rooms, plan, name, writing }, order) => uploadPart(rooms, plan, name, order, writing)),
  report: operate(({ rooms, plan, writing }, order) => report(rooms, plan, order, writing)),
  ask: operate(
    ({ rooms, plan, writing }, { text, form, task, memory }) => {
      const command = {
        type: 'ask',
        text,
        form,
        task,
        memory,
        id: newQuestionId(rooms.random),
        by: writing.actor,
      } as const
      return write(rooms, plan, command, writing)
    },
    { seals: true },
  ),
  propose: operate(replan, { seals: true }),
  assess: operate(replan, { seals: true }),
  append: operate(replan, { seals: true }),
  add: operate(edit),
  change: operate(edit),
  remove: operate(edit),
  reorder: operate(edit),
  outline: operate(edit),
  annotate: operate(inTheirName),
  evaluate: operate(({ rooms, plan, writing }, order) => {
    const id = Buffer.from(rooms.random(12)).toString('base64url')
    return write(rooms, plan, { ...order, id, by: writing.actor }, writing)
  }),
  finish: operate(
    async ({ rooms, plan, writing }, order) => {
      const state = await rooms.store.state(plan)
      const starting = state?.status === 'draft' ? await startOf(rooms, plan, writing) : null
      if (starting?.ok === false) return starting
      const started = starting === null ? {} : { start: starting.start }
      return await write(rooms, plan, { ...order, by: writing.actor, ...started }, writing)
    },
    { seals: true },
  ),
  retry: operate(
    async ({ rooms, plan, writing }, order) => {
      const anew = await policyAnew(rooms, await rooms.store.state(plan), writing)
      return anew.ok ? await write(rooms, plan, { ...order, by: writing.actor, ...anew.policy }, writing) : anew
    },
    { begins: always },
  ),
  skip: operate(inTheirName, { seals: true }),
  note: operate(asItIs),
  checkpoint: operate(checkpoint, { seals: true }),
  rollback: operate((given, order) => goBack(given, 'rollback', order), { seals: true }),
  undo: operate((given, order) => goBack(given, 'undo', order), { seals: true }),
  restore: operate((given, order) =>
    onState(given, async state =>
      (await lazy.keptFiles()).restoreFiles(roomsOf(given.rooms, state), state, order, given.writing),
    ),
  ),
  fork: operate(
    (given, order) =>
      onState(given, async state => {
        const forking = await (await lazy.forkPlan()).fork(given.rooms, state, order, given.writing)
        const made = forking.ok ? submitted(forking.updated) : forking
        return made.ok && forking.ok ? { ...made, fork: forking.fork } : made
      }),
    { begins: always, seals: true },
  ),
  adopt: operate((given, order) =>
    onState(given, async state => {
      const adopting = await (await lazy.adoptFork()).adopt(given.rooms, state, order, given.writing)
      if (!adopting.ok) return adopting
      const { updated, adopted } = adopting
      const { plan, name } = given
      const done =
        updated === null ? { ok: true as const, plan, name, version: state.version, events: [] } : submitted(updated)
      return done.ok ? { ...done, adopted } : done
    }),
  ),
  decide: decide(decideGate, { seals: true }),
  review: decide(
    async ({ rooms, plan, writing }, order) => {
      await raiseDue(rooms, plan)
      const by: string = writing.actor
      const decisions = order.decisions.map(each => ({ ...each, ...sightOf(each), type: 'decide' as const, by }))
      return await write(rooms, plan, { type: 'review', decisions }, writing)
    },
    { seals: true },
  ),
  answer: decide(async ({ rooms, caller, plan, writing }, order) => {
    const state = await rooms.store.state(plan)
    const isOurs = state?.questions.some(
      ({ id, network, sandbox, budget, agent, outside, memory }) =>
        id === order.id && (network ?? sandbox ?? budget ?? agent ?? outside ?? memory),
    )
    const refusal =
      state === null || isOurs !== true
        ? null
        : await (await lazy.machineAnswer()).keepForMachine(rooms, caller, state, order)
    if (refusal !== null) return { ok: false, refusal }
    return await write(rooms, plan, { ...order, by: writing.actor }, writing)
  }),
  judge: decide(replan, { seals: true }),
  raise: decide(async (given, order) => {
    const { refuseProgram } = await lazy.machineAnswer()
    const refusal = refuseProgram(given.rooms.environment, given.caller, 'add to a budget')
    return refusal === null ? await inTheirName(given, order) : { ok: false, refusal }
  }),
}

/** An order type unknown to this version, sent by an untyped program, needs the right to administer. */
const UNKNOWN = { right: 'administer', run: asItIs } satisfies Row<'note'>

export const rowOf = (type: OrderType): Row<OrderType> => (ORDERS[type] ?? UNKNOWN) as Row<OrderType>

async function onState(
  { rooms, plan, name }: OrderingAbout,
  then: (state: PlanState) => Promise<Submitted>,
): Promise<Submitted> {
  const state = await rooms.store.state(plan)
  return state === null ? noPlan(name) : await then(state)
}

/** Asks questions of gates that were reached, and raises alarms that are due, for a plan without an owner. */
export async function raiseDue(rooms: Rooms, plan: PlanId): Promise<void> {
  const state = await rooms.store.state(plan)
  if (state !== null && hasDueAlarm(state, rooms.clock.now()))
    await (await lazy.dueQuestions()).raiseDueQuestions(rooms, plan)
}

async function start({ rooms, plan, writing }: OrderingAbout, order: Orders['start']): Promise<Submitted> {
  const groundless = await refuseGroundless(rooms, plan)
  if (groundless !== null) return { ok: false, refusal: groundless }
  const starting = await startOf(rooms, plan, writing)
  if (!starting.ok) return starting
  const approves = await approvedBy(rooms, plan, order, writing)
  return await write(rooms, plan, { type: 'start', ...starting.start, ...approves }, writing)
}

async function revise({ rooms, plan, writing }: OrderingAbout, order: Orders['revise']): Promise<Submitted> {
  const state = await rooms.store.state(plan)
  const definition = state === null ? order.definition : keepItems(state.definition, order.definition)
  const anew = await policyAnew(rooms, state, writing, definition)
  if (!anew.ok) return anew
  const stamp = await (await lazy.drift()).stampOf(rooms, plan, 'begun')
  const hash = definitionHash(definition)
  const { written, file, ...rest } = order
  const writer = writerOf(writing, { written, whole: file !== undefined })
  const others = writer !== 'person' || state === null ? {} : keptOthers(state, definition, file ?? [])
  return await write(rooms, plan, { ...rest, definition, hash, writer, ...others, ...stamp, ...anew.policy }, writing)
}

async function decideGate(given: OrderingAbout, { edits, ...order }: Orders['decide']): Promise<Submitted> {
  const { rooms, plan, writing } = given
  await raiseDue(rooms, plan)
  const command = { ...order, ...sightOf(order), by: writing.actor as string }
  if (edits === undefined) return await write(rooms, plan, command, writing)
  return await onState(given, async state => {
    const made = await (await lazy.gateChecks()).withEdits(roomsOf(rooms, state), state, order.task, edits)
    if (!made.ok) return made
    // The approval covers the plan as it is now; a concurrent change must not slip in.
    return await write(
      rooms,
      plan,
      { ...command, edits: { ...made.edits, writer: writerOf(writing) } },
      { ...writing, expectedVersion: writing.expectedVersion ?? made.version },
    )
  })
}

/** An approval without the hash of what was shown is recorded as unseen. */
const sightOf = ({ verdict, hash, unseen }: Pick<Decide, 'verdict' | 'hash' | 'unseen'>): { readonly unseen?: true } =>
  unseen === true || (hash === undefined && (verdict === 'approved' || verdict === 'chosen')) ? { unseen: true } : {}

async function checkpoint(given: OrderingAbout, order: Orders['checkpoint']): Promise<Submitted> {
  return await onState(given, async state => {
    const { rooms, plan, writing } = given
    const made = checkpointName(state.definition.name as string as TaskName, rooms.clock.now())
    const name = (order.name ?? made) as CheckpointName
    if (order.name !== undefined) {
      const refusal = await (await lazy.checkpoints()).refuseName(rooms, state, name)
      if (refusal !== null) return { ok: false, refusal }
    }
    const standing = await standingNow(roomsOf(rooms, state), state)
    return await write(rooms, plan, { type: 'checkpoint', name, standing }, writing)
  })
}

/** Computed from the journal as it is, and again if the plan changes in between. */
async function goBack(
  { rooms, plan, name, writing }: OrderingAbout,
  kind: 'rollback' | 'undo',
  order: RollbackAsk,
): Promise<Submitted> {
  const { workOut, objection } = await lazy.rollbackPreview()
  // Expired claims end first, so that the changes of their agents are known.
  await sweepClaims(rooms, plan)
  for (let tries = 1; ; tries++) {
    const state = await rooms.store.state(plan)
    if (state === null) return noPlan(plan)
    const worked = await workOut(roomsOf(rooms, state), state, kind, order)
    if (!worked.ok) return worked
    const refusal = objection(worked, name)
    if (refusal !== null) return { ok: false, refusal }
    const id = Buffer.from(rooms.random(16)).toString('base64url')
    const command = { ...worked.command, id, at: rooms.clock.now() }
    const updated = await write(rooms, plan, command, {
      ...writing,
      // The preview is valid for this version only.
      expectedVersion: writing.expectedVersion ?? worked.version,
    })
    const hasMoved = !updated.ok && updated.refusal.code === 'conflict' && writing.expectedVersion === undefined
    if (!hasMoved || tries >= ROLLBACK_TRIES_MAX) return updated
  }
}
