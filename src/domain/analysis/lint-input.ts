// What every rule of the lint may look at: the graph and what was worked out about it, and the few things the domain cannot
// know by itself, handed in by whoever asks.

import type { Millis, TaskName } from '../id.ts'
import type { Ancestry } from './ancestry.ts'
import type { Costs, Lengths } from './estimates.ts'
import type { CriticalPath, Schedule } from './schedule.ts'

import type { Paths } from './scope-index.ts'
import type { Waves } from './waves.ts'
import type { WorkGraph } from './work-graph.ts'

/** Enough for the rules that find errors; it costs little, so every plan is looked at like this before it is made. */
export interface Ground {
  readonly graph: WorkGraph
  readonly waves: Waves
  readonly ancestry: Ancestry
  readonly options: AnalyzeOptions
}

export interface Look extends Ground {
  readonly path: CriticalPath
  readonly lengths: Lengths
  readonly schedule: Schedule
  readonly scopes: readonly Paths[]
  readonly costs: Costs
}

export interface AnalyzeOptions {
  /** When the plan would start; without it no deadline is compared with the clock. */
  readonly now?: Millis
  /** The length of a task that says none. */
  readonly assumedMs?: number
  /** How many top-level tasks are fine without milestones. */
  readonly topLevelMax?: number
  /** Which files patterns mean, as the runners understand them; without it no file is compared with a scope. */
  readonly scopes?: Scopes
  /** The outcomes a decision can have; null when they are computed. Without it every outcome of one is possible. */
  readonly decided?: (expression: string) => readonly string[] | null
  /** Which environment variables a plan may set; without it none is looked at. */
  readonly environment?: Environment
  /** Which outputs of other tasks the expressions of the plan read; without it no contract is checked. */
  readonly reads?: readonly OutputRead[]
}

export interface Scopes {
  /** Why a pattern cannot be used, as the end of a sentence; null when it can. */
  fault(pattern: string): string | null
  /** Why a file may never be written, whatever the scope says; null when it may. */
  fileFault(file: string): string | null
  /** Why no command may run in this folder; null when one may. */
  folderFault(folder: string): string | null
  holds(patterns: readonly string[], file: string): boolean
}

export interface Environment {
  /** Why a plan may not set this variable, as the end of a sentence; null when it may. */
  fault(name: string): string | null
}

/** An expression looks at an output. */
export interface OutputRead {
  /** Who reads; null for the plan's own definition of done. */
  readonly reader: TaskName | null
  /** The key it stands in, for its place: `inputs`, `when`, … */
  readonly key: string
  readonly producer: TaskName
  readonly output: string
  readonly text: string
}
