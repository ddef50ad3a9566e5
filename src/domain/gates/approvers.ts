// Who may decide about a task or skip it: a person with the required role, or one it was escalated to.

import { nameKey } from '../id.ts'
import { membersOf } from '../policy/plan-roles.ts'
import { type Refusal, refuse } from '../refusal.ts'
import { escalationOf } from '../state/alarms.ts'
import type { OpenGate, PlanState, TaskState } from '../state/state.ts'
import { approversAt, approversOf, needsConsent } from './consent-rules.ts'

export const hasRole = (state: PlanState, by: string, role: string): boolean =>
  peopleOf(state, role).some(name => nameKey(name) === nameKey(by))

/** A role that the plan does not list is the name of one person. */
const peopleOf = ({ definition }: PlanState, role: string): readonly string[] => membersOf(definition, role) ?? [role]

/** The refusal of an answer by somebody without the role or name that the gate needs. `by` is absent in older journals. */
export function lacksRole(state: PlanState, task: TaskState, gate: OpenGate, by: string | undefined): Refusal | null {
  if ('approvers' in gate.asks) return lacks(state, task, gate.asks.approvers?.role, by ?? '')
  return by === undefined ? null : lacks(state, task, roleAt(state, task, gate), by)
}

/** Skipping a gate releases the tasks behind it, as an approval would. */
export function mayNotSkip(state: PlanState, task: TaskState, by: string): Refusal | null {
  const { definition, gate } = task
  const role = (gate === null ? undefined : roleAt(state, task, gate)) ?? approversAt(definition)?.role
  const lacking = lacks(state, task, role ?? roleBefore(state, task), by)
  if (lacking !== null) return lacking
  const { count = 1 } = approversAt(definition) ?? {}
  if (count === 1) return null
  return refuse(
    'not-allowed',
    `${count} people must approve '${definition.id}', so one person cannot skip it`,
    'let them approve it, or revise the plan',
  )
}

function roleAt(state: PlanState, task: TaskState, { asks }: OpenGate): string | undefined {
  if ('approvers' in asks) return asks.approvers?.role
  if ('to' in asks) return asks.to
  return asks.type === 'unknown-outcome' ? roleBefore(state, task) : undefined
}

function roleBefore(state: PlanState, task: TaskState): string | undefined {
  return needsConsent(state, task) ? approversOf(state, task)?.role : undefined
}

function lacks(state: PlanState, task: TaskState, role: string | undefined, by: string): Refusal | null {
  if (role === undefined || hasRole(state, by, role) || isCalled(state, task, by)) return null
  return refuse(
    'not-allowed',
    notAmong(state, by, role, `'${task.definition.id}'`),
    `ask ${peopleOf(state, role).join(', ')}`,
  )
}

/** The message names the people of a role, because the roles of a plan are independent of those of access tokens. */
export function notAmong(state: PlanState, by: string, role: string, about: string): string {
  const people = membersOf(state.definition, role)
  if (people === null) return `only '${role}' may decide about ${about}; you are '${by}'`
  return `only the role '${role}' (${people.join(', ')}) may decide about ${about}; you are '${by}'`
}

function isCalled(state: PlanState, task: TaskState, by: string): boolean {
  const to = escalationOf(state, task)?.to
  return to !== undefined && task.escalated.length > 0 && hasRole(state, by, to)
}
