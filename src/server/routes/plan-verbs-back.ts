// The places a plan can go back to, and going there.

import { madeCheckpoint, newCheckpoint, rollbackBody, rolledBack } from '../../format/wire/plan-verbs.ts'
import { checkpointList, checkpointPage } from '../../format/wire/session-plans.ts'
import { iso } from '../on-wire.ts'
import { gone, movedOf, order, withPlan } from '../ordering.ts'
import { isProblem, problem } from '../problem.ts'
import { askOf, conflicting, foretell, goBack, showPreview, undecided } from '../rolling-back.ts'
import { type AnyRoute, created, ok, route } from '../route.ts'
import { checkpointsOf } from '../show-executions.ts'
import { stale } from '../stale.ts'
import { atBoth } from './plan-verbs.ts'

const noun = 'going back'

export const goingBackRoutes: readonly AnyRoute[] = [
  ...atBoth('/rollback', {
    method: 'POST',
    right: 'operate',
    noun,
    about:
      'Files, refs and tasks stand as they did at a checkpoint. Where somebody has worked since, nothing is changed until they choose.',
    body: rollbackBody,
    answers: {
      200: { about: 'what would happen, or what happened', body: rolledBack, tag: true },
      202: { about: 'it is under way; whoever drives the plan carries it out', body: rolledBack, tag: true },
    },
    handle: async call =>
      await withPlan(call, async found => {
        const { undo = false, dry_run, wait_seconds: seconds = 0 } = call.body
        const ask = askOf(call.body)
        if (isProblem(ask)) return ask
        const summary = await call.rooms.engine.ask({ type: 'summary', plan: found.plan })
        const old = summary === null ? gone() : stale(call, summary, undefined)
        if (old !== null) return old
        const preview = await foretell(call, found.plan, ask, undo)
        if (isProblem(preview)) return preview
        if (dry_run === true) return ok(showPreview(found, preview, ask))
        const conflicts = undecided(preview, ask)
        if (conflicts.length > 0) return conflicting(conflicts)
        const done = await goBack(call, found.plan, ask, { undo, preview, seconds })
        if (isProblem(done)) return done
        if (done.status === 'rollback_stopped')
          return problem(409, 'conflict', 'the rollback was stopped; no file was changed', {
            hint: 'see what stands in its way, choose, and ask again',
            more: { outcome: done.outcome, plan_id: found.plan },
          })
        return { status: done.status === 'rollback_started' ? 202 : 200, body: done, version: done.version }
      }),
  }),
  route({
    method: 'GET',
    path: '/plan/:plan/checkpoints',
    right: 'read',
    noun,
    about: 'The places the plan can go back to, oldest first, as a bare list.',
    answers: { 200: { about: 'the checkpoints', body: checkpointList } },
    handle: async call =>
      await withPlan(call, async ({ plan }) => {
        const all = await checkpointsOf(call.rooms.engine, plan)
        return all === null ? gone() : ok(all)
      }),
  }),
  route({
    method: 'GET',
    path: '/plans/:plan/checkpoints',
    right: 'read',
    noun,
    about: 'The places the plan can go back to, oldest first.',
    answers: { 200: { about: 'the checkpoints', body: checkpointPage } },
    handle: async call =>
      await withPlan(call, async ({ plan }) => {
        const items = await checkpointsOf(call.rooms.engine, plan)
        return items === null ? gone() : ok({ items, next: null })
      }),
  }),
  ...atBoth('/checkpoints', {
    method: 'POST',
    right: 'operate',
    noun,
    about: 'Takes a checkpoint: all files are stored, and it has a name from then on.',
    body: newCheckpoint,
    answers: { 201: { about: 'the checkpoint', body: madeCheckpoint, tag: true } },
    handle: async call =>
      await withPlan(call, async ({ plan }) => {
        const { name } = call.body
        const done = await order(call, plan, { type: 'checkpoint', ...(name === undefined ? {} : { name }) })
        if (isProblem(done)) return done
        const taken = done.events.find(event => event.type === 'checkpoint.taken')
        if (taken === undefined) throw new Error('bug: a checkpoint was accepted and not taken')
        const [entry] =
          (await call.rooms.engine.ask({ type: 'entries', plan, after: done.version - 1, limit: 1 })) ?? []
        const at = iso(entry?.now ?? call.rooms.now())
        const moved = await movedOf(call, done)
        return created({ id: taken.name, at, ...moved }, `/plans/${plan}/checkpoints`, moved.version)
      }),
  }),
]
