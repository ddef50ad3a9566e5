// Tasks with everything that is written about them: how they stand, and what their definition says. For faces that show whole tasks.

import type { TaskName } from '../domain/id.ts'
import type { PlanDefinition, TaskDefinition } from '../domain/plan.ts'
import type { PlanState, TaskState } from '../domain/state.ts'
import { type Card, card } from '../domain/views/board.ts'
import type { Summary } from '../domain/views/summary.ts'

export interface TaskRecord {
  readonly card: Card
  readonly definition: TaskDefinition
  readonly neededBy: readonly TaskName[]
}

export interface RecordQueries {
  /** `since`: the version the asker has; at that version there is nothing to tell, and it is said by `unchanged`. */
  record: { ask: { plan: string; since?: number }; answer: PlanRecord | { readonly unchanged: true } | null }
  /** Those of these names or ids that are there, in this order. */
  records: { ask: { plan: string; tasks: readonly string[] }; answer: Records | null }
}

/** A plan with everything that is written about it. */
export interface PlanRecord {
  readonly summary: Summary
  readonly definition: PlanDefinition
}

export interface Records {
  /** Of the plan. */
  readonly name: string
  readonly version: number
  readonly tasks: readonly TaskRecord[]
}

export function records(state: PlanState, tasks: readonly TaskState[]): Records {
  return {
    name: state.definition.name,
    version: state.version,
    tasks: tasks.map(task => ({
      card: card(state, task),
      definition: task.definition,
      neededBy: task.dependants.map(({ definition }) => definition.id),
    })),
  }
}
