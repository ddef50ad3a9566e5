// What a rollback means for each task: the plan as it stood then beside the plan as it stands now. Pure; the answer travels in
// the command, so that `decide` needs no past.

import type { Reset } from './command.ts'
import type { TaskName } from './id.ts'
import type { PlanState, TaskState } from './state.ts'
import { ENDED } from './status.ts'
import { findDormant, transitiveDependants, worksOf } from './task-graph.ts'

/** `undone` were compensated since: whatever they had done then is not there any more, so they are open. */
export function resetsTo(then: PlanState, now: PlanState, undone: ReadonlySet<TaskName> = new Set()): readonly Reset[] {
  const dormant = findDormant(now)
  return now.order.flatMap(task => {
    const { id } = task.definition
    const was = then.tasks.get(id)
    if (was === undefined) return hasMoved(task) ? [open(id, dormant.has(id))] : []
    if (isParked(was) && ENDED.has(task.status)) return []
    if (ENDED.has(was.status) && !undone.has(id)) return isSame(was, task) ? [] : [ended(was, now)]
    if (isSame(was, task) && task.status !== 'running') return []
    return [open(id, was.dormant, was.routedBy, now)]
  })
}

/** Only these tasks and what came after them: all that have begun are open again. */
export function resetsOf(now: PlanState, names: readonly TaskName[]): readonly Reset[] {
  const roots = names.flatMap(name => {
    const task = now.tasks.get(name)
    return task === undefined ? [] : [task, ...worksOf(now, task)]
  })
  const all = new Set([...roots, ...transitiveDependants(roots)])
  return now.order.flatMap(task =>
    all.has(task) && hasMoved(task) ? [open(task.definition.id, task.dormant, task.routedBy, now)] : [],
  )
}

/** Completed since, with a compensation of their own that has not been run; last completed first. */
export function compensatedBy(now: PlanState, resets: readonly Reset[]): readonly TaskName[] {
  const back = new Set(resets.filter(({ status }) => status === 'pending').map(({ task }) => task))
  return now.completedOrder
    .filter(name => back.has(name) && now.tasks.get(name)?.definition.compensate !== undefined)
    .toReversed()
}

const isSame = (a: TaskState, b: TaskState): boolean => a.visit === b.visit && a.status === b.status

const isParked = (task: TaskState): boolean => task.gate?.asks.type === 'unknown-outcome'

const hasMoved = (task: TaskState): boolean =>
  task.visit > 1 || task.attempt > 0 || ENDED.has(task.status) || task.status === 'waiting'

function open(task: TaskName, dormant: boolean, routedBy: readonly TaskName[] = [], now?: PlanState): Reset {
  const led = routedBy.filter(name => now?.tasks.has(name) === true)
  return {
    task,
    status: 'pending',
    ...(dormant ? { dormant: true as const } : {}),
    ...(led.length === 0 ? {} : { routedBy: led }),
  }
}

function ended(was: TaskState, now: PlanState): Reset {
  const { definition, status, result, reason, handled } = was
  const led = was.routedBy.filter(name => now.tasks.has(name))
  return {
    task: definition.id,
    status: status as Reset['status'],
    ...(result === null ? {} : { result }),
    ...(reason === null ? {} : { reason }),
    ...(handled ? { handled } : {}),
    ...(led.length === 0 ? {} : { routedBy: led }),
  }
}
