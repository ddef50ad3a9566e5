// Submits an order in the caller's name, with their idempotency key and expected version, and converts refusals to problems.

import type { Json } from '../domain/json.ts'
import type { EngineInProcess, Order, SubmitOptions, Submitted } from '../engine/engine.ts'
import type { PlanTarget } from '../operations/find-target.ts'
import type { CallerEngine } from '../operations/run-plan.ts'
import { inTokenWords } from './auth/denial-text.ts'
import { findPlan, findTask } from './find-plan.ts'
import { isProblem, notFound, type Problem, refused } from './problem.ts'
import { type Call, options } from './request.ts'
import { type Answer, type AnyRoute, type Route, route } from './route.ts'

export type Accepted = Extract<Submitted, { readonly ok: true }>
export type Asking = Pick<Call<unknown, unknown>, 'rooms' | 'engine' | 'who' | 'params' | 'once' | 'expectedVersion'>

/** The engine of the request, which words refusals for the token. */
export const engineOf = (
  call: Pick<Call<unknown, unknown>, 'engine' | 'who'>,
): CallerEngine & Pick<EngineInProcess, 'caller' | 'watch'> => ({
  caller: call.engine.caller,
  ask: query => call.engine.ask(query),
  submit: (plan, what, asked) => submit(call, plan, what, asked),
  watch: what => call.engine.watch(what),
})

export const clientSignal = (call: Pick<Call<unknown, unknown>, 'rooms' | 'signal'>): AbortSignal =>
  AbortSignal.any([call.signal(), call.rooms.stopping])

/** The only way from a route to the engine's orders: refusals about rights are worded for tokens. */
export async function submit(
  call: Pick<Call<unknown, unknown>, 'engine' | 'who'>,
  plan: string | null,
  what: Order,
  asked: SubmitOptions = {},
): Promise<Submitted> {
  const done = await call.engine.submit(plan, what, asked)
  return done.ok ? done : { ok: false, refusal: inTokenWords(call.who, done.refusal) }
}

/** `asked`: what the idempotency key covers, if the order is computed from something else. */
export async function order(call: Asking, plan: string | null, what: Order, asked?: Json): Promise<Accepted | Problem> {
  const submitted = await submit(call, plan, what, { ...options(call), ...(asked !== undefined && { asked }) })
  return submitted.ok ? submitted : refused(submitted.refusal, { plan, task: taskOf(what) })
}

const NEWER_MAX = 100

/** Adds the present plan as `current` when another writer was first. */
export async function withNewer({ engine }: Asking, plan: string, given: Problem): Promise<Problem> {
  if (given.problem.type !== 'urn:planfold:problem:conflict') return given
  const summary = await engine.ask({ type: 'summary', plan })
  if (summary === null) return given
  const urgent = { by: engine.caller.actor, from: 0, limit: NEWER_MAX }
  const cards = (await engine.ask({ type: 'board', plan, urgent })) ?? []
  const { revision, version, status: state, progress } = summary
  const tasks = cards.map(({ name, title, status }) => ({ name, title, state: status }))
  const current = { revision, version, state, tasks, more: progress.total - tasks.length }
  return { ...given, problem: { ...given.problem, current } }
}

/** For further orders of the same request: their idempotency keys are derived, because only one order may use the caller's. */
export async function orderAlso(call: Asking, plan: string, what: Order, part: string): Promise<Accepted | Problem> {
  const { once } = call
  const submitted = await submit(call, plan, what, once === undefined ? {} : { once: `${once}/${part}` })
  return submitted.ok ? submitted : refused(submitted.refusal, { plan, task: taskOf(what) })
}

const taskOf = (what: Order): string | undefined => ('task' in what && what.task !== undefined ? what.task : undefined)

export async function answerOf(
  { engine }: Asking,
  { plan, name, version, replayed }: Accepted,
): Promise<{ readonly plan_id: string; readonly name: string; readonly state: string; readonly version: number }> {
  const summary = await engine.ask({ type: 'summary', plan })
  return {
    plan_id: plan,
    name,
    state: summary?.status ?? 'gone',
    version,
    ...(replayed === undefined ? {} : { replayed }),
  }
}

export async function withPlan<C extends Asking>(
  call: C,
  goOn: (found: PlanTarget) => Promise<Answer>,
): Promise<Answer> {
  const found = await findPlan(call, call.params.plan!)
  return isProblem(found) ? found : await goOn(found)
}

type Task = Exclude<Awaited<ReturnType<typeof findTask>>, Problem>

export async function withTask<C extends Asking>(call: C, goOn: (found: Task) => Promise<Answer>): Promise<Answer> {
  const found = await findTask(call, call.params.task!, call.params.plan)
  return isProblem(found) ? found : await goOn(found)
}

interface RouteOf<Query, Body, Found> extends Omit<Route<Query, Body>, 'handle'> {
  handle(call: Call<Query, Body>, found: Found): Promise<Answer>
}

export const planRoute = <Query = undefined, Body = undefined>(one: RouteOf<Query, Body, PlanTarget>): AnyRoute =>
  route<Query, Body>({ ...one, handle: call => withPlan(call, found => one.handle(call, found)) })

export const taskRoute = <Query = undefined, Body = undefined>(one: RouteOf<Query, Body, Task>): AnyRoute =>
  route<Query, Body>({ ...one, handle: call => withTask(call, found => one.handle(call, found)) })

/** For a plan that was purged between look-up and order. */
export const gone = (): Problem => notFound('the plan has gone', 'list them: GET /plans')
