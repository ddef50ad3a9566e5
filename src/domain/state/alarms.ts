// Timeouts: an unanswered gate expires or escalates, as does a task after its deadline. Alarms are derived from the state of the task, so a
// stored fold does not contain them; stale ones are dropped when they come up.

import type { Millis } from '../id.ts'
import { dueAt } from '../instant.ts'
import type { Escalation } from '../plan.ts'
import { ENDED } from '../status.ts'
import type { Alarm, PlanState, TaskState } from './state.ts'

export function indexAlarms(state: PlanState, task: TaskState): void {
  if (task.gate === null && task.definition.deadline === undefined) return
  for (const alarm of alarmsOf(state, task)) state.alarms.push(alarm)
}

/** The first alarm that still applies; none unless the plan is active and neither compensates nor rolls back. */
export function nextAlarm(state: PlanState): Alarm | undefined {
  if (state.status !== 'active' || state.compensating !== null || state.rollback !== null) return undefined
  return state.alarms.peek(alarm =>
    alarmsOf(state, alarm.task).some(({ at, why }) => at === alarm.at && why === alarm.why),
  )
}

/** Is there something to do without running a task: prepare a question, or raise an alarm? */
export function hasDueAlarm(state: PlanState, now: Millis): boolean {
  if (state.status !== 'active' || state.compensating !== null) return false
  return state.asking.size > 0 || (nextAlarm(state)?.at ?? Number.POSITIVE_INFINITY) <= now
}

function alarmsOf(state: PlanState, task: TaskState): readonly Alarm[] {
  const { gate, escalated, status, definition } = task
  // A revision may have removed it.
  if (ENDED.has(status) || state.tasks.get(definition.id) !== task) return []
  const alarms: Alarm[] = []
  const add = (at: Millis | null, why: Alarm['why']): void => {
    if (at !== null && !escalated.includes(why)) alarms.push({ at, task, why })
  }
  if (gate !== null) {
    add(gate.expiresAt ?? null, 'expired')
    const escalation = escalationOf(state, task)
    if (escalation !== undefined) add(gate.since + escalation.afterMs, 'waiting')
  }
  if (definition.deadline !== undefined) add(dueAt(definition.deadline), 'deadline')
  return alarms
}

export function escalationOf({ definition }: PlanState, task: TaskState): Escalation | undefined {
  const { action } = task.definition
  return (action.type === 'gate' ? action.escalate : undefined) ?? definition.policy?.escalate
}
