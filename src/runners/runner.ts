// The door of `runners/`: who carries out a task. A runner acts on exactly one attempt that the journal already says was
// started (law L1), never throws, and stops soon after `stop` fires. It reports what it saw; `engine/attempts/classify-outcome` judges it.

import type { SettingsCaps, Spend } from '../domain/budget/amounts.ts'
import type { Hint } from '../domain/hint.ts'
import type { Millis, PlanId, Sha256, TaskName } from '../domain/id.ts'
import type { JsonObject } from '../domain/json.ts'
import type { ModelUse } from '../domain/model-use.ts'
import type { Action, ActionType, CommandLine, Edit, EffectClass, TaskDefinition } from '../domain/plan.ts'
import type { AgentLogin } from '../domain/plan-rules/agent-request.ts'
import type { GitOperation } from '../domain/plan-rules/git-operation.ts'
import type { NetworkTarget } from '../domain/plan-rules/network-rule.ts'
import type { Failure } from '../domain/result.ts'
import type { EarlierAttempt } from '../domain/views/board.ts'
import type { Verdict } from '../safety/network/network-judge.ts'
import type { Answer } from '../safety/safety-refusal.ts'
import type { Beyond } from '../safety/sandbox/sandbox.ts'
import type { SandboxUse } from '../safety/sandbox/shut-in.ts'
import type { GatewayWire } from './models.ts'

export interface Runner {
  readonly action: ActionType
  readonly about?: RunnerAbout
  /** What it is given besides; absent: nothing. */
  readonly needs?: readonly ('evaluate' | 'git' | 'reach' | 'agent' | 'clock')[]
  /** What it would do, without doing it; for `--dry-run` and gates. Null when there is nothing to show. */
  preview?(attempt: Attempt, tools: RunnerTools, signal: AbortSignal): Promise<Preview>
  attempt(attempt: Attempt, tools: RunnerTools, stop: Stop): Promise<Outcome>
}

/** What a runner is, for `planfold capabilities`: the schema of its action is the format's. */
export interface RunnerAbout {
  /** As the end of a sentence that begins with the task. */
  readonly does: string
  /** The classes its tasks have when they declare none. */
  readonly effects: readonly EffectClass[]
  readonly risks: readonly string[]
  /** What `--dry-run` and gates show. */
  readonly dryRun: string
  /** What of the machine it uses. Without a sandbox commands still run; the others do nothing without what they need. */
  readonly uses?: readonly ('sandbox' | 'network' | 'git' | 'sqlite' | 'models' | 'agents')[]
  /** Why it carries out nothing here, whatever the machine has. */
  readonly lacks?: string
}

/** Fires when an attempt is no longer wanted. A signal is dear to make: it is there for whoever listens, `aborted` for whoever looks. */
export interface Stop {
  readonly aborted: boolean
  readonly signal: AbortSignal
  /** How long it may tidy up then; the runner's own when absent. */
  readonly graceMs?: number
}

/** One try at a task, with every reference already resolved. */
export interface Attempt {
  readonly plan: PlanId
  readonly task: TaskName
  readonly visit: number
  readonly attempt: number
  /** `<plan>/<task>/<visit>`: the same for every attempt of a visit (law L4). Handed on as PLANFOLD_KEY. */
  readonly key: string
  readonly definition: TaskDefinition
  /** The action to carry out: the task's own, its probe or its compensation, with `${{ }}` resolved. */
  readonly action: Action
  readonly inputs: JsonObject
  /** Extra environment for the child, values resolved; scripts get their references through it. */
  readonly env: { readonly [name: string]: string }
  readonly timeoutMs: number
  /** Of a task that waits: when the first attempt began that nobody has judged. */
  readonly waitsSince?: Millis
  /** What was said by whoever sent the task back. Handed on as PLANFOLD_FEEDBACK. */
  readonly feedback?: string
  /** The plan's default model, for a `model` task that names none. */
  readonly model?: string
  /** Covers everything above that was resolved; absent when nothing was. */
  readonly inputHash?: Sha256
}

export interface RunnerTools {
  /** Absolute path of the workspace. */
  readonly root: string
  /** Absolute path of Planfold's own state folder: never writable by a task. */
  readonly stateDir: string
  /** Marks every process we start, so that a takeover finds what is left of us. */
  readonly owner: string
  /** The sandbox commands are shut in; absent: they run with the rights of this process. */
  readonly sandbox?: SandboxUse
  /** Why the policy lets a command not run; null when it may. Absent: nobody says anything about commands. */
  readonly refuses?: (command: CommandLine) => Failure | null
  /** Glob patterns of what a command in a sandbox may read of the workspace; absent: all of it. */
  readonly read?: readonly string[]
  /** Glob patterns a task may write; empty array means nothing, null means the whole workspace. */
  readonly write: readonly string[] | null
  /** The environment the process was started with, read once in compose; runners pass on an allowlist of it. */
  readonly environment: { readonly [name: string]: string | undefined }
  /** The secrets the task names, for the environment of its commands; they are kept out of all that is given back. */
  readonly secrets?: { readonly [name: string]: string }
  /** Planfold, Node and platform, in a few words; logged with every command. */
  readonly about: string
  /** Evaluates an expression over the plan's outputs; null where expressions make no sense. */
  readonly evaluate: (expression: string) => Evaluated
  /** For a preview: edits of earlier tasks that are looked at as if they had been made. */
  readonly imagined?: readonly Edit[]
  /** The repository, as far as a `git` task may touch it; absent where git is not used. */
  readonly git?: GitHand
  /** Opens the network for requests of our own, each judged; absent where nothing is to be reached. */
  readonly reach?: () => Promise<Answer<Reach>>
  /** Wall time and the only timer; absent where nothing waits for a time. */
  readonly clock?: WaitClock
  /** What an `agent` task needs besides. */
  readonly agent?: AgentTools
  /** The span a child process works under; absent where nobody traces. Handed on as TRACEPARENT. */
  readonly traceparent?: string
  /** Asked before every call of a model; absent where nothing is counted, as in a compensation. */
  readonly budget?: AttemptBudget
  /** Live output, in order. */
  readonly log: (stream: 'stdout' | 'stderr' | 'engine', chunk: Uint8Array) => void
  /** Milliseconds from a monotonic clock. */
  readonly monotonic: () => number
}

/**
 * The way of an attempt to the budgets of its task, of the groups around it and of the plan. What a call can use at most is held before
 * it is sent, and settled with what it really used. Both are journaled, so that no crash and no other process can spend it twice; what
 * is never settled counts as spent in full. Calls may overlap. Without a budget everything is granted and nothing is written.
 */
export interface AttemptBudget {
  /** Waits while others hold what is left. When the budget is used up the plan is paused and a person is asked, see `wait`. */
  reserve(spend: Spend, options?: ReserveOptions): Promise<Reserved>
  /** Told twice it changes nothing. `cost: null`: nobody knows, so all that was held is spent. `{}`: nothing was sent. */
  settle(id: string, actual: Spend): Promise<void>
}

export interface ReserveOptions {
  readonly signal?: AbortSignal
  /** `person` (the default): also for a person's answer, however long it takes. `others`: only for what others hold. */
  readonly wait?: 'person' | 'others'
  /** When so much is not left, less is granted, but no less than this. Absent: all or nothing. */
  readonly least?: Spend
  /** What the user's settings say now; asked again whenever it waited. Nothing: they say nothing. */
  readonly settings?: () => Promise<SettingsCaps | undefined>
}

export type Reserved =
  /** `granted`: less than was asked for, when there was a `least`. */
  | { readonly ok: true; readonly id: string; readonly granted: Spend }
  /** `asked`: a person is asked and nobody waited. `stopped`: the signal fired. `refused`: see the failure. */
  | { readonly ok: false; readonly why: 'asked' | 'stopped' | 'refused'; readonly failure: Failure }

/** Says where a request may go, and journals it. */
export interface Reach {
  judge(target: NetworkTarget, request: { readonly method: string; readonly path: string }): Promise<Verdict>
  /** What was asked for is no address that could be judged. */
  refuse(method: string, text: string, why: string): void
  /** Waits for nobody any more, and journals what is not yet; may be called again. */
  close(): Promise<void>
}

export type Evaluated =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string; readonly hint?: Hint }

/** What a `git` task may do, on the branches of its plan. The same attempt does it once, however often it is asked. */
export interface GitHand {
  /** All that the plan wrote and no commit holds yet, or what these patterns match of it. */
  commit(request: { readonly message: string; readonly paths?: readonly string[] }): Promise<GitDone>
  /** The last commit of the plan's branch gets a name. */
  tag(request: { readonly name: string; readonly message?: string }): Promise<GitDone>
  /** The branch of a task goes into that of the plan. */
  merge(request: { readonly task: TaskName; readonly message?: string }): Promise<GitDone>
}

export type GitDone =
  | { readonly ok: true; readonly operations: readonly GitOperation[]; readonly outputs: JsonObject }
  /** `operations` is what happened before the no. */
  | { readonly ok: false; readonly failure: Failure; readonly operations: readonly GitOperation[] }

/** What the runner saw. `exited` leaves judging exit codes to `perform`. */
export type Outcome =
  | {
      readonly type: 'exited'
      readonly exit: number | null
      readonly signal: string | null
      readonly timedOut: boolean
      /** Bounded head and tail, joined with a line that says how much is missing. */
      readonly stdout: string
      readonly stderr: string
      readonly truncated: boolean
      /** What appeared or changed where it may not write; absent when nothing did. Only a sandbox knows. */
      readonly beyond?: Beyond
      /** It used more memory or processes than it may, and was ended for that; only a sandbox knows. */
      readonly excess?: Failure
      /** Of a command that failed in a sandbox: what of it may have been the cause, and what to do. */
      readonly sandboxHint?: string
      /** It was to be held, and there is no sandbox. */
      readonly unheld?: true
    }
  | {
      readonly type: 'done'
      readonly outcome?: string
      readonly outputs?: JsonObject
      readonly git?: readonly GitOperation[]
      readonly model?: ModelReport
      readonly beyond?: Beyond
    }
  | {
      readonly type: 'failed'
      readonly failure: Failure
      readonly git?: readonly GitOperation[]
      readonly model?: ModelReport
      readonly beyond?: Beyond
      /** It is certain that nothing was begun. */
      readonly begun?: false
    }
  /** An agent was ended before its turn was, until a person has answered. */
  | {
      readonly type: 'parked'
      readonly reason: string
      /** Nobody is asked: what it is when its criteria do not hold. */
      readonly failure?: Failure
      readonly outputs?: JsonObject
      readonly model?: ModelReport
      readonly beyond?: Beyond
    }
  /** Ended because `stop` fired, or to ask for more budget. `begun: false`: nothing was done. `until`: when it is tried again. */
  | { readonly type: 'interrupted'; readonly begun?: false; readonly reason?: string; readonly until?: Millis }

/** A coding agent that can be started by its name, and whether it is installed here. */
export interface KnownAgent {
  readonly name: string
  readonly title: string
  /** Who wrote its row. */
  readonly from: 'planfold' | 'user'
  /** `other-version`: not the one that was tried. */
  readonly status: 'installed' | 'other-version' | 'missing'
  /** How it would be spoken to; null when it is missing. */
  readonly road: 'acp' | 'headless' | null
  readonly program: string | null
  readonly version: string | null
  /** Null: its row names no version. */
  readonly tested: string | null
  /** The protocol it speaks to its model; null: any. */
  readonly wire: GatewayWire | null
  /** It has no model of its own: one must be named. */
  readonly needsModel: boolean
  /** The npm package that has what would be used; null: its row names none. */
  readonly install: string | null
  /** It can be lent the person's login. */
  readonly hasLogin: boolean
}

export interface WaitClock {
  now(): Millis
  /** Calls back once, not before `ms` have passed; returns how to call it off. */
  after(ms: number, callback: () => void): () => void
}

/** What the engine knows and decides for an agent that is started. */
export interface AgentTools {
  readonly facts: AgentFacts
  /** The plan's default agent, for a task that names none. */
  readonly use?: string
  /** The person lends it their own login, or the policy does not let them; absent: its model is asked through the gateway. */
  readonly login?: Answer<AgentLogin>
  /** Its folder is read, and nothing of it may be changed: it only drafts. */
  readonly readOnly?: true
  readonly place?: string
  /** Told when its turn begins: with the conversation of an earlier attempt, or a new one. */
  readonly onTurn?: (conversation: 'new' | 'taken up') => void
  /** Asks in the inbox, unless asked before, and waits. `late`: no answer in time. `over`: the attempt is not wanted. */
  permit(asked: AskedPermission, signal: AbortSignal): Promise<'yes' | 'no' | 'late' | 'over'>
}

export interface AskedPermission {
  /** What it would do, as the end of "the agent wants to …". */
  readonly what: string
  /** The same for the same thing, so that it is asked once in a visit. */
  readonly about: string
}

/** What an agent is told of the plan and of what went before. */
export interface AgentFacts {
  readonly plan: string
  readonly goal: string | null
  /** What people decided about this plan, the newest last. */
  readonly decisions: readonly string[]
  /** How earlier attempts ended, the newest last. */
  readonly earlier: readonly EarlierAttempt[]
  /** Files that are different from how this visit found them: what an earlier attempt left, or somebody changed since. */
  readonly changed: { readonly paths: readonly string[]; readonly more: number }
}

/** What a model task used. `recording` is plain JSON, redacted; the engine keeps it in the content store. */
export interface ModelReport {
  readonly use: Omit<ModelUse, 'recording'>
  readonly recording: unknown
}

export interface Preview {
  /** Unified diff or the command as it would run, escaped by whoever prints it. */
  readonly text: string
}

/**
 * Ends what is left of processes we started, told by the marks in their environment, their session and their ancestry.
 * A child that left its session and emptied its environment is only found while its parent lives; that takes a sandbox.
 */
export interface ProcessTree {
  /** Everything an owner ever started and that still lives; a takeover calls it before the next attempt starts. */
  endOwner(owner: string): Promise<Ended>
  /** Everything of one attempt. With `graceMs` it is asked to end first and killed when the grace is over. */
  endAttempt(mark: AttemptMark, options?: { readonly graceMs?: number }): Promise<Ended>
}

export interface AttemptMark {
  readonly owner: string
  readonly key: string
  readonly attempt: number
  /** The first process of the attempt, which leads its session and group; null when it is not known. */
  readonly leader: {
    readonly pid: number /** Clock ticks since boot; 0 when not known. */
    readonly start: number
    /** It is the wall of a sandbox: when it ends all ends, so it is not asked, only killed. */
    readonly isWall?: true
  } | null
}

export interface Ended {
  readonly ended: number
  /** Processes that could not be ended; zero, unless the kernel holds them or they are not ours to end. */
  readonly left: number
}
