// The input of the lint rules: the graph with what was derived from it, and facts that the domain cannot determine itself.

import type { Millis, TaskName } from '../id.ts'
import type { Ancestry } from './ancestry.ts'
import type { Costs, Lengths } from './estimates.ts'
import type { CriticalPath, Schedule } from './schedule.ts'

import type { Paths } from './scope-index.ts'
import type { Waves } from './waves.ts'
import type { WorkGraph } from './work-graph.ts'

/** The input of the rules that find errors. Cheap, because every plan is checked before it is created. */
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
  /** When the plan would start; without it deadlines are not compared with the clock. */
  readonly now?: Millis
  readonly assumedMs?: number
  /** Above so many top-level tasks, milestones are recommended. */
  readonly topLevelMax?: number
  /** Resolves patterns to files as the runners do; without it scopes are not checked. */
  readonly scopes?: Scopes
  /** The possible outcomes of a decision; null when they are computed. Without it every outcome is possible. */
  readonly decided?: (expression: string) => readonly string[] | null
  /** Without it environment variables are not checked. */
  readonly environment?: Environment
  /** The outputs that expressions of the plan read; without it contracts are not checked. */
  readonly reads?: readonly OutputRead[]
}

export interface Scopes {
  /** Why a pattern is invalid, as the end of a sentence; null when it is valid. */
  fault(pattern: string): string | null
  /** Why a file may never be written, in any scope; null when it may. */
  fileFault(file: string): string | null
  /** Why no command may run in this folder; null when one may. */
  folderFault(folder: string): string | null
  holds(patterns: readonly string[], file: string): boolean
}

export interface Environment {
  /** Why a plan may not set this variable, as the end of a sentence; null when it may. */
  fault(name: string): string | null
}

export interface OutputRead {
  /** Null for the plan's final checks (`done`). */
  readonly reader: TaskName | null
  /** The document key of the expression: `inputs`, `when`, … */
  readonly key: string
  readonly producer: TaskName
  readonly output: string
  readonly text: string
}
