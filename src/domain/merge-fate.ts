// What a revision will do to each task: told before anything is written, by the same rules by which `revise` then decides.

import type { TaskName } from './id.ts'
import type { PlanDefinition, TaskDefinition } from './plan.ts'
import { same } from './same.ts'
import { SATISFIES, type TaskStatus } from './status.ts'
import { allTasks } from './task-graph.ts'

/** How a task stands in the run. */
export interface Standing {
  readonly status: TaskStatus
  /** It was started at least once, or was decided. */
  readonly ran: boolean
  /** It was running when the process that carried it out ended, and nobody drives the plan: may it be run again? */
  readonly left?: 'again' | 'asked'
}
export type Standings = ReadonlyMap<TaskName, Standing>

export interface Fate {
  readonly task: TaskName
  /** Null for a task that is new. */
  readonly status: TaskStatus | null
  /** `again`: a new visit. `abandoned`: removed after it ran. `gone`: removed, and never ran. `refused`: the revision is. */
  readonly fate: 'new' | 'kept' | 'changed' | 'again' | 'abandoned' | 'gone' | 'refused'
  readonly why: string
}

export function fatesOf(current: PlanDefinition, next: PlanDefinition, standings: Standings): readonly Fate[] {
  const [old, now] = [carriedOut(current), carriedOut(next)]
  const before = new Map(old.map(task => [task.id, task]))
  const after = new Set(now.map(({ id }) => id))
  return [
    ...now.map(task => fateOf(before.get(task.id), task, standings)),
    ...old.filter(({ id }) => !after.has(id)).map(({ id }) => removed(id, standings.get(id))),
  ]
}

/** Subplans and lists expanded; the task made from `done` is nobody's. */
const carriedOut = (plan: PlanDefinition): readonly TaskDefinition[] =>
  allTasks(plan).filter(({ action }) => action.type !== 'verify')

function fateOf(was: TaskDefinition | undefined, task: TaskDefinition, standings: Standings): Fate {
  const { id } = task
  if (was === undefined) return { task: id, status: null, fate: 'new', why: 'is new and waits for its turn' }
  const status = standings.get(id)?.status ?? 'pending'
  if (same(was, task)) return { task: id, status, fate: 'kept', why: `stays ${status}` }
  if (status === 'failed') return { task: id, status, fate: 'again', why: 'had failed, is changed, and is tried again' }
  if (isUnderWay(status)) return underWay(was, task, status, standings)
  const why =
    status === 'completed' || status === 'skipped'
      ? `stays ${status}; the change matters only if it is tried again`
      : `is changed, and stays ${status}`
  return { task: id, status, fate: 'changed', why }
}

const isUnderWay = (status: TaskStatus): boolean => status === 'running' || status === 'waiting'

function underWay(was: TaskDefinition, task: TaskDefinition, status: TaskStatus, standings: Standings): Fate {
  const { id } = task
  if (was.action.type !== task.action.type) {
    const why = `is ${status} and cannot become a task of type ${task.action.type} meanwhile`
    return { task: id, status, fate: 'refused', why }
  }
  const late = task.needs?.find(
    name => was.needs?.includes(name) !== true && !SATISFIES.has(standings.get(name)?.status ?? 'pending'),
  )
  if (late !== undefined)
    return { task: id, status, fate: 'refused', why: `is ${status} and cannot need '${late}', which is not done` }
  const left = standings.get(id)?.left
  const why = left === undefined ? `is ${status} and goes on as it was started` : LEFT[left]
  return { task: id, status, fate: 'changed', why }
}

const LEFT = {
  again: 'was running when its process ended; it is tried again as it is written now',
  asked:
    'was running when its process ended; a person says whether it happened, else it is tried again as it is written now',
} as const

function removed(task: TaskName, standing: Standing | undefined): Fate {
  const status = standing?.status ?? 'pending'
  if (isUnderWay(status)) return { task, status, fate: 'refused', why: `is ${status} and cannot be removed meanwhile` }
  return standing?.ran === true
    ? { task, status, fate: 'abandoned', why: `is removed after it ran; it was ${status}, and its history stays` }
    : { task, status, fate: 'gone', why: 'is removed; it never ran' }
}
