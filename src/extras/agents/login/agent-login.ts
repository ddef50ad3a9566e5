// Permission for an agent to use the user's own login. Only the user gives it, once for each agent; a task or an agent never does.

import type { AgentLogin } from '../../../domain/plan-rules/agent-request.ts'
import { layerWords } from '../../../domain/policy/policy-layer.ts'
import { refuseTask } from '../../../operations/policy/network-rules.ts'
import { readUserRules, rememberLogin, type UserRulesPlace } from '../../../safety/network/user-rules.ts'
import { readPolicyLayers } from '../../../safety/policy/policy-files.ts'
import type { Person } from '../../../safety/policy/policy-log.ts'
import { type Answer, failure } from '../../../safety/safety-refusal.ts'
import { knownAgents, unknownAgent } from '../known-agents.ts'

/** What would be shared, before the user is asked. */
export async function loginOf(place: UserRulesPlace, agent: string): Promise<Answer<AgentLogin>> {
  const refused = refuseTask(place)
  if (refused !== null) return refused
  const known = await knownAgents(place)
  const row = known.rows.find(({ name }) => name === agent)
  if (row === undefined) {
    const { message, hint } = unknownAgent(agent, known)
    return no('logic', message, hint)
  }
  const { login } = row
  if (login === null)
    return no(
      'logic',
      `${agent} cannot use your login`,
      `it can be of ${known.rows.flatMap(each => (each.login === null ? [] : each.name)).join(', ')}; give ${agent} a model with \`agent: { use: ${agent}, model: PROVIDER/NAME }\``,
    )
  const layers = await readPolicyLayers(place)
  if (!layers.ok) return layers
  for (const layer of layers.value)
    for (const key of ['logins', 'models'] as const)
      if (layer.policy.data?.[key] === 'deny')
        return no(
          'policy',
          `${layerWords(layer, 'data')} does not allow it (data.${key}: deny)`,
          'ask the author of that policy',
        )
  return { ok: true, value: login }
}

/** True if that is a change. */
export async function setLogin(
  place: UserRulesPlace,
  order: { readonly agent: string; readonly isAllowed: boolean; readonly person: Person },
): Promise<Answer<boolean>> {
  const allowed = order.isAllowed ? await loginOf(place, order.agent) : (refuseTask(place) ?? { ok: true as const })
  return allowed.ok ? await rememberLogin(place, order, order.person) : allowed
}

/** Agents with this permission; none if the settings cannot be read. */
export async function agentsWithLogin(place: UserRulesPlace): Promise<readonly string[]> {
  const read = await readUserRules(place)
  return read.ok ? read.value.logins : []
}

const no = (kind: 'policy' | 'logic', message: string, hint: string) =>
  ({ ok: false, failure: failure(kind, message, hint) }) as const
