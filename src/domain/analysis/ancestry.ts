// Does one task come before another? Asked for few pairs of a large graph, so it walks back from the later task, by `needs` never beyond
// the wave of the earlier one, and stops answering when all walks together have taken too many steps.

import type { Waves } from './waves.ts'
import type { WorkGraph } from './work-graph.ts'

const STEPS_MAX = 2_000_000

export class Ancestry {
  readonly #graph: WorkGraph
  readonly #waves: Waves
  #steps = 0

  constructor(graph: WorkGraph, waves: Waves) {
    this.#graph = graph
    this.#waves = waves
  }

  wave(task: number): number {
    return this.#waves.waveOf[task]!
  }

  /** Does one of the two always end before the other begins? Null when the step limit is reached. */
  ordered(a: number, b: number): boolean | null {
    const { waveOf } = this.#waves
    if (a === b) return true
    // A dependant is always in a later wave. Tasks without a wave have their own finding.
    if (waveOf[a] === waveOf[b]) return waveOf[a] === -1 ? null : false
    return waveOf[a]! < waveOf[b]! ? this.before(a, b, 'needs') : this.before(b, a, 'needs')
  }

  /** By `needs` only, or also through outcome edges. */
  before(earlier: number, later: number, by: 'needs' | 'any'): boolean | null {
    const { needs, ledFrom } = this.#graph
    const seen = new Set<number>([later])
    for (const task of seen) {
      if (task === earlier) return task !== later
      if (this.#steps > STEPS_MAX) return null
      this.#steps += 1 + needs[task]!.length
      for (const need of needs[task]!)
        if (by === 'any' || this.#waves.waveOf[need]! >= this.#waves.waveOf[earlier]!) seen.add(need)
      if (by === 'any') for (const { from } of ledFrom[task]!) seen.add(from)
    }
    return false
  }
}
