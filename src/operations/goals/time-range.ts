// How long a plan will probably take, from what tasks of the same kind took in earlier plans. A guess that no record bears out is not
// made: null, unless there are records for every task that does work.

import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import type { Worker } from '../../domain/views/pages/task-facts.ts'
import { analyzed } from '../analyze-plan.ts'
import type { CallerEngine } from '../run-plan.ts'

export interface TimeRange {
  readonly fromMs: number
  readonly toMs: number
  /** So many earlier runs it is from. */
  readonly runs: number
}

const RUNS_MIN = 3
const WAITS: ReadonlySet<string> = new Set(['gate', 'checkpoint', 'decide'])

/** What people take to answer is not in it. */
export async function timeRange(
  engine: Pick<CallerEngine, 'ask'>,
  definition: PlanDefinition,
  worker: Worker = null,
): Promise<TimeRange | null> {
  const records = new Map<string, Omit<TimeRange, 'runs'>>()
  let runs = 0
  const low: TaskDefinition[] = []
  const high: TaskDefinition[] = []
  for (const task of definition.tasks) {
    const { kind, action, capabilities } = task
    if (WAITS.has(action.type)) {
      low.push({ ...task, estimateMs: 0 })
      high.push({ ...task, estimateMs: 0 })
      continue
    }
    const type = action.type === 'external' && worker !== null ? 'agent' : action.type
    const capability = capabilities?.[0] ?? type
    if (kind === undefined) return null
    const key = `${kind} ${capability}`
    if (!records.has(key)) {
      const [row] = (await engine.ask({ type: 'steps', kind, capability, by: 'capability' }))?.items ?? []
      if (row === undefined || row.succeeded < RUNS_MIN) return null
      records.set(key, { fromMs: row.durationMs.p50, toMs: row.durationMs.p95 })
      runs += row.succeeded
    }
    const { fromMs, toMs } = records.get(key)!
    low.push({ ...task, estimateMs: fromMs })
    high.push({ ...task, estimateMs: toMs })
  }
  if (runs === 0) return null
  const elapsed = (tasks: readonly TaskDefinition[]): number => analyzed({ ...definition, tasks }).estimate.elapsedMs
  return { fromMs: elapsed(low), toMs: elapsed(high), runs }
}
