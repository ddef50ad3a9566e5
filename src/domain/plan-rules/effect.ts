// Effect classes: what may be done after an unknown outcome. The defaults are those of ARCHITECTURE.md; a plan may declare another class at
// its own risk.

import { actionFacts } from '../actions/actions.ts'
import type { EffectClass, PlanDefinition, TaskDefinition } from '../plan.ts'

// Do two write scopes overlap? Conservative and cheap: two patterns overlap when the literal part before the first wildcard of one is a
// prefix, by whole path components, of the other's. Case is folded, because some file systems fold it.

export function scopesOverlap(a: readonly string[], b: readonly string[]): boolean {
  return a.some(one => b.some(other => patternsOverlap(one, other)))
}

function patternsOverlap(a: string, b: string): boolean {
  const left = literalOf(a)
  const right = literalOf(b)
  const [short, long] = left.length <= right.length ? [left, right] : [right, left]
  return short.every((part, at) => part === long[at])
}

/** The components before the first wildcard, case-folded. */
export function literalOf(pattern: string): readonly string[] {
  const parts = pattern
    .normalize('NFC')
    .toUpperCase()
    .toLowerCase()
    .split('/')
    .filter(part => part !== '' && part !== '.')
  const wild = parts.findIndex(part => /[*?[{]/.test(part))
  return wild < 0 ? parts : parts.slice(0, wild)
}

export function effectOf(plan: PlanDefinition, task: TaskDefinition): EffectClass {
  if (task.effect !== undefined) return task.effect
  return actionFacts(task.action).effect(task, plan)
}

/** The paths a task may write: its own list, else the files that its action names, else the plan's policy. */
export function scopeOf(plan: PlanDefinition, task: TaskDefinition): readonly string[] | null {
  return task.write ?? ownFiles(task) ?? plan.policy?.write ?? null
}

export const filesWritten = (task: TaskDefinition): readonly string[] => ownFiles(task) ?? []

/** Reverting a file does not revert a database, so that is no scope. */
function ownFiles(task: TaskDefinition): readonly string[] | null {
  const { keepsToScope, files } = actionFacts(task.action)
  return keepsToScope === true ? (files?.(task) ?? null) : null
}

export function capturesFiles(plan: PlanDefinition, task: TaskDefinition): boolean {
  return !usesTaskWorktrees(plan) && keepsToScope(plan, task)
}

/** Does it write only its scope in the workspace? */
export function keepsToScope(plan: PlanDefinition, task: TaskDefinition): boolean {
  const { keepsToScope: isHeld, continuesWork } = actionFacts(task.action)
  if (isHeld !== true) return false
  const effect = effectOf(plan, task)
  return (
    (effect === 'workspace' || (continuesWork === true && effect === 'model')) && (scopeOf(plan, task)?.length ?? 0) > 0
  )
}

/**
 * Does a retry find the files as the previous attempt left them? An agent continues its work; with effect `workspace` the files are
 * reverted. With `tries` only the best one's changes are written, and those are taken back if the attempt fails.
 */
export function keepsWork(plan: PlanDefinition, task: TaskDefinition): boolean {
  if (task.tries !== undefined) return true
  return actionFacts(task.action).continuesWork === true && effectOf(plan, task) !== 'workspace'
}

/** Each task has its own worktree, reset for every attempt to the plan's branch; the workspace stays. */
export const usesTaskWorktrees = ({ git }: PlanDefinition): boolean => git?.worktree === 'task'

/** The known writes, for scheduling. A command without a scope is not serialised, because its writes are unknown. */
export function heldScope(plan: PlanDefinition, task: TaskDefinition): readonly string[] {
  if (actionFacts(task.action).writes !== true) return []
  return task.write ?? (keepsToScope(plan, task) ? (scopeOf(plan, task) ?? []) : [])
}

/** May an attempt with an unknown outcome be repeated? `probed` may, because its probe runs first. */
export function mayRunAgain(effect: EffectClass): boolean {
  return effect !== 'unsafe'
}

/** Are all files compared before and after it, because its writes are unknown? */
export function isWatched(
  state: { readonly definition: PlanDefinition; readonly files: 'seen' | 'declared' },
  task: TaskDefinition,
): boolean {
  if (state.files !== 'seen' || state.definition.policy?.checkpoints?.files === 'declared') return false
  if (usesTaskWorktrees(state.definition)) return false
  if (actionFacts(task.action).watched !== true) return false
  return effectOf(state.definition, task) !== 'pure' && !capturesFiles(state.definition, task)
}
