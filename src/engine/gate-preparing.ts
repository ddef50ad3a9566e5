// Makes the question of a gate: its checks are judged, and what an approval would release is looked at, so that whoever decides
// agrees to exactly that.

import { asksOf } from '../domain/decisions/gate-opening.ts'
import type { GateQuestion } from '../domain/event.ts'
import type { Failure, Verdict } from '../domain/result.ts'
import type { PlanState, TaskState } from '../domain/state.ts'
import { judgeGate } from './gate-checks.ts'
import { late } from './late.ts'
import { resolveQuestion } from './resolve.ts'
import type { Rooms } from './rooms.ts'

/** Null: we are stopping; ask again later. */
export type GateMade = { readonly question: GateQuestion } | { readonly failure: Failure } | null

export async function makeQuestion(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
  signal: AbortSignal,
  /** What is to be judged beside its checks. */
  prose: readonly Verdict[] = [],
): Promise<GateMade> {
  const { action } = task.definition
  if (action.type !== 'gate') throw new Error(`bug: '${task.definition.id}' is no gate`)
  const judged = await judgeGate(rooms, state, task, signal)
  if (judged === null || 'failure' in judged) return judged
  const evidence = [...prose, ...judged.evidence]
  const asks = asksOf(action)
  const said = asks.type === 'question' ? await resolveQuestion(state, task, asks.question) : null
  if (said?.ok === false) {
    const message = `the question cannot be asked: ${said.message}`
    return {
      failure: { class: 'logic', message, ...(said.hint === undefined ? {} : { hint: said.hint }), retryable: false },
    }
  }
  return {
    question: {
      asks: said === null || asks.type !== 'question' ? asks : { ...asks, question: said.value },
      ...(await bindGate(rooms, state, task)),
      ...(evidence.length === 0 ? {} : { evidence }),
    },
  }
}

/** What an approval is bound to. */
export async function bindGate(
  rooms: Rooms,
  state: PlanState,
  task: TaskState,
): Promise<Pick<GateQuestion, 'hash' | 'shown' | 'binds'>> {
  return await (await late.consent()).bindGate(rooms, state, task)
}
