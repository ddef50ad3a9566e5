// What may not be said of a task that compensates another one. It sleeps until what the other did is to be undone, so nothing
// may order it: it needs nobody, nobody needs it, no outcome leads to it or away from it.

import { compensatorOf } from './compensator.ts'
import { isMultiplied, resolveTarget } from './expand.ts'
import { gitOf } from './git-action.ts'
import type { GraphFault } from './graph.ts'
import type { TaskName } from './id.ts'
import { remediesOf } from './remedy.ts'
import type { Written } from './structure.ts'

/** What is wrong with tasks that compensate others. That they exist is asked with the other references. */
export function compensatorFaults(
  tasks: readonly Written[],
  known: (name: TaskName) => boolean,
): readonly GraphFault[] {
  /** Who compensates whom, by full names. */
  const compensated = new Map<TaskName, TaskName>()
  for (const { task, name, scope } of tasks) {
    const by = compensatorOf(task)
    const found = by === null ? null : resolveTarget(by, scope, known)
    if (found !== null) compensated.set(found, name)
  }
  if (compensated.size === 0) return []
  const faults: GraphFault[] = []
  for (const one of tasks) {
    const whom = compensated.get(one.name)
    if (whom !== undefined) faults.push(...ownFaults(one, whom))
    faults.push(...leadFaults(one))
  }
  return faults

  /** Whoever waits for it or leads to it. */
  function* leadFaults({ task, name, scope }: Written): Generator<GraphFault> {
    for (const need of task.needs ?? []) {
      const whom = compensated.get(`${scope.prefix}${need}` as TaskName)
      if (whom !== undefined)
        yield {
          ...fault(name, 'needs', `task '${name}' needs '${need}', which sleeps until '${whom}' is to be undone`),
          hint: `remove it from 'needs', or let another task compensate '${whom}'`,
        }
    }
    const led = [
      ...Object.values(task.on ?? {}).map(names => ['on', names] as const),
      ...(task.failureModes ?? []).map(mode => ['failure_modes', mode.recover ?? []] as const),
      ['recover', remediesOf(task)] as const,
    ]
    for (const [key, names] of led) {
      for (const target of names) {
        const full = resolveTarget(target, scope, known)
        const whom = full === null ? undefined : compensated.get(full)
        if (whom !== undefined)
          yield {
            ...fault(
              name,
              key,
              `an outcome of '${name}' leads to '${target}', which sleeps until '${whom}' is to be undone`,
            ),
            hint: `lead to another task, or let another one compensate '${whom}'`,
          }
      }
    }
  }
}

function* ownFaults({ task, name }: Written, whom: TaskName): Generator<GraphFault> {
  const { action, needs, on, failureModes, compensate } = task
  if (name === whom) {
    yield {
      ...fault(name, 'compensate', `task '${name}' would compensate itself`),
      hint: "name another task, or say what undoes it: 'run:' or 'edit:'",
    }
    return
  }
  const who = `'${name}' compensates '${whom}'`
  if (isMultiplied(task) || action.type === 'subplan') {
    const key = task.matrix !== undefined ? 'matrix' : task.forEach !== undefined ? 'for_each' : 'subplan'
    yield {
      ...fault(name, key, `${who} and is several tasks itself`),
      hint: 'let one task do it, with run, edit or git',
    }
  } else if (action.type !== 'run' && action.type !== 'edit' && gitOf(action) === null)
    yield {
      ...fault(name, 'id', `${who} and has the action '${action.type}'`),
      hint: 'give it run, edit or git: nobody is asked while something is undone',
    }
  if ((needs?.length ?? 0) > 0)
    yield {
      ...fault(name, 'needs', `${who} and needs others`),
      hint: `remove its 'needs': it is woken when '${whom}' is to be undone`,
    }
  const leads = on !== undefined ? 'on' : remediesOf(task).length > 0 ? 'recover' : 'failure_modes'
  if (leads !== 'failure_modes' || failureModes?.some(mode => mode.recover !== undefined))
    yield {
      ...fault(name, leads, `${who} and leads on to others`),
      hint: 'remove its outcome edges: nothing follows when something is undone',
    }
  if (compensate !== undefined)
    yield { ...fault(name, 'compensate', `${who} and has a 'compensate' of its own`), hint: 'remove one of them' }
}

function fault(task: TaskName, key: GraphFault['key'] & string, message: string): GraphFault {
  return { code: 'structure', message, task, key }
}
