// What an `agent` task asks for: which coding agent, with which model, for how long. The plan keeps it as it was written (`spec`);
// plans of earlier releases may hold anything there, and then there is no request.

import { isMap, type Json, type JsonObject } from '../json.ts'
import type { Action } from '../plan.ts'

/** The agents that are known by name; how each is started stands in `runners/agent/agent-profiles.ts`. */
export const AGENT_NAMES = [
  'claude',
  'codex',
  'opencode',
  'gemini',
  'copilot',
  'grok',
  'qwen',
  'kimi',
  'pi',
  'cline',
] as const

export type AgentName = (typeof AGENT_NAMES)[number]

export interface AgentRequest {
  /** Null: the plan's default, unless there is a command. */
  readonly use: AgentName | null
  /** As the agent calls it; null: its own default. */
  readonly model: string | null
  /** The only models it may ask besides `model`, each a name, or the beginning of one and `*`; null: any of the provider. */
  readonly models: readonly string[] | null
  /** At most so many calls of its tools. */
  readonly turns: number | null
  /** Any other agent: it is given the brief on its standard input. */
  readonly command: readonly string[] | null
}

export interface AgentFault {
  /** The key that is wrong; null: the whole. */
  readonly key: string | null
  readonly message: string
  readonly hint: string
}

/** Null when it is no request that this release understands. */
export function agentRequest(action: Action): AgentRequest | null {
  if (action.type !== 'agent' || agentFault(action.spec) !== null) return null
  const { spec } = action
  if (typeof spec === 'string') return { use: nameOf(spec), model: null, models: null, turns: null, command: null }
  const { use, model, models, turns, command } = spec as JsonObject
  return {
    use: typeof use === 'string' ? nameOf(use) : null,
    model: typeof model === 'string' ? model : null,
    models: Array.isArray(models) ? (models as string[]) : null,
    turns: typeof turns === 'number' ? turns : null,
    command: Array.isArray(command) ? (command as string[]) : null,
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
      hint: 'write { use, model, models, turns } or { command: [program, argument] }',
    }
  const { use, models, command } = spec
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
  return typeof use === 'string' ? nameFault(use, 'use') : null
}

const KEYS: ReadonlySet<string> = new Set(['use', 'model', 'models', 'turns', 'command'])
const RESERVED: ReadonlySet<string> = new Set(['strategy'])
const NAMES_HINT = `write one of ${AGENT_NAMES.join(', ')}, or { command: [program, argument] }`

function nameFault(name: string, key: string | null): AgentFault | null {
  if (isAgentName(name) || name.includes('${{')) return null
  if (name === 'self')
    return { key, message: "'self' is reserved for an agent of our own; this release has none", hint: NAMES_HINT }
  return { key, message: `'${name.slice(0, 60)}' is not a known agent`, hint: NAMES_HINT }
}

export const isAgentName = (name: string): name is AgentName => (AGENT_NAMES as readonly string[]).includes(name)

const nameOf = (name: string): AgentName | null => (isAgentName(name) ? name : null)
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
