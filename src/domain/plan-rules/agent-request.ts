// What an `agent` task asks for: which coding agent, with which model, for how long. The plan keeps it as it was written (`spec`);
// plans of earlier releases may hold anything there, and then there is no request.

import { isMap, type Json, type JsonObject } from '../json.ts'

/** Is it a name that an agent can have? Which agents there are is said by `agents.yaml`, not by the plan. */
export const isAgentName = (name: string): boolean => AGENT_NAME.test(name) && !RESERVED_NAMES.has(name)

export const AGENT_NAME = /^[a-z][a-z0-9-]{0,39}$/
/** `self`, `planfold`: an agent of our own, which there is not. */
const RESERVED_NAMES: ReadonlySet<string> = new Set(['self', 'planfold'])

export interface AgentRequest {
  /** Null: the plan's default, unless there is a command. */
  readonly use: string | null
  /** As the agent calls it; null: its own default. */
  readonly model: string | null
  /** The only models it may ask besides `model`, each a name, or the beginning of one and `*`; null: any of the provider. */
  readonly models: readonly string[] | null
  /** At most so many calls of its tools. */
  readonly turns: number | null
  /** Any other agent. */
  readonly command: readonly string[] | null
  /** What the command speaks: the Agent Client Protocol, or it gets the brief on its standard input and prints lines. */
  readonly protocol: AgentProtocol
}

export type AgentProtocol = 'acp' | 'lines'

/** The person's own login of an agent, as it is lent: which files of their home hold it, and which servers the agent speaks to with it. */
export interface AgentLogin {
  /** In the home of the person, and at the same place in that of the agent. The first must be there. */
  readonly files: readonly string[]
  /** Rules of the network. */
  readonly hosts: readonly string[]
}

export interface AgentFault {
  readonly key: string | null
  readonly message: string
  readonly hint: string
}

/** Null when it is no request that this release understands. */
export function agentRequest(action: { readonly type: string; readonly spec?: Json }): AgentRequest | null {
  const { type, spec = null } = action
  if (type !== 'agent' || agentFault(spec) !== null) return null
  const { use, model, models, turns, command, protocol } = (
    typeof spec === 'string' ? { use: spec } : spec
  ) as JsonObject
  return {
    use: typeof use === 'string' ? nameOf(use) : null,
    model: typeof model === 'string' ? model : null,
    models: Array.isArray(models) ? (models as string[]) : null,
    turns: typeof turns === 'number' ? turns : null,
    command: Array.isArray(command) ? (command as string[]) : null,
    protocol: protocol === 'acp' ? 'acp' : 'lines',
  }
}

/** What is wrong with what was written; null when it is a request. */
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
      hint: 'write { use, model, models, turns } or { command: [program, argument], protocol: acp }',
    }
  const { use, models, command, protocol } = spec
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
  return typeof use === 'string' ? nameFault(use, 'use') : null
}

const KEYS: ReadonlySet<string> = new Set(['use', 'model', 'models', 'turns', 'command', 'protocol'])
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

/** May a model be asked by these? `name` is `provider/id`; a rule is either of them, or the beginning of one and `*`. */
export const isModelAllowed = (rules: readonly string[], name: string): boolean => {
  const id = name.slice(name.indexOf('/') + 1)
  return rules.some(rule =>
    rule.endsWith('*') ? [name, id].some(one => one.startsWith(rule.slice(0, -1))) : rule === name || rule === id,
  )
}

const isCommand = (value: Json): boolean =>
  Array.isArray(value) && value.length > 0 && value.every(word => typeof word === 'string' && word !== '')

/** Out of the sandbox, and irreversible: a person does it, and says what was done. */
const BY_HAND: ReadonlySet<string> = new Set(['deploy', 'push', 'delete', 'migrate'])

/** Of an external task: nobody else is to do it, and an agent in a sandbox can. */
export const mayWork = (
  { assignee, kind }: { readonly assignee?: string | null; readonly kind?: string | null },
  agent: string,
): boolean => (assignee ?? agent) === agent && !BY_HAND.has(kind ?? '')

/** Where the homes of agents are, in the state folder: a folder for each plan. */
export const AGENT_HOMES = 'agents'
