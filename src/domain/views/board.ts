// Every task with what a person wants to see of it, in the order of the document.

import { countedVisits } from '../counted-visits.ts'
import { effectOf } from '../effect.ts'
import { type Millis, type TaskId, type TaskName, taskId } from '../id.ts'
import type { Json, JsonObject } from '../json.ts'
import type { EffectClass } from '../plan.ts'
import { sequenceOf } from '../sequence.ts'
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
  /** Visits that count: without those a rollback opened. */
  readonly visits: number
  readonly attempt: number
  readonly startedAt: Millis | null
  readonly endedAt: Millis | null
  readonly retryAt: Millis | null
  /** When it came into the plan. */
  readonly addedAt: Millis
  /** Where it stands among the tasks, by its own word (`sequence_order`); else its ordinal. */
  readonly sequence: number
  /** Whom the definition names. */
  readonly assignee: string | null
  readonly claimedBy: string | null
  /** Why it stands where it stands: a failure, a skip, a block. */
  readonly reason: string | null
  readonly hint: string | null
  /** What is being done about its failure; absent when nothing is. */
  readonly recovery?: string
  readonly outputs: Json
  /** What clients keep beside it. */
  readonly annotations: JsonObject
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
    visits: countedVisits(task),
    attempt: task.attempt,
    startedAt: task.startedAt,
    endedAt: task.endedAt,
    retryAt: task.retryAt,
    addedAt: task.addedAt,
    sequence: sequenceOf(task),
    assignee: definition.assignee ?? null,
    claimedBy: task.claim?.by ?? null,
    reason: task.reason,
    hint: result?.status === 'failed' ? (result.failure.hint ?? null) : null,
    ...(recovery === null ? {} : { recovery }),
    outputs: result?.outputs ?? null,
    annotations: task.annotations,
    exit: result?.exit ?? null,
  }
}
