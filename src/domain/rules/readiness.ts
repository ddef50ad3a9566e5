// Readiness, blocking and unblocking along `needs`. Each function emits one event for all affected tasks and visits only those.

import type { TaskName } from '../id.ts'
import type { TaskDefinition } from '../plan.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import { groupOf, NOTHING, openNeeds } from '../state/task-index.ts'
import { BLOCKS, SATISFIES } from '../status.ts'
import { type DecisionDraft, emit } from './decision.ts'

export function propagate(draft: DecisionDraft, task: TaskState): void {
  if (SATISFIES.has(task.status)) {
    const unblocked = unblock(draft, task.dependants)
    markReady(draft, unblocked.length === 0 ? task.dependants : [...task.dependants, ...unblocked])
    passOverIn(draft, task)
  } else if (BLOCKS.has(task.status)) block(draft, task)
}

/** Makes candidates ready whose needs are all satisfied. A gate first gets its question prepared. */
export function markReady(draft: DecisionDraft, candidates: Iterable<TaskState>): void {
  const ready = new Set<TaskState>()
  for (const task of candidates) {
    if (task.status !== 'pending' || task.dormant) continue
    const { unmet, blockers } = openNeeds(draft.state, task)
    if (unmet === 0 && blockers === 0) ready.add(task)
  }
  if (ready.size === 0) return
  emit(draft, { type: 'task.readied', tasks: Array.from(ready, task => task.definition.id) })
}

/** Blocks every transitive dependant that has not begun. */
export function block(draft: DecisionDraft, root: TaskState): void {
  const reached = new Set<TaskState>([root])
  const blocked: TaskName[] = []
  for (const task of reached) {
    for (const dependant of task.dependants) {
      if (reached.has(dependant) || dependant.routedBy.includes(task.definition.id)) continue
      if (dependant.status !== 'pending' && dependant.status !== 'ready') continue
      reached.add(dependant)
      blocked.push(dependant.definition.id)
    }
  }
  if (blocked.length > 0) emit(draft, { type: 'task.blocked', tasks: blocked, by: root.definition.id })
}

/** Blocks candidates with a blocking need, and their dependants. */
export function blockHeld(draft: DecisionDraft, candidates: readonly TaskState[]): void {
  const { state } = draft
  for (const task of candidates) {
    if (task.status !== 'pending' || openNeeds(state, task).blockers === 0) continue
    const needs = (task.definition.needs ?? []).map(name => state.tasks.get(name))
    const by = needs.find(
      need => need !== undefined && BLOCKS.has(need.status) && !task.routedBy.includes(need.definition.id),
    )
    if (by !== undefined) block(draft, by)
  }
}

export function unblock(draft: DecisionDraft, candidates: Iterable<TaskState>): readonly TaskState[] {
  if (draft.state.counts.blocked === 0) return NOTHING
  const freed = new Set<TaskState>()
  for (const task of candidates) {
    if (task.status === 'blocked' && openNeeds(draft.state, task).blockers === 0) freed.add(task)
  }
  const left = new Map<TaskState, number>()
  for (const task of freed) {
    for (const dependant of task.dependants) {
      if (dependant.status !== 'blocked') continue
      const blockers = (left.get(dependant) ?? openNeeds(draft.state, dependant).blockers) - 1
      left.set(dependant, blockers)
      if (blockers === 0) freed.add(dependant)
    }
  }
  if (freed.size > 0) emit(draft, { type: 'task.unblocked', tasks: [...freed].map(task => task.definition.id) })
  return [...freed]
}

/** After a revision: checks every task once. */
export function refresh(draft: DecisionDraft, tasks: readonly TaskState[]): void {
  unblock(draft, tasks)
  markReady(draft, tasks)
}

export const NEVER_ROUTED = 'no outcome led to it'

/** Skips tasks that no outcome activated, and those whose needs were all skipped this way. */
export function skipUnreached(draft: DecisionDraft, dormant: readonly TaskState[]): void {
  const skipped = [...dormant]
  for (let at = 0; at < skipped.length; at++) {
    const task = skipped[at]!
    emit(draft, { type: 'task.skipped', task: task.definition.id, reason: NEVER_ROUTED })
    for (const dependant of task.dependants) {
      if (dependant.status === 'pending' && followsOnlyUnrouted(draft.state, dependant)) skipped.push(dependant)
    }
  }
  for (const task of skipped) propagate(draft, task)
}

function followsOnlyUnrouted(state: PlanState, task: TaskState): boolean {
  const needs = task.definition.needs ?? []
  return needs.length > 0 && needs.every(name => state.tasks.get(name)?.reason === NEVER_ROUTED)
}

/** A group does not wait for its dormant tasks when all others are done. */
function passOverIn(draft: DecisionDraft, task: TaskState): void {
  const group = groupOf(draft.state, task)
  if (group === null || group.status !== 'pending' || group.unmet === 0 || !hasSleepers(draft.state, group)) return
  const dormant: TaskState[] = []
  for (const name of group.definition.needs ?? []) {
    const child = draft.state.tasks.get(name)
    if (child === undefined || SATISFIES.has(child.status)) continue
    if (child.status !== 'pending' || (child.dormant && openNeeds(draft.state, child).unmet > 0)) return
    if (child.dormant) dormant.push(child)
  }
  if (dormant.length > 0) skipUnreached(draft, dormant)
}

/** Cached: most groups have no dormant tasks, and then the end of a child costs nothing. None is added without a new definition. */
const sleepers = new WeakMap<TaskDefinition, boolean>()

function hasSleepers(state: PlanState, { definition }: TaskState): boolean {
  let known = sleepers.get(definition)
  if (known === undefined) {
    known = definition.needs?.some(name => state.tasks.get(name)?.dormant === true) === true
    sleepers.set(definition, known)
  }
  return known
}
