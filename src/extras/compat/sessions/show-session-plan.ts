// A plan in the words of the task planner of sessions. Every word of that dialect has the canonical one beside it, so nothing that
// it cannot say is lost.

import type { JsonObject } from '../../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import { allTasks } from '../../../domain/state/task-index.ts'
import { ENDED, type PlanStatus } from '../../../domain/status.ts'
import type { Card } from '../../../domain/views/board.ts'
import type { Engine } from '../../../engine/engine.ts'
import type { SessionWord } from '../../../format/wire/answers/fields.ts'
import type { SessionPlan, SessionStep } from '../../../format/wire/answers/sessions.ts'
import { iso, isoOrNull } from '../../../server/wire-names.ts'
import { planWord, stepWord } from './session-words.ts'

/** What a word of the dialect means; the canonical words mean themselves. */
export function statusesFor(word: SessionWord | 'running' | PlanStatus): readonly PlanStatus[] {
  if (word === 'executing' || word === 'running') return ['active', 'blocked']
  if (word === 'planning') return []
  return [word === 'pending' ? 'draft' : word]
}

export const descriptionOf = (plan: {
  readonly goal: string | null
  readonly title: string | null
  readonly name: string
}) => plan.goal ?? plan.title ?? plan.name

const saidBeside = ({ extra }: PlanDefinition): string | null =>
  typeof extra?.description === 'string' ? extra.description : null

export async function showSessionPlan(engine: Engine, plan: string): Promise<SessionPlan | null> {
  const [summary, current, board] = [
    await engine.ask({ type: 'summary', plan }),
    await engine.ask({ type: 'definition', plan }),
    await engine.ask({ type: 'board', plan }),
  ]
  if (summary === null || current === null || board === null) return null
  const tasks = new Map(allTasks(current.definition).map(task => [task.id, task]))
  return {
    id: summary.id,
    name: summary.name,
    session_id: summary.session,
    description: saidBeside(current.definition) ?? descriptionOf(summary),
    status: planWord(summary.status),
    state: summary.status,
    reason: summary.reason,
    steps: board.map(card => stepOf(current.definition, card, tasks.get(card.name))),
    current_step: summary.progress.ended,
    created_at: iso(summary.createdAt),
    updated_at: iso(summary.updatedAt),
    started_at: isoOrNull(summary.startedAt),
    completed_at: isoOrNull(summary.endedAt),
    cloned_from: summary.origin,
    revision: summary.revision,
    version: summary.version,
  }
}

function stepOf(plan: PlanDefinition, card: Card, task: TaskDefinition | undefined): SessionStep {
  const attempts = (task?.retry ?? plan.defaults?.retry)?.attempts ?? 1
  return {
    id: card.name,
    task_id: card.id,
    title: card.title,
    description: task?.description ?? task?.instruction ?? card.title ?? card.name,
    tool: task?.capabilities?.[0] ?? (card.action === 'external' ? null : card.action),
    params: (task?.inputs ?? {}) as JsonObject,
    dependencies: card.needs,
    retryable: attempts > 1,
    max_retries: attempts - 1,
    status: stepWord(card),
    state: card.status,
    result: resultOf(card),
    start_time: isoOrNull(card.startedAt),
    end_time: isoOrNull(card.endedAt),
  }
}

function resultOf({ status, outputs, reason, attempt, startedAt, endedAt }: Card): SessionStep['result'] {
  if (!ENDED.has(status)) return null
  const success = status === 'completed' || status === 'skipped'
  return {
    success,
    output: outputs,
    error: success ? null : reason,
    retries: Math.max(0, attempt - 1),
    duration_ms: startedAt === null || endedAt === null ? null : endedAt - startedAt,
  }
}
