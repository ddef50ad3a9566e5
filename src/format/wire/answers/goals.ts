// Goals, their progress, and a planner's findings in the workspace.

import type { Counts, Int, Loose, PageOf, Time } from './fields.ts'

export interface GoalItem {
  readonly id: string
  readonly title: string | null
  readonly parent_id: string | null
  readonly priority: Int
  readonly status: 'open' | 'achieved' | 'dropped'
  readonly success_criteria: readonly string[]
  readonly version: Int
  readonly created_at: Time | null
  readonly updated_at: Time | null
}

export interface Goal extends GoalItem {
  /** False when plans name it and nobody has set it. */
  readonly known: boolean
  readonly children: readonly GoalItem[]
  readonly plans: readonly {
    readonly id: string
    readonly name: string
    readonly status: string
    readonly state: string
  }[]
  readonly progress: {
    /** The mean of its plans and sub-goals, from 0 to 1; what was given up does not count. */
    readonly ratio: number
    /** How many there are, by state, sub-goals included. */
    readonly plans: Counts
    readonly tasks: Int
    readonly done: Int
    /** Sub-goals below it, at any depth. */
    readonly goals: Int
    /** All that belongs to it is done; false when nothing does. */
    readonly complete: boolean
    /** False when there were too many to look at all of them. */
    readonly counted: boolean
  }
}

export type GoalPage = PageOf<GoalItem>

export interface DecomposedGoal extends Goal {
  /** Its sub-goals in their order, or the goal itself when it is one piece of work, each with its plan. */
  readonly parts: readonly {
    readonly goal_id: string
    readonly title: string
    readonly plan_id: string
    readonly name: string
    readonly state: string
    /** False when it had this plan before. */
    readonly made: boolean
  }[]
}

interface FoundCommand extends Loose {
  readonly run: readonly string[]
  readonly from: string
  /** What it names is there: the script, the target, the program. */
  readonly exists: boolean
  readonly missing?: string
}

interface TriedCommand extends Loose {
  readonly run: readonly string[]
  readonly purpose: 'test' | 'lint' | 'types' | 'build'
  readonly status: 'passes' | 'fails' | 'unknown'
  /** Of an unknown one: why nothing can be said. */
  readonly why?: string
  /** So many tests fail, of `total`. */
  readonly failed?: Int
  readonly total?: Int
  readonly places: readonly { readonly file: string; readonly line: Int | null }[]
  /** What it printed, cut. */
  readonly lines: readonly string[]
}

type RankedFile = { readonly path: string; readonly score: number; readonly reason: string }

/** What the planner found in the workspace. */
export interface GoalAnalysis extends Loose {
  readonly languages: readonly string[]
  readonly package_managers: readonly string[]
  /** Most likely to be changed first. */
  readonly files: readonly RankedFile[]
  readonly tests: readonly RankedFile[]
  readonly commands: {
    readonly test: FoundCommand | null
    readonly lint: FoundCommand | null
    readonly types: FoundCommand | null
    readonly build: FoundCommand | null
    /** What the continuous integration runs. */
    readonly ci: readonly FoundCommand[]
  }
  /** What the commands of the project did when they were run before the draft, with `look`. */
  readonly looked?: { readonly commands: readonly TriedCommand[]; readonly ms: number; readonly none?: string }
}
