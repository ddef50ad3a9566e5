// What earlier plans teach the next ones, over HTTP: people's decisions, and lessons.

import * as wire from '../../format/wire/views.ts'
import { decisionsIn, latestDecisions } from '../../operations/memory/decisions.ts'
import { type AnyRoute, ok, route } from '../route.ts'
import { gone } from '../submit-order.ts'
import { iso } from '../wire-names.ts'

export const lessonRoutes: readonly AnyRoute[] = [
  route({
    method: 'GET',
    path: '/memory/decisions',
    right: 'read',
    about: 'What people decided at gates, about questions and about proposals, newest first; of one plan or of all.',
    query: wire.decisionsQuery,
    answers: { 200: { about: 'the decisions', body: 'DecisionList' } },
    handle: async ({ engine, query: { plan, limit } }) => {
      const found = plan === undefined ? null : await engine.ask({ type: 'find', reference: plan })
      if (plan !== undefined && found === null) return gone()
      const items =
        found === null
          ? await latestDecisions(engine, limit)
          : (await decisionsIn(engine, { id: found.plan, name: found.name })).slice(0, limit)
      return ok({ items: items.map(({ plan: plan_id, at, ...one }) => ({ plan_id, at: iso(at), ...one })), next: null })
    },
  }),
  route({
    method: 'GET',
    path: '/memory/lessons',
    right: 'read',
    about: 'What was said about work that has ended since, and whether it still holds; newest first.',
    query: wire.lessonsQuery,
    answers: { 200: { about: 'the lessons', body: 'LessonList' } },
    handle: async ({ engine, query }) => {
      const items = await engine.ask({ type: 'lessons', ...query })
      return ok({ items: items.map(({ plan: plan_id, at, ...one }) => ({ plan_id, at: iso(at), ...one })), next: null })
    },
  }),
]
