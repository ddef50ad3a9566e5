// Every task with what a person wants to see of it, in the order of the document.

import { effectOf } from '../effect.ts'
import { type Millis, type TaskId, type TaskName, taskId } from '../id.ts'
import type { Json } from '../json.ts'
import type { EffectClass } from '../plan.ts'
import type { PlanState, TaskState } from '../state.ts'
import type { TaskStatus } from '../status.ts'
import { recoveryLine } from './explain.ts'

export interface Card {
  readonly id: TaskId
  readonly name: TaskName
  readonly title: string | null
  readonly kind: string | null
  readonly action: string
  readonly effect: EffectClass
  readonly status: TaskStatus
  readonly optional: boolean
  readonly needs: readonly TaskName[]
  readonly visit: number
  readonly attempt: number
  readonly startedAt: Millis | null
  readonly endedAt: Millis | null
  readonly retryAt: Millis | null
  readonly claimedBy: string | null
  /** Why it stands where it stands: a failure, a skip, a block. */
  readonly reason: string | null
  readonly hint: string | null
  /** What is being done about its failure; absent when nothing is. */
  readonly recovery?: string
  readonly outputs: Json
  readonly exit: number | null
}

export function board(state: PlanState): readonly Card[] {
  return state.order.map(task => card(state, task))
}

export function card(state: PlanState, task: TaskState): Card {
  const { definition, result } = task
  const recovery = recoveryLine(state, task)
  return {
    id: taskId(state.id, task.ordinal),
    name: definition.id,
    title: definition.title ?? null,
    kind: definition.kind ?? null,
    action: definition.action.type,
    effect: effectOf(state.definition, definition),
    status: task.status,
    optional: definition.optional ?? false,
    needs: definition.needs ?? [],
    visit: task.visit,
    attempt: task.attempt,
    startedAt: task.startedAt,
    endedAt: task.endedAt,
    retryAt: task.retryAt,
    claimedBy: task.claim?.by ?? null,
    reason: task.reason,
    hint: result?.status === 'failed' ? (result.failure.hint ?? null) : null,
    ...(recovery === null ? {} : { recovery }),
    outputs: result?.outputs ?? null,
    exit: result?.exit ?? null,
  }
}
