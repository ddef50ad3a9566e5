// What changed from one definition to the next, in the words of the document: for revisions and for gates.

import type { TaskName } from '../domain/id.ts'
import type { JsonObject } from '../domain/json.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import { canonicalJson } from './hash.ts'
import { raisePlan } from './raise.ts'

export interface DefinitionDiff {
  readonly added: readonly TaskName[]
  readonly removed: readonly TaskName[]
  /** Tasks in both, with the keys that differ. */
  readonly changed: readonly { readonly task: TaskName; readonly keys: readonly string[] }[]
  /** Keys of the plan itself that differ. */
  readonly plan: readonly string[]
  /** The tasks in both stand in another order. */
  readonly reordered: boolean
}

export function diffDefinitions(before: PlanDefinition, after: PlanDefinition): DefinitionDiff {
  const { tasks: _before, ...headBefore } = raisePlan(before)
  const { tasks: _after, ...headAfter } = raisePlan(after)
  const old = tasksOf(before)
  const now = tasksOf(after)
  const common = [...now.keys()].filter(name => old.has(name))
  return {
    added: [...now.keys()].filter(name => !old.has(name)),
    removed: [...old.keys()].filter(name => !now.has(name)),
    changed: common
      .map(task => ({ task, keys: differing(old.get(task) as JsonObject, now.get(task) as JsonObject) }))
      .filter(({ keys }) => keys.length > 0),
    plan: differing(headBefore, headAfter),
    reordered: [...old.keys()].filter(name => now.has(name)).some((name, index) => name !== common[index]),
  }
}

/** One line for each thing that changed; empty when nothing did. */
export function printDiff(diff: DefinitionDiff): string {
  return [
    ...diff.plan.map(key => `~ ${key}`),
    ...diff.removed.map(task => `- task ${task}`),
    ...diff.added.map(task => `+ task ${task}`),
    ...diff.changed.map(({ task, keys }) => `~ task ${task}: ${keys.join(', ')}`),
    ...(diff.reordered ? ['~ order of tasks'] : []),
  ].join('\n')
}

function tasksOf(plan: PlanDefinition): ReadonlyMap<TaskName, JsonObject> {
  const tasks = raisePlan(plan).tasks as readonly JsonObject[]
  return new Map(tasks.map(task => [task.id as TaskName, task]))
}

function differing(before: JsonObject, after: JsonObject): readonly string[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return keys.filter(key => canonicalJson(before[key] ?? null) !== canonicalJson(after[key] ?? null))
}
