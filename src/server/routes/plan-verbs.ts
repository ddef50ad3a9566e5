// What is done to a plan as a whole, at `/plans/:plan/…` and, as clients of sessions say it, at `/plan/:plan/…`.

import { isPlanName, type PlanName } from '../../domain/id.ts'
import type { Order } from '../../engine/engine.ts'
import { cancelBody, cloneBody, executeBody, executed, pauseBody, verbDone } from '../../format/wire/plan-verbs.ts'
import { sessionPlan } from '../../format/wire/session-plans.ts'
import { archivePlan } from '../archiving.ts'
import { execute } from '../executing.ts'
import { type Asking, gone, movedOf, order, withPlan } from '../ordering.ts'
import { isProblem, unfit } from '../problem.ts'
import { type Answer, type AnyRoute, created, nothing, ok, type Route, route } from '../route.ts'
import { refuseMaking } from '../scope.ts'
import { showSessionPlan } from '../show-session-plan.ts'

/** The same at both addresses. */
export function atBoth<Query, Body>(path: string, one: Omit<Route<Query, Body>, 'path'>): readonly AnyRoute[] {
  return ['/plan/:plan', '/plans/:plan'].map(family => route({ ...one, path: `${family}${path}` }))
}

const noun = 'plans'

export const planVerbRoutes: readonly AnyRoute[] = [
  ...atBoth('/execute', {
    method: 'POST',
    right: 'operate',
    noun,
    about:
      'Starts the plan, or goes on with it, or attaches to it when it is under way. One that failed goes on with what failed; what is done stays done. The service drives it; gates stop it.',
    body: executeBody,
    answers: {
      200: { about: 'it was under way already', body: executed, tag: true },
      202: { about: 'it is under way now', body: executed, tag: true },
    },
    handle: async call =>
      await withPlan(call, async ({ plan }) => {
        const done = await execute(call, plan, call.body.unsafe)
        return isProblem(done) ? done : { status: done.attached ? 200 : 202, body: done, version: done.version }
      }),
  }),
  ...atBoth('/pause', {
    method: 'POST',
    right: 'operate',
    noun,
    about: 'Holds the plan: nothing new begins, and what may be run again is ended.',
    body: pauseBody,
    answers: { 200: { about: 'it is paused', body: verbDone, tag: true } },
    handle: async call => {
      const { reason, force } = call.body
      const said = { ...(reason === undefined ? {} : { reason }), ...(force === true ? { force } : {}) } as const
      return await verb(call, { type: 'pause', ...said }, 'paused')
    },
  }),
  ...atBoth('/resume', {
    method: 'POST',
    right: 'operate',
    noun,
    about: 'Goes on with a paused plan.',
    answers: { 200: { about: 'it goes on', body: verbDone, tag: true } },
    handle: async call => await verb(call, { type: 'resume' }, 'resumed'),
  }),
  ...atBoth('/cancel', {
    method: 'POST',
    right: 'operate',
    noun,
    about: 'Ends the plan for good; what declares how is undone.',
    body: cancelBody,
    answers: { 200: { about: 'it is being cancelled, or is', body: verbDone, tag: true } },
    handle: async call => {
      const { reason, force } = call.body
      const said = { ...(reason === undefined ? {} : { reason }), ...(force === true ? { force } : {}) } as const
      return await verb(call, { type: 'cancel', ...said }, 'cancelled')
    },
  }),
  ...atBoth('/clone', {
    method: 'POST',
    right: 'operate',
    noun,
    about: 'Makes a draft of the same definition, linked to the plan it comes from.',
    body: cloneBody,
    answers: { 201: { about: 'the new plan', body: sessionPlan, tag: true } },
    handle: async call =>
      await withPlan(call, async ({ plan }) => {
        const { engine } = call.rooms
        const { name, description, session_id } = call.body
        const [current, summary] = [
          await engine.ask({ type: 'definition', plan }),
          await engine.ask({ type: 'summary', plan }),
        ]
        if (current === null || summary === null) return gone()
        if (name !== undefined && !isPlanName(name))
          return unfit('body', [{ path: 'name', message: 'cannot be a name', hint: 'use letters, digits and dashes' }])
        const session = session_id ?? summary.session ?? undefined
        const refusal = refuseMaking(call, session)
        if (refusal !== null) return refusal
        const made = await order(call, null, {
          type: 'create',
          definition: {
            ...current.definition,
            ...(name === undefined ? {} : { name: name as PlanName }),
            ...(description === undefined ? {} : { goal: description }),
          },
          origin: plan,
          taken: 'number',
          ...(session === undefined ? {} : { session }),
          ...(summary.goalId === null ? {} : { goal: summary.goalId }),
          ...(summary.agent === null ? {} : { agent: summary.agent }),
        })
        if (isProblem(made)) return made
        const shown = await showSessionPlan(engine, made.plan)
        return shown === null ? gone() : created(shown, `/plans/${made.plan}`, shown.version)
      }),
  }),
  route({
    method: 'GET',
    path: '/plan/:plan',
    right: 'read',
    noun,
    about: 'One plan with its steps, as clients of sessions know it.',
    answers: { 200: { about: 'the plan', body: sessionPlan, tag: true } },
    handle: async call =>
      await withPlan(call, async ({ plan }) => {
        const shown = await showSessionPlan(call.rooms.engine, plan)
        return shown === null ? gone() : ok(shown, shown.version)
      }),
  }),
  route({
    method: 'DELETE',
    path: '/plan/:plan',
    right: 'operate',
    noun,
    about: 'Archives the plan with its tasks; one that is open is cancelled first. Its journal stays.',
    answers: { 204: { about: 'it is archived' } },
    handle: async call =>
      await withPlan(call, async ({ plan }) => {
        const done = await archivePlan(call, plan)
        return done !== null && isProblem(done) ? done : nothing
      }),
  }),
]

async function verb(call: Asking, what: Order, status: 'paused' | 'resumed' | 'cancelled'): Promise<Answer> {
  return await withPlan(call, async ({ plan }) => {
    const done = await order(call, plan, what)
    if (isProblem(done)) return done
    const moved = await movedOf(call, done)
    // What it has begun is ended first, and undone.
    const isUnderWay = status === 'cancelled' && moved.state !== 'cancelled'
    return { status: 200, body: { status: isUnderWay ? 'cancelling' : status, ...moved }, version: moved.version }
  })
}
