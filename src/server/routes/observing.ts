// Looking at many plans at once: numbers for Prometheus, what steps took and used, and where words are found.

import { searchPage, searchQuery, stepsPage, stepsQuery } from '../../format/wire/observing.ts'
import type { ReadBy } from '../../format/wire/wire.ts'
import { given } from '../given.ts'
import { findPlan, isInScope } from '../look-up.ts'
import { isProblem, problem } from '../problem.ts'
import { ok, route } from '../route.ts'

export const observingRoutes = [
  route({
    method: 'GET',
    path: '/metrics',
    right: 'read',
    noun: 'observing',
    about: 'Numbers of this process in the text format of Prometheus.',
    answers: { 200: { about: 'the numbers, as text', type: 'text/plain' } },
    handle: async ({ rooms, who }) =>
      who.scope === null
        ? { status: 200, raw: await rooms.meter.text() }
        : outOfScope('the numbers are about all plans'),
  }),
  route<ReadBy<typeof stepsQuery>>({
    method: 'GET',
    path: '/steps',
    right: 'read',
    noun: 'observing',
    about: 'What steps took, tried and used, by plan, agent, capability, kind or time.',
    query: stepsQuery,
    answers: { 200: { about: 'one row a group', body: stepsPage } },
    handle: async call => {
      const { plan_id, agent_id, ...asked } = call.query
      if (plan_id === undefined && call.who.scope !== null) return outOfScope('say of which plan: plan_id')
      const found = plan_id === undefined ? null : await findPlan(call, plan_id)
      if (found !== null && isProblem(found)) return found
      const page = await call.rooms.engine.ask({
        type: 'steps',
        ...given(asked),
        ...(found === null ? {} : { plan: found.plan }),
        ...(agent_id === undefined ? {} : { agent: agent_id }),
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
    noun: 'observing',
    about: 'Plans, tasks and output in which words are found.',
    query: searchQuery,
    answers: { 200: { about: 'plans first, then tasks, then output; each newest first', body: searchPage } },
    handle: async call => {
      const { q: text, plan_id, ...asked } = call.query
      const found = plan_id === undefined ? null : await findPlan(call, plan_id)
      if (found !== null && isProblem(found)) return found
      const page = await call.rooms.engine.ask({
        type: 'search',
        text,
        ...given(asked),
        ...(found === null ? {} : { plan: found.plan }),
      })
      const seen = await Promise.all(page.items.map(hit => isInScope(call, hit.plan)))
      const items = page.items
        .filter((_, at) => seen[at])
        .map(({ plan, name, at, ...hit }) => ({
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
