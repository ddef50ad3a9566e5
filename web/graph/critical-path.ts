// The critical path: the chain of tasks that decides when the plan can end, by actual or estimated durations.

import type { TaskView } from '../data/live-messages.ts'

export interface CriticalPath {
  /** `from\nto`. */
  readonly edges: ReadonlySet<string>
  /** Remaining duration of the path; null if it cannot be estimated. */
  readonly leftMs: number | null
}

const NONE: CriticalPath = { edges: new Set(), leftMs: null }

export function criticalPath(tasks: readonly TaskView[], byName: ReadonlyMap<string, TaskView>): CriticalPath {
  if (tasks.length < 3) return NONE
  const took = tasks.flatMap(({ startedAt, endedAt }) =>
    startedAt === null || endedAt === null ? [] : [endedAt - startedAt],
  )
  const usual = took.length === 0 ? null : took.toSorted((a, b) => a - b)[Math.floor(took.length / 2)]!
  const weight = (task: TaskView): number =>
    task.startedAt !== null && task.endedAt !== null ? task.endedAt - task.startedAt : (task.estimateMs ?? usual ?? 1)
  const left = (task: TaskView): number =>
    task.endedAt !== null && task.status !== 'failed' ? 0 : (task.estimateMs ?? usual ?? 0)
  const best = new Map<string, { readonly ms: number; readonly before: string | null }>()
  const open = new Map(tasks.map(task => [task.name, task.needs.filter(need => byName.has(need)).length]))
  const after = new Map<string, string[]>()
  for (const task of tasks)
    for (const need of task.needs) {
      const known = after.get(need)
      if (known === undefined) after.set(need, [task.name])
      else known.push(task.name)
    }
  const queue = tasks.filter(({ name }) => open.get(name) === 0)
  for (const task of queue) {
    let [ms, before]: [number, string | null] = [0, null]
    for (const need of task.needs) {
      const found = best.get(need)
      if (found !== undefined && (before === null || found.ms > ms)) [ms, before] = [found.ms, need]
    }
    best.set(task.name, { ms: ms + weight(task), before })
    for (const name of after.get(task.name) ?? []) {
      const count = open.get(name)! - 1
      open.set(name, count)
      if (count === 0) queue.push(byName.get(name)!)
    }
  }
  let last: string | null = null
  for (const [name, { ms }] of best) if (last === null || ms > best.get(last)!.ms) last = name
  const edges = new Set<string>()
  let leftMs = 0
  for (let at = last; at !== null; at = best.get(at)!.before) {
    leftMs += left(byName.get(at)!)
    const { before } = best.get(at)!
    if (before !== null) edges.add(`${before}\n${at}`)
  }
  return {
    edges,
    leftMs: leftMs === 0 || (usual === null && tasks.every(({ estimateMs }) => estimateMs === null)) ? null : leftMs,
  }
}
