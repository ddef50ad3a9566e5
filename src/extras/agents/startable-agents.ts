// The agents that can be started here, each with the model that it would ask.

import { modelsAt } from '../../compose.ts'
import { type StartableAgent, withStandardModel } from '../../operations/agents/worker-request.ts'
import type { SettingsPlace } from '../../safety/files/user-settings.ts'
import { listAgents } from './find-agent.ts'
import { agentsWithLogin } from './login/agent-login.ts'

export async function startableAgents(place: SettingsPlace): Promise<readonly StartableAgent[]> {
  const [agents, models] = [await listAgents(place), await modelsAt(place).list()]
  return withStandardModel(agents, models, await agentsWithLogin(place))
}
