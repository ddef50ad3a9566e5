// What every picture of a plan shows: the tasks that will run, which of them belong together, who needs whom, and where
// outcomes lead. Names that are not there are left out, so a bad plan can be looked at too.

import type { TaskName } from '../../domain/id.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { compensatorOf, compensatorsAmong, expandTasks, remedyIn } from '../../domain/plan-rules/expand.ts'
import type { TaskStatus } from '../../domain/status.ts'

export type Statuses = ReadonlyMap<string, TaskStatus>

export interface Scene {
  readonly definition: PlanDefinition
  /** In the order of the document; a group stands before its children. */
  readonly items: readonly Item[]
  /** Those in no group. */
  readonly top: readonly Item[]
  readonly edges: readonly Edge[]
}

export interface Item {
  readonly task: TaskDefinition
  readonly status: TaskStatus | null
  /** Filled when it is a group. */
  readonly children: Item[]
}

export interface Edge {
  readonly from: TaskName
  readonly to: TaskName
  /** Null for `needs`. */
  readonly outcome: string | null
  /** From a child to the group around it: whoever draws the group as a frame need not draw it. */
  readonly isInside: boolean
  /** To the task that compensates it, drawn like the outcome `compensate`. */
  readonly isUndo: boolean
}

export function pictureOf(definition: PlanDefinition, statuses: Statuses): Scene {
  const tasks = expandTasks(definition)
  const items = new Map<TaskName, Item>()
  for (const task of tasks)
    if (!items.has(task.id)) items.set(task.id, { task, status: statuses.get(task.id) ?? null, children: [] })
  const undoing = undoersByGroup(items)
  const inside = new Set<TaskName>()
  for (const { task, children } of items.values()) {
    if (task.action.type !== 'group') continue
    const members = [...(task.needs ?? []), ...(undoing.get(task.id) ?? [])]
    for (const need of members) {
      const child = items.get(need)
      if (child === undefined || !need.startsWith(`${task.id}/`) || inside.has(need)) continue
      inside.add(need)
      children.push(child)
    }
  }
  const edges: Edge[] = []
  for (const { task } of items.values()) {
    for (const need of new Set(task.needs ?? [])) {
      if (!items.has(need)) continue
      const isInside = task.action.type === 'group' && need.startsWith(`${task.id}/`)
      edges.push({ from: need, to: task.id, outcome: null, isInside, isUndo: false })
    }
    for (const [outcome, targets] of outcomes(task))
      for (const to of new Set(targets))
        if (items.has(to)) edges.push({ from: task.id, to, outcome, isInside: false, isUndo: false })
    const by = compensatorOf(task)
    if (by !== null && items.has(by))
      edges.push({ from: task.id, to: by, outcome: 'compensate', isInside: false, isUndo: true })
  }
  const all = [...items.values()]
  return { definition, items: all, top: all.filter(({ task }) => !inside.has(task.id)), edges }
}

/** A task of a group that only compensates others: the group does not wait for it, and still it stands there. */
function undoersByGroup(items: ReadonlyMap<TaskName, Item>): ReadonlyMap<TaskName, readonly TaskName[]> {
  const found = new Map<TaskName, TaskName[]>()
  for (const name of compensatorsAmong([...items.values()].map(({ task }) => task))) {
    const group = name.slice(0, Math.max(0, name.lastIndexOf('/'))) as TaskName
    if (items.get(group)?.task.action.type !== 'group') continue
    if (found.has(group)) found.get(group)!.push(name)
    else found.set(group, [name])
  }
  return found
}

function outcomes(task: TaskDefinition): readonly (readonly [string, readonly TaskName[]])[] {
  const recoveries = (task.failureModes ?? []).map(({ name, recover }) => [name, recover ?? []] as const)
  const remedies = (task.recover ?? []).flatMap(rule => {
    const name = remedyIn(rule)
    return name === null ? [] : [[rule.do.type, [name]] as const]
  })
  return [...Object.entries(task.on ?? {}), ...recoveries, ...remedies]
}

/** Somebody's text on one line, without characters that would turn it or break it, and not longer than `max`. */
export function oneLine(text: string, max: number): string {
  const line = text
    .replace(/[\p{Cs}\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/gu, '')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
  const characters = [...line]
  return characters.length > max ? `${characters.slice(0, max - 1).join('')}…` : line
}
