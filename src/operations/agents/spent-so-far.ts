// What the agent of a task has spent in its last attempt, while it works and afterwards: the last line of its log that says so.

import { type AgentSpend, lastSpend } from '../../domain/views/pages/agent-lines.ts'
import type { Engine } from '../../engine/engine.ts'

/** So many pieces of the log are looked at; an agent asks its model far more often than it writes as many. */
const PIECES = 200

/** Null when it has asked no model yet. */
export async function spentSoFar(engine: Engine, plan: string, task: string): Promise<AgentSpend | null> {
  const pieces = (await engine.ask({ type: 'logs', plan, task, before: Number.MAX_SAFE_INTEGER, limit: PIECES })) ?? []
  const last = pieces.at(-1)
  const said = pieces.flatMap(({ stream, visit, attempt, text }) =>
    stream === 'engine' && visit === last?.visit && attempt === last.attempt ? [text] : [],
  )
  return lastSpend(said.join(''))
}
