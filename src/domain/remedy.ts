// A remedy: a task that a rule of `recover` leads to, as an alternate or to repair something. It stands among the others and
// sleeps until then, whatever it needs, unless the task it helps comes after it anyway. What it must keep: remedy-faults.ts.

import type { TaskName } from './id.ts'
import type { RecoveryRule, TaskDefinition } from './plan.ts'

/** The task that a rule leads to, when it leads to one. */
export const remedyIn = (rule: RecoveryRule): TaskName | null =>
  rule.do.type === 'alternate' || rule.do.type === 'repair' ? rule.do.task : null

export function remediesOf({ recover }: TaskDefinition): readonly TaskName[] {
  if (recover === undefined) return NONE
  return recover.map(remedyIn).filter(name => name !== null)
}

const NONE: readonly TaskName[] = []

/** The same rules under other names. Tasks that a rule would add are changed by `added`; they stay as they are without. */
export function withRemedies(
  rules: readonly RecoveryRule[],
  named: (name: TaskName) => TaskName,
  added: (tasks: readonly TaskDefinition[]) => readonly TaskDefinition[] = tasks => tasks,
): readonly RecoveryRule[] {
  return rules.map(rule => {
    const { do: way } = rule
    if (way.type === 'alternate' || way.type === 'repair') return { ...rule, do: { ...way, task: named(way.task) } }
    return way.type === 'replan' && way.add !== undefined ? { ...rule, do: { ...way, add: added(way.add) } } : rule
  })
}
