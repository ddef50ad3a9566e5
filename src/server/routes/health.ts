// Health, metrics, and the halt of all plans.

import { defined } from '../../domain/json.ts'
import { haltBody } from '../../format/wire/audit.ts'
import { searchQuery, stepsQuery } from '../../format/wire/health.ts'
import type { ReadBy } from '../../format/wire/wire.ts'
import { findPlan } from '../find-plan.ts'
import { isProblem, problem } from '../problem.ts'
import { type AnyRoute, ok, route } from '../route.ts'
import { onWire } from '../wire-names.ts'

// Queries over many plans: metrics, step statistics, search.

export const observingRoutes = [
  route({
    method: 'GET',
    path: '/metrics',
    right: 'read',
    about: 'Numbers of this process in the text format of Prometheus.',
    answers: { 200: { about: 'the numbers, as text', type: 'text/plain' } },
    handle: async ({ rooms, who }) =>
      who.scope === null
        ? { status: 200, raw: await rooms.meter.text() }
        : outOfScope('the numbers are about all plans'),
  }),
  route({
    method: 'GET',
    path: '/workers',
    right: 'read',
    about: 'Who drives plans, and which plans wait for a worker.',
    answers: { 200: { about: 'workers and queue', body: 'Workers' } },
    handle: async ({ engine, who }) =>
      who.scope === null
        ? ok(onWire(await engine.ask({ type: 'workers' })))
        : outOfScope('the workers are those of all plans'),
  }),
  route<ReadBy<typeof stepsQuery>>({
    method: 'GET',
    path: '/steps',
    right: 'read',
    about: 'What steps took, tried and used, by plan, agent, capability, kind or time.',
    query: stepsQuery,
    answers: { 200: { about: 'one row a group', body: 'StepsPage' } },
    handle: async call => {
      const { plan_id, agent_id, ...asked } = call.query
      if (plan_id === undefined && call.who.scope !== null) return outOfScope('say of which plan: plan_id')
      const found = plan_id === undefined ? null : await findPlan(call, plan_id)
      if (found !== null && isProblem(found)) return found
      const page = await call.engine.ask({
        type: 'steps',
        ...defined(asked),
        ...(found === null ? {} : { plan: found.plan }),
        agent: agent_id,
      })
      const items = (page?.items ?? []).map(({ successRate, durationMs, ...row }) => ({
        ...row,
        success_rate: successRate,
        duration_ms: durationMs,
      }))
      return ok({ items, next: page?.next ?? null, complete: page?.complete ?? true })
    },
  }),
  route<ReadBy<typeof searchQuery>>({
    method: 'GET',
    path: '/search',
    right: 'read',
    about: 'Plans, tasks and output in which words are found.',
    query: searchQuery,
    answers: { 200: { about: 'plans first, then tasks, then output; each newest first', body: 'SearchPage' } },
    handle: async call => {
      const { q: text, plan_id, ...asked } = call.query
      const found = plan_id === undefined ? null : await findPlan(call, plan_id)
      if (found !== null && isProblem(found)) return found
      const page = await call.engine.ask({
        type: 'search',
        text,
        ...defined(asked),
        ...(found === null ? {} : { plan: found.plan }),
      })
      const items = page.items.map(({ plan, name, at, ...hit }) => ({
        ...hit,
        plan_id: plan,
        plan_name: name,
        at: new Date(at).toISOString(),
      }))
      return ok({ items, next: page.next, complete: page.complete })
    },
  }),
]

const outOfScope = (detail: string) =>
  problem(403, 'out-of-scope', detail, { hint: 'this token is for some plans only' })

export const healthRoutes = [
  route({
    method: 'GET',
    path: '/health',
    right: 'nothing',
    about: 'Is the process alive? Answers without looking at anything.',
    answers: { 200: { about: 'it is', body: 'Health' } },
    handle: async () => ok({ status: 'ok' }),
  }),
  route({
    method: 'GET',
    path: '/ready',
    right: 'nothing',
    about: 'Does the store answer, and is the service not about to stop?',
    answers: { 200: { about: 'it is ready', body: 'Readiness' }, 503: { about: 'it is not', body: 'Readiness' } },
    handle: async ({ rooms, engine }) => {
      if (rooms.stopping.aborted) return { status: 503, body: { status: 'stopping' } }
      await engine.ask({ type: 'position' })
      return ok({ status: 'ready' })
    },
  }),
  route({
    method: 'GET',
    path: '/version',
    right: 'read',
    about: 'Which Planfold answers here.',
    answers: { 200: { about: 'its version', body: 'Version' } },
    handle: async ({ rooms }) => ok({ name: 'planfold', version: rooms.version, api: 1 }),
  }),
]

// The kill switch: ends all work of the store; nothing starts until it is lifted.

export const haltRoutes: readonly AnyRoute[] = [
  route({
    method: 'GET',
    path: '/halt',
    right: 'read',
    about: 'Is everything halted, by whom, and why?',
    answers: { 200: { about: 'the current state', body: 'Halt' } },
    handle: async ({ engine }) => {
      const halt = await engine.killSwitch.halted()
      return ok({ halted: halt !== null, halt: onWire(halt) })
    },
  }),
  route({
    method: 'POST',
    path: '/halt',
    once: false,
    right: 'administer',
    about: 'Halts everything: whatever runs is ended, and nothing begins.',
    body: haltBody,
    answers: { 200: { about: 'everything is halted', body: 'HaltDone' } },
    handle: async call => ok(onWire(await call.engine.killSwitch.halt(call.body.reason))),
  }),
  route({
    method: 'DELETE',
    path: '/halt',
    right: 'administer',
    about: 'Lifts the halt; plans stay paused until somebody resumes them.',
    answers: { 200: { about: 'who had halted it; null when nobody had', body: 'HaltLifted' } },
    handle: async call => ok({ lifted: onWire(await call.engine.killSwitch.lift()) }),
  }),
]
