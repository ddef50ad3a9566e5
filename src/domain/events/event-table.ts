// All events and their rows. The compiler checks that none is missing.

import type { Event, EventOf, EventType } from '../event.ts'
import { ATTEMPT_EVENTS } from './attempt-events.ts'
import type { EventRow } from './event-row.ts'
import { GATE_EVENTS } from './gate-events.ts'
import { PLAN_EVENTS } from './plan-events.ts'
import { RACE_EVENTS } from './race-events.ts'
import { ROLLBACK_EVENTS } from './rollback-events.ts'
import { TASK_EVENTS } from './task-events.ts'
import { WORKSPACE_EVENTS } from './workspace-events.ts'

/** In the order of the tables in docs/formats/journal.md, by the heading there. */
export const EVENT_FAMILIES = {
  Plan: PLAN_EVENTS,
  Task: TASK_EVENTS,
  Attempt: { ...ATTEMPT_EVENTS, ...RACE_EVENTS },
  'Gate and criterion': GATE_EVENTS,
  'Workspace, compensation, notes': WORKSPACE_EVENTS,
  'Checkpoints, git, rollback': ROLLBACK_EVENTS,
}

export const EVENTS: { readonly [T in EventType]: EventRow<EventOf<T>> } = {
  ...PLAN_EVENTS,
  ...TASK_EVENTS,
  ...ATTEMPT_EVENTS,
  ...RACE_EVENTS,
  ...GATE_EVENTS,
  ...WORKSPACE_EVENTS,
  ...ROLLBACK_EVENTS,
}

export const EVENT_TYPES = Object.keys(EVENTS) as readonly EventType[]

/** An event of a newer version has only its name. */
export const rowOf = (event: Event): EventRow<Event> =>
  (EVENTS[event.type] as unknown as EventRow<Event> | undefined) ?? UNKNOWN

const UNKNOWN: EventRow<Event> = { kind: null, sentence: ({ type }) => type }

export const failureOf = (event: Event): string | null => rowOf(event).failure?.(event) ?? null
