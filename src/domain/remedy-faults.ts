// What may not be said in `recover`: a remedy that is the task itself or comes after it would wait for ever, and tasks that a
// rule adds must fit into the plan.

import { resolveTarget } from './expand.ts'
import type { GraphFault } from './graph.ts'
import type { TaskName } from './id.ts'
import type { RecoveryRule, TaskDefinition } from './plan.ts'
import { remedyIn } from './remedy.ts'
import type { Written } from './structure.ts'

type ByName = ReadonlyMap<TaskName, TaskDefinition>

/** That a remedy exists is asked with the other references. */
export function remedyFaults(
  tasks: readonly Written[],
  byName: ByName,
  known: (name: TaskName) => boolean,
): readonly GraphFault[] {
  return tasks.flatMap(one => (one.task.recover ?? []).flatMap((rule, at) => [...ofRule(one, rule, at)]))

  function* ofRule({ name, scope }: Written, rule: RecoveryRule, at: number): Generator<GraphFault> {
    const named = remedyIn(rule)
    const full = named === null ? null : resolveTarget(named, scope, known)
    if (full !== null) yield* ofRemedy(name, full, rule.do.type as 'alternate' | 'repair', at)
    const added = rule.do.type === 'replan' ? (rule.do.add ?? []) : []
    const fresh = new Set(added.map(({ id }) => id))
    for (const [index, { id, needs = [] }] of added.entries()) {
      const place = [at, 'replan', 'add', index]
      // One that is there already, perhaps added by this very rule before, is numbered when it is added.
      if (added.findIndex(one => one.id === id) < index)
        yield {
          ...fault(name, [...place, 'id'], `task '${name}' would add '${id}' twice`),
          hint: 'give it an id of its own',
        }
      const missing = needs.find(need => !fresh.has(need) && !known(need))
      if (missing !== undefined)
        yield {
          ...fault(
            name,
            [...place, 'needs'],
            `'${id}', which '${name}' would add, needs '${missing}', which does not exist`,
          ),
          code: 'unknown-reference',
          hint: 'name a task of this plan, or one that is added with it',
        }
    }
  }

  function* ofRemedy(task: TaskName, remedy: TaskName, key: 'alternate' | 'repair', at: number): Generator<GraphFault> {
    const verb = key === 'alternate' ? 'take the place of' : 'repair'
    if (remedy === task || comesAfter(remedy, task, byName))
      yield {
        ...fault(
          task,
          [at, key],
          remedy === task
            ? `task '${task}' would ${key === 'alternate' ? 'take its own place' : 'repair itself'}`
            : `'${remedy}' would ${verb} '${task}', but needs it`,
        ),
        hint:
          remedy === task
            ? "name another task; to try again, write 'retry:'"
            : `remove what it needs of '${task}': it is woken when that has failed`,
      }
  }
}

/** Does it wait for the other, directly or through others? Walks up, each task once. */
function comesAfter(name: TaskName, other: TaskName, byName: ByName): boolean {
  const seen = new Set<TaskName>([name])
  for (const one of seen) {
    for (const need of byName.get(one)?.needs ?? []) {
      if (need === other) return true
      seen.add(need)
    }
  }
  return false
}

function fault(task: TaskName, at: readonly (string | number)[], message: string): GraphFault {
  return { code: 'structure', message, task, key: 'recover', at }
}
