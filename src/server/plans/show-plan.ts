// The plan body of the service: PlanStore fields, our own, and unknown fields that a client sent.

import { isMap, type JsonObject } from '../../domain/json.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { type Progress, ratioOf, type Summary } from '../../domain/views/summary.ts'
import type { AnswerOf } from '../../engine/engine.ts'
import type { Plan, PlanItem, PlanOverview } from '../../format/wire/answers/plans.ts'
import type { PlanRow } from '../../stores/store.ts'
import { isProblem } from '../problem.ts'
import type { Call } from '../request.ts'
import type { RouteRooms } from '../service.ts'
import { iso, isoOrNull, onWire } from '../wire-names.ts'

export interface ShownPlan {
  readonly body: Plan
  readonly text: string
  readonly version: number
}

export async function showPlan(
  { engine, rooms }: Pick<Call<unknown, unknown>, 'engine' | 'rooms'>,
  plan: string,
): Promise<ShownPlan | null> {
  const shown = shownBy(rooms)
  const known = shown.get(plan)
  const record = await engine.ask({ type: 'record', plan, since: known?.version })
  if (record === null) return null
  if ('unchanged' in record) return known!
  const { summary, definition } = record
  const steps = await stepsNow({ engine, rooms }, record)
  const body = planBody(summary, definition, steps ?? [])
  const made = { body, text: JSON.stringify(body), version: summary.version }
  if (shown.size >= SHOWN_MAX) shown.clear()
  if (steps !== null) shown.set(plan, made)
  return made
}

const STEP_FORMATS: ReadonlySet<string | null> = new Set(['plan-steps', 'step-list', 'todo-plan'])

/** The tasks as steps, for a plan that was sent as steps; null if they cannot be printed. */
async function stepsNow(
  { engine, rooms }: Pick<Call<unknown, unknown>, 'engine' | 'rooms'>,
  { summary, definition, dialect }: Extract<AnswerOf<'record'>, { readonly summary: unknown }>,
): Promise<Plan['steps'] | null> {
  if (!STEP_FORMATS.has(dialect)) return []
  const board = (await engine.ask({ type: 'board', plan: summary.id })) ?? []
  const statuses = board.map(({ name, status }) => [name, status] as const)
  const printed = await rooms.documents.runOn('print', { definition, statuses, as: dialect! })
  return isProblem(printed) ? null : (JSON.parse(printed.text) as { steps: Plan['steps'] }).steps
}

/** Cache of rendered plans by version. */
const SHOWN = new WeakMap<RouteRooms, Map<string, ShownPlan>>()
const SHOWN_MAX = 200

function shownBy(rooms: RouteRooms): Map<string, ShownPlan> {
  const shown = SHOWN.get(rooms) ?? new Map()
  SHOWN.set(rooms, shown)
  return shown
}

function planBody(summary: Summary, definition: PlanDefinition, listed: Plan['steps']): Plan {
  const { annotations, progress } = summary
  const { plan_type, steps, current_step: written, ...extra } = definition.extra ?? {}
  const { current_step, client, ...kept } = annotations
  return {
    id: summary.id,
    name: summary.name,
    title: summary.title,
    description: summary.goal,
    goal_id: summary.goalId,
    agent_id: summary.agent,
    session_id: summary.session,
    owner: definition.owner ?? null,
    labels: [...(definition.labels ?? [])],
    plan_type: typeof plan_type === 'string' ? plan_type : isChain(definition) ? 'sequential' : 'parallel',
    steps: Array.isArray(steps) ? (steps as Plan['steps']) : listed,
    status: summary.status,
    state: summary.status,
    current_step: wholeIn(current_step) ?? wholeIn(written) ?? progress.done,
    revision: summary.revision,
    version: summary.version,
    archived: summary.archived,
    created_at: iso(summary.createdAt),
    updated_at: iso(summary.updatedAt),
    started_at: isoOrNull(summary.startedAt),
    completed_at: isoOrNull(summary.endedAt),
    client: clientTimes(client),
    reason: summary.reason,
    shortage: summary.shortage === undefined ? undefined : { ...summary.shortage },
    origin: summary.origin,
    progress: showProgress(progress),
    extra: { ...extra, ...kept } as Plan['extra'],
  }
}

/** Does each task need exactly the one before it? */
const isChain = ({ tasks }: PlanDefinition): boolean =>
  tasks.length > 1 && tasks.every(({ needs = [] }, at) => needs.join() === (tasks[at - 1]?.id ?? ''))

/** The success rate is part of the metrics, by attempts; a second one here would contradict it. */
export const showProgress = ({ successRate: _, ...progress }: Progress): Plan['progress'] =>
  onWire(progress) as unknown as Plan['progress']

/** A row of the list; some keys have other names in the PlanStore. */
export function planItem({ goal, agent, session, endedAt, ...row }: PlanRow): PlanItem {
  const { status, tasks, done } = row
  return {
    ...(onWire(row) as object),
    description: goal,
    agent_id: agent,
    session_id: session,
    state: status,
    progress: { total: tasks, done, ratio: ratioOf(done, tasks) },
    completed_at: isoOrNull(endedAt),
  } as PlanItem
}

export function overviewItem({ seen: _, ...row }: AnswerOf<'overview'>['items'][number]): PlanOverview {
  const { running, failed, abandoned } = row.counts
  return { ...planItem(row), running, failed: failed + abandoned } as PlanOverview
}

export function clientTimes(client: unknown): Plan['client'] {
  const { started_at = null, completed_at = null } = (isMap(client) ? client : {}) as JsonObject
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)
  return { started_at: text(started_at), completed_at: text(completed_at) }
}

const wholeIn = (value: unknown): number | null => (Number.isSafeInteger(value) ? (value as number) : null)
