// Hands an order to the engine in the caller's name, with their key and the version they saw. A refusal becomes a problem; what
// happened is told the same way everywhere.

import type { Event } from '../domain/event.ts'
import type { PlanId } from '../domain/id.ts'
import { type Refusal, refuse } from '../domain/refusal.ts'
import type { Order, SubmitOptions, Submitted } from '../engine/engine.ts'
import { RIGHTS } from '../engine/permissions.ts'
import type { Who } from './auth/caller.ts'
import { gateObjection, keepGates, withoutApprovals } from './auth/gate-permissions.ts'
import { type FoundPlan, findPlan, findTask } from './find-plan.ts'
import { isProblem, notFound, type Problem, refused } from './problem.ts'
import { type Call, options } from './request.ts'
import type { Answer } from './route.ts'
import type { ServerRooms } from './service.ts'

// What to do next, in the words of the service: refusals of the engine speak of commands, and whoever asked over HTTP has none.

/** What is said with more words stands first. `PLAN` is the plan that the hint names, else the one it is about; `TASK` the task. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/planfold next(?: [^\s`]+)? --explain/, 'GET /plans/PLAN/next?explain=true'],
  [/planfold checkpoints list(?: [^\s`]+)?/, 'GET /plans/PLAN/checkpoints'],
  [/planfold halt --lift/, 'DELETE /halt'],
  [/planfold log(?: [^\s`]+)*? --output/, 'GET /plans/PLAN/logs'],
  [/planfold log(?: [^\s`]+)?/, 'GET /plans/PLAN/entries'],
  [/planfold proposals(?: [^\s`]+)?/, 'GET /plans/PLAN/proposals'],
  [/planfold status(?: [^\s`]+)?/, 'GET /plans/PLAN/status'],
  [/planfold show(?: [^\s`]+)?/, 'GET /plans/PLAN/board'],
  [/planfold list/, 'GET /plans'],
  [/`--keep-done`/, '{"unsafe": "keep"}'],
  [/`--repeat`/, '{"unsafe": "repeat"}'],
  [/planfold inbox/, 'GET /inbox'],
  [/planfold revise(?: [^`]+)?/, 'POST /plans/PLAN/revisions'],
  [/planfold retry [^`]*--repeat/, 'POST /plans/PLAN/tasks/TASK/retry with {"repeat": true}'],
  [/planfold (approve|answer|choose)(?: [^`]+)?/, 'POST /plans/PLAN/gates/TASK/$1'],
  [/planfold (retry|skip)(?: (?<plan>[\w.-]+) (?<task>[^\s`]+))?(?: [^`]+)?/, 'POST /plans/PLAN/tasks/TASK/$1'],
  [/planfold (resume|pause|cancel|rollback)(?: (?<plan>\w[\w.-]*))?(?: [^`]+)?/, 'POST /plans/PLAN/$1'],
  [/planfold run(?: [^`]+)?/, 'POST /plans/PLAN/execute'],
]

const ALLOWED: { readonly [word: string]: string } = {
  run: 'execute',
  'keep-done': 'keep',
  'prune --archive': 'delete',
  'cancel --force': 'cancel',
}

/** What whoever asks for work is told while everything is halted: to lift that is for people, and for those who may. */
export const STOP_AND_WAIT = 'stop working; somebody who may will lift it, and then you can go on'

/** A hint that only helps somebody who may lift a halt is not for anybody else. */
export function forTheirRole({ role }: Pick<Who, 'role'>, refusal: Refusal): Refusal {
  if (RIGHTS[role].has('administer') || refusal.hint?.includes('planfold halt --lift') !== true) return refusal
  return { ...refusal, hint: STOP_AND_WAIT }
}

export function inOurWords(refusal: Refusal, plan: string | null, task?: string): Refusal {
  const { hint, allowed } = refusal
  const words = allowed?.map(word => ALLOWED[word] ?? word)
  return {
    ...refusal,
    ...(hint === undefined ? {} : { hint: hintHere(hint, { plan: plan ?? '…', task: task ?? '…' }, allowed, words) }),
    ...(words === undefined ? {} : { allowed: words }),
  }
}

function hintHere(
  hint: string,
  about: { readonly plan: string; readonly task: string },
  allowed: readonly string[] | undefined,
  words: readonly string[] | undefined,
): string {
  // What is allowed is told as a list there, too.
  const [theirs, ours] = [allowed?.join(', '), words?.join(', ')]
  if (theirs !== undefined && ours !== undefined && theirs !== ours && hint.includes(theirs))
    return hint.replace(theirs, ours)
  // A hint may name several commands, also the same one twice. What was put in place of one is no command, so none is turned twice.
  return WORDS.reduce((text, [pattern, route]) => {
    const turn = (...found: unknown[]): string => {
      const groups = found.at(-1)
      const named = typeof groups === 'object' ? (groups as Partial<typeof about>) : {}
      const { plan, task } = { plan: named.plan ?? about.plan, task: named.task ?? about.task }
      const path = encodeURIComponent(task).replace('%E2%80%A6', '…')
      return route
        .replace('$1', String(found[1]))
        .replace('PLAN', () => plan)
        .replace('TASK', () => path)
    }
    return text.replace(new RegExp(pattern, 'g'), turn)
  }, hint)
}

// Waits for something to happen in a plan, by following its journal, for as long as a request may.

/** Behind this entry; null when it did not happen in time, or nobody waits any more. */
export async function waitFor<T>(
  { engine, stopping }: Pick<ServerRooms, 'engine' | 'stopping'>,
  { plan, version }: { readonly plan: PlanId; readonly version: number },
  found: (event: Event) => T | null,
  { ms, signal }: { readonly ms: number; readonly signal: AbortSignal },
): Promise<T | null> {
  const [entry] = (await engine.ask({ type: 'entries', plan, after: version - 1, limit: 1 })) ?? []
  if (entry === undefined || ms <= 0) return null
  const over = new AbortController()
  const until = AbortSignal.any([signal, stopping, AbortSignal.timeout(ms), over.signal])
  try {
    for await (const { events } of engine.watch({ plan, after: entry.position, signal: until })) {
      for (const event of events) {
        const what = found(event)
        if (what !== null) return what
      }
    }
    return null
  } finally {
    over.abort()
  }
}

export type Accepted = Extract<Submitted, { readonly ok: true }>
export type Asking = Pick<Call<unknown, unknown>, 'rooms' | 'who' | 'params' | 'once' | 'expectedVersion'>

const TRIES_MAX = 20

/** The one way of an order from a route to the engine. */
export async function submit(
  call: Pick<Call<unknown, unknown>, 'rooms' | 'who'>,
  plan: string | null,
  what: Order,
  asked: SubmitOptions = {},
): Promise<Submitted> {
  const done = await submitKept(call, plan, what, asked)
  return done.ok ? done : { ok: false, refusal: forTheirRole(call.who, done.refusal) }
}

/** Where a gate is in question, it holds for the plan as it was looked at. */
async function submitKept(
  call: Pick<Call<unknown, unknown>, 'rooms' | 'who'>,
  plan: string | null,
  what: Order,
  asked: SubmitOptions,
): Promise<Submitted> {
  const { rooms, who } = call
  const order = withoutApprovals(who, what)
  const objection = gateObjection(who, order)
  if (objection !== null) return await rooms.engine.submit(plan, order, { ...asked, objection })
  for (let tries = 1, seen = -1; ; tries++) {
    const kept = await keepGates(call, plan, order)
    if (kept === null) return await rooms.engine.submit(plan, order, asked)
    if ('refusal' in kept) return { ok: false, refusal: kept.refusal }
    const { version } = kept
    const { expectedVersion = version } = asked
    if (expectedVersion > version) return { ok: false, refusal: notThere(version, expectedVersion) }
    const done = await rooms.engine.submit(plan, order, { ...asked, expectedVersion })
    const isOvertaken = !done.ok && done.refusal.code === 'conflict' && asked.expectedVersion === undefined
    if (!isOvertaken || version === seen || tries >= TRIES_MAX) return done
    seen = version
  }
}

const notThere = (version: number, expected: number) =>
  refuse('conflict', `the plan is at version ${version}, not ${expected}`, 'read it again, then decide anew')

export async function order(call: Asking, plan: string | null, what: Order): Promise<Accepted | Problem> {
  const submitted = await submit(call, plan, what, options(call))
  return submitted.ok ? submitted : refused(inOurWords(submitted.refusal, plan, taskOf(what)))
}

/** Of several orders that one request makes, only one may have its key; the others have keys made from it. */
export async function orderAlso(call: Asking, plan: string, what: Order, part: string): Promise<Accepted | Problem> {
  const { once } = call
  const submitted = await submit(call, plan, what, once === undefined ? {} : { once: `${once}/${part}` })
  return submitted.ok ? submitted : refused(inOurWords(submitted.refusal, plan, taskOf(what)))
}

const taskOf = (what: Order): string | undefined => ('task' in what && what.task !== undefined ? what.task : undefined)

/** What every order tells: the plan, and how it stands now. */
export async function movedOf(
  { rooms }: Asking,
  { plan, name, version, replayed }: Accepted,
): Promise<{ readonly plan_id: string; readonly name: string; readonly state: string; readonly version: number }> {
  const summary = await rooms.engine.ask({ type: 'summary', plan })
  return {
    plan_id: plan,
    name,
    state: summary?.status ?? 'gone',
    version,
    ...(replayed === undefined ? {} : { replayed }),
  }
}

/** The plan of the path; goes on with it, or answers that there is none. */
export async function withPlan<C extends Asking>(
  call: C,
  goOn: (found: FoundPlan) => Promise<Answer>,
): Promise<Answer> {
  const found = await findPlan(call, call.params.plan!)
  return isProblem(found) ? found : await goOn(found)
}

/** The task of the path, with or without its plan before it. */
export async function withTask<C extends Asking>(
  call: C,
  goOn: (found: Exclude<Awaited<ReturnType<typeof findTask>>, Problem>) => Promise<Answer>,
): Promise<Answer> {
  const found = await findTask(call, call.params.task!, call.params.plan)
  return isProblem(found) ? found : await goOn(found)
}

/** A plan that was there a moment ago and is not any more: somebody purged it. */
export const gone = (): Problem => notFound('the plan has gone', 'list them: GET /plans')
