// The same announcements under the names of seed 001, whose clients know sessions, plans and steps. Every event of ours gives at
// least one of theirs, so that nothing happens behind their back; one that moves many tasks gives one for each, up to a bound. How
// a step stands after an event is not said by the event alone, so the state is moved along: whoever folds what is told here sees
// what GET /plan/:plan/status shows.

import type { Event } from '../../../domain/event.ts'
import { tasksOf } from '../../../domain/events/event-row.ts'
import { rowOf } from '../../../domain/events/event-table.ts'
import type { PlanId, TaskName } from '../../../domain/id.ts'
import { dueAt } from '../../../domain/instant.ts'
import type { JsonObject } from '../../../domain/json.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { evolve } from '../../../domain/state/evolve.ts'
import type { PlanState } from '../../../domain/state/state.ts'
import { type AnnouncedEntry, type Announcement, type PlanFacts, RESYNC } from '../../../domain/views/announcement.ts'

import type { SessionWord, StepWord } from '../../../format/wire/answers/fields.ts'
import type { Naming } from '../../../server/live/sse.ts'
import { planWord, stepWord } from './session-words.ts'

const NAMES = [
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
export type UnderscoreName = (typeof NAMES)[number]

export const ANNOUNCED_UNDERSCORE: readonly string[] = [...NAMES, RESYNC]

/** More tasks moved at once are told as one change of the plan. */
const STEPS_MAX = 500

interface Said {
  readonly name: UnderscoreName
  readonly data: JsonObject
}

interface Stands {
  readonly plan: SessionWord | null
  readonly steps: readonly Step[]
}
interface Step {
  readonly task: TaskName
  /** `removed`: a revision took it out. */
  readonly word: StepWord | 'removed' | null
}

/** Moves `before`, the state the entry was written upon and the caller's own, past the entry; null when it cannot be had. */
function announce(entry: AnnouncedEntry, facts: PlanFacts, before: PlanState | null): readonly Announcement[] {
  const now = dueAt(entry.at) ?? 0
  return entry.events
    .flatMap(event => saidOf(event, before === null ? unknown(event) : moved(before, event, now)))
    .map(({ name, data }) => ({ name, data: dataOf(name, entry.plan, facts, entry.at, data) }))
}

export const UNDERSCORE: Naming = {
  key: 'underscore',
  announce,
  output: ({ plan, task, attempt, stream, text, at, more }, facts) => {
    const data = { event: 'task.output', step_id: task, attempt, stream, output: text, ...more }
    return { name: 'step_progress', data: dataOf('step_progress', plan, facts, at, data) }
  },
  progress: (event, plan, facts, { progress, revision, running, waiting }, at) => {
    const { total, done, ratio } = progress
    const steps = { completed_steps: done, total_steps: total, progress: ratio, revision }
    const data = { event, ...steps, running_steps: [...running], waiting: waiting.length }
    return { name: 'plan_update', data: dataOf('plan_update', plan, facts, at, data) }
  },
  resync: (data, at) => ({ name: RESYNC, data: dataOf(RESYNC, null, null, at, data) }),
}

function dataOf(
  type: UnderscoreName | typeof RESYNC,
  plan: PlanId | null,
  facts: PlanFacts | null,
  timestamp: string,
  data: JsonObject,
): string {
  return JSON.stringify({ type, session_id: facts?.session ?? null, plan_id: plan, timestamp, data })
}

function moved(state: PlanState, event: Event, now: number): Stands {
  const before = rowOf(event).rows?.(event) === 'all' ? wordsIn(state) : null
  evolve(state, event, now)
  const named: Step[] = tasksOf(event).map(task => {
    const found = state.tasks.get(task)
    return { task, word: found === undefined ? null : stepWord(found) }
  })
  const plan = planWord(state.status)
  if (before === null) return { plan, steps: named }
  return {
    plan,
    steps: [...named, ...differing(before, state).filter(one => named.every(({ task }) => task !== one.task))],
  }
}

const wordsIn = ({ order }: PlanState): ReadonlyMap<TaskName, StepWord> =>
  new Map(order.map(task => [task.definition.id, stepWord(task)]))

function differing(before: ReadonlyMap<TaskName, StepWord>, state: PlanState): readonly Step[] {
  const after = wordsIn(state)
  const removed = Array.from(before.keys()).filter(task => !after.has(task))
  return [
    ...Array.from(after, ([task, word]) => ({ task, word })).filter(({ task, word }) => before.get(task) !== word),
    ...removed.map(task => ({ task, word: 'removed' as const })),
  ]
}

const unknown = (event: Event): Stands => ({
  plan: null,
  steps: tasksOf(event).map(task => ({ task, word: null })),
})

function saidOf(event: Event, { plan, steps }: Stands): readonly Said[] {
  switch (event.type) {
    case 'plan.created':
      return [made(event)]
    case 'plan.started':
    case 'plan.resumed':
    case 'plan.reopened':
      return [{ name: 'plan_executing', data: { event: event.type, status: 'executing' } }]
    case 'plan.finished':
      return [...updates(event, steps), ...finished(event.status, event.reason)]
    case 'plan.archived':
      return [{ name: 'plan_deleted', data: { event: event.type } }]
    case 'rollback.finished':
      // `status` is that of the plan, as everywhere.
      return [
        ...updates(event, steps),
        {
          name: 'plan_rollback',
          data: { event: event.type, rollback: 'finished', ...standing(plan), files: event.paths },
        },
      ]
    case 'plan.paused':
    case 'plan.cancelled':
    case 'plan.aborted':
      return [updated(event, { ...standing(plan), reason: event.reason }), ...updates(event, steps)]
    case 'plan.revised': {
      const more = { revision: event.revision, ...countOf(event.definition) }
      return [updated(event, { ...standing(plan), ...more }), ...updates(event, steps)]
    }
    default:
      return steps.length === 0 ? [updated(event, standing(plan))] : updates(event, steps)
  }
}

const standing = (plan: SessionWord | null): JsonObject => (plan === null ? {} : { status: plan })

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

function updates(event: Event, steps: readonly Step[]): readonly Said[] {
  if (steps.length > STEPS_MAX) return [updated(event, { steps_changed: steps.length })]
  const more = {
    ...('attempt' in event ? { attempt: event.attempt } : {}),
    ...('verdict' in event ? { verdict: event.verdict } : {}),
    ...(event.type === 'attempt.failed' ? { error: event.result.failure.message } : {}),
  }
  return steps.map(({ task, word }) => ({
    name: 'plan_step_update',
    data: { event: event.type, step_id: task, ...(word === null ? {} : { status: word }), ...more },
  }))
}
