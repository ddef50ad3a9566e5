// Effect classes: what may be done after an outcome nobody knows. The defaults are those of ARCHITECTURE.md; a plan may
// declare another class, and then answers for it.

import type { Action, EffectClass, PlanDefinition, TaskDefinition } from '../plan.ts'
import { dbRequest } from './db-request.ts'
import { downloadFile, httpRequest, isSafeMethod } from './http-request.ts'
import { isOffline, networkOf } from './network.ts'

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
  if (task.action.type === 'agent') return agentEffect(plan, task)
  return defaultEffect(plan, task)
}

/**
 * An agent takes up its conversation where it was, and is told what is found changed. What it does without a sandbox, or at addresses
 * it may reach, nobody can take back.
 */
function agentEffect(plan: PlanDefinition, task: TaskDefinition): EffectClass {
  const network = networkOf(plan, task)
  const isOff = (task.sandbox ?? plan.policy?.sandbox) === 'off'
  return isOff || (network !== null && !isOffline(network)) ? 'unsafe' : 'model'
}

/** The paths a task says it may write: its own list, else what its edits name, else the plan's policy. */
export function scopeOf(plan: PlanDefinition, task: TaskDefinition): readonly string[] | null {
  if (task.write !== undefined) return task.write
  const files = filesWritten(task)
  return task.action.type === 'edit' || files.length > 0 ? files : (plan.policy?.write ?? null)
}

/** The files that it names itself and will write. */
export function filesWritten(task: TaskDefinition): readonly string[] {
  if (task.action.type === 'edit') return editedFiles(task.action)
  const download = downloadFile(task)
  return download === null ? [] : [download]
}

/** Are its files captured before it runs, so that they can be set back? */
export function capturesFiles(plan: PlanDefinition, task: TaskDefinition): boolean {
  return !usesTaskWorktrees(plan) && keepsToScope(plan, task)
}

/** Does it write in the workspace, and only what it declares? */
export function keepsToScope(plan: PlanDefinition, task: TaskDefinition): boolean {
  const { type } = task.action
  if (!SCOPED.has(type)) return false
  const effect = effectOf(plan, task)
  return (effect === 'workspace' || (type === 'agent' && effect === 'model')) && (scopeOf(plan, task)?.length ?? 0) > 0
}

const SCOPED: ReadonlySet<Action['type']> = new Set(['run', 'edit', 'agent', 'http', 'runner'])

/** Does a later attempt find the files as the one before left them? An agent goes on with its work; what it declares `workspace` is set back. */
export function keepsWork(plan: PlanDefinition, task: TaskDefinition): boolean {
  return task.action.type === 'agent' && effectOf(plan, task) !== 'workspace'
}

/** Each task works in a worktree of its own, which every attempt finds as the plan's branch stands; the workspace stays. */
export const usesTaskWorktrees = ({ git }: PlanDefinition): boolean => git?.worktree === 'task'

/** What it is known to write. A command that declares nothing is not held up: nobody knows what it writes. */
export function heldScope(plan: PlanDefinition, task: TaskDefinition): readonly string[] {
  if (!WRITING.has(task.action.type)) return []
  return task.write ?? (keepsToScope(plan, task) ? (scopeOf(plan, task) ?? []) : [])
}

const WRITING: ReadonlySet<Action['type']> = new Set(['run', 'edit', 'http', 'db', 'agent', 'runner'])

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
  if (!WATCHED.has(task.action.type)) return false
  return effectOf(state.definition, task) !== 'pure' && !capturesFiles(state.definition, task)
}

const WATCHED: ReadonlySet<Action['type']> = new Set(['run', 'external', 'agent', 'runner'])

function defaultEffect(plan: PlanDefinition, task: TaskDefinition): EffectClass {
  const { action } = task
  switch (action.type) {
    case 'edit':
      return 'workspace'
    case 'run':
      return scopeOf(plan, task) !== null && isOffline(networkOf(plan, task)) ? 'workspace' : 'unsafe'
    case 'decide':
    case 'gate':
    case 'verify':
    case 'checkpoint':
    case 'subplan':
    case 'group':
    case 'items':
      return 'pure'
    // An agent whose claim lapsed has left no attempt of ours behind; another may claim.
    case 'external':
    case 'model':
    case 'agent':
      return 'model'
    // Each commit bears the key of its task, so one that was made is found and not made again.
    case 'git':
      return 'idempotent'
    case 'http': {
      const request = httpRequest(action)
      // A download writes its file, which is set back and fetched again.
      if (request !== null && isSafeMethod(request.method)) return downloadFile(task) === null ? 'pure' : 'workspace'
      return request !== null && request.key !== null ? 'idempotent' : 'unsafe'
    }
    case 'db': {
      const request = dbRequest(action)
      if (request?.do === 'query') return 'pure'
      // Each migration is noted in the database itself, as is the key of a change, in the same transaction.
      return request?.do === 'migrate' || (request?.key ?? null) !== null ? 'idempotent' : 'unsafe'
    }
    case 'runner':
    case 'research':
      return 'unsafe'
    default:
      return action satisfies never
  }
}

function editedFiles(action: Extract<Action, { type: 'edit' }>): readonly string[] {
  const files = new Set<string>()
  for (const edit of action.edits) {
    files.add(edit.file)
    if (edit.type === 'move') files.add(edit.to)
  }
  return [...files]
}
