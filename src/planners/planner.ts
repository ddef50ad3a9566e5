// A planner turns a goal into a proposed plan: the door of `planners/`. The embedded one (`heuristic`) reads the goal and the
// repository and asks no model. Others (a model, the person's own agent, a template) take the same request and give the same answer.

import type { PlanDefinition } from '../domain/plan.ts'

export interface Planner {
  /** As people choose it: `heuristic`. */
  readonly name: string
  /** Never throws for what a goal or a repository says; any text is a goal. */
  propose(request: PlanRequest): Promise<PlanProposal>
}

export interface PlanRequest {
  readonly goal: string
  readonly repository: RepositoryView
  /** What people said about an earlier draft: the next one follows it where it can, and says where it cannot. */
  readonly comments?: readonly PlanComment[]
  /** Plans of the past, newest first, for what they teach about this one. */
  readonly past?: readonly PastPlan[]
}

/** Somebody's word about a draft: about one task of it, or about all of it. */
export interface PlanComment {
  readonly task: string | null
  readonly text: string
}

export interface PastPlan {
  readonly name: string
  readonly goal: string
  readonly status: string
}

/** What a planner may see of a repository. It cannot write, and runs none of its code. */
export interface RepositoryView {
  /** Files that are tracked, or new and not ignored. */
  files(): Promise<readonly RepositoryFile[]>
  /** The text of files, in the order asked for; null for one that is gone, not text, or beyond the bound. */
  read(paths: readonly string[]): Promise<readonly (string | null)[]>
  /** Changes made so far, newest first; empty where there is no history. */
  history(): Promise<readonly PastChange[]>
  /** How this program is started here: by its name, or by a path in the project's own environment. Null when it is not installed. */
  findProgram(name: string): Promise<string | null>
  /** The commit the files are at, with changes since; null where there is no repository. */
  state(): Promise<RepositoryState | null>
}

export interface RepositoryFile {
  readonly path: string
  readonly bytes: number
}

export interface RepositoryState {
  readonly commit: string | null
  readonly branch: string | null
  readonly changedFiles: number
}

export interface PastChange {
  readonly message: string
  readonly files: readonly string[]
}

/** A plan worth looking at, and why it is as it is. Nothing of it has happened. */
export interface PlanProposal {
  readonly planner: string
  readonly definition: PlanDefinition
  /** What kind of goal it was taken for, in a word or two. */
  readonly kind: string
  /** Why this plan. Why each task is there is said by its own `rationale`. */
  readonly rationale: string
  readonly assumptions: readonly string[]
  readonly risks: readonly string[]
  /** Asked in the plan before work begins. */
  readonly questions: readonly string[]
  /** What cannot be taken back, by task; each waits for an approval. */
  readonly irreversible: readonly { readonly task: string; readonly why: string }[]
  readonly estimate: PlanEstimate
  readonly analysis: GoalAnalysis
  /** Comments that this planner could not follow, each with the reason. */
  readonly unfollowed: readonly { readonly comment: PlanComment; readonly why: string }[]
}

export interface PlanEstimate {
  /** One after the other. */
  readonly workMs: number
  /** Without a model, nothing is spent. */
  readonly cost: string
}

/** What was found about the goal in the repository. */
export interface GoalAnalysis {
  readonly languages: readonly string[]
  readonly packageManagers: readonly string[]
  /** Most likely to be changed first. */
  readonly files: readonly RankedFile[]
  /** Tests near them. */
  readonly tests: readonly RankedFile[]
  readonly commands: FoundCommands
  /** Words of the goal that name something: symbols, files, quoted text, messages, places in a stack trace. */
  readonly mentions: GoalMentions
  /** What could not be looked at, in sentences: too large, too many, no history. */
  readonly limits: readonly string[]
}

export interface RankedFile {
  readonly path: string
  readonly score: number
  readonly reason: string
}

export interface FoundCommands {
  readonly test: FoundCommand | null
  readonly lint: FoundCommand | null
  readonly build: FoundCommand | null
}

export interface FoundCommand {
  readonly run: readonly string[]
  /** Where it was found: `package.json`, `Makefile`, the language's own way. */
  readonly from: string
  /** What it names is there: the script, the target, the program. */
  readonly exists: boolean
  /** What is missing when it does not. */
  readonly missing?: string
}

export interface GoalMentions {
  readonly quoted: readonly string[]
  readonly files: readonly string[]
  readonly symbols: readonly string[]
  readonly errors: readonly string[]
  readonly frames: readonly { readonly file: string; readonly line: number | null }[]
}
