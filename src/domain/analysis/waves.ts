// Waves: all tasks of a wave could run in parallel, after every task of the earlier waves. A dormant task is in the wave after the first
// task that may activate it. Tasks in or behind a cycle, unreachable tasks and compensations have no wave. Linear: each task is visited
// once.

import { possible } from './outcomes.ts'
import type { WorkGraph } from './work-graph.ts'

export interface Waves {
  readonly waves: readonly (readonly number[])[]
  /** Counted from 0; -1 for none. */
  readonly waveOf: readonly number[]
  /** The task whose outcome activates a dormant one; -1 for all others. */
  readonly wokenBy: readonly number[]
  /** All tasks with a wave, dependencies first. */
  readonly order: readonly number[]
}

export function wavesOf(graph: WorkGraph): Waves {
  const count = graph.tasks.length
  const unmet = graph.needs.map(needs => needs.length)
  const asleep = [...graph.dormant]
  const waveOf = Array.from({ length: count }, () => -1)
  const wokenBy = Array.from({ length: count }, () => -1)
  const waves: number[][] = []
  const order: number[] = []
  let wave = unmet.flatMap((left, task) => (left === 0 && !asleep[task] ? [task] : []))
  while (wave.length > 0) {
    for (const task of wave) waveOf[task] = waves.length
    waves.push(wave)
    order.push(...wave)
    const next: number[] = []
    for (const task of wave) {
      for (const dependant of graph.dependants[task]!)
        if (--unmet[dependant]! === 0 && !asleep[dependant]) next.push(dependant)
      for (const lead of graph.leads[task]!) {
        if (!asleep[lead.to] || !possible(graph.tasks[task]!, lead.outcome)) continue
        asleep[lead.to] = false
        wokenBy[lead.to] = task
        if (unmet[lead.to] === 0) next.push(lead.to)
      }
    }
    wave = next.sort((a, b) => a - b)
  }
  return { waves, waveOf, wokenBy, order }
}

export function groupsOf(graph: WorkGraph): readonly (readonly number[])[] {
  const isPlaced = graph.tasks.map(() => false)
  const groups: number[][] = []
  for (const start of graph.tasks.keys()) {
    if (isPlaced[start]) continue
    const group: number[] = []
    const join = (task: number): void => {
      if (isPlaced[task]) return
      isPlaced[task] = true
      group.push(task)
    }
    join(start)
    for (const task of group) {
      for (const other of graph.needs[task]!) join(other)
      for (const other of graph.dependants[task]!) join(other)
      for (const { to } of graph.leads[task]!) join(to)
      for (const { from } of graph.ledFrom[task]!) join(from)
      for (const other of graph.undoes[task]!) join(other)
      if (graph.undoneBy[task] !== -1) join(graph.undoneBy[task]!)
    }
    groups.push(group.sort((a, b) => a - b))
  }
  return groups.sort((a, b) => b.length - a.length)
}
