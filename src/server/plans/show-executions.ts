// The work of a plan: step executions, metrics, checkpoints, changed files and refs.

import type { PlanId } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'
import { gitOperationsOf } from '../../domain/views/git-operations.ts'
import { successRate } from '../../domain/views/summary.ts'
import type { AnswerOf, Engine } from '../../engine/engine.ts'
import type { Checkpoint, Execution, ExecutionMetrics } from '../../format/wire/answers/sessions.ts'
import { readJournal } from '../../operations/read-journal.ts'
import type { MetricRow } from '../../stores/store.ts'
import { iso, isoOrNull, onWire } from '../wire-names.ts'

const EXECUTIONS_MAX = 1_000

export async function executionsOf(engine: Engine, plan: PlanId): Promise<readonly Execution[]> {
  const { items } = await engine.ask({ type: 'attempts', plan, limit: EXECUTIONS_MAX })
  return items.map(({ task, visit, attempt, status, startedAt, endedAt, durationMs, exit, failureClass }) => ({
    plan_id: plan,
    step_id: task,
    visit,
    attempt,
    status: status === 'succeeded' ? 'success' : status,
    started_at: iso(startedAt),
    completed_at: isoOrNull(endedAt),
    duration_ms: durationMs,
    retries: attempt - 1,
    exit,
    error_class: failureClass,
  }))
}

/** Steps are counted by task status, attempts by their outcome. */
export async function metricsOf(
  engine: Engine,
  plan: PlanId,
  { progress }: NonNullable<AnswerOf<'summary'>>,
): Promise<ExecutionMetrics> {
  const rows = (await engine.ask({ type: 'metrics', plan })) ?? []
  const sum = (key: Exclude<keyof MetricRow, 'kind'>): number => rows.reduce((all, row) => all + row[key], 0)
  const [attempts, durationMs] = [sum('attempts'), sum('durationMs')]
  const used = (await engine.ask({ type: 'steps', plan, by: 'capability' }))?.items ?? []
  const { counts, total } = progress
  return {
    total_steps: total,
    completed_steps: counts.completed,
    failed_steps: counts.failed,
    skipped_steps: counts.skipped,
    total_attempts: attempts,
    total_retries: sum('retries'),
    total_duration_ms: durationMs,
    avg_step_duration_ms: attempts === 0 ? 0 : Math.round(durationMs / attempts),
    success_rate: successRate({ succeeded: sum('succeeded'), failed: sum('failed'), lost: sum('lost') }),
    tools_used: used.flatMap(({ group }) => (group === null ? [] : [group])),
  }
}

export async function checkpointsOf(engine: Engine, plan: PlanId): Promise<readonly Checkpoint[] | null> {
  const all = await engine.ask({ type: 'checkpoints', plan })
  return (
    all?.map(({ name, version, at, task, why, paths, standing }) => ({
      id: name,
      plan_id: plan,
      step_id: task,
      timestamp: iso(at),
      version,
      why,
      paths,
      has_files: standing.snapshot !== undefined,
      git_head: standing.git?.head ?? null,
      description: WHY[why](task ?? 'a task'),
    })) ?? null
  )
}

const WHY: { readonly [why in Checkpoint['why']]: (task: string) => string } = {
  after: task => `after ${task}`,
  asked: () => 'taken by hand',
  ended: () => 'taken when the fork ended',
  task: task => `taken by ${task}`,
  every: task => `before ${task}, by policy`,
  risky: task => `before ${task}, which is risky`,
}

/** Changes to the repository, in order, from the whole journal. */
export async function gitTracesOf(engine: Engine, plan: PlanId): Promise<readonly Json[]> {
  const git: Json[] = []
  for await (const entries of readJournal(engine, plan, 0)) git.push(...(onWire(gitOperationsOf(entries)) as Json[]))
  return git
}
