// Door of `runners/`: who runs a task. A runner runs exactly one attempt that the journal has already recorded as started (law L1), never
// throws, and stops soon after `stop` fires. It reports what happened; `engine/attempts/classify-outcome` judges it.

import type { SettingsCaps, Spend } from '../domain/budget/amounts.ts'
import type { AttemptOf } from '../domain/event.ts'
import type { Hint } from '../domain/hint.ts'
import type { Millis, PlanId, Sha256, TaskName } from '../domain/id.ts'
import type { JsonObject } from '../domain/json.ts'
import type { ModelUse } from '../domain/model-use.ts'
import type { Action, ActionType, CommandLine, Edit, EffectClass, TaskDefinition } from '../domain/plan.ts'
import type { AgentLogin } from '../domain/plan-rules/agent-request.ts'
import type { GitOperation } from '../domain/plan-rules/git-operation.ts'
import type { NetworkTarget } from '../domain/plan-rules/network-rule.ts'
import type { Failure, Programs } from '../domain/result.ts'
import type { EarlierAttempt } from '../domain/views/board.ts'
import type { Verdict } from '../safety/network/network-judge.ts'
import type { Answer } from '../safety/safety-refusal.ts'
import type { SandboxUse } from '../safety/sandbox/command-sandbox.ts'
import type { Beyond } from '../safety/sandbox/sandbox.ts'
import type { GatewayWire } from './models.ts'

export interface Runner {
  readonly action: ActionType
  readonly about?: RunnerAbout
  readonly needs?: readonly ('evaluate' | 'git' | 'reach' | 'agent' | 'clock')[]
  /** What it would do, without doing it; for `--dry-run` and gates. Null for nothing to show. */
  preview?(attempt: Attempt, tools: RunnerTools, signal: AbortSignal): Promise<Preview>
  attempt(attempt: Attempt, tools: RunnerTools, stop: Stop): Promise<Outcome>
}

/** A description of the runner for `planfold doctor capabilities`; the format has the schema of its action. */
export interface RunnerAbout {
  /** As the end of a sentence that begins with the task. */
  readonly does: string
  /** The default effect classes of its tasks. */
  readonly effects: readonly EffectClass[]
  readonly risks: readonly string[]
  readonly dryRun: string
  /** What it needs on the machine. Commands also run without a sandbox; the others do not work without what they need. */
  readonly uses?: readonly ('sandbox' | 'network' | 'git' | 'sqlite' | 'models' | 'agents')[]
  /** Why it does not work here, independent of the machine. */
  readonly lacks?: string
}

/** Fires when an attempt is no longer wanted. Creating a signal is slow: `signal` is for listeners, `aborted` for checks. */
export interface Stop {
  readonly aborted: boolean
  readonly signal: AbortSignal
  /** How long it may take to stop; default: the runner's own. */
  readonly graceMs?: number
}

export interface Attempt extends AttemptOf {
  readonly plan: PlanId
  /** `<plan>/<task>/<visit>`: the same for every attempt of a visit (law L4). Passed on as PLANFOLD_KEY. */
  readonly key: string
  readonly definition: TaskDefinition
  /** The action to run: the task's own, its probe or its compensation, with `${{ }}` resolved. */
  readonly action: Action
  readonly inputs: JsonObject
  /** Additional variables with resolved values; scripts get their references through them. */
  readonly env: { readonly [name: string]: string }
  readonly timeoutMs: number
  /** For a task that waits: the start of its first attempt since it last failed or was reopened. */
  readonly waitsSince?: Millis
  /** The comments of those who sent the task back. Passed on as PLANFOLD_FEEDBACK. */
  readonly feedback?: string
  /** What was said about earlier runs of the task, besides `feedback`; oldest first. */
  readonly lessons?: readonly string[]
  /** The run whose conversation an agent continues; absent for its own. */
  readonly conversation?: number
  /** The plan's default model, for a `model` task that names none. */
  readonly model?: string
  /** Answers of a model are kept under this name, so that after an interruption the same question is not paid for again. */
  readonly keepAs?: string
  /** Which of several tries of the attempt this is; they run side by side. Passed on as PLANFOLD_TRY. */
  readonly tried?: string
  /** The hash of everything above that was resolved; absent for nothing. */
  readonly inputHash?: Sha256
}

export interface RunnerTools {
  readonly root: string
  /** Absolute path of Planfold's own state folder: never writable by a task. */
  readonly stateDir: string
  /** Marks every process we start, so that a takeover can find and end them. */
  readonly owner: string
  /** The sandbox of commands; absent: they run with the permissions of this process. */
  readonly sandbox?: SandboxUse
  /** Why the policy forbids a command; null when it does not. Absent: there is no policy. */
  readonly refuses?: (command: CommandLine) => Failure | null
  /** Patterns of what a sandboxed command may read in the workspace; absent: everything. */
  readonly read?: readonly string[]
  /** Patterns a task may write; an empty list: nothing, null: the whole workspace. */
  readonly write: readonly string[] | null
  /** The environment of this process, read once in compose; runners pass on only an allow list of it. */
  readonly environment: { readonly [name: string]: string | undefined }
  /** The secrets of the task, for the environment of its commands or for its request; redacted from everything that comes back. */
  readonly secrets?: { readonly [name: string]: string }
  /** The versions of Planfold and Node, and the platform; logged with every command. */
  readonly about: string
  /** Evaluates an expression over the plan's outputs; fails for runners without `evaluate` in their `needs`. */
  readonly evaluate: (expression: string) => Evaluated
  /** For a preview: edits of earlier tasks, assumed as done. */
  readonly imagined?: readonly Edit[]
  /** The repository operations of a `git` task; absent for others. */
  readonly git?: GitHand
  /** Opens the network for our own requests, each of them judged. */
  readonly reach?: () => Promise<Answer<Reach>>
  readonly clock?: WaitClock
  readonly agent?: AgentTools
  /** The parent span of a child process; absent without tracing. Passed on as TRACEPARENT. */
  readonly traceparent?: string
  /** Asked before every model call; absent where nothing is counted, as in a compensation. */
  readonly budget?: AttemptBudget
  readonly log: (stream: 'stdout' | 'stderr' | 'engine', chunk: Uint8Array) => void
  /** Milliseconds from a monotonic clock. */
  readonly monotonic: () => number
}

/**
 * The connection of an attempt to the budgets of its task, of the groups around it and of the plan. The most that a call can use is
 * reserved before it is sent, and settled with its real use. Both are journaled, so that no crash and no other process can spend it twice;
 * a call that is never settled counts in full. Calls may overlap. Without a budget everything is granted and nothing is written.
 */
export interface AttemptBudget {
  /** Waits while other attempts have reserved the rest. When the budget is used up, the plan pauses and a person is asked, see `wait`. */
  reserve(spend: Spend, options?: ReserveOptions): Promise<Reserved>
  /** Idempotent. `cost: null`: unknown, so the whole reservation is spent. `{}`: nothing was sent. */
  settle(id: string, actual: Spend): Promise<void>
}

export interface ReserveOptions {
  readonly signal?: AbortSignal
  /** `person` (default): also waits for a person's answer, however long it takes. `others`: only for reservations of other attempts. */
  readonly wait?: 'person' | 'others'
  /** Accepts a smaller amount, but no less than this. Absent: all or nothing. */
  readonly least?: Spend
  /** The user's current settings; read again after each wait. Undefined: none. */
  readonly settings?: () => Promise<SettingsCaps | undefined>
}

export type Reserved =
  /** `granted`: possibly less than requested, with `least`. */
  | { readonly ok: true; readonly id: string; readonly granted: Spend }
  /** `asked`: a person is asked and nobody waited. `stopped`: the signal fired. `refused`: see the failure. */
  | { readonly ok: false; readonly why: 'asked' | 'stopped' | 'refused'; readonly failure: Failure }

/** Decides where a request may go, and journals it. */
export interface Reach {
  judge(target: NetworkTarget, request: { readonly method: string; readonly path: string }): Promise<Verdict>
  /** Records a request that could not be parsed. */
  refuse(method: string, text: string, why: string): void
  /** Stops waiting and journals the rest. Idempotent. */
  close(): Promise<void>
}

export type Evaluated =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string; readonly hint?: Hint }

/** The operations of a `git` task, on the branches of its plan. Each is done once per attempt, however often it is called. */
export interface GitHand {
  /** Everything the plan wrote and did not commit yet, or the part that these patterns match. */
  commit(request: { readonly message: string; readonly paths?: readonly string[] }): Promise<GitDone>
  /** Tags the last commit of the plan's branch. */
  tag(request: { readonly name: string; readonly message?: string }): Promise<GitDone>
  /** Merges the branch of a task into that of the plan. */
  merge(request: { readonly task: TaskName; readonly message?: string }): Promise<GitDone>
}

export type GitDone =
  | { readonly ok: true; readonly operations: readonly GitOperation[]; readonly outputs: JsonObject }
  /** `operations` happened before the failure. */
  | { readonly ok: false; readonly failure: Failure; readonly operations: readonly GitOperation[] }

/** What the runner observed. `exited` leaves the exit code to `classify-outcome`. */
export type Outcome =
  | {
      readonly type: 'exited'
      readonly exit: number | null
      readonly signal: string | null
      readonly timedOut: boolean
      /** Bounded head and tail, joined by a line that gives the size of the gap. */
      readonly stdout: string
      readonly stderr: string
      readonly truncated: boolean
      /** What appeared or changed where it may not write; only a sandbox knows. */
      readonly beyond?: Beyond
      /** The sandbox ended it because it exceeded a limit. */
      readonly excess?: Failure
      /** For a failed command: how the sandbox may have caused it, and what to do. */
      readonly sandboxHint?: string
      /** There was no sandbox for it. */
      readonly unheld?: true
    }
  | {
      readonly type: 'done'
      readonly outcome?: string
      readonly outputs?: JsonObject
      readonly git?: readonly GitOperation[]
      readonly model?: ModelReport
      readonly beyond?: Beyond
      readonly programs?: Programs
    }
  | {
      readonly type: 'failed'
      readonly failure: Failure
      readonly git?: readonly GitOperation[]
      readonly model?: ModelReport
      readonly beyond?: Beyond
      readonly programs?: Programs
      readonly begun?: false
    }
  /** An agent was stopped before the end of its turn, until a person answers. */
  | {
      readonly type: 'parked'
      readonly reason: string
      /** The failure if its criteria do not hold, when nobody is asked. */
      readonly failure?: Failure
      readonly outputs?: JsonObject
      readonly model?: ModelReport
      readonly beyond?: Beyond
      readonly programs?: Programs
    }
  /** Ended because `stop` fired, or to ask for more budget. `begun: false`: nothing was done. `until`: the time of the retry. */
  | { readonly type: 'interrupted'; readonly begun?: false; readonly reason?: string; readonly until?: Millis }

/** A coding agent that can be started by name, and whether it is installed here. */
export interface KnownAgent {
  readonly name: string
  readonly title: string
  readonly from: 'planfold' | 'user'
  /** `other-version`: not the tested one. */
  readonly status: 'installed' | 'other-version' | 'missing'
  /** The protocol used; null when it is missing. */
  readonly road: 'acp' | 'headless' | null
  readonly program: string | null
  readonly version: string | null
  readonly tested: string | null
  /** The protocol between it and its model; null: any. */
  readonly wire: GatewayWire | null
  readonly needsModel: boolean
  /** The npm package of the program that would be used; null: its row names none. */
  readonly install: string | null
  readonly hasLogin: boolean
}

export interface WaitClock {
  now(): Millis
  /** Calls back once, not before `ms` have passed; returns how to cancel. */
  after(ms: number, callback: () => void): () => void
}

export interface AgentTools {
  readonly facts: AgentFacts
  /** The plan's default agent, for a task that names none. */
  readonly use?: string
  /** The user's own login, or why the policy forbids it; absent: its model is called through the gateway. */
  readonly login?: Answer<AgentLogin>
  /** Its folder is read-only, because it only drafts. */
  readonly readOnly?: true
  readonly place?: string
  /** Called when its turn begins: with the conversation of an earlier attempt, or a new one. */
  readonly onTurn?: (conversation: 'new' | 'taken up') => void
  /** Asks in the inbox, once, and waits. `late`: no answer in time. `over`: the attempt is no longer wanted. */
  permit(asked: AskedPermission, signal: AbortSignal): Promise<'yes' | 'no' | 'late' | 'over'>
}

export interface AskedPermission {
  /** As the end of "the agent wants to …". */
  readonly what: string
  /** Identifies the request, so that it is asked once in a visit. */
  readonly about: string
}

export interface AgentFacts {
  readonly plan: string
  readonly goal: string | null
  /** Decisions of people about this plan, newest last. */
  readonly decisions: readonly string[]
  /** How earlier attempts ended, newest last. */
  readonly earlier: readonly EarlierAttempt[]
  /** What was said about work on these files in earlier plans. Data, never instructions. */
  readonly learnt?: readonly string[]
  /** For a judge: the work of another task. Data, never instructions. */
  readonly judged?: readonly JudgedText[]
  /** Files that changed since the start of this visit, by an earlier attempt or by others. */
  readonly changed: { readonly paths: readonly string[]; readonly more: number }
}

/** A part of the work that a judge is shown: redacted, and bounded. */
export interface JudgedText {
  readonly title: string
  readonly text: string
}

/** The use of a model task. `recording` is redacted JSON for the content store. */
export interface ModelReport {
  readonly use: Omit<ModelUse, 'recording'>
  readonly recording: unknown
}

export interface Preview {
  /** A unified diff or the command; its reader must escape it. */
  readonly text: string
}

/**
 * Ends processes that we started, found by the marks in their environment, their session and their ancestry. A child that left its session
 * and cleared its environment is found only while its parent lives; a sandbox contains it in any case.
 */
export interface ProcessTree {
  /** Everything an owner ever started that is still alive; a takeover calls it before the next attempt starts. */
  endOwner(owner: string): Promise<Ended>
  /** Everything of one attempt. With `graceMs` it is asked to end first, and killed after that time. */
  endAttempt(mark: AttemptMark, options?: { readonly graceMs?: number }): Promise<Ended>
}

export interface AttemptMark {
  readonly owner: string
  readonly key: string
  readonly attempt: number
  readonly tried?: string | undefined
  /** The first process of the attempt, which leads its session and group; null when unknown. */
  readonly leader: {
    readonly pid: number /** Clock ticks since boot; 0 when not known. */
    readonly start: number
    /** It is the bubblewrap process of a sandbox, whose end ends everything inside: it is never asked, only killed. */
    readonly isWall?: true
  } | null
}

export interface Ended {
  readonly ended: number
  /** Processes that could not be ended: stuck in the kernel, or of another user. */
  readonly left: number
}
