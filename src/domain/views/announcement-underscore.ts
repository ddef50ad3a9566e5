// The same announcements under the names of seed 001, whose clients know sessions, plans and steps. Every event of ours gives at
// least one of theirs, so that nothing happens behind their back; one that moves many tasks gives one for each, up to a bound.

import { type Event, type GateVerdict, tasksOf } from '../event.ts'
import type { PlanId, TaskName } from '../id.ts'
import type { JsonObject } from '../json.ts'
import type { PlanDefinition } from '../plan.ts'
import type { Announcement, PlanFacts, ToldEntry } from './announcement.ts'
import { RESYNC } from './announcement.ts'

const UNDERSCORE = [
  'plan_created',
  'plan_cloned',
  'plan_executing',
  'plan_update',
  'plan_step_update',
  'step_progress',
  'plan_completed',
  'plan_failed',
  'plan_complete',
  'plan_rollback',
  'plan_deleted',
] as const
export type UnderscoreName = (typeof UNDERSCORE)[number]

/** Every name a face of that kind may listen to. */
export const ANNOUNCED_UNDERSCORE: readonly string[] = [...UNDERSCORE, RESYNC]

/** More tasks moved at once are told as one change of the plan. */
const STEPS_MAX = 500

type StepWord = 'pending' | 'running' | 'completed' | 'failed' | 'skipped' | 'retrying'

interface Said {
  readonly name: UnderscoreName
  readonly data: JsonObject
}

export function underscoreAnnouncements(entry: ToldEntry, facts: PlanFacts): readonly Announcement[] {
  return entry.events
    .flatMap(saidOf)
    .map(({ name, data }) => ({ name, data: underscoreData(name, entry.plan, facts, entry.at, data) }))
}

/** The one shape of them all. */
export function underscoreData(
  type: UnderscoreName | typeof RESYNC,
  plan: PlanId | null,
  facts: PlanFacts | null,
  timestamp: string,
  data: JsonObject,
): string {
  return JSON.stringify({ type, session_id: facts?.session ?? null, plan_id: plan, timestamp, data })
}

function saidOf(event: Event): readonly Said[] {
  switch (event.type) {
    case 'plan.created':
      return [made(event)]
    case 'plan.started':
    case 'plan.resumed':
    case 'plan.reopened':
      return [{ name: 'plan_executing', data: { event: event.type, status: 'executing' } }]
    case 'plan.finished':
      return finished(event.status, event.reason)
    case 'plan.archived':
      return [{ name: 'plan_deleted', data: { event: event.type } }]
    case 'rollback.finished':
      return [{ name: 'plan_rollback', data: { event: event.type, status: 'completed', files: event.paths } }]
    case 'plan.paused':
      return [updated(event, { status: 'paused', reason: event.reason })]
    case 'plan.cancelled':
      return [updated(event, { status: 'cancelled', reason: event.reason })]
    case 'plan.revised':
      return [updated(event, { revision: event.revision, ...countOf(event.definition) })]
    case 'task.imported':
      return steps(
        event,
        event.tasks.map(({ task, status }) => ({ task, word: IMPORTED[status] })),
      )
    default: {
      const word = wordOf(event)
      const tasks = tasksOf(event).map(task => ({ task, word }))
      return tasks.length === 0 ? [updated(event, {})] : steps(event, tasks)
    }
  }
}

function made({ type, origin, definition }: Extract<Event, { type: 'plan.created' }>): Said {
  const { title, goal, name } = definition
  const data = { event: type, description: title ?? goal ?? name, status: 'pending', ...countOf(definition) }
  if (origin === undefined) return { name: 'plan_created', data }
  return { name: 'plan_cloned', data: { ...data, original_plan_id: origin } }
}

const countOf = ({ tasks }: PlanDefinition): JsonObject => ({ step_count: tasks.length })

/** Seed 001 told it under one name, and its page listened to another. */
function finished(status: 'completed' | 'failed' | 'cancelled', reason: string): readonly Said[] {
  const data = { event: 'plan.finished', status, reason }
  const first = { completed: 'plan_completed', failed: 'plan_failed', cancelled: 'plan_update' } as const
  return [
    { name: first[status], data },
    { name: 'plan_complete', data: { ...data, success: status === 'completed' } },
  ]
}

const updated = ({ type }: Event, data: JsonObject): Said => ({ name: 'plan_update', data: { event: type, ...data } })

function steps(
  event: Event,
  tasks: readonly { readonly task: TaskName; readonly word: StepWord | null }[],
): readonly Said[] {
  if (tasks.length > STEPS_MAX) return [updated(event, { steps_changed: tasks.length })]
  const more = {
    ...('attempt' in event ? { attempt: event.attempt } : {}),
    ...('verdict' in event ? { verdict: event.verdict } : {}),
    ...(event.type === 'attempt.failed' ? { error: event.result.failure.message } : {}),
  }
  return tasks.map(({ task, word }) => ({
    name: 'plan_step_update',
    data: { event: event.type, step_id: task, ...(word === null ? {} : { status: word }), ...more },
  }))
}

const IMPORTED = {
  pending: 'pending',
  completed: 'completed',
  failed: 'failed',
  skipped: 'skipped',
  abandoned: 'failed',
  cancelled: 'skipped',
} as const

/** How the step stands after it, in the words of seed 001; null when that is not said by the event. */
function wordOf(event: Event): StepWord | null {
  switch (event.type) {
    case 'attempt.started':
      return 'running'
    case 'attempt.succeeded':
      return event.result.verdicts?.some(({ holds }) => holds === null) === true ? 'pending' : 'completed'
    case 'task.substituted':
      return 'completed'
    case 'attempt.failed':
    case 'task.failed':
    case 'task.abandoned':
      return 'failed'
    case 'retry.scheduled':
      return 'retrying'
    case 'task.skipped':
      return 'skipped'
    case 'attempt.lost':
    case 'attempt.parked':
    case 'gate.opened':
    case 'task.added':
    case 'task.readied':
    case 'task.blocked':
    case 'task.unblocked':
    case 'task.reopened':
      return 'pending'
    case 'gate.decided':
      return DECIDED[event.verdict] ?? null
    default:
      return null
  }
}

/** What else follows from a verdict depends on what was asked. */
const DECIDED: { readonly [verdict in GateVerdict]?: StepWord } = {
  skipped: 'skipped',
  again: 'pending',
  'pushed-back': 'pending',
}
