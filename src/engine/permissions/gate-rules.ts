// Separates running a plan from approving it: an order that would bypass a gate, or answer a question about a task, needs the right to
// decide, whatever its type. Every order of a caller without that right is checked here. Drafts may be changed freely.

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

/** The order as a caller without the right to decide may give it; a refusal if it would create a plan that is already past its gates. */
export function keepGates(order: Order): Order | Refusal {
  if (order.type === 'create') return refusePassed(order) ?? order
  // Their fork does not inherit approvals that still have work to release.
  return order.type === 'fork' ? { ...order, gates: 'asked again' } : order
}

/** Objects to a command of such a caller, given the state at the time of writing. */
export const gateObjection: Objection = (state, command) => {
  const found =
    command.type === 'rollback'
      ? renewedBy(state, command.resets)
      : (answeredBy(state, command) ?? releasedBy(state, command))
  return found === null ? null : refusalOf(found, state.definition.name)
}

/** A plan may be created without gates, but not with gates that count as passed. */
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
    `the gate '${passed.task}' would count as passed, and deciding at gates needs the right to decide`,
    `leave out its status, ${ASK}`,
  )
}

/** A person is asked about a task. Retrying, skipping or rewriting it would be an answer. */
interface Answered {
  readonly type: 'answered'
  readonly task: TaskName
  readonly asks: Asked
  /** By a revision, which can be proposed instead. */
  readonly revised?: true
}

type Asked = 'unknown-outcome' | 'recovery' | 'replan' | 'verdict'

/** A retry answers all of these but a verdict, which is asked for again; skipping answers all. */
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
      // If the policy applies proposals at once, this revision is what the failure asks for.
      return takesEffect(state) ? answeredByRevising(state, command.definition, 'replan') : null
    default:
      return null
  }
}

const isWithin = ({ definition: { id } }: TaskState, task: TaskName): boolean =>
  id === task || id.startsWith(`${task}/`)

function firstAsked(tasks: readonly TaskState[]): Answered | null {
  for (const { definition, gate } of tasks)
    if (gate !== null && isAsked(gate.asks.type)) return { type: 'answered', task: definition.id, asks: gate.asks.type }
  return null
}

const firstReopened = (state: PlanState, tasks: readonly TaskState[]): Answered | null =>
  firstAsked(tasks.filter(task => task.gate?.asks.type !== 'verdict' && !isLetAlone({ state }, task)))

/** A failed task that is rewritten starts its next visit, with everything after it; a removed one is given up. */
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

/** A rollback that would restore an approval which is no longer valid. */
interface Renewed {
  readonly type: 'renewed'
  readonly gate: TaskName
}

/** A rollback or undo may neither renew an approval nor answer a question. */
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
      // Otherwise a person with the right to decide reviews it first.
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
  return refuse('not-allowed', `${wordsOf(found)}; deciding at gates needs the right to decide`, advise`${how}, ${ASK}`)
}

function wordsOf(release: Release | Answered | Renewed): string {
  switch (release.type) {
    case 'answered':
      if (release.asks === 'verdict') return `a person is asked whether '${release.task}' is done`
      return release.asks === 'unknown-outcome'
        ? `it is unknown whether '${release.task}' happened, and a person is asked`
        : `'${release.task}' failed, and a person is asked what to do`
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
