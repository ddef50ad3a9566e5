// `agent`: a coding agent is started; the instruction of the task is its prompt. `plan-rules/agent-request.ts` reads what is written.

import { agentRequest } from '../plan-rules/agent-request.ts'
import { isOffline, networkOf } from '../plan-rules/network.ts'
import { type ActionFacts, firstSentence, type SpecAction } from './action-facts.ts'
import { answerOutputs } from './model-action.ts'

export const AGENT: ActionFacts<SpecAction<'agent'>> = {
  // A retry continues the conversation and is shown what changed since. Without a sandbox, or over the network, its effects cannot be
  // undone.
  effect: (task, plan) => {
    const network = networkOf(plan, task)
    return AGENT.isUnconfined?.(task, plan) === true || (network !== null && !isOffline(network)) ? 'unsafe' : 'model'
  },
  acts: true,
  runsCommands: true,
  writes: true,
  keepsToScope: true,
  continuesWork: true,
  watched: true,
  network: 'declared',
  takesSecrets: true,
  prompts: true,
  // With the user's permissions it can write anywhere, and the plan does not show what it will do.
  isUnconfined: ({ sandbox }, { policy }) => (sandbox ?? policy?.sandbox) === 'off',
  isSupported: action => agentRequest(action) !== null,
  fields: { spec: 'values' },
  outputs: ({ action }) => {
    const { answer = null } = agentRequest(action) ?? {}
    return answer === null ? ['text'] : ['text', ...answerOutputs(answer)]
  },
  agreed: ({ action, instruction = null }) => ({ type: 'agent', agent: action.spec, instruction }),
  line: (task, { agent }) => {
    const { use = null, command = null } = agentRequest(task.action) ?? {}
    return `${use ?? command?.join(' ') ?? agent ?? 'agent'}: ${firstSentence(task)}`
  },
  proof: 'nothing',
}
