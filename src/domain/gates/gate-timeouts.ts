// Timeouts and deadlines: a gate closes or escalates, once for each reason in a visit.

import type { EventOf } from '../event.ts'
import { type DecisionDraft, emit } from '../rules/decision.ts'
import { afterFailure } from '../rules/settle.ts'
import { escalationOf, nextAlarm } from '../state/alarms.ts'
import type { PlanState, TaskState } from '../state/state.ts'

/** A raised alarm no longer applies, so this terminates. */
export function raiseDue(draft: DecisionDraft): void {
  for (;;) {
    const alarm = nextAlarm(draft.state)
    if (alarm === undefined || alarm.at > draft.now) return
    if (alarm.why === 'expired' && !asksOn(alarm.task)) expire(draft, alarm.task)
    else escalate(draft, alarm.task, alarm.why)
  }
}

/** Escalates once for each reason in a visit. */
export function escalate(draft: DecisionDraft, task: TaskState, why: EventOf<'task.escalated'>['why']): void {
  if (task.escalated.includes(why)) return
  const to = calledFor(draft.state, task)
  emit(draft, { type: 'task.escalated', task: task.definition.id, why, to })
}

/** Does it still ask when its time is over? */
export function asksOn({ definition: { action } }: TaskState): boolean {
  return action.type === 'gate' && action.expired === 'escalate'
}

function expire(draft: DecisionDraft, task: TaskState): void {
  const { id } = task.definition
  const { hash = null, since = draft.now, expiresAt = draft.now } = task.gate ?? {}
  emit(draft, {
    type: 'gate.decided',
    task: id,
    verdict: 'rejected',
    rationale: `${UNANSWERED} ${words(expiresAt - since)}`,
    by: ENGINE,
    ...(hash === null ? {} : { hash }),
  })
  afterFailure(draft, task, ['expired', 'rejected', 'failure'])
}

/** The start of the reason of an expired gate, by which readers of old journals recognise one: do not change. */
export const UNANSWERED = 'nobody answered within'

/** The actor of decisions by rule, without a person. */
export const ENGINE = 'engine'

/** The person the plan names for this, else the owner or assignee of the task, else the owner of the plan. */
function calledFor(state: PlanState, task: TaskState): string | undefined {
  const { owner, assignee } = task.definition
  return escalationOf(state, task)?.to ?? owner ?? assignee ?? state.definition.owner
}

function words(ms: number): string {
  const [size, unit] = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1_000, 's'],
  ].find(([size]) => ms >= (size as number) && ms % (size as number) === 0) ?? [1, 'ms']
  return `${ms / (size as number)} ${unit}`
}
