// How the commands of a task run: in the sandbox, or with the person's permissions.
//
// A task is sandboxed if it declares what it writes or reaches, or a policy limits that; otherwise it runs with the person's permissions.
// Commands of other authors are always sandboxed. Checks, probes and compensations run as their task does, except that the checks of a task that an agent
// or a claimant works on, and the final checks of a plan with such a task, are sandboxed, because they judge what it wrote.

import { actionFacts } from '../actions/actions.ts'
import type { PlanDefinition, RunMode, SandboxMode, TaskDefinition, Writer } from '../plan.ts'
import { authorOf, authorsOfNew, notifyAuthor } from '../plan-rules/authors.ts'
import type { PlanState } from '../state/state.ts'
import { commandsOf, layeredSandbox } from './policy-in-state.ts'

export interface Confinement {
  readonly mode: RunMode
  readonly isHeld: boolean
  /** The person's own command: it sees their home, and runs without a sandbox if there is none. */
  readonly isOwn: boolean
  /** Without a sandbox it does not run. */
  readonly isRequired: boolean
}

type Confining = Pick<PlanState, 'definition' | 'sandbox' | 'layers' | 'authors'>

export function confinementOf(state: Confining, task: TaskDefinition): Confinement {
  const isOwn = authorOf(state, task.id) === 'person'
  const { type } = task.action
  const judgesOthers = type === 'external' || (type === 'verify' && hasAgents(state.definition))
  const { isRequired, isHeld: decided } = holding(state, isOwn, task.sandbox)
  if (type === 'agent') return { mode: 'agent', isHeld: decided ?? true, isOwn: false, isRequired }
  const isHeld = decided ?? (judgesOthers || saysLimits(state, task))
  return { mode: isHeld ? 'held' : 'as you', isHeld, isOwn: isOwn && !judgesOthers, isRequired }
}

export function runsAs(state: Confining, task: TaskDefinition): { readonly runs?: RunMode } {
  if (state.sandbox !== 'by-task' || actionFacts(task.action).runsCommands !== true) return {}
  return { runs: confinementOf(state, task).mode }
}

/** For people: how a task will run, even before the plan starts; null without a command. */
export function plannedRun(state: Confining, task: TaskDefinition): RunMode | null {
  if (actionFacts(task.action).runsCommands !== true && commandsOf(task).length === 0) return null
  return confinementOf({ ...state, sandbox: state.sandbox ?? 'by-task' }, task).mode
}

/** The same for a plan file; undefined: others wrote it. */
export const plannedRunOf = (
  definition: PlanDefinition,
  task: TaskDefinition,
  writer: Writer | undefined,
): RunMode | null => plannedRun({ definition, sandbox: 'by-task', layers: [], authors: authorsOfNew(writer) }, task)

export function notifyConfinement(state: Confining): Confinement {
  const isOwn = notifyAuthor(state) === 'person'
  const { isRequired, isHeld: decided } = holding(state, isOwn)
  const isHeld = decided ?? saysLimits(state, {})
  return { mode: isHeld ? 'held' : 'as you', isHeld, isOwn, isRequired }
}

/** The decision by plan, policy and author; `isHeld` is null when the task's own fields decide. */
function holding(
  state: Confining,
  isOwn: boolean,
  said?: 'off',
): { readonly isRequired: boolean; readonly isHeld: boolean | null } {
  const mode = sandboxMode(state)
  // A plan from before this rule keeps the mode recorded at its start.
  if (state.sandbox !== 'by-task') return { isRequired: mode === 'required', isHeld: mode !== 'off' }
  if (mode === 'required' || !isOwn) return { isRequired: true, isHeld: true }
  if (layeredSandbox(state) === 'preferred') return { isRequired: false, isHeld: true }
  return { isRequired: false, isHeld: said === 'off' ? false : mode === 'by-task' ? null : mode === 'preferred' }
}

export function sandboxMode(state: Pick<Confining, 'definition' | 'sandbox' | 'layers'>): SandboxMode | 'by-task' {
  const { definition, sandbox } = state
  if (sandbox === 'required') return 'required'
  const own = definition.policy?.sandbox ?? sandbox ?? 'off'
  const around = layeredSandbox(state)
  return around === 'required' || (around === 'preferred' && own === 'off') ? around : own
}

/** Does the task or a policy limit what it may write or reach? `read` counts only in the policy. */
function saysLimits(
  { definition: { policy }, layers }: Pick<Confining, 'definition' | 'layers'>,
  task: Pick<TaskDefinition, 'write' | 'network'>,
): boolean {
  if ((task.write ?? task.network) !== undefined) return true
  return [policy ?? {}, ...layers.map(layer => layer.policy)].some(
    ({ write, read, network }) => (write ?? read ?? network) !== undefined,
  )
}

function hasAgents({ tasks }: Pick<PlanDefinition, 'tasks'>): boolean {
  return tasks.some(
    ({ action }) =>
      action.type === 'agent' || action.type === 'external' || (action.type === 'subplan' && hasAgents(action)),
  )
}
