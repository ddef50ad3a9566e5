// A plan looked at as a whole: how it stands with its metrics, what can be known before it runs, what it did to the repository, and
// all of it at once.

import { planWord } from '../../domain/views/session-words.ts'
import { analysis, fullPlan, gitOperationList, gitOperationPage, planStatus } from '../../format/wire/session-plans.ts'
import { iso, isoOrNull } from '../on-wire.ts'
import { gone, withPlan } from '../ordering.ts'
import { isProblem } from '../problem.ts'
import { type AnyRoute, ok, route } from '../route.ts'
import { checkpointsOf, executionsOf, metricsOf, tracesOf } from '../show-executions.ts'
import { descriptionOf, showSessionPlan } from '../show-session-plan.ts'
import { atBoth } from './plan-verbs.ts'

const noun = 'plans'

export const lookingRoutes: readonly AnyRoute[] = [
  ...atBoth('/status', {
    method: 'GET',
    right: 'read',
    noun,
    about: 'How the plan stands: what runs, what waits for whom, every execution, and metrics.',
    answers: { 200: { about: 'its status', body: planStatus, tag: true } },
    handle: async call =>
      await withPlan(call, async ({ plan }) => {
        const { engine } = call.rooms
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
      }),
  }),
  ...atBoth('/analyze', {
    method: 'GET',
    right: 'read',
    noun,
    about: 'What can be known without running it: waves, critical path, speed-up, and what is wrong or risky.',
    answers: { 200: { about: 'the analysis', body: analysis } },
    handle: async call =>
      await withPlan(call, async ({ plan }) => {
        const current = await call.rooms.engine.ask({ type: 'definition', plan })
        if (current === null) return gone()
        const { documents, now } = call.rooms
        const found = await documents.runOn('analyze', { plan, definition: current.definition, now: now() })
        return isProblem(found) ? found : { status: 200, raw: { type: found.type, data: found.text } }
      }),
  }),
  ...(['/plan/:plan/git-operations', '/plans/:plan/git-operations'] as const).map(path =>
    route({
      method: 'GET',
      path,
      right: 'read',
      noun,
      about: 'What the plan did to the repository, in order.',
      answers: {
        200: { about: 'the operations', body: path.startsWith('/plans') ? gitOperationPage : gitOperationList },
      },
      handle: async call =>
        await withPlan(call, async ({ plan }) => {
          const { git } = await tracesOf(call.rooms.engine, plan)
          return ok(path.startsWith('/plans') ? { items: git, next: null } : git)
        }),
    }),
  ),
  ...atBoth('/full', {
    method: 'GET',
    right: 'read',
    noun,
    about: 'The plan with its steps, executions, metrics, checkpoints, files and git operations, at once.',
    answers: { 200: { about: 'all of it', body: fullPlan, tag: true } },
    handle: async call =>
      await withPlan(call, async ({ plan }) => {
        const { engine, now } = call.rooms
        const [summary, shown] = [await engine.ask({ type: 'summary', plan }), await showSessionPlan(engine, plan)]
        if (summary === null || shown === null) return gone()
        const { startedAt, endedAt } = summary
        const executions = await executionsOf(engine, plan)
        const metrics = await metricsOf(engine, plan, summary)
        const { git, modified } = await tracesOf(engine, plan)
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
      }),
  }),
]
