// The routes of clients that know sessions, plans and steps: a plan as they see it; and, for each route of ours that they call by an older
// path, the same route there.

import { checkpointsOf, executionsOf, gitTracesOf, metricsOf } from '../../../server/plans/show-executions.ts'
import { isProblem } from '../../../server/problem.ts'
import { type AnyRoute, type ListedRoute, nothing, ok } from '../../../server/route.ts'
import { archivePlan } from '../../../server/routes/plans.ts'
import { gone, planRoute } from '../../../server/submit-order.ts'
import { iso, isoOrNull } from '../../../server/wire-names.ts'
import { planWord } from './session-words.ts'
import { descriptionOf, showSessionPlan } from './show-session-plan.ts'

export const planOfSessionRoutes: readonly AnyRoute[] = [
  planRoute({
    method: 'GET',
    path: '/plan/:plan',
    right: 'read',
    about: 'One plan with its steps, as clients of sessions know it.',
    answers: { 200: { about: 'the plan', body: 'SessionPlan', tag: true } },
    handle: async (call, { plan }) => {
      const shown = await showSessionPlan(call.engine, plan)
      return shown === null ? gone() : ok(shown, shown.version)
    },
  }),
  planRoute({
    method: 'DELETE',
    path: '/plan/:plan',
    right: 'operate',
    about: 'Archives the plan with its tasks; one that is open is cancelled first. Its journal stays.',
    answers: { 204: { about: 'it is archived' } },
    handle: async (call, { plan }) => {
      const done = await archivePlan(call, plan)
      return done !== null && isProblem(done) ? done : nothing
    },
  }),
  planRoute({
    path: '/plans/:plan/status',
    method: 'GET',
    right: 'read',
    about: 'Progress of the plan: what is running, what waits for whom, every execution, and metrics.',
    answers: { 200: { about: 'its status', body: 'SessionPlanStatus', tag: true } },
    handle: async (call, { plan }) => {
      const { engine } = call
      const summary = await engine.ask({ type: 'summary', plan })
      if (summary === null) return gone()
      const { name, status, reason, version, progress, running, waiting } = summary
      return ok(
        {
          plan_id: plan,
          name,
          status: planWord(status),
          state: status,
          reason,
          description: descriptionOf(summary),
          created_at: iso(summary.createdAt),
          updated_at: iso(summary.updatedAt),
          started_at: isoOrNull(summary.startedAt),
          completed_at: isoOrNull(summary.endedAt),
          progress: progress.ratio,
          running,
          waiting: waiting.map(({ task, asks, since }) => ({ task, asks: asks.type, since: iso(since) })),
          executions: await executionsOf(engine, plan),
          metrics: await metricsOf(engine, plan, summary),
          version,
        },
        version,
      )
    },
  }),
  planRoute({
    path: '/plans/:plan/full',
    method: 'GET',
    right: 'read',
    about: 'The plan with its steps, executions, metrics, checkpoints, files and git operations, at once.',
    answers: { 200: { about: 'all of it', body: 'FullPlan', tag: true } },
    handle: async (call, { plan }) => {
      const {
        engine,
        rooms: { now },
      } = call
      const [summary, shown] = [await engine.ask({ type: 'summary', plan }), await showSessionPlan(engine, plan)]
      if (summary === null || shown === null) return gone()
      const { startedAt, endedAt } = summary
      const executions = await executionsOf(engine, plan)
      const metrics = await metricsOf(engine, plan, summary)
      const git = await gitTracesOf(engine, plan)
      const modified = (await engine.ask({ type: 'changedFiles', plan })) ?? []
      return ok(
        {
          plan: shown,
          executions,
          metrics,
          checkpoints: (await checkpointsOf(engine, plan)) ?? [],
          stats: {
            total_duration: startedAt === null ? 0 : (endedAt ?? now()) - startedAt,
            success_rate: metrics.success_rate,
            execution_count: executions.length,
          },
          modified_files: modified,
          git_operations: git,
        },
        shown.version,
      )
    },
  }),
  planRoute({
    method: 'GET',
    path: '/plan/:plan/checkpoints',
    right: 'read',
    about: 'The places the plan can go back to, oldest first, as a bare list.',
    answers: { 200: { about: 'the checkpoints', body: 'CheckpointList' } },
    handle: async (call, { plan }) => {
      const all = await checkpointsOf(call.engine, plan)
      return all === null ? gone() : ok(all)
    },
  }),
  planRoute({
    method: 'GET',
    path: '/plan/:plan/git-operations',
    right: 'read',
    about: 'What the plan did to the repository, in order.',
    answers: { 200: { about: 'the operations', body: 'GitOperationList' } },
    handle: async (call, { plan }) => ok(await gitTracesOf(call.engine, plan)),
  }),
]

/** Paths of ours, and what stands in their place for these clients. */
const OLDER: readonly (readonly [string, string])[] = [
  ['/plans/:plan/', '/plan/:plan/'],
  ['/sessions/:session', '/session/:session'],
]
/** What they do with a plan under their own path. */
const PLAN_VERBS = new Set(
  ['execute', 'pause', 'resume', 'cancel', 'clone', 'status', 'analyze', 'full', 'rollback'].concat('POST checkpoints'),
)

/** The same routes under the older paths. */
export function underOlderPaths(routes: readonly ListedRoute[]): readonly ListedRoute[] {
  const taken = new Set(routes.map(({ method, path }) => `${method} ${path}`))
  return routes.flatMap(one => {
    const [ours, theirs] = OLDER.find(([prefix]) => one.path.startsWith(prefix)) ?? []
    if (ours === undefined || theirs === undefined) return []
    const verb = one.path.slice(ours.length)
    if (ours.startsWith('/plans') && !PLAN_VERBS.has(verb) && !PLAN_VERBS.has(`${one.method} ${verb}`)) return []
    const path = theirs + verb
    return taken.has(`${one.method} ${path}`) ? [] : [{ ...one, path }]
  })
}
