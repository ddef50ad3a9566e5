// Coding agents over HTTP: which there are, and one of them chosen to work the open tasks of a plan.

import type { TaskName } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'
import { agentRequest } from '../../domain/plan-rules/agent-request.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import * as wire from '../../format/wire/claims.ts'
import { assignWorker, chooseWorker } from '../../operations/agents/agent-worker.ts'
import { findWorker } from '../../operations/agents/worker-request.ts'
import { findTask } from '../../server/find-plan.ts'
import { isProblem, refused } from '../../server/problem.ts'
import { options } from '../../server/request.ts'
import { type AnyRoute, ok, route, under } from '../../server/route.ts'
import { answerOf, engineOf, gone, planRoute } from '../../server/submit-order.ts'
import { iso } from '../../server/wire-names.ts'
import { withCommit } from '../planners/goals/finish-draft.ts'
import { withPasses } from './passed-tests.ts'

const agentRoutes: readonly AnyRoute[] = [
  route({
    method: 'GET',
    path: '/agents',
    right: 'read',
    about:
      'The coding agents that can work on tasks: which are installed where the service runs, and which passed a test there.',
    answers: { 200: { about: 'all that are known', body: 'Agents' } },
    handle: async ({ rooms, engine }) => {
      const agents = await rooms.agents()
      const preferred = await chooseWorker(engine, agents)
      const items = (await withPasses(rooms, agents)).map(
        ({ name, title, status, version, tested, install, needsModel, passedAt }) => ({
          ...{ name, title, installed: status !== 'missing', version, tested, install, needs_model: needsModel },
          passed_at: passedAt === null ? null : iso(passedAt),
        }),
      )
      return ok({ items, next: null, preferred: preferred.status === 'chosen' ? preferred.agent : null })
    },
  }),
  planRoute({
    method: 'POST',
    path: '/plans/:plan/worker',
    right: 'operate',
    about:
      'Lets a coding agent work the open tasks of a plan that wait for a claim, or one of them. What somebody has claimed stays theirs; a draft is not started.',
    body: wire.workerBody,
    answers: { 200: { about: 'the agent works them', body: 'Worker', tag: true } },
    handle: async (call, { plan }) => {
      const asked = { plan, worker: call.body } as Json
      const before = call.once === undefined ? null : await call.engine.answered(call.once, asked)
      if (before?.ok === false) return refused(before.refusal, { plan })
      const found = findWorker(await call.rooms.agents(), call.body)
      if (!found.ok) return refused(found.refusal)
      const { agent } = found.worker
      let done = before
      if (done === null) {
        const target = call.body.task === undefined ? null : await findTask(call, call.body.task, plan)
        if (target !== null && isProblem(target)) return target
        const task = target?.task as TaskName | undefined
        const commits = call.body.commit === true && (await call.rooms.mayCommit())
        const assigned = await assignWorker(engineOf(call), plan, found.worker, {
          ...{ ...options(call), task, asked },
          ...(commits ? { finish: withCommit } : {}),
        })
        if (!assigned.ok) return refused(assigned.refusal, { plan, task })
        done = assigned.submitted
      }
      const current = await call.engine.ask({ type: 'definition', plan })
      if (current === null) return gone()
      const tasks = allTasks(current.definition).filter(({ action }) => agentRequest(action)?.use === agent)
      const moved = await answerOf(call, done)
      return ok({ agent, tasks: tasks.map(({ id }) => id), ...moved }, moved.version)
    },
  }),
]

export const ROUTES = under('agents', agentRoutes)
