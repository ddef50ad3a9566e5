// The actor name of an agent. In order: a configured name; what the agent says in its environment or request; the program's name
// with a number unique to this process.

import { randomBytes } from 'node:crypto'
import { ACTOR_MAX, type Actor, isActor } from '../domain/id.ts'
import { isMap } from '../domain/json.ts'

type Environment = { readonly [name: string]: string | undefined }

export interface Request {
  readonly meta?: Readonly<Record<string, unknown>> | undefined
  readonly client?: string | undefined
}

const OWN = randomBytes(3).toString('hex')
const ID_SHOWN = 8

/** `configured`: from `--as` or `PLANFOLD_AS`. */
export function agentName(configured: string | undefined, environment: Environment, { meta, client }: Request): Actor {
  const codex = meta?.['x-codex-turn-metadata']
  const thread = isMap(codex) ? (codex.thread_id ?? codex.session_id) : undefined
  const session = environment.CLAUDE_CODE_SESSION_ID
  const names = [
    configured,
    typeof thread === 'string' ? codexName(thread) : undefined,
    session === undefined ? undefined : claudeName(session),
    client === undefined ? undefined : `${client.slice(0, 60)}/${OWN}`,
  ]
  const actor = names.map(name => name?.slice(0, ACTOR_MAX)).find(name => name !== undefined && isActor(name))
  return (actor ?? `agent/${OWN}`) as Actor
}

export const claudeName = (session: string): string => `claude-code/${session.slice(0, ID_SHOWN)}`
export const codexName = (thread: string): string => `codex/${thread.slice(-ID_SHOWN)}`

/** Idempotency key of a tool call: Claude Code's, else the agent's own. Never the request id, which changes with a retry. */
export function callKey(meta: Request['meta'], given: string | undefined): string | undefined {
  const sent = meta?.['claudecode/toolUseId']
  return typeof sent === 'string' ? sent : given
}
