// The journal as a trace: spans for a plan, its tasks, their attempts and their processes. Span ids are derived from plan ids, so that
// every process computes the same ones and a child knows its parent before it runs.

import type { AttemptEnd, Event } from '../event.ts'
import { failureOf } from '../events/event-table.ts'
import type { Millis, PlanId, TaskName } from '../id.ts'
import type { TaskDefinition } from '../plan.ts'
import { CONFIDENTIAL, confidentialMask, isConfidential } from '../plan-rules/confidential.ts'
import type { PlanState, TaskState } from '../state/state.ts'

export interface Span {
  readonly trace: string
  readonly id: string
  /** Null for the plan itself. */
  readonly parent: string | null
  readonly name: string
  readonly startedAt: Millis
  readonly endedAt: Millis
  readonly failed: string | null
  readonly attributes: { readonly [name: string]: string | number | boolean }
}

/** Open spans, by id. */
export class OpenSpans {
  readonly #started = new Map<string, Millis>()

  /** The spans that ended with these events. `state` may be newer: only immutable facts are read from it. */
  endedBy(state: PlanState, events: readonly Event[], now: Millis): readonly Span[] {
    return events.flatMap(event => this.#ended(state, event, events, now))
  }

  #ended(state: PlanState, event: Event, beside: readonly Event[], now: Millis): readonly Span[] {
    switch (event.type) {
      case 'plan.started':
      case 'plan.reopened':
        this.#begin(PLAN_SPAN, now)
        return []
      case 'plan.finished':
        return [this.#plan(state, event.status, event.reason, now)]
      case 'gate.opened': {
        const task = state.tasks.get(event.task)
        if (task !== undefined) this.#begin(taskSpan(task.ordinal, task.visit), now)
        return []
      }
      case 'attempt.started': {
        const task = state.tasks.get(event.task)
        if (task === undefined) return []
        this.#begin(taskSpan(task.ordinal, event.visit), now)
        this.#begin(attemptSpan(task.ordinal, event.visit, event.attempt), now)
        return []
      }
      case 'attempt.succeeded':
      case 'attempt.failed':
      case 'attempt.lost': {
        const task = state.tasks.get(event.task)
        if (task === undefined) return []
        const spans = this.#attempt(state, task, event, now)
        return isGoingOn(event.task, beside) ? spans : [...spans, this.#task(state, task, event, event.visit, now)]
      }
      case 'task.skipped':
      case 'task.abandoned':
      case 'task.failed':
      case 'gate.decided': {
        const task = state.tasks.get(event.task)
        const isOpen = task !== undefined && this.#started.has(taskSpan(task.ordinal, task.visit))
        return isOpen ? [this.#task(state, task, event, task.visit, now)] : []
      }
      default:
        return []
    }
  }

  #begin(id: string, now: Millis): void {
    if (!this.#started.has(id)) this.#started.set(id, now)
  }

  #take(id: string, otherwise: Millis): Millis {
    const at = this.#started.get(id) ?? otherwise
    this.#started.delete(id)
    return at
  }

  #plan(state: PlanState, status: string, reason: string, now: Millis): Span {
    return {
      trace: traceOf(state.id),
      id: PLAN_SPAN,
      parent: null,
      name: `plan ${state.definition.name}`,
      startedAt: this.#take(PLAN_SPAN, state.startedAt ?? now),
      endedAt: now,
      failed: status === 'completed' ? null : confidentialMask(state)(reason),
      attributes: {
        'planfold.plan.id': state.id,
        'planfold.plan.name': state.definition.name,
        'planfold.status': status,
      },
    }
  }

  #task(state: PlanState, { ordinal, definition }: TaskState, event: Event, visit: number, now: Millis): Span {
    const id = taskSpan(ordinal, visit)
    return {
      trace: traceOf(state.id),
      id,
      parent: PLAN_SPAN,
      name: `task ${definition.id}`,
      startedAt: this.#take(id, now),
      endedAt: now,
      failed: failureText(state, definition, event),
      attributes: {
        ...about(state, definition.id),
        'planfold.task.kind': definition.kind ?? '',
        'planfold.visit': visit,
      },
    }
  }

  #attempt(state: PlanState, { ordinal, definition }: TaskState, event: AttemptEnd, now: Millis): readonly Span[] {
    const { visit, attempt } = event
    const took = 'result' in event ? (event.result.durationMs ?? 0) : 0
    const id = attemptSpan(ordinal, visit, attempt)
    const startedAt = this.#take(id, now - took)
    const failed = failureText(state, definition, event)
    const common = { trace: traceOf(state.id), startedAt, endedAt: now, failed }
    const exit = 'result' in event ? event.result.exit : undefined
    return [
      {
        ...common,
        id,
        parent: taskSpan(ordinal, visit),
        name: `attempt ${attempt}`,
        attributes: { ...about(state, definition.id), 'planfold.visit': visit, 'planfold.attempt': attempt },
      },
      {
        ...common,
        id: capabilitySpan(ordinal, visit, attempt),
        parent: id,
        name: definition.action.type,
        ...(took > 0 ? { endedAt: Math.min(now, startedAt + took) } : {}),
        attributes: {
          ...about(state, definition.id),
          'planfold.capability': definition.action.type,
          ...(exit === undefined ? {} : { 'process.exit.code': exit }),
        },
      },
    ]
  }
}

/** The parent for a child process, as W3C Trace Context. */
export function traceparent(plan: PlanId, ordinal: number, visit: number, attempt: number): string {
  return `00-${traceOf(plan)}-${capabilitySpan(ordinal, visit, attempt)}-01`
}

/** A plan's UUID has the length of a trace id. */
const traceOf = (plan: PlanId): string => plan.replaceAll('-', '')

const PLAN_SPAN = '0000000000000001'
const CAPABILITY_BIT = 0x8000_0000
const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0').slice(-digits)
const taskSpan = (ordinal: number, visit: number): string => attemptSpan(ordinal, visit, 0)
const attemptSpan = (ordinal: number, visit: number, attempt: number): string =>
  hex(ordinal, 8) + hex(visit, 4) + hex(attempt, 4)
const capabilitySpan = (ordinal: number, visit: number, attempt: number): string =>
  attemptSpan(CAPABILITY_BIT + ordinal, visit, attempt)

/** A retry or a question in the same entry. */
const isGoingOn = (task: TaskName, beside: readonly Event[]): boolean =>
  beside.some(event => (event.type === 'retry.scheduled' || event.type === 'gate.opened') && event.task === task)

/** The failure of a confidential task is traced without its text. */
function failureText(state: PlanState, task: TaskDefinition, event: Event): string | null {
  const failed = failureOf(event)
  return failed !== null && isConfidential(state.definition, task) ? CONFIDENTIAL : failed
}

const about = (state: PlanState, task: TaskName) => ({
  'planfold.plan.id': state.id,
  'planfold.plan.name': state.definition.name as string,
  'planfold.task.name': task as string,
})
