// What a plan says: the definition a person or an agent wrote, in canonical form. Definitions are sparse: an absent key
// means "not said". They never change; a change makes a new Revision. Run state lives in state.ts, never here.

import type { Action } from './actions/actions.ts'
import type { PlanName, TaskName } from './id.ts'
import type { Json, JsonObject } from './json.ts'
import type {
  Approvers,
  CommandLine,
  Criterion,
  EffectClass,
  Escalation,
  FailureKind,
  GatedImpact,
  Network,
  OutputSource,
  Retry,
  SandboxMode,
  Tries,
} from './plan-values.ts'
import type { CommandRules } from './policy/command-rules.ts'

export type { Action, ActionType } from './actions/actions.ts'
export type { Field, GateAction, Option } from './actions/gate-action.ts'
export { LATER_ACTIONS } from './actions/structure-actions.ts'
export type * from './plan-values.ts'
export { EFFECT_CLASSES } from './plan-values.ts'

export interface GatePolicy {
  /** High-impact work that needs an approval; absent: all kinds, empty: none. */
  readonly before?: readonly GatedImpact[]
  /** Does an unsafe task with unreadable code need an approval? Not by default, unless `requireGateForProd` is set. */
  readonly unknown?: 'ask' | 'allow'
  readonly approvers?: Approvers
  readonly validMs?: number
}

export interface PlanDefinition {
  readonly name: PlanName
  readonly title?: string
  readonly goal?: string
  /** Each item is judged separately before the plan may complete. */
  readonly done?: readonly Criterion[]
  readonly policy?: Policy
  readonly concurrency?: number
  /** Labels that a worker must have to drive the plan; absent or empty: any worker may. */
  readonly place?: readonly string[]
  readonly defaults?: {
    readonly timeoutMs?: number
    readonly retry?: Retry
    readonly model?: string
    readonly agent?: string
  }
  readonly notify?: readonly Notify[]
  /** `edits` that a retry would revert: wait (default), or revert and keep a copy. Lost `outputs`: report (default) or make again. */
  readonly recovery?: { readonly edits?: 'wait' | 'set-back'; readonly outputs?: 'tell' | 'remake' }
  readonly git?: GitUse
  readonly tasks: readonly TaskDefinition[]
  readonly session?: string
  readonly owner?: string
  readonly stakeholders?: readonly string[]
  /** Those who have the role `reviewer`. */
  readonly reviewers?: readonly string[]
  /** Those whom it affects, for people to read. */
  readonly impacted?: readonly string[]
  /** What the document says about an approval. It is shown, and counts for nothing. */
  readonly approval?: { readonly by?: readonly string[]; readonly date?: string }
  readonly labels?: readonly string[]
  readonly hypotheses?: Json
  readonly memory?: Json
  readonly artifacts?: Json
  readonly extra?: JsonObject
}

export interface TaskDefinition {
  readonly id: TaskName
  readonly title?: string
  readonly description?: string
  readonly kind?: string
  readonly rationale?: string
  readonly action: Action
  /** For the claimant of an external task, and never run by a shell; else the prompt of a model or an agent. */
  readonly instruction?: string
  readonly needs?: readonly TaskName[]
  readonly optional?: true
  readonly when?: string
  readonly timeoutMs?: number
  readonly retry?: Retry
  /** An attempt is the best of several tries. */
  readonly tries?: Tries
  /** Higher first; default 0. */
  readonly priority?: number
  readonly inputs?: JsonObject
  readonly outputs?: { readonly [name: string]: OutputSource }
  readonly write?: readonly string[]
  readonly read?: readonly string[]
  readonly network?: Network
  readonly env?: { readonly [name: string]: string }
  /** Names of secrets for the environment of its command; their values come from the user's settings. */
  readonly secrets?: readonly string[]
  readonly cwd?: string
  /** `off`: it runs with the person's permissions, despite its other fields. Only the person may write it. */
  readonly sandbox?: 'off'
  readonly effect?: EffectClass
  readonly probe?: CommandLine
  /** An expression over `exit`, `stdout`, `outputs`, …; the task succeeds when it is true. */
  readonly expect?: string
  readonly accept?: readonly Criterion[]
  readonly preconditions?: readonly Criterion[]
  readonly postconditions?: readonly Criterion[]
  /** Patterns of the paths it is expected to change; other changes are reported. */
  readonly effects?: readonly string[]
  /** For a failure after all retries: the first rule that matches and is not used up applies. */
  readonly recover?: readonly RecoveryRule[]
  readonly timeboxMs?: number
  /** Known failure modes; the first one detected decides where the failure leads. */
  readonly failureModes?: readonly FailureMode[]
  /** How its effect is undone: by an action, or by a dormant task of the plan. */
  readonly compensate?: Action | CompensatingTask
  /** Outcome -> next tasks. May point backwards; bounded by `visits` of the target. */
  readonly on?: { readonly [outcome: string]: readonly TaskName[] }
  readonly visits?: number
  readonly assumptions?: readonly string[]
  readonly risks?: readonly string[]
  readonly rollback?: string
  readonly owner?: string
  readonly assignee?: string
  readonly labels?: readonly string[]
  readonly milestone?: string
  readonly deadline?: string
  readonly estimateMs?: number
  readonly budget?: Budget
  readonly capabilities?: readonly string[]
  /** Who looks at its work when its checks pass. */
  readonly review?: Review
  readonly forEach?: ForEach
  readonly matrix?: Matrix
  readonly extra?: JsonObject
  /** The item of an expanded task; made by `expand.ts`, never written or printed. */
  readonly bound?: Bound
  /** It has only the needs of its group, and an outcome leads to it. Made by `expand.ts`. */
  readonly sleeps?: true
  /** It reviews this task. Made by `expand.ts`, never written or printed. */
  readonly reviews?: { readonly of: TaskName; readonly times: number }
  /** For a group whose children are unknown: the tasks they may lead to, which are dormant meanwhile. Never written. */
  readonly leads?: readonly TaskName[]
}

/**
 * The facts about every field of a task, for the format, the diff, revisions, groups and pictures. A new field needs a line here and
 * its schema in the format. The order is that of a printed document.
 */
export const TASK_FIELDS = {
  id: { value: 'name', change: 'other', relates: true },
  title: { value: 'prose', change: 'wording', shared: true },
  description: { value: 'prose', change: 'wording', shared: true },
  kind: { value: 'line', change: 'wording', shared: true, label: 'Kind' },
  rationale: { value: 'text', change: 'wording', shared: true },
  needs: { value: 'names', change: 'route', relates: true },
  optional: { value: 'flag', change: 'route', inherit: 'copied', shared: true },
  when: { value: 'expression', change: 'route', inherit: 'joined', work: true },
  forEach: { key: 'for_each', value: 'items', change: 'route', relates: true },
  matrix: { value: 'matrix', change: 'route', relates: true },
  action: { value: 'action', change: 'action', work: true, relates: true },
  instruction: { value: 'prose', change: 'action', work: true },
  inputs: { value: 'inputs', change: 'data', work: true },
  outputs: { value: 'outputs', change: 'data', work: true, relates: true },
  write: { value: 'lines', change: 'scope', inherit: 'moved' },
  read: { value: 'lines', change: 'scope', inherit: 'moved' },
  network: { value: 'network', change: 'scope', inherit: 'moved' },
  env: { value: 'environment', change: 'action', work: true },
  secrets: { value: 'variables', change: 'scope', inherit: 'moved', label: 'Secrets' },
  cwd: { value: 'template', change: 'action', inherit: 'copied', work: true },
  sandbox: { value: 'sandbox', change: 'scope', inherit: 'copied', label: 'Sandbox' },
  effect: { value: 'effect', change: 'scope' },
  probe: { value: 'command', change: 'action' },
  timeoutMs: { key: 'timeout', value: 'duration', change: 'budget', inherit: 'copied' },
  retry: { value: 'retry', change: 'budget', inherit: 'copied' },
  tries: { value: 'tries', change: 'action', work: true },
  timeboxMs: { key: 'timebox', value: 'duration', change: 'budget', inherit: 'copied', label: 'Timebox' },
  priority: { value: 'number', change: 'budget', inherit: 'copied', shared: true },
  expect: { value: 'expression', change: 'criteria', work: true },
  accept: { value: 'criteria', change: 'criteria', work: true },
  preconditions: { value: 'criteria', change: 'criteria', inherit: 'joined' },
  postconditions: { value: 'criteria', change: 'criteria', work: true },
  effects: { value: 'lines', change: 'scope', inherit: 'moved' },
  recover: { value: 'recovery', change: 'route', relates: true },
  failureModes: { key: 'failure_modes', value: 'modes', change: 'route', relates: true },
  compensate: { value: 'undo', change: 'action', relates: true },
  on: { value: 'edges', change: 'route', relates: true },
  visits: { value: 'count', change: 'route', inherit: 'copied', shared: true },
  assumptions: { value: 'lines', change: 'wording', label: 'Assumes' },
  risks: { value: 'lines', change: 'wording', label: 'Risks' },
  rollback: { value: 'text', change: 'wording', label: 'Rollback' },
  owner: { value: 'line', change: 'wording', shared: true },
  assignee: { value: 'line', change: 'wording' },
  labels: { value: 'lines', change: 'wording', shared: true },
  milestone: { value: 'line', change: 'wording', inherit: 'copied', shared: true, label: 'Milestone' },
  deadline: { value: 'date', change: 'budget', shared: true, label: 'Due' },
  estimateMs: { key: 'estimate', value: 'duration', change: 'budget', label: 'Estimate' },
  budget: { value: 'budget', change: 'budget' },
  capabilities: { value: 'lines', change: 'scope' },
  review: { value: 'review', change: 'criteria', relates: true },
  extra: { value: 'data', change: 'other' },
  bound: { key: null, value: 'bound', change: 'other', work: true },
  sleeps: { key: null, value: 'flag', change: 'other' },
  leads: { key: null, value: 'names', change: 'other' },
  reviews: { key: null, value: 'reviewed', change: 'other' },
} as const satisfies { readonly [K in keyof Required<TaskDefinition>]: TaskField<Required<TaskDefinition>[K]> }

export interface TaskField<T = unknown> {
  /** Its key in the document, if different. Null for fields that `expand.ts` makes. */
  readonly key?: string | null
  readonly value: ValueKind<T>
  readonly change: ChangeKind
  /**
   * What a child of a sub-plan gets from its group. When it has none of its own: `copied`, or `moved` (then the group loses it). Always:
   * `joined` with its own, by `expand.ts`.
   */
  readonly inherit?: 'copied' | 'moved' | 'joined'
  /** The group of a `matrix` or a `for_each` keeps it too. */
  readonly shared?: true
  /** A difference means that the task does other work, or is judged differently. */
  readonly work?: true
  readonly relates?: true
  /** The label before its value, where the value is shown verbatim. */
  readonly label?: string
}

/** The kinds of field values. The kind decides how a value is written and which expressions it may contain. */
export interface TaskValues {
  readonly action: Action
  readonly bound: Bound
  readonly budget: Budget
  readonly command: CommandLine
  readonly count: number
  readonly criteria: readonly Criterion[]
  /** Kept for other programs, never read. */
  readonly data: JsonObject
  readonly date: string
  readonly duration: number
  readonly edges: { readonly [outcome: string]: readonly TaskName[] }
  readonly effect: EffectClass
  readonly environment: { readonly [name: string]: string }
  readonly expression: string
  readonly flag: true
  /** Values whose strings resolve `${{ … }}`. */
  readonly inputs: JsonObject
  readonly items: ForEach
  readonly line: string
  readonly lines: readonly string[]
  readonly matrix: Matrix
  readonly modes: readonly FailureMode[]
  readonly name: TaskName
  readonly names: readonly TaskName[]
  readonly network: Network
  readonly number: number
  readonly outputs: { readonly [name: string]: OutputSource }
  /** For people; `${{ … }}` is resolved when the task begins or is claimed. */
  readonly prose: string
  readonly recovery: readonly RecoveryRule[]
  readonly review: Review
  readonly reviewed: NonNullable<TaskDefinition['reviews']>
  readonly retry: Retry
  readonly sandbox: 'off'
  readonly template: string
  readonly text: string
  readonly tries: Tries
  readonly undo: Action | CompensatingTask
  readonly variables: readonly string[]
}

export type ValueKind<T = unknown> = {
  [K in keyof TaskValues]: unknown extends T ? K : T extends TaskValues[K] ? K : never
}[keyof TaskValues]

/**
 * scope: what may be touched. budget: how long, how often, how expensive. route: the order of tasks. action: what is done.
 * criteria: what must hold. data: inputs and outputs. wording: text for people only.
 */
export type ChangeKind = 'action' | 'scope' | 'criteria' | 'route' | 'budget' | 'data' | 'wording' | 'other'

/** What expressions of an expanded task see as `item`, `index` (from 0) and `matrix.<axis>`. */
export interface Bound {
  readonly item?: Json
  readonly index?: number
  readonly matrix?: JsonObject
}

/** The items, or an expression that yields them when the task is reached; from then on both. */
export type ForEach =
  | { readonly in: string; readonly items?: readonly Json[] }
  | { readonly items: readonly Json[]; readonly in?: string }

export type Matrix = { readonly [axis: string]: readonly Json[] }

/** `by` as it was written, see `plan-rules/judge.ts`. */
export interface Review {
  readonly by: Json
  /** How often it may send the task back. */
  readonly times?: number
  /** What to look for besides. */
  readonly instruction?: string
  /** So many questions to a model; the majority counts. */
  readonly vote?: number
  /** After that: a person decides (default), or it fails. */
  readonly capped?: 'ask' | 'fail'
}

export interface FailureMode {
  readonly name: string
  readonly detect: Extract<Criterion, { readonly type: 'expect' | 'prose' }>
  /** Replaces the class that the failure would have had. */
  readonly class?: FailureKind
  readonly recover?: readonly TaskName[]
  readonly advice?: string
}

/**
 * A recovery rule. Each rule is used `times` times (default 1) over all visits of its task. Repeated attempts of one `retry` rule in a
 * visit count as one use.
 */
export interface RecoveryRule {
  /** Classes or names of failure modes; absent: any failure. */
  readonly on?: readonly string[]
  readonly times?: number
  readonly do: Recovery
}

export type Recovery =
  /** Tries again by this policy, after `retry` of the task is used up. */
  | { readonly type: 'retry'; readonly retry: Retry }
  /** Another task does the work; when it completes, this one completes with its result. */
  | { readonly type: 'alternate'; readonly task: TaskName }
  /** A task repairs something; then this one has its next visit. A critic is such a task; its outcome `give-up` tries the next rule. */
  | { readonly type: 'repair'; readonly task: TaskName }
  /** The plan must change: a person, or these tasks, are asked for a revision. */
  | { readonly type: 'replan'; readonly add?: readonly TaskDefinition[]; readonly template?: string }
  | { readonly type: 'ask'; readonly to?: string }
  /** Ends the plan as failed. `compensate` undoes, `keep` leaves everything, `rollback` also reverts all files. */
  | { readonly type: 'abort'; readonly with?: 'compensate' | 'keep' | 'rollback' }

export interface Notify {
  /** Absent: all kinds. */
  readonly on?: readonly NoticeKind[]
  /** The interval of digests while the plan is driven; none when absent. */
  readonly everyMs?: number
  readonly send: { readonly command: CommandLine } | { readonly webhook: string }
}

export type NoticeKind = 'waiting' | 'escalated' | 'expired' | 'failed' | 'completed' | 'cancelled' | 'digest'

export interface CompensatingTask {
  readonly type: 'task'
  readonly task: TaskName
}

export interface GitUse {
  /** `task`: the changes of a completed task are committed on the plan's branch `plan/<name>`. */
  readonly commits?: 'task'
  /** The plan, or each task that may write, works in its own worktree. */
  readonly worktree?: 'plan' | 'task'
  readonly message?: string
  readonly base?: string
}

export interface Policy {
  readonly write?: readonly string[]
  /** What sandboxed commands may read in the workspace. */
  readonly read?: readonly string[]
  readonly network?: Network
  readonly commands?: CommandRules
  readonly data?: DataRules
  /** Whether commands are sandboxed; those of a plan from elsewhere always are. */
  readonly sandbox?: SandboxMode
  readonly budget?: Budget
  readonly checkpoints?: CheckpointPolicy
  /** When the plan fails: compensate (default), leave everything, or also revert all files. */
  readonly onFailure?: 'compensate' | 'keep' | 'rollback'
  /** What needs an approval before it begins. */
  readonly gates?: GatePolicy
  readonly roles?: { readonly [role: string]: readonly string[] }
  /** May a proposed revision take effect automatically? Default: ask. */
  readonly replan?: 'ask' | 'auto' | 'never'
  readonly escalate?: Escalation
  /** Approvals that open within this time are shown as one review; `max` of them close the window early. */
  readonly review?: { readonly windowMs: number; readonly max?: number }
  /** So many consecutive failures of a capability stop new tasks that need it for a while. */
  readonly breaker?: { readonly failures: number; readonly cooldownMs: number }
  readonly limits?: {
    readonly attempts?: number
    readonly loops?: number
    readonly tasks?: number
    readonly memoryBytes?: number
    readonly processes?: number
  }
  readonly retention?: { readonly restoredMs?: number }
}

/**
 * Whether data of the plan may be sent out: questions to language models, webhook notifications, traces; and whether agents may use a login
 * of the user.
 */
export interface DataRules {
  readonly models?: 'allow' | 'deny'
  readonly webhooks?: 'allow' | 'deny'
  readonly traces?: 'allow' | 'deny'
  readonly logins?: 'allow' | 'deny'
}

export interface PlanSource {
  /** `planfold` for the canonical format. */
  readonly dialect: string
  readonly text: string
}

/** How the commands of an attempt run: in the sandbox, with the person's permissions, or by an agent. */
export type RunMode = 'held' | 'as you' | 'agent'

/**
 * `draft`: a planner without a model drafted it for the person, who has not approved it yet. `others`: an agent, a token, a model, an
 * import.
 */
export type Author = 'person' | 'draft' | 'others'

export interface Authors {
  readonly most: Author
  readonly tasks: { readonly [task: string]: Author }
}

/**
 * The author of the tasks in an event: the person (all of them, or only the changes), a planner, or none when only items were found.
 * Absent: others.
 */
export type Writer = 'person' | 'changes' | 'draft' | 'items'

export interface CheckpointPolicy {
  /** A checkpoint of all files after so many completed tasks. */
  readonly every?: number
  /** One before each task that declares risks (default), or before each that is unsafe to repeat. */
  readonly before?: 'risky' | 'unsafe' | 'never'
  /** `seen` (default): all files are compared around a task whose writes are unknown. `declared`: only scopes are. */
  readonly files?: 'seen' | 'declared'
}

export interface Budget {
  /** Counts while at least one task runs, not while people are waited for. */
  readonly timeMs?: number
  readonly cost?: Money
  readonly tokens?: number
  readonly calls?: number
  readonly attempts?: number
  /** The stored output of commands. */
  readonly outputBytes?: number
  /** When it is used up: a person is asked for more (default), or the task fails. */
  readonly exceeded?: 'ask' | 'fail'
  /** A single model call that may cost more than this is asked about first. */
  readonly large?: Money
}

export interface Money {
  readonly amount: number
  readonly currency: string
}
