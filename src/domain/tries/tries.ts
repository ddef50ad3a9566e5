// `tries`: the best of several runs of one attempt. Each try works in a folder of its own, and only the best one's changes reach the
// workspace. What is written, and which tasks may have it.

import type { PlanDefinition, TaskDefinition } from '../plan.ts'
import { type AgentRequest, agentFault, agentRequest } from '../plan-rules/agent-request.ts'
import { effectOf } from '../plan-rules/effect.ts'
import { judgeIn } from '../plan-rules/judge.ts'

export const TRIES_MIN = 2
export const TRIES_MAX = 8
export const ROUNDS_MAX = 5

/** One of the tries of a task, as it is run: the task without `tries`, with the agent of the try. */
export interface Contender {
  readonly label: string
  readonly definition: TaskDefinition
}

export function contendersOf({ tries, ...definition }: TaskDefinition): readonly Contender[] {
  const entries = tries?.with ?? 1
  if (typeof entries !== 'number')
    return entries.map(spec => ({
      label: labelOf(agentRequest({ type: 'agent', spec })),
      definition: { ...definition, action: { type: 'agent', spec } },
    }))
  const label = definition.action.type === 'agent' ? labelOf(agentRequest(definition.action)) : definition.action.type
  return Array.from({ length: entries }, () => ({ label, definition }))
}

const labelOf = (request: AgentRequest | null): string => {
  const { use = null, model = null, command = null } = request ?? {}
  const name = use ?? command?.[0]?.split('/').at(-1) ?? 'agent'
  return model === null ? name : `${name} ${model}`
}

/** Why the task cannot have `tries`; null if it can. */
export function triesFault(plan: PlanDefinition, task: TaskDefinition): { message: string; hint: string } | null {
  const { tries, action } = task
  if (tries === undefined) return null
  const judge = tries.judge === undefined ? undefined : judgeIn(tries.judge.by)
  if (judge === null || judge?.type === 'task')
    return { message: "the judge of 'tries' is neither a model nor an agent", hint: 'write judge: { by: model }' }
  const wrong = typeof tries.with === 'number' ? [] : tries.with.flatMap(spec => agentFault(spec) ?? [])
  if (wrong[0] !== undefined) return wrong[0]
  const effect = effectOf(plan, task)
  if (action.type === 'run' && effect === 'workspace')
    return typeof tries.with === 'number'
      ? null
      : { message: "a command cannot be tried 'with' agents", hint: 'write how often: tries: 3' }
  if (action.type === 'agent' && effect !== 'unsafe') return null
  if (action.type === 'agent' || action.type === 'run')
    return {
      message: `'tries' runs '${task.id}' several times, and its effect is ${effect}`,
      hint: 'let it write only in the workspace: give it `write:` and `network: []`',
    }
  return { message: "'tries' is for 'agent' and 'run' tasks", hint: 'remove it' }
}
