// Forks of a plan, comparison of two runs, and the difference between two checkpoints.

import * as wire from '../../format/wire/forks.ts'
import { isProblem, notFound, refused } from '../problem.ts'
import { type AnyRoute, created, ok } from '../route.ts'
import { answerOf, gone, order, planRoute } from '../submit-order.ts'
import { onWire } from '../wire-names.ts'

export const forkRoutes: readonly AnyRoute[] = [
  planRoute({
    method: 'POST',
    path: '/plans/:plan/fork',
    right: 'operate',
    about: 'Makes a draft that continues from an earlier state of the plan; the plan and its files do not change.',
    body: wire.forkBody,
    answers: { 201: { about: 'the new plan', body: 'Forked', tag: true } },
    handle: async (call, { plan: origin }) => {
      const { from, here, ...more } = call.body
      const made = await order(call, origin, {
        type: 'fork',
        from: String(from),
        ...more,
        ...(here === true ? { here } : {}),
      })
      if (isProblem(made)) return made
      const body = { ...(await answerOf(call, made)), origin, fork: onWire(made.fork ?? null) }
      return created(body, `/plans/${made.plan}`, made.version)
    },
  }),
  planRoute({
    method: 'GET',
    path: '/plans/:plan/compare',
    right: 'read',
    about: 'Compares two runs: their definitions, each task, and their results.',
    query: wire.compareQuery,
    answers: { 200: { about: 'the comparison', body: 'Comparison' } },
    handle: async (call, { plan }) => {
      const other = call.query.with
      const found = await call.engine.ask({ type: 'compare', plan, with: other })
      return found === null ? notFound(`there is no plan '${other}'`, 'list them: GET /plans') : ok(onWire(found))
    },
  }),
  planRoute({
    method: 'GET',
    path: '/plans/:plan/checkpoints/diff',
    right: 'read',
    about: 'Paths that differ between two checkpoints, or between one and now.',
    query: wire.diffQuery,
    answers: { 200: { about: 'the difference', body: 'CheckpointDiff' } },
    handle: async (call, { plan }) => {
      const { from, to } = call.query
      const found = await call.engine.ask({
        type: 'checkpointDiff',
        plan,
        from,
        to,
      })
      if (found === null) return gone()
      if (!found.ok) return refused(found.refusal, { plan })
      const changes = found.changes.map(({ path, before, after }) => ({
        path,
        change: before === null ? 'created' : after === null ? 'deleted' : 'changed',
        before,
        after,
      }))
      return ok({ plan_id: plan, from, to: to ?? null, basis: found.basis, changes, left: found.left })
    },
  }),
]
