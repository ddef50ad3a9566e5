// A report of an external task is judged like an attempt of ours: its criteria are checked before it counts.

import type { Result } from '../domain/result.ts'
import type { PlanState } from '../domain/state.ts'
import { checkTools } from './check-tools.ts'
import type { Order } from './engine.ts'
import { contextAfter, judgeWork, notHeld, refutedIn } from './judge.ts'
import { Logbook } from './logbook.ts'
import { recognise } from './modes.ts'
import { resolveAttempt } from './resolve.ts'
import type { Rooms } from './rooms.ts'

export async function judgeReport(
  rooms: Rooms,
  state: PlanState,
  order: Extract<Order, { type: 'report' }>,
): Promise<Result> {
  const { result } = order
  const task = state.tasks.get(order.task)
  if (task === undefined) return result
  if (result.status === 'failed') {
    const { definition, visit } = task
    // A mode it does not have is for the domain to refuse.
    if (result.mode !== undefined && !definition.failureModes?.some(mode => mode.name === result.mode)) return result
    const attempt = { definition, inputs: definition.inputs ?? {}, visit, attempt: Math.max(1, task.attempt) }
    return await recognise(state, attempt, result)
  }
  const { accept = [], postconditions = [] } = task.definition
  if (accept.length + postconditions.length === 0) return result
  const resolved = await resolveAttempt(state, task)
  if (!resolved.ok)
    return { status: 'failed', failure: { class: 'logic', message: resolved.message, retryable: false } }
  const attempt = resolved.value
  const where = { plan: state.id, task: attempt.task, visit: task.visit, attempt: Math.max(1, task.attempt) }
  const logbook = new Logbook(rooms.store.logs, rooms.clock, where, () => {})
  const verdicts = await judgeWork(task.definition, {
    state,
    attempt,
    context: contextAfter({ outputs: result.outputs ?? {} }, attempt),
    run: rooms.runners.get('run'),
    tools: checkTools(rooms, attempt.key, (stream, chunk) => logbook.write(stream, chunk)),
    signal: new AbortController().signal,
  })
  logbook.seal()
  if (verdicts === null) throw new Error('bug: nobody stopped the judging of a report')
  const refuted = refutedIn(verdicts)
  if (refuted === undefined) return { ...result, verdicts }
  return await recognise(state, attempt, {
    status: 'failed',
    failure: notHeld(refuted),
    ...(result.outputs === undefined ? {} : { outputs: result.outputs }),
    verdicts,
  })
}
