// Applies a new definition to a plan: completed work is kept, a failed task whose definition changed opens a new visit, running work
// continues, new tasks are pending. A failed plan may continue with it, see reopen.ts.

import type { CommandOf } from '../command.ts'
import type { TaskName } from '../id.ts'
import type { ForEach, PlanDefinition, TaskDefinition } from '../plan.ts'
import { authorsAfter } from '../plan-rules/authors.ts'
import { usesTaskWorktrees } from '../plan-rules/effect.ts'
import { writtenTasks } from '../plan-rules/structure.ts'
import { refuseLayers } from '../policy/refuse-layers.ts'
import { type Refusal, refuse } from '../refusal.ts'
import { conclude } from '../rules/conclude.ts'
import { type DecisionDraft, emit } from '../rules/decision.ts'
import { illegal, policyAgain, refuseForeignKeys, refuseGraph, refuseUnsupported } from '../rules/lifecycle.ts'
import { blockHeld, refresh } from '../rules/readiness.ts'
import { goesOn, goOn, planContinuation, redoDone, refuseUnsafe, withCompensated } from '../rules/reopen.ts'
import { reopen } from '../rules/routing.ts'
import type { TaskState } from '../state/state.ts'
import { allTasks, openNeeds } from '../state/task-index.ts'
import { ENDED, PLAN_ENDED, SATISFIES } from '../status.ts'

interface Options {
  readonly proposal?: string
  readonly keep?: TaskState
  /** The task whose failure asked for it: it begins its next visit. */
  readonly again?: TaskState
}

/** Why the revision is refused; undefined when it is valid. Changes nothing. */
export function refuseRevision(
  { state }: DecisionDraft,
  command: CommandOf<'revise'>,
  { again }: Options = {},
): Refusal | undefined {
  const { definition, hash, expectedRevision } = command
  const takesUp = (command.reopen === true && state.status !== 'cancelled') || goesOn(state, command)
  if ((PLAN_ENDED.has(state.status) && !takesUp) || state.compensating !== null)
    return illegal(state, 'revise', 'the plan has ended')
  if (expectedRevision !== undefined && expectedRevision !== state.revision) {
    return refuse(
      'conflict',
      `the plan is at revision ${state.revision}, not ${expectedRevision}`,
      'read it again, then revise',
    )
  }
  if (hash === state.hash) return goesOn(state, command) ? refuseUnsafe(state, command) : undefined
  if (definition.name !== state.definition.name)
    return refuse('invalid', `a revision cannot rename the plan to '${definition.name}'`, 'make another plan')
  const isEmptied = state.status === 'draft' && definition.tasks.length === 0
  const refusal =
    (isEmptied ? undefined : refuseGraph(definition)) ??
    (state.status === 'draft' ? undefined : refuseUnsupported(definition)) ??
    refuseLayers(definition, command.policy ?? state.layers) ??
    refuseForeignKeys(
      definition,
      authorsAfter(state.authors, state.definition, definition, command.writer, command.others),
    )
  if (refusal !== undefined) return refusal
  if (state.status !== 'draft' && usesTaskWorktrees(definition) !== usesTaskWorktrees(state.definition))
    return refuse(
      'illegal-transition',
      "a plan that was started cannot change whether its tasks work apart ('git: {worktree: task}')",
      'make another plan',
    )
  const kept = new Map<TaskName, TaskDefinition>(allTasks(definition).map(task => [task.id, task]))
  for (const task of state.order) {
    if (task === again || (task.status !== 'running' && (task.gate === null || hasFailed(task)))) continue
    const { id, action } = task.definition
    const written = kept.get(id)
    if (written === undefined)
      return refuse(
        'not-ready',
        `the revision removes '${id}', which is ${task.status}`,
        'let it end first, or keep it',
      )
    if (written.action.type !== action.type) {
      return refuse(
        'not-ready',
        `the revision makes '${id}' a task of type ${written.action.type} while it is ${task.status}`,
        'let it end first, or give the new task another id',
      )
    }
    const late = written.needs?.find(
      name => !task.definition.needs?.includes(name) && !SATISFIES.has(state.tasks.get(name)?.status ?? 'pending'),
    )
    if (late !== undefined)
      return refuse(
        'not-ready',
        `the revision makes '${id}', which is ${task.status}, need '${late}', which is not done`,
        'let it end first, or leave its needs as they are',
      )
  }
  // Its effect could no longer be undone, since the definition holds its compensation.
  const undoable = state.completedOrder.find(id => !kept.has(id))
  if (undoable !== undefined)
    return refuse(
      'illegal-transition',
      `the revision removes '${undoable}', which has done what only its 'compensate' can undo`,
      'keep the task; it is not carried out again',
    )
  return goesOn(state, command) ? refuseUnsafe(state, command) : undefined
}

export function revise(draft: DecisionDraft, command: CommandOf<'revise'>, options: Options = {}): Refusal | undefined {
  const { state } = draft
  const { proposal, keep, again } = options
  const { definition, hash, rationale, source, stamp, writer, others } = command
  const refusal = refuseRevision(draft, command, options)
  if (refusal !== undefined) return refusal
  const onward = goesOn(state, command) ? planContinuation(state, command) : null
  if (onward !== null && hash === state.hash) {
    emit(draft, { type: 'plan.reopened', reason: rationale, ...policyAgain(command) })
    goOn(draft, onward)
    return undefined
  }
  if (hash === state.hash) return undefined
  const kept = new Map<TaskName, TaskDefinition>(allTasks(definition).map(task => [task.id, task]))
  const changed = state.order.filter(task => {
    const written = kept.get(task.definition.id)
    return (
      written !== undefined &&
      (task === again || (hasFailed(task) && JSON.stringify(written) !== JSON.stringify(task.definition)))
    )
  })
  const before = state.definition
  const isTakenUp = PLAN_ENDED.has(state.status)
  if (isTakenUp) emit(draft, { type: 'plan.reopened', reason: rationale, ...policyAgain(command) })
  for (const task of state.order) {
    if (kept.has(task.definition.id) || !hasRun(task)) continue
    const reason = `removed in revision ${state.revision + 1}; it was ${task.status}`
    emit(draft, { type: 'task.abandoned', task: task.definition.id, reason })
  }
  emit(draft, {
    type: 'plan.revised',
    revision: state.revision + 1,
    definition,
    hash,
    rationale,
    source,
    proposal,
    writer,
    others,
    stamp,
    memory: isTakenUp ? undefined : command.memory,
  })
  if (state.status === 'draft') return undefined
  // What people are asked to approve may have changed, so these gates ask again, for this revision.
  const anew = state.order.filter(task => task !== keep && isBound(task))
  if (anew.length > 0) emit(draft, { type: 'task.readied', tasks: anew.map(task => task.definition.id) })
  if (onward === null) reopen(draft, isTakenUp ? withCompensated(draft, changed) : changed, 'its definition changed')
  // Tasks whose items were found before and are not written in this revision.
  const unbound = state.order.filter(task => isUnbound(before, definition, task) && ENDED.has(task.status))
  reopen(draft, unbound, 'its items are looked up again')
  reopen(
    draft,
    state.order.filter(task => task.status === 'ready' && openNeeds(state, task).unmet > 0),
    'its needs changed',
  )
  if (onward !== null) {
    goOn(draft, onward)
    return undefined
  }
  refresh(draft, state.order)
  blockHeld(draft, state.order)
  if (state.order.some(task => task.definition.action.type !== 'verify' && !ENDED.has(task.status))) redoDone(draft)
  conclude(draft)
  return undefined
}

/** It failed for good, or a person decides about its failure. */
export const hasFailed = ({ status, gate }: TaskState): boolean =>
  status === 'failed' || gate?.asks.type === 'replan' || gate?.asks.type === 'recovery'

/** Is a person asked about exactly what the definition said? */
const isBound = ({ gate }: TaskState): boolean => ['approval', 'consent'].includes(gate?.asks.type ?? '')

/** Does the revision omit the items that this task had found? */
function isUnbound(before: PlanDefinition, after: PlanDefinition, { definition: { action } }: TaskState): boolean {
  if (action.type !== 'items') return false
  const had = forEachOf(before, action.of)?.items !== undefined
  return had && forEachOf(after, action.of)?.items === undefined
}

function forEachOf(definition: PlanDefinition, name: TaskName): ForEach | undefined {
  for (const written of writtenTasks(definition)) if (written.name === name) return written.task.forEach
  return undefined
}

/** Did anything happen in it? The task made from `done` only judges others. */
function hasRun({ definition: { action }, attempt, visit, status }: TaskState): boolean {
  return action.type !== 'verify' && (attempt > 0 || visit > 1 || status === 'completed' || status === 'failed')
}
