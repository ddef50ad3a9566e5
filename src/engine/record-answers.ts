// Tasks with everything that is written about them: how they stand, and what their definition says. For faces that show whole tasks.

import type { TaskName } from '../domain/id.ts'
import type { TaskDefinition } from '../domain/plan.ts'
import type { PlanState, TaskState } from '../domain/state.ts'
import { type Card, card } from '../domain/views/board.ts'

export interface TaskRecord {
  readonly card: Card
  readonly definition: TaskDefinition
  readonly neededBy: readonly TaskName[]
}

export interface RecordQueries {
  /** Those of these names or ids that are there, in this order. */
  records: { ask: { plan: string; tasks: readonly string[] }; answer: Records | null }
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
