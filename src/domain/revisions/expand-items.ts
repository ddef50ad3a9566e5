// A `for_each` whose items are known only when its turn comes: the engine has found them, and the plan gets a revision that
// binds them. Finding is an attempt like any other; it begins and ends in the turn that tells of it, so a crash before
// that turn has done nothing. Whoever finds the same items again changes nothing.

import type { Expanded } from '../command.ts'
import { checkGraph } from '../plan-rules/graph-rules.ts'
import { type DecisionDraft, emit } from '../rules/decision.ts'
import { refresh } from '../rules/readiness.ts'
import { settle } from '../rules/settle.ts'
import { goneBackIn, type TaskState } from '../state/state.ts'
import { allTasks, isStartable, isUnjudged } from '../state/task-index.ts'

export function expandFound(draft: DecisionDraft, found: readonly Expanded[]): void {
  for (const one of found) {
    const { state } = draft
    const task = state.tasks.get(one.task)
    if (state.status !== 'active' || state.compensating !== null || task?.definition.action.type !== 'items') continue
    // Another definition since: the items are looked for again.
    if (!isStartable(task) || task.visit !== one.visit || state.hash !== one.from) continue
    bind(draft, task, one)
  }
}

function bind(draft: DecisionDraft, task: TaskState, { items, definition, hash }: Expanded): void {
  const { id, action, when } = task.definition
  if (action.type !== 'items') return
  if (isUnjudged(task)) emit(draft, { type: 'criterion.judged', task: id, criterion: when ?? '', holds: true })
  emit(draft, {
    type: 'attempt.started',
    task: id,
    visit: task.visit,
    attempt: task.attempt + 1,
    ...goneBackIn(task),
  })
  const obstacle = hash === draft.state.hash ? null : whyNot(draft, definition)
  if (obstacle !== null) {
    const failure = { class: 'logic', message: `the items of '${action.of}' cannot be bound: ${obstacle}` } as const
    settle(draft, task, { status: 'failed', failure: { ...failure, retryable: true } })
    return
  }
  if (hash !== draft.state.hash) {
    abandonRemoved(draft, definition)
    const rationale = `for_each of '${action.of}' gives ${items.length} item${items.length === 1 ? '' : 's'}`
    emit(draft, { type: 'plan.revised', revision: draft.state.revision + 1, definition, hash, rationale })
  }
  settle(draft, task, { status: 'succeeded', outputs: { items } })
  refresh(draft, draft.state.order)
}

/** What would be lost, or is wrong with the plan as it would become. */
function whyNot(draft: DecisionDraft, definition: Expanded['definition']): string | null {
  const fault = checkGraph(definition)[0]
  if (fault !== undefined) return fault.message
  const kept = new Set(allTasks(definition).map(task => task.id))
  for (const task of draft.state.order) {
    if (kept.has(task.definition.id)) continue
    if (task.status === 'running' || task.gate !== null)
      return `'${task.definition.id}' is not among them any more, and is ${task.status}`
  }
  return null
}

/** Children of earlier items that have begun and are not among the new ones are given up. */
function abandonRemoved(draft: DecisionDraft, definition: Expanded['definition']): void {
  const kept = new Set(allTasks(definition).map(task => task.id))
  for (const task of draft.state.order) {
    if (kept.has(task.definition.id) || (task.attempt === 0 && task.visit === 1)) continue
    emit(draft, { type: 'task.abandoned', task: task.definition.id, reason: 'its item is gone' })
  }
}
