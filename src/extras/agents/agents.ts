// The door of the coding agents: the runner of `agent` tasks, which agents there are, which works a plan, and drafting by one of them.

import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { VERSION } from '../../cli/version.ts'
import type { WorkerChoice } from '../../cli/worker-choice.ts'
import type { CodingAgents } from '../../operations/agents/coding-agents.ts'

export { listAgents } from './find-agent.ts'
export { agentFaults, loginOf } from './known-agents.ts'
export { agentsWithLogin } from './login/agent-login.ts'
export { startableAgents } from './startable-agents.ts'

export const openRunner: CodingAgents['openRunner'] = async ({ tree, models, engine, now, stateDir }) => {
  const { agentRunner } = await import('./agent-runner.ts')
  return agentRunner({
    tree,
    version: VERSION,
    openGateway: request => models.openGateway(request),
    openPlanTools: async ({ attempt, agent, folder }) =>
      await (await import('./plan-socket.ts')).openPlanSocket({
        ...{ engine: engine(), now, version: VERSION, plan: attempt.plan, agent, folder, random: randomBytes },
        templates: join(stateDir, 'templates'),
      }),
  })
}

export const workerFor: WorkerChoice['workerFor'] = async (...asked) =>
  await (await import('./commands/choose-agent.ts')).workerFor(...asked)

export const openDrafting: CodingAgents['openDrafting'] = place => async request =>
  await (await import('./drafting/draft-plan.ts')).openDrafting(place, { id: randomUUID, bytes: randomBytes })(request)
