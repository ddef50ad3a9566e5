// Whoever runs a plan does not approve it: an order that would get past a gate needs the right to decide at it, whatever the order is
// called. Every order of a caller who may not decide comes by here. A draft may be changed freely.

import type { Reset } from '../../domain/command.ts'
import {
  type Release,
  releasedByFinishing,
  releasedByRevising,
  releasedBySkipping,
  type Standing,
} from '../../domain/gates/releases.ts'
import { advise, next } from '../../domain/hint.ts'
import type { TaskName } from '../../domain/id.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { keepItems } from '../../domain/plan-rules/for-each.ts'
import { type Refusal, refuse } from '../../domain/refusal.ts'
import { changedIn, outlinedBy } from '../../domain/revisions/merge.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import { SATISFIES } from '../../domain/status.ts'
import type { Engine, SubmitOptions } from '../engine.ts'
import type { Order, Submitted } from '../orders.ts'
import type { AnswerOf } from '../queries.ts'
import type { Objection } from '../write-order.ts'

type Summary = NonNullable<AnswerOf<'summary'>>

const ASK = 'or ask an approver'
const TRIES_MAX = 20

interface GateRoom {
  readonly ask: Engine['ask']
  readonly carryOut: (order: Order, options: SubmitOptions, objection?: Objection) => Promise<Submitted>
}

/** Carries out the order of a caller who may not decide, unless it would get past a gate. */
export async function submitKeepingGates(
  { ask, carryOut }: GateRoom,
  plan: string | null,
  what: Order,
  asked: SubmitOptions,
): Promise<Submitted> {
  const order = withoutApprovals(what)
  if (isRevising(order)) return await carryOut(order, asked, gateObjection(order))
  // Where a gate is in question, the order holds for the plan as it was looked at.
  for (let tries = 1, seen = -1; ; tries++) {
    const kept = await keepGates(ask, plan, order)
    if (kept === null) return await carryOut(order, asked)
    if ('refusal' in kept) return { ok: false, refusal: kept.refusal }
    const { version } = kept
    const { expectedVersion = version } = asked
    if (expectedVersion > version) return { ok: false, refusal: notThere(version, expectedVersion) }
    const done = await carryOut(order, { ...asked, expectedVersion })
    const isOvertaken = !done.ok && done.refusal.code === 'conflict' && asked.expectedVersion === undefined
    if (!isOvertaken || version === seen || tries >= TRIES_MAX) return done
    seen = version
  }
}

const notThere = (version: number, expected: number): Refusal =>
  refuse('conflict', `the plan is at version ${version}, not ${expected}`, 'read it again, then decide anew')

/** A fork of theirs goes on from no approval that has work left to release. */
const withoutApprovals = (order: Order): Order => (order.type === 'fork' ? { ...order, gates: 'asked again' } : order)

/**
 * What stands against an order that changes the definition step by step; asked when it is written, of the plan as it then is, so that
 * nobody has to look, and look again, while others write.
 */
function gateObjection(order: Order): Objection {
  return state => {
    if (state.status === 'draft') return null
    const statuses = new Map(state.order.map(({ definition: { id }, status }) => [id, status]))
    const release = releasedBy({ definition: state.definition, statuses }, order)
    return release === null ? null : refusalOf(release, state.definition.name)
  }
}

const isRevising = ({ type }: Order): boolean =>
  type === 'add' || type === 'change' || type === 'remove' || type === 'outline'

/** `version`: what was looked at; the order holds for nothing else. */
type Kept = { readonly refusal: Refusal } | { readonly version: number }

/** Null when no gate is in question. Orders of `gateObjection` are not asked about here. */
async function keepGates(ask: Engine['ask'], plan: string | null, order: Order): Promise<Kept | null> {
  if (order.type === 'create') return bringing(order)
  if (plan === null || !MAY_RELEASE.has(order.type)) return null
  // The version is read first: when the plan moves meanwhile, it is not the one that was looked at.
  const summary = await ask({ type: 'summary', plan })
  if (summary === null) return null
  // A draft may be changed freely, as long as it is one.
  if (!isAbout(order, summary)) return order.type === 'finish' ? null : { version: summary.version }
  const parked = undecided(order, summary)
  if (parked !== null) return { refusal: refusalOf(parked, summary.name) }
  if (order.type === 'retry') return { version: summary.version }
  const [current, board] = [await ask({ type: 'definition', plan }), await ask({ type: 'board', plan })]
  if (current === null || board === null) return null
  const statuses = new Map(board.map(({ name, status }) => [name, status]))
  const release = releasedBy({ definition: current.definition, statuses }, order)
  return release === null ? { version: summary.version } : { refusal: refusalOf(release, summary.name) }
}

/** A plan may be made without gates, but with none that says it was passed when nobody has decided. */
function bringing({ definition, imported = [] }: Extract<Order, { readonly type: 'create' }>): Kept | null {
  if (imported.length === 0) return null
  const gates = new Set(
    allTasks(definition).flatMap(({ id, action }) => (action.type === 'gate' ? [id as string] : [])),
  )
  const named = new Set<string>(imported.map(({ task }) => task))
  // How a group stands goes for all in it that are not named themselves.
  const passes = (task: string): boolean =>
    gates.has(task) || [...gates].some(gate => gate.startsWith(`${task}/`) && !named.has(gate))
  const passed = imported.find(({ task, status }) => SATISFIES.has(status) && passes(task))
  if (passed === undefined) return null
  return {
    refusal: refuse(
      'not-allowed',
      `the gate '${passed.task}' would count as passed; whoever runs a plan does not decide at its gates`,
      `leave out how it stands, ${ASK}`,
    ),
  }
}

const MAY_RELEASE: ReadonlySet<Order['type']> = new Set(['skip', 'retry', 'finish', 'revise', 'propose'])

function isAbout(order: Order, { status }: Summary): boolean {
  if (order.type === 'finish') return order.as === 'completed'
  return order.type === 'skip' || order.type === 'retry' || status !== 'draft'
}

/** Something went wrong, and a person is asked what then: to try it again, or to pass over it, is an answer. */
interface Undecided {
  readonly type: 'undecided'
  readonly gate: TaskName
  readonly asks: Asked
}

type Asked = 'unknown-outcome' | 'recovery' | 'replan' | 'verdict'

/** To try it again is an answer to all of these but a verdict; to pass over it is an answer to each. */
const ASKED: ReadonlySet<string> = new Set<Asked>(['unknown-outcome', 'recovery', 'replan', 'verdict'])
const isAsked = (type: string): type is Asked => ASKED.has(type)

function undecided(order: Order, { waiting }: Summary): Undecided | null {
  for (const { task: gate, asks } of waiting)
    if (isAsked(asks.type) && !(asks.type === 'verdict' && order.type === 'retry') && isOf(order, gate))
      return { type: 'undecided', gate, asks: asks.type }
  return null
}

/** Would it be tried again, or passed over? With a group goes all that belongs to it. */
function isOf(order: Order, task: TaskName): boolean {
  if (order.type === 'finish') return true
  return (order.type === 'skip' || order.type === 'retry') && (task === order.task || task.startsWith(`${order.task}/`))
}

/** A rollback that would bring back an approval which does not stand any more. */
interface Renewed {
  readonly type: 'renewed'
  readonly gate: TaskName
}

/** What stands against a rollback or undo: it may neither renew an approval nor answer what a person is asked. */
export function refuseResets({ tasks, definition }: PlanState, resets: readonly Reset[]): Refusal | null {
  for (const { task: name, status } of resets) {
    const task = tasks.get(name)
    if (task === undefined) continue
    const asks = task.gate?.asks.type
    if (task.definition.action.type === 'gate' && SATISFIES.has(status) && !SATISFIES.has(task.status))
      return refusalOf({ type: 'renewed', gate: name }, definition.name)
    if (asks !== undefined && isAsked(asks)) return refusalOf({ type: 'undecided', gate: name, asks }, definition.name)
  }
  return null
}

function releasedBy(standing: Standing, order: Order): Release | null {
  switch (order.type) {
    case 'skip':
      return releasedBySkipping(standing, order.task)
    case 'finish':
      return releasedByFinishing(standing)
    case 'propose':
      // Elsewhere somebody who may decide looks at it first.
      return standing.definition.policy?.replan === 'auto' ? releasedInto(standing, order.definition) : null
    default: {
      const after = revisedBy(standing.definition, order)
      return after === null ? null : releasedInto(standing, after)
    }
  }
}

const releasedInto = (standing: Standing, after: PlanDefinition): Release | null =>
  releasedByRevising(standing, keepItems(standing.definition, after))

/** Null when the engine refuses it anyway. */
function revisedBy(definition: PlanDefinition, order: Order): PlanDefinition | null {
  const { tasks } = definition
  switch (order.type) {
    case 'revise':
      return order.definition
    case 'add':
      return { ...definition, tasks: [...tasks, ...order.tasks] }
    case 'change': {
      const changed = changedIn(tasks, order.task, order.set, order.extra)
      return changed === null ? null : { ...definition, tasks: changed }
    }
    case 'remove': {
      const gone = new Set<TaskName>(order.tasks)
      return { ...definition, tasks: tasks.filter(({ id }) => !gone.has(id)) }
    }
    case 'outline':
      return outlinedBy(definition, order)
    default:
      return null
  }
}

function refusalOf(release: Release | Undecided | Renewed, plan: string): Refusal {
  const how =
    release.type === 'undecided' || release.type === 'renewed'
      ? advise`see what is asked (${next('gates', { plan })})`
      : advise`propose it (${next('propose', { plan })})`
  return refuse(
    'not-allowed',
    `${wordsOf(release)}; whoever runs a plan does not decide at its gates`,
    advise`${how}, ${ASK}`,
  )
}

function wordsOf(release: Release | Undecided | Renewed): string {
  switch (release.type) {
    case 'undecided':
      if (release.asks === 'verdict') return `somebody is asked whether '${release.gate}' is done`
      return release.asks === 'unknown-outcome'
        ? `nobody knows whether '${release.gate}' happened, and somebody is asked`
        : `'${release.gate}' went wrong, and somebody is asked what then`
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
