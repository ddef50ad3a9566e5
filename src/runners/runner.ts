// The door of `runners/`: who carries out a task. A runner acts on exactly one attempt that the journal already says was
// started (law L1), never throws, and stops soon after `stop` fires. It reports what it saw; `engine/attempts/perform` judges it.

import type { Hint } from '../domain/hint.ts'
import type { PlanId, Sha256, TaskName } from '../domain/id.ts'
import type { JsonObject } from '../domain/json.ts'
import type { ModelUse } from '../domain/model-use.ts'
import type { Action, ActionType, Edit, EffectClass, TaskDefinition } from '../domain/plan.ts'
import type { GitOperation } from '../domain/plan-rules/git-operation.ts'
import type { NetworkTarget } from '../domain/plan-rules/network-rule.ts'
import type { Failure } from '../domain/result.ts'
import type { Verdict } from '../safety/network/network-judge.ts'
import type { Answer } from '../safety/safety-refusal.ts'
import type { OpenNetwork, Sandbox, SandboxLimits, SandboxNetwork } from '../safety/sandbox/sandbox.ts'

export interface Runner {
  readonly action: ActionType
  readonly about?: RunnerAbout
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
}

/** Fires when an attempt is no longer wanted. A signal is dear to make: it is there for whoever listens, `aborted` for whoever looks. */
export interface Stop {
  readonly aborted: boolean
  readonly signal: AbortSignal
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
  readonly sandbox?: {
    readonly room: Sandbox
    /** The network it has, or how a way out is opened for one command. */
    readonly network: SandboxNetwork | ((log: RunnerTools['log']) => Promise<Answer<OpenNetwork>>)
    /** Without one nothing runs; else what is weaker is told. */
    readonly isRequired: boolean
    /** Absent: those of this machine. */
    readonly limits?: SandboxLimits
  }
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
  /** The span a child process works under; absent where nobody traces. Handed on as TRACEPARENT. */
  readonly traceparent?: string
  /** Live output, in order. */
  readonly log: (stream: 'stdout' | 'stderr' | 'engine', chunk: Uint8Array) => void
  /** Milliseconds from a monotonic clock. */
  readonly monotonic: () => number
}

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
      /** Paths it made where it may not write, below the workspace; only a sandbox knows. */
      readonly beyond?: readonly string[]
      /** It used more memory or processes than it may, and was ended for that; only a sandbox knows. */
      readonly excess?: Failure
    }
  | {
      readonly type: 'done'
      readonly outcome?: string
      readonly outputs?: JsonObject
      /** What was done to the repository. */
      readonly git?: readonly GitOperation[]
      readonly model?: ModelReport
    }
  | {
      readonly type: 'failed'
      readonly failure: Failure
      readonly git?: readonly GitOperation[]
      readonly model?: ModelReport
      /** It is certain that nothing was begun. */
      readonly begun?: false
    }
  /** Ended because `stop` fired. */
  | { readonly type: 'interrupted' }

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
