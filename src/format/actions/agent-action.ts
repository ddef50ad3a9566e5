// `agent`: a coding agent. Stored as written; `domain/plan-rules/agent-request.ts` reads it.

import { z } from 'zod'
import { isMap, type Json } from '../../domain/json.ts'
import type { Action } from '../../domain/plan.ts'
import { agentFault } from '../../domain/plan-rules/agent-request.ts'
import { asWritten, optional } from '../plan/codec.ts'
import * as value from '../plan/schema-values.ts'
import { type ActionFormat, keyed, needsPrompt } from './action-format.ts'

type Agent = Extract<Action, { readonly type: 'agent' }>

export const agent = z
  .union([
    value.line,
    z.strictObject({
      use: value.line.optional(),
      model: optional(value.line, 'The model the agent asks; its own default when absent.'),
      models: optional(
        z.array(value.line).min(1).max(100),
        'The only models it may ask, besides `model`; a `*` at the end stands for the rest.',
      ),
      turns: optional(value.count(10_000), 'At most so many calls of its tools.'),
      command: optional(
        z.array(z.string().min(1).max(10_000)).min(1).max(1_000),
        'Any other agent: its program and arguments.',
      ),
      answer: optional(
        value.jsonObject,
        'The shape of the JSON object it ends with; its values are outputs, besides `text`.',
      ),
      protocol: optional(
        z.enum(['acp', 'lines']),
        'How the command is spoken to: acp is the Agent Client Protocol; lines, the default, gives it the brief on standard input.',
      ),
    }),
  ])
  .meta({
    description: 'Starts a coding agent; the prompt is the instruction.',
    examples: ['claude', { use: 'codex', model: 'NAME', models: ['OTHER-*'], turns: 40 }],
  })

export const AGENT: ActionFormat<Agent> = {
  ...keyed<Agent>('agent', { spec: ['agent', asWritten(agent)] }),
  *rules(task, path) {
    yield* needsPrompt(task, path, "an 'agent' task", 'write what the agent is to do under `instruction:`')
    const fault = agentFault(task.agent as Json)
    if (fault === null) return
    const key = isMap(task.agent) && fault.key !== null ? [fault.key] : []
    yield { path: [...path, 'agent', ...key], message: fault.message, hint: fault.hint }
  },
}
