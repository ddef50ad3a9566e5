// What planners add to the service: goals, and drafting a plan again, before it is started or after a failure.

import { defined, type Json } from '../../../domain/json.ts'
import { isEmpty } from '../../../domain/revisions/semantic-diff.ts'
import { replanBody } from '../../../format/wire/people.ts'
import { redraftBody } from '../../../format/wire/revisions.ts'
import { proposalMade } from '../../../operations/revise-plan.ts'
import { inTokenWords } from '../../../server/auth/denial-text.ts'
import { isProblem, type Problem, refused } from '../../../server/problem.ts'
import { type Answer, created, ok, route, under } from '../../../server/route.ts'
import { proposedBody } from '../../../server/routes/inbox.ts'
import {
  type Accepted,
  type Asking,
  gone,
  order,
  planRoute,
  withNewer,
  withPlan,
} from '../../../server/submit-order.ts'
import { onWire } from '../../../server/wire-names.ts'
import { redraftPlan } from '../goals/redraft-plan.ts'
import { replanGoal } from '../goals/replan-goal.ts'
import { goalRoutes } from './goal-routes.ts'
import { proposeFor } from './propose-plan.ts'

const replanRoutes = [
  route({
    method: 'POST',
    path: '/plans/:plan/replan',
    right: 'operate',
    about:
      'Drafts again what is left of a plan under way, after a failure or on request, and proposes it. What was done stays; nothing changes before somebody accepts it.',
    body: replanBody,
    answers: { 201: { about: 'it is proposed', body: 'Replanned', tag: true } },
    handle: async call =>
      await withPlan(call, async ({ plan }) => {
        const { reason: why = '', budget, look, ...named } = call.body
        const asked = { plan, replan: call.body } as Json
        const before = call.once === undefined ? null : await call.engine.answered(call.once, asked)
        if (before !== null && !before.ok) return refused(before.refusal, { plan })
        if (before !== null) return await replannedAgain(call, before)
        const wanted = { plan, why, choice: defined(named) }
        const found = await replanGoal<Problem>(call.engine, wanted, async ({ goal, choice, ...earlier }) => {
          const proposed = await proposeFor(call, goal, { ...choice, budget, look }, earlier)
          return isProblem(proposed) ? { problem: proposed } : proposed.proposal
        })
        if (found.status === 'failed') return found.problem
        if (found.status === 'refused') return refused(inTokenWords(call.who, found.refusal), { plan })
        const { current, revision, rationale, unfollowed } = found.replanned
        const { definition } = revision
        const what = { type: 'propose', definition, rationale, expectedRevision: current.revision } as const
        const done = await order(call, plan, what, asked)
        if (isProblem(done)) return await withNewer(call, plan, done)
        const { body, at } = await proposedBody(call, done, revision)
        const left = unfollowed.map(({ comment: { task, text }, why }) => ({ task, text, why }))
        return created({ ...body, rationale, unfollowed: left }, at, body.version)
      }),
  }),
]

const redraftRoutes = [
  planRoute({
    method: 'POST',
    path: '/plans/:plan/redraft',
    right: 'operate',
    about:
      'Drafts a draft again, by what people say about it, and tells what would be different. Nothing is written: keep its document as the next revision.',
    body: redraftBody,
    answers: { 200: { about: 'the next draft, and how it differs', body: 'Redraft' } },
    handle: async (call, { plan, name }) => {
      const { comments, budget, ...choice } = call.body
      const remarks = comments.map(({ task = null, text, field, line }) => ({
        task,
        text,
        ...(field === undefined && line === undefined ? {} : { place: defined({ field, line }) }),
      }))
      const asked = { plan, newComments: remarks, choice: defined(choice) }
      const drafted = await redraftPlan(call.engine, asked, async ({ goal, choice, ...earlier }) => {
        const proposed = await proposeFor(call, goal, { ...choice, budget }, earlier)
        return isProblem(proposed) ? { problem: proposed } : proposed.proposal
      })
      switch (drafted.status) {
        case 'failed':
          return drafted.problem
        case 'refused':
          return refused(drafted.refusal, { plan })
        case 'drafted': {
          const { revision, text, diff, summary, rationale, unfollowed } = drafted.redraft
          return ok({
            plan_id: plan,
            name,
            revision,
            changed: !isEmpty(diff),
            summary,
            diff: onWire(diff),
            document: text,
            rationale,
            unfollowed: unfollowed.map(({ comment: { task, text }, why }) => ({ task, text, why })),
          })
        }
        default:
          return drafted satisfies never
      }
    },
  }),
]

export const ROUTES = [
  ...under('goals', goalRoutes),
  ...under('people', replanRoutes),
  ...under('revisions', redraftRoutes),
]

/** A repeated idempotency key does not draft again. */
async function replannedAgain(call: Asking, done: Accepted): Promise<Answer> {
  const again = await proposalMade(call.engine, done)
  if (again === null) return gone()
  const { body, at } = await proposedBody(call, done, again)
  return created({ ...body, rationale: again.rationale, unfollowed: [] }, at, body.version)
}
