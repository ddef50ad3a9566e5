// Whoever runs a plan does not approve it: an order that would get past a gate, or answer what a person is asked about a task, needs the
// right to decide, whatever the order is called. Every order of a caller who may not decide comes by here. A draft may be changed
// freely.

import type { Command, Reset } from '../../domain/command.ts'
import {
  type GatedPlan,
  type Release,
  releasedByFinishing,
  releasedByRevising,
  releasedBySkipping,
} from '../../domain/gates/gate-bypass.ts'
import { advise, next } from '../../domain/hint.ts'
import type { TaskName } from '../../domain/id.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import { hasFailed } from '../../domain/revisions/revise.ts'
import { isLetAlone } from '../../domain/rules/routing.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { allTasks, transitiveDependants, worksOf } from '../../domain/state/task-index.ts'
import { SATISFIES } from '../../domain/status.ts'
import type { Order } from '../orders.ts'
import type { Objection } from '../write-order.ts'

const ASK = 'or ask an approver'

/** The order as a caller who may not decide gives it; a refusal where it would make a plan that is past its gates already. */
export function keepGates(order: Order): Order | Refusal {
  if (order.type === 'create') return refusePassed(order) ?? order
  // A fork of theirs goes on from no approval that has work left to release.
  return order.type === 'fork' ? { ...order, gates: 'asked again' } : order
}

/** What stands against a command of such a caller, asked of the plan as it is when the command is written. */
export const gateObjection: Objection = (state, command) => {
  const found =
    command.type === 'rollback'
      ? renewedBy(state, command.resets)
      : (answeredBy(state, command) ?? releasedBy(state, command))
  return found === null ? null : refusalOf(found, state.definition.name)
}

/** A plan may be made without gates, but with none that says it was passed when nobody has decided. */
function refusePassed({ definition, imported = [] }: Extract<Order, { readonly type: 'create' }>): Refusal | null {
  if (imported.length === 0) return null
  const gates = new Set(
    allTasks(definition).flatMap(({ id, action }) => (action.type === 'gate' ? [id as string] : [])),
  )
  const named = new Set<string>(imported.map(({ task }) => task))
  const passes = (task: string): boolean =>
    gates.has(task) || [...gates].some(gate => gate.startsWith(`${task}/`) && !named.has(gate))
  const passed = imported.find(({ task, status }) => SATISFIES.has(status) && passes(task))
  if (passed === undefined) return null
  return refuse(
    'not-allowed',
    `the gate '${passed.task}' would count as passed; whoever runs a plan does not decide at its gates`,
    `leave out how it stands, ${ASK}`,
  )
}

/** A person is asked about a task: to try it again, to pass over it, or to write it otherwise, is an answer. */
interface Answered {
  readonly type: 'answered'
  readonly task: TaskName
  readonly asks: Asked
  /** By a revision, which can be proposed instead. */
  readonly revised?: true
}

type Asked = 'unknown-outcome' | 'recovery' | 'replan' | 'verdict'

/** To try it again is an answer to all of these but a verdict, which is asked for again; to pass over it is an answer to each. */
const ASKED: ReadonlySet<string> = new Set<Asked>(['unknown-outcome', 'recovery', 'replan', 'verdict'])
const isAsked = (type: string): type is Asked => ASKED.has(type)

function answeredBy(state: PlanState, command: Command): Answered | null {
  switch (command.type) {
    case 'skip':
      return firstAsked(state.order.filter(task => isWithin(task, command.task)))
    case 'finish':
      return command.as === 'completed' ? firstAsked(state.order) : null
    case 'retry': {
      const task = state.tasks.get(command.task)
      if (task === undefined) return null
      const tried = state.order.filter(one => isWithin(one, command.task) && one.gate?.asks.type !== 'verdict')
      return firstAsked(tried) ?? firstReopened(state, transitiveDependants(worksOf(state, task)))
    }
    case 'revise':
      return state.status === 'draft' ? null : answeredByRevising(state, command.definition)
    case 'propose':
      // Where the policy lets proposals take effect, one is what a failure that asks for another plan asks for.
      return takesEffect(state) ? answeredByRevising(state, command.definition, 'replan') : null
    default:
      return null
  }
}

/** With a group goes all that belongs to it. */
const isWithin = ({ definition: { id } }: TaskState, task: TaskName): boolean =>
  id === task || id.startsWith(`${task}/`)

function firstAsked(tasks: readonly TaskState[]): Answered | null {
  for (const { definition, gate } of tasks)
    if (gate !== null && isAsked(gate.asks.type)) return { type: 'answered', task: definition.id, asks: gate.asks.type }
  return null
}

/** Of tasks that would begin their next visit because of others. */
const firstReopened = (state: PlanState, tasks: readonly TaskState[]): Answered | null =>
  firstAsked(tasks.filter(task => task.gate?.asks.type !== 'verdict' && !isLetAlone({ state }, task)))

/** What failed and is written otherwise begins its next visit, with all that comes after it; what is not written is given up. */
function answeredByRevising(state: PlanState, definition: PlanDefinition, but?: Asked): Answered | null {
  const failed = state.order.filter(task => hasFailed(task) && task.gate?.asks.type !== but)
  if (failed.length === 0) return null
  const written = new Map(allTasks(definition).map(task => [task.id, task]))
  const changed = failed.filter(
    task => JSON.stringify(written.get(task.definition.id)) !== JSON.stringify(task.definition),
  )
  const answered = firstReopened(state, [...changed, ...transitiveDependants(changed)])
  return answered === null ? null : { ...answered, revised: true }
}

const takesEffect = ({ status, definition }: PlanState): boolean =>
  status !== 'draft' && definition.policy?.replan === 'auto'

/** A rollback that would bring back an approval which does not stand any more. */
interface Renewed {
  readonly type: 'renewed'
  readonly gate: TaskName
}

/** A rollback or undo may neither renew an approval nor answer what a person is asked. */
function renewedBy({ tasks }: PlanState, resets: readonly Reset[]): Renewed | Answered | null {
  for (const { task: name, status } of resets) {
    const task = tasks.get(name)
    if (task === undefined) continue
    if (task.definition.action.type === 'gate' && SATISFIES.has(status) && !SATISFIES.has(task.status))
      return { type: 'renewed', gate: name }
    const answered = firstAsked([task])
    if (answered !== null) return answered
  }
  return null
}

function releasedBy(state: PlanState, command: Command): Release | null {
  const standing = (): GatedPlan => ({
    definition: state.definition,
    statuses: new Map(state.order.map(({ definition: { id }, status }) => [id, status])),
  })
  switch (command.type) {
    case 'skip':
      return releasedBySkipping(standing(), command.task)
    case 'finish':
      return command.as === 'completed' ? releasedByFinishing(standing()) : null
    case 'revise':
      return state.status === 'draft' ? null : releasedByRevising(standing(), command.definition)
    case 'propose':
      // Elsewhere somebody who may decide looks at it first.
      return takesEffect(state) ? releasedByRevising(standing(), command.definition) : null
    default:
      return null
  }
}

function refusalOf(found: Release | Answered | Renewed, plan: string): Refusal {
  const isProposable = found.type === 'answered' ? found.revised === true : found.type !== 'renewed'
  const how = isProposable
    ? advise`propose it (${next('propose', { plan })})`
    : advise`see what is asked (${next('gates', { plan })})`
  return refuse(
    'not-allowed',
    `${wordsOf(found)}; whoever runs a plan does not decide at its gates`,
    advise`${how}, ${ASK}`,
  )
}

function wordsOf(release: Release | Answered | Renewed): string {
  switch (release.type) {
    case 'answered':
      if (release.asks === 'verdict') return `somebody is asked whether '${release.task}' is done`
      return release.asks === 'unknown-outcome'
        ? `nobody knows whether '${release.task}' happened, and somebody is asked`
        : `'${release.task}' went wrong, and somebody is asked what then`
    case 'renewed':
      return `the gate '${release.gate}' has not been passed, and would count as passed again`
    case 'skipped':
      return `the gate '${release.gate}' has not been passed, and would be skipped`
    case 'removed':
      return `the gate '${release.gate}' has not been passed, and would be removed`
    case 'changed':
      return `the gate '${release.gate}' has not been passed, and would ask something else`
    case 'released':
      return `the gate '${release.gate}' has not been passed, and '${release.task}' would not wait for it any more`
    case 'copied':
      return `the gate '${release.gate}' has not been passed, and '${release.task}' would do what waits for it`
    case 'policy':
      return `'policy.${release.part}', which says who is asked, would be another`
    default:
      return release satisfies never
  }
}
