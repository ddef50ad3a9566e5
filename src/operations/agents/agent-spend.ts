// The spending of a task's agent in its last attempt, while it works and afterwards: from the last line of its log that reports it.

import { type AgentSpend, lastSpend } from '../../domain/views/pages/agent-lines.ts'
import type { Engine } from '../../engine/engine.ts'

/** How many chunks of the log to search, from its end. Each call of a model adds a line, so the last such line is among them. */
const PIECES = 200

/** Null if the attempt has called no model yet. */
export async function spentSoFar(engine: Engine, plan: string, task: string): Promise<AgentSpend | null> {
  const pieces = (await engine.ask({ type: 'logs', plan, task, before: Number.MAX_SAFE_INTEGER, limit: PIECES })) ?? []
  const last = pieces.at(-1)
  const lines = pieces.flatMap(({ stream, visit, attempt, text }) =>
    stream === 'engine' && visit === last?.visit && attempt === last.attempt ? [text] : [],
  )
  return lastSpend(lines.join(''))
}
