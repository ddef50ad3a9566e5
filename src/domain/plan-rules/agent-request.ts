// The request of an `agent` task: which coding agent, with which model, for how long. The plan stores it as it was written (`spec`); plans
// of earlier releases may hold anything there.

import { answerFault } from '../actions/model-action.ts'
import { isMap, type Json, type JsonObject } from '../json.ts'

/** A valid agent name. The available agents are listed in `agents.yaml`, not in the plan. */
export const isAgentName = (name: string): boolean => AGENT_NAME.test(name) && !RESERVED_NAMES.has(name)

export const AGENT_NAME = /^[a-z][a-z0-9-]{0,39}$/
/** Reserved for an agent of Planfold's own, which does not exist. */
const RESERVED_NAMES: ReadonlySet<string> = new Set(['self', 'planfold'])

export interface AgentRequest {
  /** Null: the plan's default, unless there is a command. */
  readonly use: string | null
  /** The agent's name for it; null: its default. */
  readonly model: string | null
  /** The only other models it may use, by name or by prefix and `*`; null: any of the provider. */
  readonly models: readonly string[] | null
  /** The limit of its tool calls. */
  readonly turns: number | null
  /** Starts an agent that `agents.yaml` does not list. */
  readonly command: readonly string[] | null
  /** The protocol of the command: the Agent Client Protocol, or it reads the brief on standard input and prints lines. */
  readonly protocol: AgentProtocol
  /** The shape of the JSON object that it ends with; null: text. */
  readonly answer: JsonObject | null
}

export type AgentProtocol = 'acp' | 'lines'

/** A login of the user that an agent may use: the files in their home that hold it, and the servers it is for. */
export interface AgentLogin {
  /** Paths in the user's home, copied to the same path in the agent's home. The first must exist. */
  readonly files: readonly string[]
  readonly hosts: readonly string[]
}

export interface AgentFault {
  readonly key: string | null
  readonly message: string
  readonly hint: string
}

/** Null when this release does not understand the request. */
export function agentRequest(action: { readonly type: string; readonly spec?: Json }): AgentRequest | null {
  const { type, spec = null } = action
  if (type !== 'agent' || agentFault(spec) !== null) return null
  const { use, model, models, turns, command, protocol, answer } = (
    typeof spec === 'string' ? { use: spec } : spec
  ) as JsonObject
  return {
    use: typeof use === 'string' ? nameOf(use) : null,
    model: typeof model === 'string' ? model : null,
    models: Array.isArray(models) ? (models as string[]) : null,
    turns: typeof turns === 'number' ? turns : null,
    command: Array.isArray(command) ? (command as string[]) : null,
    protocol: protocol === 'acp' ? 'acp' : 'lines',
    answer: isMap(answer) ? answer : null,
  }
}

/** The fault of a request; null when it is valid. */
export function agentFault(spec: Json): AgentFault | null {
  if (typeof spec === 'string') return nameFault(spec, null)
  if (!isMap(spec)) return { key: null, message: 'this names no agent', hint: NAMES_HINT }
  const strange = Object.keys(spec).find(key => !KEYS.has(key))
  if (strange !== undefined)
    return {
      key: strange,
      message: RESERVED.has(strange)
        ? `'${strange}' is reserved; this release does not carry it out`
        : `'${strange}' is not a key of 'agent'`,
      hint: 'write { use, model, models, turns, answer } or { command: [program, argument], protocol: acp }',
    }
  const { use, models, command, protocol, answer } = spec
  if (models !== undefined && !isCommand(models))
    return { key: 'models', message: "'models' is not a list of names", hint: 'write models: [NAME, NAME-*]' }
  if (use !== undefined && command !== undefined)
    return {
      key: 'command',
      message: "an agent has a name ('use') or a 'command', not both",
      hint: 'remove one of them',
    }
  if (command !== undefined && !isCommand(command))
    return { key: 'command', message: "'command' is not a list of words", hint: 'write command: [my-agent, run]' }
  if (protocol !== undefined && protocol !== 'acp' && protocol !== 'lines')
    return { key: 'protocol', message: "'protocol' is neither 'acp' nor 'lines'", hint: PROTOCOL_HINT }
  if (protocol !== undefined && command === undefined)
    return { key: 'protocol', message: "'protocol' only makes sense beside 'command'", hint: PROTOCOL_HINT }
  const shape = answer === undefined ? null : shapeFault(answer)
  if (shape !== null) return { key: 'answer', message: `'answer' is not valid: ${shape}`, hint: ANSWER_HINT }
  return typeof use === 'string' ? nameFault(use, 'use') : null
}

/** What it says in words is the output `text`, so no field of its answer can be. */
function shapeFault(answer: Json): string | null {
  if (!isMap(answer)) return 'it is a map of names and types'
  if (Object.hasOwn(answer, 'text') || Object.hasOwn(answer, 'text?'))
    return "'text' is what the agent says in words; call the field differently"
  return answerFault(answer)
}

const ANSWER_HINT = 'write answer: { cause: string, files: [string] }'
const KEYS: ReadonlySet<string> = new Set(['use', 'model', 'models', 'turns', 'command', 'protocol', 'answer'])
const RESERVED: ReadonlySet<string> = new Set(['strategy'])
const NAMES_HINT = 'write the name of an agent, such as claude, or { command: [program, argument] }'
const PROTOCOL_HINT = 'write { command: [program, argument], protocol: acp }'

function nameFault(name: string, key: string | null): AgentFault | null {
  if (isAgentName(name) || name.includes('${{')) return null
  if (name === 'self')
    return { key, message: "'self' is reserved for an agent of our own; this release has none", hint: NAMES_HINT }
  return { key, message: `'${name.slice(0, 60)}' cannot be the name of an agent`, hint: NAMES_HINT }
}

const nameOf = (name: string): string | null => (isAgentName(name) ? name : null)

/** Do these rules allow the model? `name` is `provider/id`; a rule is the name or the id, or a prefix of one and `*`. */
export const isModelAllowed = (rules: readonly string[], name: string): boolean => {
  const id = name.slice(name.indexOf('/') + 1)
  return rules.some(rule =>
    rule.endsWith('*') ? [name, id].some(one => one.startsWith(rule.slice(0, -1))) : rule === name || rule === id,
  )
}

const isCommand = (value: Json): boolean =>
  Array.isArray(value) && value.length > 0 && value.every(word => typeof word === 'string' && word !== '')

/** Irreversible and outside the sandbox: a person does it and reports. */
const BY_HAND: ReadonlySet<string> = new Set(['deploy', 'push', 'delete', 'migrate'])

/** May the agent do this external task? Not if it is assigned to another, or cannot be done in a sandbox. */
export const mayWork = (
  { assignee, kind }: { readonly assignee?: string | null; readonly kind?: string | null },
  agent: string,
): boolean => (assignee ?? agent) === agent && !BY_HAND.has(kind ?? '')

/** The folder for agents' homes in the state folder, by plan. */
export const AGENT_HOMES = 'agents'
