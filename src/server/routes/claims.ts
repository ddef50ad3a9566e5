// Agents at work: claim a task, say that one is still at it, report how it went. At `/tasks/:task/…`, and with the plan before it.

import type { TaskName } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { Failure, Result } from '../../domain/result.ts'
import { unacceptedIn } from '../../domain/views/briefing.ts'
import type { Order, ScopeWait } from '../../engine/engine.ts'
import * as wire from '../../format/wire/claims.ts'
import { claimNext, claimTask } from '../claiming.ts'
import type { FoundTask } from '../look-up.ts'
import { iso } from '../on-wire.ts'
import { type Asking, gone, movedOf, order, withPlan, withTask } from '../ordering.ts'
import { isProblem, type Problem, problem, unfit } from '../problem.ts'
import { readyTasks } from '../ready-tasks.ts'
import { type Answer, type AnyRoute, nothing, ok, type Route, route } from '../route.ts'
import { showTask, showTasks } from '../show-task.ts'

const noun = 'agents'

/** With and without its plan before it. */
export function ofTask<Query, Body>(path: string, one: Omit<Route<Query, Body>, 'path'>): readonly AnyRoute[] {
  return ['/tasks/:task', '/plans/:plan/tasks/:task'].map(family => route({ ...one, path: `${family}${path}` }))
}

export const claimRoutes: readonly AnyRoute[] = [
  route({
    method: 'POST',
    path: '/tasks/claim',
    right: 'operate',
    noun,
    about:
      'Claims the next task that is ready, of one plan or of all, the oldest plan first. The answer says what is to be done.',
    body: wire.claimNextBody,
    answers: { 200: { about: 'it is yours', body: wire.claim, tag: true }, 204: { about: 'nothing is ready' } },
    handle: async call => {
      const { plan_id: plan, session_id: session, agent_id: agent, kinds, lease_seconds: leaseSeconds } = call.body
      const claimed = await claimNext(call, { plan, session, agent, kinds, leaseSeconds })
      if (claimed === null) return nothing
      return isProblem(claimed) ? claimed : ok(claimed, claimed.version)
    },
  }),
  ...ofTask('/claim', {
    method: 'POST',
    right: 'operate',
    noun,
    about: 'Claims this task.',
    body: wire.claimBody,
    answers: { 200: { about: 'it is yours', body: wire.claim, tag: true } },
    handle: async call =>
      await withTask(call, async ({ plan, task }) => {
        const { agent_id: agent, lease_seconds: leaseSeconds } = call.body
        const claimed = await claimTask(call, plan, task, { agent, leaseSeconds })
        return isProblem(claimed) ? claimed : ok(claimed, claimed.version)
      }),
  }),
  ...ofTask('/heartbeat', {
    method: 'POST',
    right: 'operate',
    noun,
    about: 'Keeps a claim from lapsing.',
    body: wire.heartbeatBody,
    answers: { 200: { about: 'it stays yours', body: wire.heartbeat } },
    handle: async call =>
      await withTask(call, async ({ plan, task }) => {
        const { token, lease_seconds: seconds } = call.body
        const lease = seconds === undefined ? {} : { leaseMs: seconds * 1_000 }
        const beaten = await order(call, plan, { type: 'heartbeat', task, token, ...lease })
        if (isProblem(beaten)) return beaten
        const expires = (beaten.claim?.expiresInMs ?? 0) / 1_000
        return ok({ task, token, expires_in_seconds: expires, ...(await movedOf(call, beaten)) })
      }),
  }),
  ...ofTask('/report', {
    method: 'POST',
    right: 'operate',
    noun,
    about: 'Reports how the work on a task went. What was not accepted is an error, though it is recorded.',
    body: wire.reportBody,
    answers: { 200: { about: 'it is recorded', body: wire.taskMoved, tag: true } },
    handle: async call =>
      await withTask(call, async found => {
        const result = resultOf(call.body)
        if (isProblem(result)) return result
        const { token } = call.body
        const said = token === undefined ? {} : { token }
        const done = await order(call, found.plan, { type: 'report', task: found.task, ...said, result })
        if (isProblem(done)) return done
        const unaccepted = unacceptedIn(done.events)
        const answer = await taskMoved(call, found, done)
        if (result.status === 'failed' || unaccepted === null || isProblem(answer)) return answer
        const { kept, failure, verdicts } = unaccepted
        const held = done.claim === undefined ? {} : { expires_in_seconds: done.claim.expiresInMs / 1_000 }
        return problem(422, 'not-accepted', `the report is recorded, and was not accepted: ${failure.message}`, {
          hint: kept
            ? 'the task is still yours: see `verdicts`, mend it, then report again with the same token'
            : 'see `verdicts`; mend it, then claim it again if it is still open',
          more: {
            ...(answer.body as object),
            verdicts,
            claim_kept: kept,
            ...(kept && done.claim !== undefined ? { token: done.claim.token, ...held } : {}),
          },
        })
      }),
  }),
  ...ofTask('/skip', {
    method: 'POST',
    right: 'operate',
    noun,
    about: 'Passes over a task on purpose; whatever needs it goes on.',
    body: wire.skipBody,
    answers: { 200: { about: 'it is skipped', body: wire.taskMoved, tag: true } },
    handle: async call => await moving(call, task => ({ type: 'skip', task, reason: call.body.reason })),
  }),
  ...ofTask('/retry', {
    method: 'POST',
    right: 'operate',
    noun,
    about: 'Tries an ended task again, with everything that needs it.',
    body: wire.retryBody,
    answers: { 200: { about: 'it is open again', body: wire.taskMoved, tag: true } },
    handle: async call => {
      const { reason, repeat } = call.body
      const said = { ...(reason === undefined ? {} : { reason }), ...(repeat === true ? { repeat } : {}) }
      return await moving(call, task => ({ type: 'retry', task, ...said }))
    },
  }),
  route({
    method: 'GET',
    path: '/plans/:plan/next',
    right: 'read',
    noun,
    about: 'What can be worked on now, best first.',
    query: wire.nextQuery,
    answers: { 200: { about: 'the tasks that are ready', body: wire.next, tag: true } },
    handle: async call =>
      await withPlan(call, async ({ plan }) => {
        const ready = await readyTasks(call, plan, call.query.explain === true)
        if (ready === null) return gone()
        const names = ready.records.map(({ card }) => card.name)
        const shown = await showTasks(call, plan, names)
        return shown === null
          ? gone()
          : ok({ items: shown.bodies, explained: ready.explained, held: ready.held.map(heldOnWire) }, shown.version)
      }),
  }),
]

async function moving(call: Asking, what: (task: TaskName) => Order): Promise<Answer> {
  return await withTask(call, async found => {
    const done = await order(call, found.plan, what(found.task))
    return isProblem(done) ? done : await taskMoved(call, found, done)
  })
}

async function taskMoved(call: Asking, { plan, task }: FoundTask, done: Parameters<typeof movedOf>[1]) {
  const shown = await showTask(call, plan, task)
  if (shown === null) return gone()
  const moved = await movedOf(call, done)
  return ok({ task: shown.body, ...moved }, moved.version)
}

/** What was said about the work, as the engine takes it. */
function resultOf({ status, outputs, output_data, outcome, error, mode }: wire.ReportBody): Result | Problem {
  const left = outputs ?? output_data
  const given = left === undefined ? {} : { outputs: left as JsonObject }
  if (status !== 'failed') {
    const strange = error !== undefined ? 'error' : mode !== undefined ? 'mode' : null
    if (strange !== null)
      return unfit('body', [
        { path: strange, message: 'is said of what failed', hint: 'leave it out, or say status: failed' },
      ])
    return { status: 'succeeded', ...given, ...(outcome === undefined ? {} : { outcome }) }
  }
  if (error === undefined || (typeof error === 'string' ? error : error.message).trim() === '')
    return unfit('body', [{ path: 'error', message: 'says nothing', hint: 'say what went wrong' }])
  if (outcome !== undefined)
    return unfit('body', [{ path: 'outcome', message: 'is said of what was done', hint: 'a failure has a `mode`' }])
  return { status: 'failed', failure: failureOf(error), ...given, ...(mode === undefined ? {} : { mode }) }
}

function failureOf(error: NonNullable<wire.ReportBody['error']>): Failure {
  if (typeof error === 'string') return { class: 'logic', message: error, retryable: false }
  const retryable = error.retryable ?? error.class === 'transient'
  return {
    class: error.class ?? (retryable ? 'transient' : 'logic'),
    message: error.message,
    retryable,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    ...(error.code === undefined ? {} : { code: error.code }),
    ...(error.retry_after_seconds === undefined ? {} : { retryAfterMs: error.retry_after_seconds * 1_000 }),
  }
}

const heldOnWire = ({ task, paths, by }: ScopeWait) => ({
  task,
  paths,
  by: by.map(({ visit: _, since, ...holder }) => ({ ...holder, since: iso(since) })),
})
