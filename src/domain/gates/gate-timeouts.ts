// Nobody has answered, or a deadline has passed: a gate closes, or somebody is called, once for each reason in a visit.

import type { EventOf } from '../event.ts'
import { type DecisionDraft, emit } from '../rules/decision.ts'
import { afterFailure } from '../rules/settle.ts'
import { escalationOf, nextAlarm } from '../state/alarms.ts'
import type { PlanState, TaskState } from '../state/state.ts'

/** Each alarm that is raised fits no more afterwards, so this ends. */
export function raiseDue(draft: DecisionDraft): void {
  for (;;) {
    const alarm = nextAlarm(draft.state)
    if (alarm === undefined || alarm.at > draft.now) return
    if (alarm.why === 'expired' && !asksOn(alarm.task)) expire(draft, alarm.task)
    else escalate(draft, alarm.task, alarm.why)
  }
}

/** Calls somebody, unless they were called for this reason in this visit. */
export function escalate(draft: DecisionDraft, task: TaskState, why: EventOf<'task.escalated'>['why']): void {
  if (task.escalated.includes(why)) return
  const to = calledFor(draft.state, task)
  emit(draft, { type: 'task.escalated', task: task.definition.id, why, to })
}

/** Does it go on asking when its time is over? */
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

/** How the reason begins of a gate whose time is over. */
export const UNANSWERED = 'nobody answered within'

/** Whoever decides by rule and not by judgement. */
export const ENGINE = 'engine'

/** Whom the plan names for this, else who answers for the task, else for the plan. */
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
