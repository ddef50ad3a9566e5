// Orders about external tasks: claim, heartbeat, report. Files are compared around the work as for our own attempts.

import type { Actor, PlanId } from '../../domain/id.ts'
import { CLAIM_LEASE_DEFAULT_MS, CLAIM_LEASE_MAX_MS, CLOCK_BACK_MS } from '../../domain/limits.ts'
import { reservedBy } from '../../domain/reservation.ts'
import type { Found, Prepared, Result, Wrote } from '../../domain/result.ts'
import { claimNotHeld } from '../../domain/rules/task-orders.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { asksBeforeClaim, claimableTasks, isClaimable } from '../../domain/state/task-index.ts'
import type { Change } from '../../workspace/workspace.ts'
import { besideClaim, type OutsideClaim, outsideClaim } from '../files/outside-claim.ts'
import { withOverwritten } from '../files/overwritten-edits.ts'
import { reserveScope } from '../files/scope-reservation.ts'
import { roomsOf } from '../git/plan-worktree.ts'
import { lazy } from '../lazy-imports.ts'
import { raiseDueQuestions } from '../loop/due-questions.ts'
import type { Order, Submitted } from '../orders.ts'
import type { ScopeWait } from '../queries.ts'
import { captureBeforeClaim, keepChanges, readChanges, writtenSince } from '../rollback/attempt-changes.ts'
import { uncoveredOf } from '../rollback/uncovered-paths.ts'
import type { Rooms } from '../rooms.ts'
import { type Writing, write } from '../write-order.ts'
import { Logbook } from './attempt-log.ts'
import { checkEffects } from './expected-effects.ts'
import { recognise } from './failure-modes.ts'
import { contextAfter, failedCriterion, judgeWork, refutedIn } from './judge-criteria.ts'
import { sweepClaims } from './lapsed-claims.ts'
import { mistyped } from './outputs.ts'
import { checkTools } from './preconditions.ts'
import { resolveAttempt } from './resolve.ts'
import { uploadedOutputs } from './uploads.ts'

/** A report is judged like an attempt of ours: its criteria are checked before it counts. */
async function judgeReport(rooms: Rooms, state: PlanState, order: Extract<Order, { type: 'report' }>): Promise<Result> {
  const { result } = order
  const task = state.tasks.get(order.task)
  if (task === undefined) return result
  if (result.status === 'failed') {
    const { definition, visit } = task
    // The domain refuses a failure mode that the task does not have.
    if (result.mode !== undefined && !definition.failureModes?.some(mode => mode.name === result.mode)) return result
    const attempt = { definition, inputs: definition.inputs ?? {}, visit, attempt: Math.max(1, task.attempt) }
    return await recognise(state, attempt, result)
  }
  const { accept = [], postconditions = [] } = task.definition
  if (accept.length + postconditions.length === 0) return result
  const resolved = await resolveAttempt(state, task)
  if (!resolved.ok)
    return { status: 'failed', failure: { class: 'logic', message: resolved.message, retryable: false } }
  const attempt = resolved.value
  const where = { plan: state.id, task: attempt.task, visit: task.visit, attempt: Math.max(1, task.attempt) }
  const logbook = new Logbook(rooms.store.logs, rooms.clock, where, () => {})
  const verdicts = await judgeWork(task.definition, {
    state,
    attempt,
    context: contextAfter({ outputs: result.outputs ?? {} }, attempt),
    run: rooms.runners.get('run'),
    blobs: rooms.store.blobs,
    tools: checkTools(rooms, state, attempt, (stream, chunk) => logbook.write(stream, chunk)),
    signal: new AbortController().signal,
  })
  logbook.seal()
  if (verdicts === null) throw new Error('bug: nobody stopped the judging of a report')
  const refuted = refutedIn(verdicts)
  if (refuted === undefined) return { ...result, verdicts }
  return await recognise(state, attempt, {
    status: 'failed',
    failure: failedCriterion(refuted, task.definition),
    outputs: result.outputs,
    verdicts,
  })
}

const CLAIM_TRIES_MAX = 20
const OUTSIDE_MAX = 1_000

type OrderOf<T extends Order['type']> = Extract<Order, { readonly type: T }>

export async function claim(
  rooms: Rooms,
  plan: PlanId,
  order: OrderOf<'claim'>,
  writing: Writing,
  tries = 1,
): Promise<Submitted> {
  const { store } = rooms
  await sweepClaims(rooms, plan)
  await raiseDueQuestions(rooms, plan)
  const state = await store.state(plan)
  const chosen = state === null ? undefined : await choose(rooms, state, order, tries)
  if (chosen?.waits !== undefined) {
    const [holder] = chosen.waits.by
    return { ok: false, refusal: reservedBy(chosen.waits.task, holder!) }
  }
  const wanted = chosen?.task
  const found = state === null || wanted === undefined ? null : await foundFor(rooms, state, wanted)
  if (found === 'asked' && tries < CLAIM_TRIES_MAX) return await claim(rooms, plan, order, writing, tries + 1)
  const look =
    state === null || wanted === undefined
      ? {}
      : { ...(await captureBeforeClaim(roomsOf(rooms, state), state, wanted)), ...chosen?.prepared }
  // The files were captured for one task. If another agent claims it first, the next try captures those of another task.
  const isBound = Object.keys(look).length > 0 || (found !== null && found !== 'asked')
  const task = order.task ?? (isBound ? wanted?.definition.id : undefined)
  const updated = await write(
    rooms,
    plan,
    {
      type: 'claim',
      token: newToken(rooms),
      by: writing.actor,
      task,
      ...(order.alone === true ? { alone: true } : {}),
      ...(state !== null && rooms.clock.now() < state.updatedAt - CLOCK_BACK_MS ? { clockBack: true } : {}),
      ...(Object.keys(look).length === 0 ? {} : { prepared: look }),
      ...(found === null || found === 'asked' ? {} : { consent: found }),
    },
    writing,
  )
  const isOther = order.task === undefined && task !== undefined
  const isStale = !isOther && chosen?.prepared?.reserves !== undefined
  if (
    !updated.ok &&
    tries < CLAIM_TRIES_MAX &&
    (isOther || (isStale && (await isStillFree(rooms, plan, wanted, updated, writing))))
  )
    return await claim(rooms, plan, order, writing, tries + 1)
  return await withClaim(rooms, order, updated)
}

/** Was the claim refused only because another plan reserved the files in between? Then it can be tried again. */
async function isStillFree(
  { store }: Rooms,
  plan: PlanId,
  task: TaskState | undefined,
  refused: Extract<Submitted, { readonly ok: false }>,
  { expectedVersion }: Writing,
): Promise<boolean> {
  if (refused.refusal.code !== 'conflict' || task === undefined || expectedVersion !== undefined) return false
  const state = await store.state(plan)
  const now = state?.tasks.get(task.definition.id)
  return state !== null && now !== undefined && isClaimable(state, now)
}

/** The best task. Many agents claim at once and one wins, so each retry picks at random among more tasks of equal priority. */
function nextTask({ random }: Rooms, state: PlanState, tries: number): TaskState | undefined {
  const best = state.claimable.peek(one => isClaimable(state, one))
  if (best === undefined || tries === 1) return best
  const priority = ({ definition }: TaskState): number => definition.priority ?? 0
  const equals = claimableTasks(state).filter(task => priority(task) === priority(best))
  const [low = 0, high = 0] = random(2)
  return equals[(high * 256 + low) % Math.min(equals.length, 2 ** tries)] ?? best
}

async function choose(
  rooms: Rooms,
  state: PlanState,
  order: OrderOf<'claim'>,
  tries: number,
): Promise<{ readonly task?: TaskState; readonly prepared?: Pick<Prepared, 'reserves'>; readonly waits?: ScopeWait }> {
  const first = order.task === undefined ? nextTask(rooms, state, tries) : state.tasks.get(order.task)
  if (first?.definition.action.type !== 'external') return first === undefined ? {} : { task: first }
  const others = order.task === undefined ? claimableTasks(state).filter(task => task !== first) : []
  let waits: ScopeWait | undefined
  for (const task of [first, ...others]) {
    const reserved = await reserveScope(roomsOf(rooms, state), state, task)
    if (reserved.waits === undefined)
      return { task, prepared: reserved.reserves === undefined ? {} : { reserves: reserved.reserves } }
    waits ??= reserved.waits
  }
  return waits === undefined ? {} : { waits }
}

/** What the claimant would do, if that needs approval; null if it does not. 'asked': it differs from what was approved. */
async function foundFor(rooms: Rooms, state: PlanState, task: TaskState): Promise<Found | 'asked' | null> {
  const isDue = task.status === 'ready' && (task.retryAt ?? 0) <= rooms.clock.now()
  if (task.consent === null || !isDue || !asksBeforeClaim(state, task)) return null
  const { findConsent, isCovered } = await lazy.consent()
  const found = await findConsent(roomsOf(rooms, state), state, task)
  if (isCovered(task, found, rooms.clock.now())) return found
  const prepared = { task: task.definition.id, visit: task.visit, prepared: { consent: found } }
  const turn = { type: 'turn', start: false, prepared: [prepared] } as const
  await rooms.store.update(state.id, turn, { actor: ENGINE, expectedVersion: state.version })
  return 'asked'
}

const ENGINE = 'engine' as Actor

/** Adds the claim to the answer and renews its lease; also for a repeated request under the same idempotency key. */
export async function withClaim(rooms: Rooms, order: OrderOf<'claim'>, made: Submitted): Promise<Submitted> {
  const started = made.ok ? made.events.find(event => event.type === 'attempt.started') : undefined
  if (!made.ok || started?.claim === undefined) return made
  const { token } = started.claim
  const leaseMs = leaseOf(order.leaseMs)
  await rooms.store.claims.touch(made.plan, started.task, token, leaseMs)
  return { ...made, claim: { task: started.task, token, expiresInMs: leaseMs } }
}

export async function heartbeat(
  rooms: Rooms,
  plan: PlanId,
  name: string,
  order: OrderOf<'heartbeat'> & { readonly token: string },
): Promise<Submitted> {
  const { store } = rooms
  const state = await store.state(plan)
  const asked = order.leaseMs === undefined ? undefined : leaseOf(order.leaseMs)
  const leaseMs = await store.claims.touch(plan, order.task, order.token, asked)
  if (leaseMs === null || state === null)
    return {
      ok: false,
      refusal: claimNotHeld(order.task),
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

export async function report(
  rooms: Rooms,
  plan: PlanId,
  { notMine, ...asked }: OrderOf<'report'>,
  writing: Writing,
): Promise<Submitted> {
  const state = await rooms.store.state(plan)
  const task = state?.tasks.get(asked.task)
  const rest = withUploads(asked, task)
  const order = { ...rest, ...(notMine === undefined ? {} : { notMine }) }
  const held = order.token === undefined ? {} : { held: true as const }
  const wrong =
    order.result.status === 'succeeded' && task !== undefined ? mistyped(task.definition, order.result.outputs) : null
  if (wrong !== null) return { ok: false, refusal: wrong }
  // Before the checks run, because they may write files too.
  const beyond =
    state === null || task?.claim == null ? null : await outsideClaim(roomsOf(rooms, state), state, task, notMine)
  if (beyond !== null && beyond.unexplained.length > 0 && order.result.status === 'succeeded') {
    const outside = beyond.unexplained.slice(0, OUTSIDE_MAX).map(({ path }) => path)
    const refused = await write(rooms, plan, { ...rest, ...held, outside, by: writing.actor }, writing)
    return refused.ok ? await stillClaimed(rooms, order, refused) : refused
  }
  const result = state === null ? order.result : await reported(rooms, state, order, beyond)
  const found = state === null || task === undefined ? null : await foundFor(rooms, state, task)
  const consent = found === null || found === 'asked' ? {} : { consent: found }
  const unaccepted = isUnaccepted(order, result) ? { unaccepted: true as const } : {}
  // A reporter without a claim gets one when its report is refused.
  const isFree = unaccepted.unaccepted === true && order.token === undefined && task?.claim === null
  const token = isFree ? { token: newToken(rooms) } : {}
  const command = { ...rest, ...token, ...held, ...consent, ...unaccepted, by: writing.actor, result }
  const done = await write(rooms, plan, command, writing)
  return done.ok && done.events.some(({ type }) => type === 'report.refused')
    ? await stillClaimed(rooms, order, done)
    : done
}

/** A report counts as a heartbeat: the claim that stays is renewed. */
async function stillClaimed(
  rooms: Rooms,
  { task }: OrderOf<'report'>,
  done: Extract<Submitted, { readonly ok: true }>,
): Promise<Submitted> {
  const token = (await rooms.store.state(done.plan))?.tasks.get(task)?.claim?.token
  if (token === undefined) return done
  const expiresInMs = await rooms.store.claims.touch(done.plan, task, token)
  return expiresInMs === null ? done : { ...done, claim: { task, token, expiresInMs } }
}

/** Reported as done, but a criterion failed. A recognised failure mode is settled as the plan says instead. */
function isUnaccepted(order: OrderOf<'report'>, result: Result): boolean {
  if (order.result.status !== 'succeeded' || result.status !== 'failed' || result.mode !== undefined) return false
  return result.verdicts?.some(({ holds }) => holds === false) === true
}

const newToken = (rooms: Rooms): string => Buffer.from(rooms.random(16)).toString('base64url')

async function reported(
  rooms: Rooms,
  state: PlanState,
  order: OrderOf<'report'>,
  beyond: OutsideClaim | null,
): Promise<Result> {
  const task = state.tasks.get(order.task)
  const look = task?.claim == null ? null : task.prepared
  const own = roomsOf(rooms, state)
  const result = await judgeReport(own, state, order)
  if (task === undefined) return result
  const { own: also = [], unstored = [], others = [], unexplained = [] } = beyond ?? {}
  const { wrote: found, ...within } = await writtenSince(own, state, look, task)
  const unsaved = unstored.length === 0 ? within : uncoveredOf([...(within.uncovered?.paths ?? []), ...unstored])
  const seen = await changesWith(own, found, also)
  const wrote = await withOverwritten(own, state, task, look, seen)
  // A failed attempt need not explain the changes outside its scope.
  const beside = besideClaim([...others, ...unexplained], unexplained.length === 0)
  const whole = { ...result, ...unsaved, ...beside, ...(wrote === null ? {} : { wrote }) }
  const checked = await checkEffects(own, state, task, whole)
  if (task.definition.reviews === undefined) return checked
  return await (await lazy.judgedWork()).asReview(own, state, task.definition, checked)
}

/** What was uploaded before is an output of the report. */
function withUploads<T extends Pick<OrderOf<'report'>, 'result'>>(order: T, task: TaskState | undefined): T {
  const uploaded = task === undefined ? {} : uploadedOutputs(task, order.result.outputs)
  if (Object.keys(uploaded).length === 0) return order
  return { ...order, result: { ...order.result, outputs: { ...uploaded, ...order.result.outputs } } }
}

async function changesWith(rooms: Rooms, wrote: Wrote | null, also: readonly Change[]): Promise<Wrote | null> {
  if (wrote === null || also.length === 0) return wrote
  const within = wrote.changes === null ? [] : await readChanges(rooms, wrote.changes)
  const known = new Set(within.map(({ path }) => path))
  const all = [...within, ...also.filter(({ path }) => !known.has(path))]
  return { ...wrote, changes: await keepChanges(rooms, all), paths: all.length }
}

/** Zero, negative and invalid values give the default. */
function leaseOf(ms: number | undefined): number {
  return ms === undefined || !(ms > 0) ? CLAIM_LEASE_DEFAULT_MS : Math.min(ms, CLAIM_LEASE_MAX_MS)
}
