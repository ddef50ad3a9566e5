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
} from './plan-values.ts'
import type { CommandRules } from './policy/command-rules.ts'

export type { Action, ActionType } from './actions/actions.ts'
export type { Field, GateAction, Option } from './actions/gate-action.ts'
export { LATER_ACTIONS } from './actions/structure-actions.ts'
export type * from './plan-values.ts'
export { EFFECT_CLASSES } from './plan-values.ts'

export interface GatePolicy {
  /** High-impact work that is gated; all kinds of it when absent, none when empty. */
  readonly before?: readonly GatedImpact[]
  /** Is somebody asked before an unsafe task whose code cannot be read? Not unless `requireGateForProd` is said elsewhere. */
  readonly unknown?: 'ask' | 'allow'
  readonly approvers?: Approvers
  readonly validMs?: number
}

export interface PlanDefinition {
  readonly name: PlanName
  readonly title?: string
  readonly goal?: string
  /** Definition of done: each item is judged on its own before the plan may end completed. */
  readonly done?: readonly Criterion[]
  readonly policy?: Policy
  /** How many tasks the engine carries out at once. */
  readonly concurrency?: number
  readonly defaults?: {
    readonly timeoutMs?: number
    readonly retry?: Retry
    readonly model?: string
    readonly agent?: string
  }
  readonly notify?: readonly Notify[]
  /** `edits` a retry would set back: wait (default) or set back, keeping a copy. Lost `outputs`: tell (default) or make again. */
  readonly recovery?: { readonly edits?: 'wait' | 'set-back'; readonly outputs?: 'tell' | 'remake' }
  /** What the plan does in the repository around it; absent: nothing. */
  readonly git?: GitUse
  readonly tasks: readonly TaskDefinition[]
  readonly session?: string
  readonly owner?: string
  readonly stakeholders?: readonly string[]
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
  /** What whoever claims an external task is to do, in prose or capability calls, never run by a shell; else the prompt of a model or agent. */
  readonly instruction?: string
  readonly needs?: readonly TaskName[]
  readonly optional?: true
  readonly when?: string
  readonly timeoutMs?: number
  readonly retry?: Retry
  /** Higher first; 0 when not said. */
  readonly priority?: number
  readonly inputs?: JsonObject
  readonly outputs?: { readonly [name: string]: OutputSource }
  readonly write?: readonly string[]
  readonly read?: readonly string[]
  readonly network?: Network
  readonly env?: { readonly [name: string]: string }
  /** Names of secrets its command gets in its environment; their values come from the user's settings. */
  readonly secrets?: readonly string[]
  readonly cwd?: string
  /** `off`: it runs with the person's permissions, whatever else it says. Only the person may write it. */
  readonly sandbox?: 'off'
  readonly effect?: EffectClass
  readonly probe?: CommandLine
  /** An expression over `exit`, `stdout`, `outputs`, …; the task succeeded when it is true. */
  readonly expect?: string
  readonly accept?: readonly Criterion[]
  readonly preconditions?: readonly Criterion[]
  readonly postconditions?: readonly Criterion[]
  /** What it is expected to change, as patterns of paths; anything else that it wrote is told. */
  readonly effects?: readonly string[]
  /** What to do when it has failed and its retries are used up; the first rule that fits and is not used up is taken. */
  readonly recover?: readonly RecoveryRule[]
  readonly timeboxMs?: number
  /** Ways it may fail that are known beforehand; the first that is detected decides where the failure leads. */
  readonly failureModes?: readonly FailureMode[]
  /** How its effect is undone: by an action, or by a task of the plan that sleeps until then. */
  readonly compensate?: Action | CompensatingTask
  /** Outcome edges: outcome -> tasks routed to. May point backwards; bounded by `visits` of the target. */
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
  readonly forEach?: ForEach
  readonly matrix?: Matrix
  readonly extra?: JsonObject
  /** What an expanded task was made for; made by `expand.ts`, written and printed by nobody. */
  readonly bound?: Bound
  /** Has no needs of its own, only those of its group, and an outcome leads here. Made by `expand.ts` as well. */
  readonly sleeps?: true
  /** Of a group whose children are not known yet: where they may lead. Whoever is only led to sleeps meanwhile. Never written. */
  readonly leads?: readonly TaskName[]
}

/**
 * What is to be known of every field of a task, said once: the format, the diff, revisions, groups and pictures go by it. A new
 * field needs a line here and its schema in the format. The order is the order of a printed document.
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
  extra: { value: 'data', change: 'other' },
  bound: { key: null, value: 'bound', change: 'other', work: true },
  sleeps: { key: null, value: 'flag', change: 'other' },
  leads: { key: null, value: 'names', change: 'other' },
} as const satisfies { readonly [K in keyof Required<TaskDefinition>]: TaskField<Required<TaskDefinition>[K]> }

export interface TaskField<T = unknown> {
  /** What the document calls it; as here when absent. Null for what is made by `expand.ts` and written by nobody. */
  readonly key?: string | null
  readonly value: ValueKind<T>
  readonly change: ChangeKind
  /** What a subplan says and its child does not: the child has it too (`copied`), alone (`moved`), or with its own (`joined`, by `expand.ts`). */
  readonly inherit?: 'copied' | 'moved' | 'joined'
  /** The group of a `matrix` or a `for_each` keeps it, beside its children. */
  readonly shared?: true
  /** A task in which it differs does other work, or is judged otherwise. */
  readonly work?: true
  /** It says which tasks come before or after it, or what it makes. */
  readonly relates?: true
  /** What people see in front of it, where its value is shown as it is. */
  readonly label?: string
}

/** The kinds of values that fields have. A kind says how a value is written, and which expressions stand in it. */
export interface TaskValues {
  readonly action: Action
  readonly bound: Bound
  readonly budget: Budget
  readonly command: CommandLine
  readonly count: number
  readonly criteria: readonly Criterion[]
  /** Kept for others, never looked into. */
  readonly data: JsonObject
  readonly date: string
  readonly duration: number
  readonly edges: { readonly [outcome: string]: readonly TaskName[] }
  readonly effect: EffectClass
  readonly environment: { readonly [name: string]: string }
  readonly expression: string
  readonly flag: true
  /** Values in whose texts `${{ … }}` is resolved. */
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
  /** For people; `${{ … }}` is resolved in it when the task is begun or claimed. */
  readonly prose: string
  readonly recovery: readonly RecoveryRule[]
  readonly retry: Retry
  readonly sandbox: 'off'
  /** Text in which `${{ … }}` is resolved. */
  readonly template: string
  readonly text: string
  readonly undo: Action | CompensatingTask
  readonly variables: readonly string[]
}

/** The kinds that a value of this type may have. */
export type ValueKind<T = unknown> = {
  [K in keyof TaskValues]: unknown extends T ? K : T extends TaskValues[K] ? K : never
}[keyof TaskValues]

/**
 * scope: what may be touched. budget: how long, how often, how dear. route: what comes before and after. action: what is done.
 * criteria: what must hold. data: what goes in and out. wording: what only people read.
 */
export type ChangeKind = 'action' | 'scope' | 'criteria' | 'route' | 'budget' | 'data' | 'wording' | 'other'

/** What the expressions of an expanded task see as `item`, `index` (from 0) and `matrix.<axis>`. */
export interface Bound {
  readonly item?: Json
  readonly index?: number
  readonly matrix?: JsonObject
}

/** The items themselves, or an expression that gives them when the task's turn comes; then both. */
export type ForEach =
  | { readonly in: string; readonly items?: readonly Json[] }
  | { readonly items: readonly Json[]; readonly in?: string }

/** Axis to values. */
export type Matrix = { readonly [axis: string]: readonly Json[] }

export interface FailureMode {
  readonly name: string
  /** An expression over the failure, or prose that only a person or a critic can recognise. */
  readonly detect: Extract<Criterion, { readonly type: 'expect' | 'prose' }>
  /** What kind of failure it is, whatever it looked like. */
  readonly class?: FailureKind
  readonly recover?: readonly TaskName[]
  readonly advice?: string
}

/** Which failures, and what then. Each rule serves `times` visits of its task, once when not said. */
export interface RecoveryRule {
  /** Classes or names of failure modes; any failure when absent. */
  readonly on?: readonly string[]
  readonly times?: number
  readonly do: Recovery
}

export type Recovery =
  /** Try again with this policy, beyond what `retry` says. */
  | { readonly type: 'retry'; readonly retry: Retry }
  /** Another task does the work; when it is done, this one counts as done with what the other left. */
  | { readonly type: 'alternate'; readonly task: TaskName }
  /** A task repairs something; then this one has its next visit. A critic is such a task; its outcome `give-up` tries the next rule. */
  | { readonly type: 'repair'; readonly task: TaskName }
  /** The plan must change: somebody, or these tasks, are asked for a revision. */
  | { readonly type: 'replan'; readonly add?: readonly TaskDefinition[]; readonly template?: string }
  | { readonly type: 'ask'; readonly to?: string }
  /** Ends the whole plan as failed. `compensate` undoes, `keep` leaves all as it is, `rollback` takes all files back as well. */
  | { readonly type: 'abort'; readonly with?: 'compensate' | 'keep' | 'rollback' }

/** Where to send a notice; all kinds when `on` is absent. */
export interface Notify {
  readonly on?: readonly NoticeKind[]
  /** How often a digest is sent while somebody drives the plan; none when absent. */
  readonly everyMs?: number
  readonly send: { readonly command: CommandLine } | { readonly webhook: string }
}

export type NoticeKind = 'waiting' | 'escalated' | 'expired' | 'failed' | 'completed' | 'cancelled' | 'digest'

export interface CompensatingTask {
  readonly type: 'task'
  readonly task: TaskName
}

export interface GitUse {
  /** `task`: what a task wrote is committed on the plan's branch `plan/<name>` when it is done. */
  readonly commits?: 'task'
  /** The plan, or each task that may write, works in a worktree of its own. */
  readonly worktree?: 'plan' | 'task'
  readonly message?: string
  readonly base?: string
}

export interface Policy {
  readonly write?: readonly string[]
  /** What commands in a sandbox may read of the workspace. */
  readonly read?: readonly string[]
  readonly network?: Network
  readonly commands?: CommandRules
  /** What may leave this machine. */
  readonly data?: DataRules
  /** Whether commands are shut in; of a plan that came from elsewhere they are, whatever it says. */
  readonly sandbox?: SandboxMode
  readonly budget?: Budget
  readonly checkpoints?: CheckpointPolicy
  /** When the plan fails: undo what declared how (the default), leave all as it is, or take all files back as well. */
  readonly onFailure?: 'compensate' | 'keep' | 'rollback'
  /** What is not begun before a person has seen it. */
  readonly gates?: GatePolicy
  readonly roles?: { readonly [role: string]: readonly string[] }
  /** May a proposed revision take effect by itself? Asked about when not said. */
  readonly replan?: 'ask' | 'auto' | 'never'
  readonly escalate?: Escalation
  /** Approvals that open within this time are shown as one review; `max` of them close the window early. */
  readonly review?: { readonly windowMs: number; readonly max?: number }
  /** So many failures of one capability in a row, and nothing that needs it begins for a while. */
  readonly breaker?: { readonly failures: number; readonly cooldownMs: number }
  /** Caps over the whole plan, whatever its tasks say. */
  readonly limits?: {
    readonly attempts?: number
    readonly loops?: number
    readonly tasks?: number
    readonly memoryBytes?: number
    readonly processes?: number
  }
  /** How long what was set back can be restored; 30 days when not said. */
  readonly retention?: { readonly restoredMs?: number }
}

/** Whether something of the plan may be sent out: questions to language models, notices to webhooks, traces; and an agent be lent a login. */
export interface DataRules {
  readonly models?: 'allow' | 'deny'
  readonly webhooks?: 'allow' | 'deny'
  readonly traces?: 'allow' | 'deny'
  readonly logins?: 'allow' | 'deny'
}

/** The text a definition was read from, verbatim, when somebody wrote it in words of their own. */
export interface PlanSource {
  /** The dialect; `planfold` for the canonical format. */
  readonly dialect: string
  readonly text: string
}

/** How the commands of an attempt run: held in the sandbox, as the person would run them, or by an agent. */
export type RunMode = 'held' | 'as you' | 'agent'

/** `draft`: a planner without a model drafted it for the person, who has not approved it yet. `others`: an agent, a token, a model, an import. */
export type Author = 'person' | 'draft' | 'others'

/** The author of most tasks, and of those that have another. */
export interface Authors {
  readonly most: Author
  readonly tasks: { readonly [task: string]: Author }
}

/** Who wrote the tasks of an event: the person all of them, or what differs from before; a planner; nobody, items were found. Absent: others. */
export type Writer = 'person' | 'changes' | 'draft' | 'items'

export interface CheckpointPolicy {
  /** A checkpoint of all files after so many completed tasks. */
  readonly every?: number
  /** One before each task that declares risks (the default), or before each that is unsafe to repeat. */
  readonly before?: 'risky' | 'unsafe' | 'never'
  /** `seen` (the default): all files are looked at around a task that declares no scope. `declared`: only scopes are. */
  readonly files?: 'seen' | 'declared'
}

/** How much may be used: by a task, by a group with all of its tasks, or by the whole plan. */
export interface Budget {
  /** While at least one task runs; the time during which people are waited for does not count. */
  readonly timeMs?: number
  readonly cost?: Money
  readonly tokens?: number
  readonly calls?: number
  readonly attempts?: number
  /** Of what commands print, as far as it is stored. */
  readonly outputBytes?: number
  /** When it is used up: a person is asked for more (the default), or the task fails. */
  readonly exceeded?: 'ask' | 'fail'
  /** A single call of a model that may cost more than this is asked about first. */
  readonly large?: Money
}

export interface Money {
  readonly amount: number
  readonly currency: string
}
