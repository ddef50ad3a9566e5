// Prints a plan as the records of the plan store: `{plan, tasks}`. Ranks become `sequence_order`; an order that ranks cannot say is
// written as `dependencies`.

import type { TaskName } from '../../domain/id.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { printReferences } from './data-references.ts'
import type { Dialect, Printed, StatusOf } from './dialect.ts'
import { printed } from './loss.ts'
import { idsToWrite } from './naming.ts'
import { sameNeeds } from './plan-steps-order.ts'
import { planWords } from './plan-steps-print.ts'
import { criteriaOf, sparse, TASK_WORDS, taskStatusWord, withOthers } from './plan-steps-words.ts'

export function printPlanRecord(definition: PlanDefinition, status: StatusOf, read: Dialect['read']): Printed {
  const tasks = definition.tasks.filter(({ action }) => action.type !== 'verify')
  const ranks = ranksIn(tasks)
  const { extra } = definition
  const plan = sparse({
    ...planWords(definition, status),
    plan_type: extra?.plan_type ?? (ranks === null ? 'parallel' : 'sequential'),
    steps: extra?.steps,
  })
  const written = idsToWrite(tasks.map(task => ({ id: task.id, text: wordsOf(task) })))
  const numbers = numbersOf(tasks, ranks)
  const records = tasks.map((task, index) =>
    record(task, { written, number: numbers[index] as Json, planId: extra?.id, explicit: ranks === null, status }),
  )
  return printed(`${JSON.stringify({ plan, tasks: records }, null, 2)}\n`, definition, status, read)
}

interface About {
  readonly written: ReadonlySet<TaskName>
  readonly number: Json
  readonly planId: Json | undefined
  readonly explicit: boolean
  readonly status: StatusOf
}

function record(task: TaskDefinition, about: About): JsonObject {
  const { extra } = task
  const said = {
    id: about.written.has(task.id) ? task.id : extra?.id,
    plan_id: extra?.plan_id ?? about.planId,
    agent_id: task.assignee,
    name: task.title,
    description: task.description,
    task_type: task.kind,
    llm_prompt: task.instruction,
    input_data: printReferences(task.inputs),
    sequence_order: about.number,
    dependencies: about.explicit ? task.needs : undefined,
    priority: task.priority,
    labels: task.labels,
    timeout_seconds: task.timeoutMs === undefined ? undefined : task.timeoutMs / 1_000,
    acceptance_criteria: criteriaOf(task),
    status: taskStatusWord(TASK_WORDS, task, about.status(task.id)) ?? undefined,
  }
  return withOthers(said, extra, ['status', 'sequence_order'])
}

/** The rank of each task, when each needs exactly the rank before it; null when the order is another one. */
function ranksIn(tasks: readonly TaskDefinition[]): readonly number[] | null {
  const ranks: number[] = []
  let before: readonly TaskName[] | undefined
  let rank: TaskName[] = []
  for (const { id, needs } of tasks) {
    if (ranks.length > 0 && !sameNeeds(needs, before)) {
      before = rank
      rank = []
    }
    if (!sameNeeds(needs, before)) return null
    rank.push(id)
    ranks.push((ranks.at(-1) ?? 1) + (rank.length === 1 && ranks.length > 0 ? 1 : 0))
  }
  return ranks
}

/** The numbers as they were written, if they still say the same. */
function numbersOf(tasks: readonly TaskDefinition[], ranks: readonly number[] | null): readonly Json[] {
  const plain = ranks ?? tasks.map((_, index) => index + 1)
  const given = tasks.map((task, index) => task.extra?.sequence_order ?? (plain[index] as number))
  const holds = given.every((number, index) => {
    if (index === 0) return typeof number === 'number'
    const [last, now] = [given[index - 1] as number, number as number]
    return ranks === null ? now >= last : plain[index] === plain[index - 1] ? now === last : now > last
  })
  return holds ? given : plain
}

function wordsOf(task: TaskDefinition): string {
  return task.title ?? task.description ?? task.kind ?? ''
}
