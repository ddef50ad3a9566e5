// How long a plan will probably take, from earlier tasks of the same kind. Null unless there are records for every task that does work.

import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import type { Worker } from '../../../domain/views/pages/task-facts.ts'
import { analyzed } from '../../../operations/analyze-plan.ts'
import type { CallerEngine } from '../../../operations/run-plan.ts'
import type { StepsRow } from '../../../stores/store.ts'

export interface TimeRange {
  readonly fromMs: number
  readonly toMs: number
  readonly runs: number
}

const RUNS_MIN = 3
const WAITS: ReadonlySet<string> = new Set(['gate', 'checkpoint', 'decide'])

/** Without the time people take to answer. */
export async function timeRange(
  engine: Pick<CallerEngine, 'ask'>,
  definition: PlanDefinition,
  worker: Worker = null,
): Promise<TimeRange | null> {
  const records = new Map<string, StepsRow['durationMs']>()
  const keyOf = ({ kind, action: { type }, capabilities }: TaskDefinition): string =>
    `${kind} ${capabilities?.[0] ?? (type === 'external' && worker !== null ? 'agent' : type)}`
  let runs = 0
  for (const task of definition.tasks.filter(({ action }) => !WAITS.has(action.type))) {
    const key = keyOf(task)
    if (records.has(key)) continue
    if (task.kind === undefined) return null
    const capability = key.slice(task.kind.length + 1)
    const [row] = (await engine.ask({ type: 'steps', kind: task.kind, capability, by: 'capability' }))?.items ?? []
    if (row === undefined || row.succeeded < RUNS_MIN) return null
    records.set(key, row.durationMs)
    runs += row.succeeded
  }
  if (runs === 0) return null
  const elapsed = (point: 'p50' | 'p95'): number => {
    const tasks = definition.tasks.map(task => ({ ...task, estimateMs: records.get(keyOf(task))?.[point] ?? 0 }))
    return analyzed({ ...definition, tasks }).estimate.elapsedMs
  }
  return { fromMs: elapsed('p50'), toMs: elapsed('p95'), runs }
}
