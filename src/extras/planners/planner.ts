// A planner turns a goal into a proposed plan: the door of `planners/`. The embedded one (`heuristic`) reads the goal and the
// repository and asks no model. Others (a model, a template, later the person's own agent) take the same request and give the same
// answer.

import type { NotePlace } from '../../domain/event.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import type { ModelCost, ModelUsage } from '../../domain/model-use.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import type { Failure } from '../../domain/result.ts'
import type { Looked } from './look-result.ts'

export { failingToday, type Looked, type LookedCommand, lookedLine, lookedLines, lookedText } from './look-result.ts'

export interface Planner {
  /** As people choose it: `heuristic`, `model`. */
  readonly name: string
  /** Any text is a goal. Throws `PlanningFailure` when whoever is asked (a model) gives no plan that can be used. */
  propose(request: PlanRequest): Promise<PlanProposal>
  /** The wishes that a goal holds, each to be planned on its own. One wish, when it is one piece of work. Fails as `propose` does. */
  split(request: SplitRequest): Promise<readonly Wish[]>
}

export type SplitRequest = Pick<PlanRequest, 'goal' | 'repository' | 'model' | 'budget' | 'more' | 'signal'>

/** A part of a goal that can be reached on its own: a sub-goal. */
export interface Wish {
  readonly title: string
  /** What must hold for it; limits that the whole goal names are among them. */
  readonly criteria: readonly string[]
}

export const DRAFTS_MAX = 3

/** A goal is split into so many wishes at most; the rest stays in the last one. */
export const WISHES_MAX = 20

/** There is no plan, and this is why. Nothing was kept. */
export class PlanningFailure extends Error {
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.message)
    this.failure = failure
  }
}

export interface PlanRequest {
  readonly goal: string
  readonly repository: RepositoryView
  /** What people said about an earlier draft: the next one follows it where it can, and says where it cannot. */
  readonly comments?: readonly PlanComment[]
  /** The draft that the comments are about. */
  readonly draft?: PlanDefinition
  /** The plan that is under way, when what is left of it is drafted again. */
  readonly progress?: PlanProgress | undefined
  /** Plans of the past, newest first, for what they teach about this one. */
  readonly past?: readonly PastPlan[]
  /** The model to ask, `provider/name`; the default of the user when absent. */
  readonly model?: string
  /** The coding agent to ask, by its name. */
  readonly agent?: string
  /** The template to fill. */
  readonly template?: string
  /** What the project's commands do today, where they were run. */
  readonly looked?: Looked | undefined
  /** What cannot work in a plan, a sentence each: the same checks as for every plan. */
  readonly check?: (definition: PlanDefinition) => readonly string[]
  /** Runs a check in a throwaway copy of the repository, where that is possible and allowed; absent: nobody knows how it ends. */
  readonly runCheck?: RunCheck | undefined
  /** Asks the person at once; null when they do not answer. When absent, the plan asks before work begins. */
  readonly ask?: (question: string) => Promise<string | null>
  /** What this drafting may use of a model, in place of the usual limits. */
  readonly budget?: DraftingBudget
  /** So many drafts, of which the one with the fewest faults is kept; one when absent. */
  readonly drafts?: number | undefined
  /** Asks the person whether more may be used; when absent, the drafting ends at its limits. */
  readonly more?: (question: string) => Promise<boolean>
  /** Tells the person something while the drafting goes on. */
  readonly tell?: (note: string) => void
  readonly signal?: AbortSignal
}

export interface PlanProgress {
  /** Finished, or in work: they stay as they are. */
  readonly kept: readonly {
    readonly task: string
    readonly title: string
    readonly status: string
    readonly outputs: Json
  }[]
  readonly failed: readonly { readonly task: string; readonly title: string; readonly reason: string }[]
}

/** `unknown`: it could not be run here, or did not end in time. */
export type CheckedToday = 'passes' | 'fails' | 'unknown'
/** A line for `sh`. */
export type RunCheck = (script: string) => Promise<CheckedToday>

export interface DraftingBudget {
  readonly calls?: number
  readonly tokens?: number
  readonly usd?: number
}

/** What a planner needs of language models. */
export interface PlanningModels {
  /** One drafting with one model. Sends nothing yet. */
  open(request: {
    readonly use?: string
    readonly caps: { readonly calls: number }
    readonly allowed?: DraftingBudget
    readonly more?: (question: string) => Promise<boolean>
    /** What was kept of a drafting under this name is not paid again. */
    readonly keepAs?: string
  }): Promise<{ readonly ok: true; readonly model: PlanningModel } | { readonly ok: false; readonly failure: Failure }>
}

export interface PlanningModel {
  /** `provider/name`. */
  readonly name: string
  /** Asks for JSON by a schema. An answer that does not follow it, or does not pass `check`, is sent back `repairsMax` times. */
  object(question: ModelQuestion): Promise<ModelReply>
  /** May it call tools in a question for JSON? Not every provider takes both. */
  readonly callsTools: boolean
  spent(): ModelSpent
  /** Everything that was asked and answered, for a replay. */
  recording(): unknown
  /** So many answers of an earlier drafting of the same goal are there; they are not paid again. */
  readonly earlier: number
  /** The drafting is done: the next one of the same goal asks anew. */
  forget(): void
}

export interface ModelQuestion {
  /** What it is for, in the list of calls. */
  readonly purpose: string
  readonly system: string
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly text: string }[]
  readonly schema: JsonObject
  readonly schemaName: string
  readonly repairsMax: number
  readonly check?: (value: Json) => readonly string[]
  /** What it may call before it answers; each round is one more request. */
  readonly tools?: readonly PlanningTool[]
  readonly signal?: AbortSignal
  /** Told when the provider is busy and is asked again later. */
  readonly onWait?: (note: string) => void
}

/** What it answers with is given to the model. */
export interface PlanningTool {
  readonly name: string
  readonly description: string
  /** JSON Schema. */
  readonly input: JsonObject
  run(input: Json): Promise<Json>
}

export type ModelReply =
  | { readonly ok: true; readonly value: Json; readonly repairs: number }
  | { readonly ok: false; readonly failure: Failure }

export interface ModelSpent {
  readonly calls: number
  readonly usage: ModelUsage
  readonly cost: ModelCost
}

/** Somebody's word about a draft: about one task of it, or about all of it. */
export interface PlanComment {
  readonly task: string | null
  readonly text: string
  /** The field or line it is about. */
  readonly place?: NotePlace
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
  /**
   * How this program is started in a folder (`packages/ui/`; the top when absent): by its name, or by a path to where the project keeps
   * its own. Null when it is not installed.
   */
  findProgram(name: string, folder?: string): Promise<string | null>
  /** What the Python on the path has installed, by name, and `name @ .` for what was installed from here; null where there is none. */
  pythonPackages(): Promise<ReadonlySet<string> | null>
  /** When each path was last changed, in ms; null for one that is not there. Ignored files and folders are seen, too. */
  changedAt(paths: readonly string[]): Promise<readonly (number | null)[]>
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
  /** The first of them, by path. */
  readonly changed?: readonly string[]
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
  /** For the frame around a draft of somebody else. */
  readonly framing?: Framing
  /** Comments that this planner could not follow, each with the reason. */
  readonly unfollowed: readonly { readonly comment: PlanComment; readonly why: string }[]
  /** Which model drafted it, and what that used; absent when none was asked. */
  readonly model?: ModelSpent & { readonly name: string; readonly repairs: number }
}

export interface Framing {
  /** The tests, run so that each is printed by its name, where that is known; of the package, and all where that is another command. */
  readonly suite: readonly string[] | null
  readonly allSuite: readonly string[] | null
  /** What has to be installed before anything can be run. */
  readonly installation: Installation | null
}

export interface Installation {
  readonly run: readonly string[]
  /** What shows that it is needed, as a sentence without its full stop. */
  readonly why: string
  /** Where the packages come from. */
  readonly network: readonly string[]
  /** What the tests are run with afterwards, if that is only known then. */
  readonly test?: FoundCommand
}

export interface PlanEstimate {
  /** One after the other. */
  readonly workMs: number
  /** What planning cost, in words; null when no model was asked. */
  readonly cost: string | null
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
  readonly looked?: Looked
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
  /** Of the package that the goal is about. */
  readonly test: FoundCommand | null
  /** Of the whole repository, where that is another command. */
  readonly allTests?: FoundCommand
  readonly lint: FoundCommand | null
  /** Checks types and builds nothing. */
  readonly types: FoundCommand | null
  readonly build: FoundCommand | null
  /** What the continuous integration runs to test, lint, check types or build, in its order. */
  readonly ci: readonly CiCommand[]
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

export interface CiCommand extends FoundCommand {
  readonly purpose: 'test' | 'lint' | 'types' | 'build'
  readonly job: string
  /** The name of the step, where it has one. */
  readonly step: string | null
  readonly env?: { readonly [name: string]: string }
  /** The folder it runs in, when that is not the top. */
  readonly in?: string
}

export interface GoalMentions {
  readonly quoted: readonly string[]
  readonly files: readonly string[]
  readonly symbols: readonly string[]
  readonly errors: readonly string[]
  readonly frames: readonly { readonly file: string; readonly line: number | null }[]
}
