// A new definition for a plan that lives: completed work is kept, a failed task whose definition changed opens a new visit,
// running work carries on, new tasks are pending.

import type { CommandOf } from '../command.ts'
import type { TaskName } from '../id.ts'
import type { TaskDefinition } from '../plan.ts'
import { type Refusal, refuse } from '../refusal.ts'
import type { TaskState } from '../state.ts'
import { ENDED, PLAN_ENDED } from '../status.ts'
import { allTasks, openNeeds } from '../task-graph.ts'
import { conclude } from './conclude.ts'
import { type Draft, emit } from './draft.ts'
import { illegal, refuseGraph, refuseUnsupported } from './lifecycle.ts'
import { redoDone, refresh } from './people.ts'
import { blockHeld } from './readiness.ts'
import { reopen } from './routing.ts'

export function revise(draft: Draft, command: CommandOf<'revise'>): Refusal | undefined {
  const { state } = draft
  const { definition, hash, rationale, expectedRevision } = command
  if (PLAN_ENDED.has(state.status) || state.compensating !== null) return illegal(state, 'revise', 'the plan has ended')
  if (expectedRevision !== undefined && expectedRevision !== state.revision) {
    return refuse('conflict', `the plan is at revision ${state.revision}, not ${expectedRevision}`, 'read it again, then revise')
  }
  if (hash === state.hash) return undefined
  if (definition.name !== state.definition.name) return refuse('invalid', `a revision cannot rename the plan to '${definition.name}'`, 'make another plan')
  const refusal = refuseGraph(definition) ?? (state.status === 'draft' ? undefined : refuseUnsupported(definition))
  if (refusal !== undefined) return refusal
  const kept = new Map<TaskName, TaskDefinition>(allTasks(definition).map(task => [task.id, task]))
  for (const task of state.order) {
    if (kept.has(task.definition.id) || (task.status !== 'running' && task.gate === null)) continue
    return refuse('not-allowed', `the revision removes '${task.definition.id}', which is ${task.status}`, 'let it end first, or keep it')
  }
  const changed = state.order.filter(task => {
    const written = kept.get(task.definition.id)
    return task.status === 'failed' && written !== undefined && JSON.stringify(written) !== JSON.stringify(task.definition)
  })
  emit(draft, { type: 'plan.revised', revision: state.revision + 1, definition, hash, rationale })
  if (state.status === 'draft') return undefined
  reopen(draft, changed, 'its definition changed')
  reopen(draft, state.order.filter(task => mayNotStartYet(draft, task)), 'its needs changed')
  refresh(draft, state.order)
  blockHeld(draft, state.order)
  if (state.order.some(task => task.definition.action.type !== 'verify' && !ENDED.has(task.status))) redoDone(draft)
  conclude(draft)
  return undefined
}

/** It was ready, or asked for approval, before the revision gave it needs that are not satisfied. */
function mayNotStartYet({ state }: Draft, task: TaskState): boolean {
  const isOpen = task.status === 'ready' || (task.status === 'waiting' && task.gate?.asks.type === 'approval')
  return isOpen && openNeeds(state, task).unmet > 0
}
