// Small changes by name, without a text: take tasks out, put them in another order. A name nobody bears is refused, and then
// nothing at all is done.

import type { TaskName } from './id.ts'
import type { PlanDefinition, TaskDefinition } from './plan.ts'
import { type Refusal, refuse } from './refusal.ts'
import { suggest } from './suggest.ts'

export type Edited =
  | { readonly ok: true; readonly definition: PlanDefinition }
  | { readonly ok: false; readonly refusal: Refusal }

/** The plan without these tasks. Whoever still needs one of them is found by the rules of the graph. */
export function removeTasks(plan: PlanDefinition, names: readonly string[]): Edited {
  const refusal = unknownAmong(plan, names)
  if (refusal !== null) return { ok: false, refusal }
  const gone = new Set(names)
  return { ok: true, definition: { ...plan, tasks: plan.tasks.filter(({ id }) => !gone.has(id)) } }
}

/** The named tasks first, in the order they are named; the others behind them, as they stood. */
export function orderTasks(plan: PlanDefinition, names: readonly string[]): Edited {
  const refusal = unknownAmong(plan, names) ?? twiceAmong(names)
  if (refusal !== null) return { ok: false, refusal }
  const byName = new Map<string, TaskDefinition>(plan.tasks.map(task => [task.id, task]))
  const first = names.map(name => byName.get(name)!)
  const named = new Set(names)
  return { ok: true, definition: { ...plan, tasks: [...first, ...plan.tasks.filter(({ id }) => !named.has(id))] } }
}

function unknownAmong({ name, tasks }: PlanDefinition, names: readonly string[]): Refusal | null {
  const known = new Set<string>(tasks.map(({ id }) => id))
  const unknown = [...new Set(names)].filter(one => !known.has(one))
  if (unknown.length === 0) return null
  const near = suggest(unknown[0]!, known)
  return refuse(
    'unknown-reference',
    `plan '${name}' has no task ${unknown.map(one => `'${one}'`).join(', ')}; nothing was changed`,
    near === null ? `planfold show ${name} lists its tasks` : `did you mean '${near}'?`,
  )
}

function twiceAmong(names: readonly string[]): Refusal | null {
  const seen = new Set<string>()
  const twice = names.find(name => seen.size === seen.add(name).size)
  return twice === undefined ? null : refuse('duplicate', `'${twice}' is named twice`, 'name each task once')
}

export const namesIn = (list: string): readonly TaskName[] =>
  list
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '') as TaskName[]
