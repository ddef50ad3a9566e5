// The critical path: the chain of tasks that takes longest, each beginning when the one before it ends. Nothing can make the
// plan end sooner than it. Lengths are added in the order of the waves, so no walk is deeper than one step.

import type { Waves } from './waves.ts'
import type { WorkGraph } from './work-graph.ts'

export interface CriticalPath {
  readonly tasks: readonly number[]
  readonly ms: number
  /** When each task could end at the earliest, counted from the start of the plan; -1 for those without a wave. */
  readonly endsMs: readonly number[]
}

export function criticalPath(graph: WorkGraph, waves: Waves, lengths: readonly number[]): CriticalPath {
  const endsMs = graph.tasks.map(() => -1)
  const before = graph.tasks.map(() => -1)
  let last = -1
  for (const task of waves.order) {
    let start = 0
    for (const need of predecessors(graph, waves, task)) {
      if (before[task] !== -1 && endsMs[need]! <= start) continue
      start = endsMs[need]!
      before[task] = need
    }
    endsMs[task] = start + lengths[task]!
    if (last === -1 || endsMs[task]! > endsMs[last]!) last = task
  }
  const tasks: number[] = []
  for (let task = last; task !== -1; task = before[task]!) tasks.push(task)
  return { tasks: tasks.reverse(), ms: last === -1 ? 0 : endsMs[last]!, endsMs }
}

function predecessors(graph: WorkGraph, { wokenBy }: Waves, task: number): readonly number[] {
  return wokenBy[task] === -1 ? graph.needs[task]! : [...graph.needs[task]!, wokenBy[task]!]
}
