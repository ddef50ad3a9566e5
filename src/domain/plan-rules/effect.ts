// Effect classes: what may be done after an outcome nobody knows. The defaults are those of ARCHITECTURE.md; a plan may
// declare another class, and then answers for it.

import { actionFacts } from '../actions/actions.ts'
import type { EffectClass, PlanDefinition, TaskDefinition } from '../plan.ts'

// Do two write scopes overlap? Conservative and cheap: two patterns overlap when the literal part before the first wildcard
// of one is a prefix, by whole path components, of the other's. Case is folded, because some disks fold it.

export function scopesOverlap(a: readonly string[], b: readonly string[]): boolean {
  return a.some(one => b.some(other => patternsOverlap(one, other)))
}

function patternsOverlap(a: string, b: string): boolean {
  const left = literalOf(a)
  const right = literalOf(b)
  const [short, long] = left.length <= right.length ? [left, right] : [right, left]
  return short.every((part, at) => part === long[at])
}

/** The components before the first one with a wildcard, folded. */
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

/** The paths a task says it may write: its own list, else what its edits name, else the plan's policy. */
export function scopeOf(plan: PlanDefinition, task: TaskDefinition): readonly string[] | null {
  return task.write ?? ownFiles(task) ?? plan.policy?.write ?? null
}

/** The files that it names itself and will write. */
export const filesWritten = (task: TaskDefinition): readonly string[] => ownFiles(task) ?? []

/** What a database holds does not go back with its file, so that is no scope. */
function ownFiles(task: TaskDefinition): readonly string[] | null {
  const { keepsToScope, files } = actionFacts(task.action)
  return keepsToScope === true ? (files?.(task) ?? null) : null
}

/** Are its files captured before it runs, so that they can be set back? */
export function capturesFiles(plan: PlanDefinition, task: TaskDefinition): boolean {
  return !usesTaskWorktrees(plan) && keepsToScope(plan, task)
}

/** Does it write in the workspace, and only what it declares? */
export function keepsToScope(plan: PlanDefinition, task: TaskDefinition): boolean {
  const { keepsToScope: isHeld, continuesWork } = actionFacts(task.action)
  if (isHeld !== true) return false
  const effect = effectOf(plan, task)
  return (
    (effect === 'workspace' || (continuesWork === true && effect === 'model')) && (scopeOf(plan, task)?.length ?? 0) > 0
  )
}

/** Does a later attempt find the files as the one before left them? An agent goes on with its work; what it declares `workspace` is set back. */
export function keepsWork(plan: PlanDefinition, task: TaskDefinition): boolean {
  return actionFacts(task.action).continuesWork === true && effectOf(plan, task) !== 'workspace'
}

/** Each task works in a worktree of its own, which every attempt finds as the plan's branch stands; the workspace stays. */
export const usesTaskWorktrees = ({ git }: PlanDefinition): boolean => git?.worktree === 'task'

/** What it is known to write. A command that declares nothing is not held up: nobody knows what it writes. */
export function heldScope(plan: PlanDefinition, task: TaskDefinition): readonly string[] {
  if (actionFacts(task.action).writes !== true) return []
  return task.write ?? (keepsToScope(plan, task) ? (scopeOf(plan, task) ?? []) : [])
}

/** May an attempt whose outcome is unknown simply be made again? `probed` may, because its probe is asked first. */
export function mayRunAgain(effect: EffectClass): boolean {
  return effect !== 'unsafe'
}

/** Are all files looked at before and after it, because nobody knows what it writes? */
export function isWatched(
  state: { readonly definition: PlanDefinition; readonly files: 'seen' | 'declared' },
  task: TaskDefinition,
): boolean {
  if (state.files !== 'seen' || state.definition.policy?.checkpoints?.files === 'declared') return false
  if (usesTaskWorktrees(state.definition)) return false
  if (actionFacts(task.action).watched !== true) return false
  return effectOf(state.definition, task) !== 'pure' && !capturesFiles(state.definition, task)
}
