// The interface of planners: a planner turns a goal into a proposed plan. The embedded one (`heuristic`) analyses goal and
// repository without a model. The others (model, template, agent) take the same request and give the same result.

import type { Json, JsonObject } from '../../domain/json.ts'
import type { ModelCost, ModelUsage } from '../../domain/model-use.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import type { Failure } from '../../domain/result.ts'
import type { DraftingBudget, DraftProposal, EarlierDraft } from '../../operations/agents/plan-drafts.ts'
import type { Looked } from './look-result.ts'

export type { DraftingBudget, PlanComment, PlanProgress } from '../../operations/agents/plan-drafts.ts'
export {
  failingToday,
  type Looked,
  type LookedCommand,
  lookedLine,
  lookedLines,
  lookedText,
  NOT_INSTALLED,
} from './look-result.ts'

export interface Planner {
  readonly name: string
  /** Accepts any text. Throws `PlanningFailure` if it has no usable plan. */
  propose(request: PlanRequest): Promise<PlanProposal>
  /** Splits a goal into wishes that can be planned separately; a single piece of work is one wish. Fails like `propose`. */
  split(request: SplitRequest): Promise<readonly Wish[]>
}

export type SplitRequest = Pick<PlanRequest, 'goal' | 'repository' | 'model' | 'budget' | 'more' | 'signal'>

/** A part of a goal that can be achieved on its own: a sub-goal. */
export interface Wish {
  readonly title: string
  /** Acceptance criteria, including limits of the whole goal. */
  readonly criteria: readonly string[]
}

export const DRAFTS_MAX = 3

/** Maximum number of wishes; the rest stays in the last one. */
export const WISHES_MAX = 20

/** Why there is no plan. Nothing was stored. */
export class PlanningFailure extends Error {
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.message)
    this.failure = failure
  }
}

export interface PlanRequest extends EarlierDraft {
  readonly goal: string
  readonly repository: RepositoryView
  readonly past?: readonly PastPlan[]
  /** What was said about work on these files in earlier plans. Untrusted. */
  readonly learnt?: ((paths: readonly string[]) => Promise<readonly string[]>) | undefined
  /** `provider/name`; by default the user's default model. */
  readonly model?: string
  readonly agent?: string
  readonly template?: string
  /** Results of the project's commands today, if they were run. */
  readonly looked?: Looked | undefined
  /** Errors in a plan, one sentence each, by the general rules for plans. */
  readonly check?: (definition: PlanDefinition) => readonly string[]
  /** Runs a check in a disposable copy of the repository; absent if not possible or not allowed. */
  readonly runCheck?: RunCheck | undefined
  /** Asks the person now; null without an answer. If absent, the plan asks before work begins. */
  readonly ask?: (question: string) => Promise<string | null>
  /** Overrides the usual model budget. */
  readonly budget?: DraftingBudget
  /** Number of drafts, of which the one with the fewest faults is chosen; default 1. */
  readonly drafts?: number | undefined
  /** Asks the person whether more may be used; if absent, the drafting ends at its limits. */
  readonly more?: (question: string) => Promise<boolean>
  readonly tell?: (note: string) => void
  readonly signal?: AbortSignal
}

/** `unknown`: it could not run, or timed out. */
export type CheckedToday = 'passes' | 'fails' | 'unknown'
/** A line for `sh`. */
export type RunCheck = (script: string) => Promise<CheckedToday>

export interface PlanningModels {
  /** Opens a drafting with one model without sending anything. */
  open(request: {
    readonly use?: string
    readonly caps: { readonly calls: number }
    readonly allowed?: DraftingBudget
    readonly more?: (question: string) => Promise<boolean>
    /** Answers stored under this key are reused without payment. */
    readonly keepAs?: string
  }): Promise<{ readonly ok: true; readonly model: PlanningModel } | { readonly ok: false; readonly failure: Failure }>
}

export interface PlanningModel {
  readonly name: string
  /** Asks for JSON by schema. Invalid answers and those that fail `check` are sent back up to `repairsMax` times. */
  object(question: ModelQuestion): Promise<ModelReply>
  /** Does the provider support tools together with JSON answers? */
  readonly callsTools: boolean
  spent(): ModelSpent
  /** All questions and answers, for a replay. */
  recording(): unknown
  /** Number of stored answers from an earlier drafting of the same goal. */
  readonly earlier: number
  /** Drops the stored answers: the drafting is complete. */
  forget(): void
}

export interface ModelQuestion {
  readonly purpose: string
  readonly system: string
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly text: string }[]
  readonly schema: JsonObject
  readonly schemaName: string
  readonly repairsMax: number
  readonly check?: (value: Json) => readonly string[]
  /** Tools it may call before answering; each round is another request. */
  readonly tools?: readonly PlanningTool[]
  readonly signal?: AbortSignal
  /** Called when the provider is busy and will be retried. */
  readonly onWait?: (note: string) => void
}

export interface PlanningTool {
  readonly name: string
  readonly description: string
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

export interface PastPlan {
  readonly name: string
  readonly goal: string
  readonly status: string
}

/** Read access to a repository; runs none of its code. */
export interface RepositoryView {
  /** Tracked files, and new ones that are not ignored. */
  files(): Promise<readonly RepositoryFile[]>
  /** File contents in the given order: of large files only the beginning; null if missing or binary. */
  read(paths: readonly string[]): Promise<readonly (string | null)[]>
  /** Past changes, newest first; empty without a history. */
  history(): Promise<readonly PastChange[]>
  /**
   * How this program is started in a folder (`packages/ui/`; by default the top): by name, or by the path of a project-local
   * installation. Null if not installed.
   */
  findProgram(name: string, folder?: string): Promise<string | null>
  /** Packages of the Python on the path, and `name @ .` for those installed from this workspace; null without Python. */
  pythonPackages(): Promise<ReadonlySet<string> | null>
  /** Modification times in ms, also of ignored files; null if missing. */
  changedAt(paths: readonly string[]): Promise<readonly (number | null)[]>
  /** The commit, with changes since; null without a repository. */
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

/** A proposed plan with its reasons. Nothing has happened yet. */
export interface PlanProposal extends DraftProposal {
  /** The kind of goal, in a word or two. */
  readonly kind: string
  /** The reason for the plan. Each task has a `rationale` of its own. */
  readonly rationale: string
  readonly assumptions: readonly string[]
  readonly risks: readonly string[]
  /** Asked in the plan before work begins. */
  readonly questions: readonly string[]
  /** Irreversible tasks, each with an approval before it. */
  readonly irreversible: readonly { readonly task: string; readonly why: string }[]
  readonly estimate: PlanEstimate
  readonly analysis: GoalAnalysis
  /** For the frame around another planner's draft. */
  readonly framing?: Framing
  /** The model that drafted and its usage; absent without a model. */
  readonly model?: ModelSpent & { readonly name: string; readonly repairs: number }
}

export interface Framing {
  /** Test commands that print each test by name, if known: of the package, and of everything if that differs. */
  readonly suite: readonly string[] | null
  readonly allSuite: readonly string[] | null
  /** Required installation before anything can run. */
  readonly installation: Installation | null
}

export interface Installation {
  readonly run: readonly string[]
  /** The evidence for it, as a sentence without its full stop. */
  readonly why: string
  /** Package registries. */
  readonly network: readonly string[]
  /** The test command, if it is known only afterwards. */
  readonly test?: FoundCommand
}

export interface PlanEstimate {
  /** With the tasks one after the other. */
  readonly workMs: number
  /** Cost of planning in words; null without a model. */
  readonly cost: string | null
}

export interface GoalAnalysis {
  readonly languages: readonly string[]
  readonly packageManagers: readonly string[]
  /** Most likely to change first. */
  readonly files: readonly RankedFile[]
  /** Tests close to them. */
  readonly tests: readonly RankedFile[]
  readonly commands: FoundCommands
  readonly looked?: Looked
  /** Identifiers, files, quoted text, error messages and stack frames in the goal. */
  readonly mentions: GoalMentions
  /** What could not be analysed, in sentences: too large, too many, no history. */
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
  /** Of the whole repository, if that differs. */
  readonly allTests?: FoundCommand
  readonly lint: FoundCommand | null
  /** Checks types and builds nothing. */
  readonly types: FoundCommand | null
  readonly build: FoundCommand | null
  /** Test, lint, type check and build commands of CI, in order. */
  readonly ci: readonly CiCommand[]
}

export interface FoundCommand {
  readonly run: readonly string[]
  /** `package.json`, `Makefile`, or the language's convention. */
  readonly from: string
  /** The script, target or program exists. */
  readonly exists: boolean
  readonly missing?: string
  /** A missing command that only the convention of its language names, not the repository. */
  readonly isGuess?: true
}

export interface CiCommand extends FoundCommand {
  readonly purpose: 'test' | 'lint' | 'types' | 'build'
  readonly job: string
  readonly step: string | null
  readonly env?: { readonly [name: string]: string }
  /** The folder it runs in, if not the top. */
  readonly in?: string
}

export interface GoalMentions {
  readonly quoted: readonly string[]
  readonly files: readonly string[]
  readonly symbols: readonly string[]
  readonly errors: readonly string[]
  readonly frames: readonly { readonly file: string; readonly line: number | null }[]
}
