// What happened, in the past tense. Every event is plain JSON, self-contained, and versioned by the entry that holds it
// (see stores/journal/entry.ts). Adding a field is compatible; renaming or removing one needs an upcast. Described line by line in
// docs/formats/journal.md.

import type { Amounts, AskedBudget } from './budget/amounts.ts'
import type { ForkAdopted, Rollback, RollbackOutcome } from './command.ts'
import type { CheckpointName, Millis, PlanId, Sha256, TaskName } from './id.ts'
import type { Json, JsonObject } from './json.ts'
import type { ProposedMemory, ReadMemory } from './memory/memory-items.ts'
import type { AskedAddress, NetworkDecided } from './network-decision.ts'
import type {
  Action,
  Approvers,
  CompensatingTask,
  Field,
  GateType,
  Impact,
  NoticeKind,
  Option,
  PlanDefinition,
  PlanSource,
  Recovery,
  RunMode,
  SandboxMode,
  TaskDefinition,
  Writer,
} from './plan.ts'
import type { GitOperation } from './plan-rules/git-operation.ts'
import type { PolicyAgain, PolicyLayer } from './policy/policy-layer.ts'
import type {
  Evidence,
  Failed,
  Failure,
  LostOutput,
  Reserves,
  Result,
  Succeeded,
  Verdict,
  WorkspaceStamp,
} from './result.ts'
import type { Shortage } from './shortage.ts'
import type { TaskStatus } from './status.ts'
import type { Judged, RaceRound, Tried } from './tries/race.ts'

// Data that clients keep on a plan: tasks appended to a draft, annotations that the engine ignores, evaluations of results.

export type ClientEvent =
  /** Appended to a draft; its definition has no hash until the next revision. */
  | { readonly type: 'task.added'; readonly tasks: readonly TaskDefinition[]; readonly writer?: Writer }
  | { readonly type: 'plan.annotated'; readonly set: JsonObject; readonly by: string }
  | { readonly type: 'task.annotated'; readonly task: TaskName; readonly set: JsonObject; readonly by: string }
  | ({ readonly type: 'task.evaluated'; readonly task: TaskName } & Rating)

export interface Evaluation extends Rating {
  readonly at: Millis
}

interface Rating {
  readonly id: string
  readonly by: string
  readonly visit: number
  readonly score?: number
  readonly passed?: boolean
  readonly data?: Json
}

// Decisions about failures and people: recovery, breakers, votes, questions, proposals, assessments, notifications.

export type JudgementEvent =
  /** The recovery from a failure, and why. `rule` is the index in `recover`; absent for `retry` and edges. */
  | {
      readonly type: 'recovery.chosen'
      readonly task: TaskName
      readonly visit: number
      readonly choice: RecoveryChoice
      readonly reason: string
      readonly rule?: number
      readonly to?: readonly TaskName[]
    }
  | { readonly type: 'task.substituted'; readonly task: TaskName; readonly by: TaskName }
  /** The plan ends as failed: tasks that have not begun are cancelled, running ones are ended. */
  | {
      readonly type: 'plan.aborted'
      readonly reason: string
      readonly with: 'compensate' | 'keep' | 'rollback'
      readonly task?: TaskName
    }
  /** No task that needs the capability begins before then. */
  | { readonly type: 'breaker.opened'; readonly capability: string; readonly until: Millis; readonly failures: number }
  | { readonly type: 'breaker.closed'; readonly capability: string }
  | {
      readonly type: 'task.escalated'
      readonly task: TaskName
      readonly why: 'waiting' | 'expired' | 'deadline' | 'timebox' | 'heartbeat'
      readonly to?: string
    }
  | {
      readonly type: 'gate.voted'
      readonly task: TaskName
      readonly by: string
      readonly rationale: string
      readonly hash?: Sha256
      readonly unseen?: true
    }
  | { readonly type: 'consent.voided'; readonly task: TaskName; readonly reason: string }
  | ({ readonly type: 'question.asked' } & Question)
  | { readonly type: 'question.answered'; readonly id: string; readonly answers: JsonObject; readonly by: string }
  | ({ readonly type: 'revision.proposed' } & Proposal)
  | { readonly type: 'revision.declined'; readonly id: string; readonly by: string; readonly rationale: string }
  | { readonly type: 'assessment.made'; readonly round: number; readonly verdicts: readonly Verdict[] }
  | {
      readonly type: 'notice.sent'
      /** The event notified of: its entry and its place there, so that each is sent once. */
      readonly id: string
      readonly kind: NoticeKind
      readonly to: string
      readonly task?: TaskName
      readonly failure?: string
    }

/** `route`: an outcome edge or a failure mode applies. `block`: nothing else is left; dependants wait. */
export type RecoveryChoice = Recovery['type'] | 'route' | 'block'

export interface Question {
  readonly id: string
  readonly text: string
  readonly form: readonly Field[]
  readonly task?: TaskName
  readonly by: string
  /** Asked by Planfold: a command of the task requested this address. */
  readonly network?: AskedAddress
  /** Asked by Planfold: may commands run without a sandbox, if this machine has none? The plan waits for the answer. */
  readonly sandbox?: true
  /** Asked by Planfold: an agent wants to do something beyond its task. `rule` identifies the kind of request. */
  readonly agent?: { readonly rule: string }
  readonly budget?: AskedBudget
  /** Asked by Planfold: do these changes outside the scope of a claimed task belong to it? */
  readonly outside?: { readonly paths: readonly string[] }
  /** An agent wants this to be remembered beyond its plan. Kept when a person says so. */
  readonly memory?: ProposedMemory
}

/** A revision that has not taken effect. Valid only while `base` is the plan's hash. */
export interface Proposal {
  readonly id: string
  readonly definition: PlanDefinition
  readonly hash: Sha256
  readonly base: Sha256
  readonly rationale: string
  readonly by: string
  readonly cause?: string
  readonly source?: PlanSource
  readonly task?: TaskName
}

export interface Vote {
  readonly by: string
  readonly rationale: string
}

/** A person's approval of one visit of a task, as it was shown. */
export interface Consent {
  readonly hash: Sha256
  readonly until: Millis
  readonly by: string
  /** The gate that asked; the task itself, if it was asked about before it began. */
  readonly gate: TaskName
}

export interface Feedback {
  readonly from: TaskName
  readonly by: string
  readonly text: string
  /** The run that it is about. Absent in older journals. */
  readonly visit?: number
  /** From a review: the next run continues the conversation of this one. */
  readonly review?: true
}

// Spending under a budget. Attempts, time and output are counted from the events of attempts.

export type BudgetEvent =
  /** Reserved before a model call: the most it can use. */
  | ({
      readonly type: 'budget.reserved'
      readonly id: string
      readonly amount: Amounts
      readonly unpriced?: true
    } & AttemptOf)
  /** The real use. A reservation that is never settled counts in full. */
  | ({ readonly type: 'budget.settled'; readonly id: string; readonly amount: Amounts } & AttemptOf)
  | {
      readonly type: 'budget.raised'
      readonly task?: TaskName
      readonly add?: Amounts
      readonly unpriced?: true
      /** Single model calls of the task may cost this much, in US dollars. */
      readonly large?: number
      readonly by: string
    }

/** What a plan was made in, as its author says. The engine never reads it. */
export interface PlanContext {
  readonly files?: readonly string[]
  readonly constraints?: readonly string[]
  /** An excerpt of the conversation that led to it. */
  readonly conversation?: string
  /** HEAD of the repository, as Planfold found it. */
  readonly commit?: string
}

/** An attempt of a task with `tries` runs several times, each in a folder of its own. */
export type RaceEvent =
  | ({ readonly type: 'race.began' } & RaceRound & AttemptOf)
  | ({ readonly type: 'race.tried' } & Tried & AttemptOf)
  | ({ readonly type: 'race.judged'; readonly round: number } & Judged & AttemptOf)
  /** Its changes are about to be written into the workspace. */
  | ({
      readonly type: 'race.applied'
      /** The manifest of the files that they replace. */
      readonly saved: Sha256
      /** Edits made since the race began that they replace, as a person chose. */
      readonly overwrote?: readonly string[]
    } & AttemptOf)

export type Event =
  | JudgementEvent
  | RaceEvent
  | ClientEvent
  | BudgetEvent
  | ({ readonly type: 'network.decided' } & NetworkDecided)
  | {
      readonly type: 'plan.created'
      readonly plan: PlanId
      readonly definition: PlanDefinition
      readonly hash: Sha256
      readonly origin?: PlanId
      readonly session?: string
      readonly goal?: string
      readonly agent?: string
      readonly source?: PlanSource
      /** It came from elsewhere: over the network, from another format, from a model or an agent. */
      readonly outside?: true
      readonly writer?: Writer
      readonly others?: readonly TaskName[]
      /** Its folder, relative to the workspace; absent: the workspace itself. */
      readonly place?: string
      /** The entry of `origin` that the fork continues. */
      readonly forkedAt?: number
      /** All files at the start of the fork; what it changed is found by comparison with them. */
      readonly start?: Sha256
      readonly context?: PlanContext
    }
  | {
      readonly type: 'plan.revised'
      readonly revision: number
      readonly definition: PlanDefinition
      readonly hash: Sha256
      readonly rationale: string
      readonly source?: PlanSource
      readonly proposal?: string
      /** The author; absent: not the person. `others`: the parts of their file that they did not write. */
      readonly writer?: Writer
      readonly others?: readonly TaskName[]
      readonly stamp?: WorkspaceStamp
      /** What a started plan read of its `memory.keys`, if that changed. */
      readonly memory?: ReadMemory
    }
  /** Tasks that had ended when the plan was written. */
  | { readonly type: 'task.imported'; readonly tasks: readonly ImportedTask[] }
  | {
      readonly type: 'plan.started'
      readonly rules: number
      readonly files?: 'seen'
      readonly sandbox?: SandboxMode | 'by-task'
      /** A person approved the draft of a planner, or commands that were shown: they become its author. */
      readonly approves?: 'draft' | readonly TaskName[]
      /** `policy.sandbox: off` applies: commands run with the person's permissions. */
      readonly sandboxOff?: true
      /** The policy layers around the plan, widest first; they apply until the plan ends. */
      readonly policy?: readonly PolicyLayer[]
      /** Its budget is counted. Absent in older journals. */
      readonly budget?: 'kept'
      /** What it read of its `memory.keys`. Absent: nothing. */
      readonly memory?: ReadMemory
      readonly stamp?: WorkspaceStamp
    }
  | {
      readonly type: 'plan.paused'
      readonly reason: string
      readonly force?: true
      /** For a forced pause: whether everything was halted. Absent in older journals. */
      readonly halt?: boolean
      readonly cause?: Shortage
      /** The budget is used up and a person is asked for more; running attempts continue. */
      readonly budget?: true
    }
  /** `policy`: the policy layers, if they changed. */
  | ({ readonly type: 'plan.resumed' } & PolicyAgain)
  | { readonly type: 'plan.cancelled'; readonly reason: string; readonly force: boolean }
  | { readonly type: 'plan.finished'; readonly status: 'completed' | 'failed' | 'cancelled'; readonly reason: string }
  | ({ readonly type: 'plan.reopened'; readonly reason: string } & PolicyAgain)
  | { readonly type: 'plan.archived' }
  | { readonly type: 'task.readied'; readonly tasks: readonly TaskName[] }
  /** `by`: the person who skipped it; absent when the engine did, and in older journals. */
  | { readonly type: 'task.skipped'; readonly task: TaskName; readonly reason: string; readonly by?: string }
  | { readonly type: 'task.blocked'; readonly tasks: readonly TaskName[]; readonly by: TaskName }
  | { readonly type: 'task.unblocked'; readonly tasks: readonly TaskName[] }
  | { readonly type: 'task.abandoned'; readonly task: TaskName; readonly reason: string }
  /** A group fails with one of its tasks, because it routes failures. */
  | { readonly type: 'task.failed'; readonly task: TaskName; readonly by: TaskName; readonly reason: string }
  /** Opens the next visit of each of `tasks`. */
  | {
      readonly type: 'task.reopened'
      readonly tasks: readonly TaskName[]
      readonly reason: string
      readonly feedback?: Feedback
    }
  /** An outcome edge applies; a failure that is routed counts as handled. */
  | {
      readonly type: 'task.routed'
      readonly task: TaskName
      readonly outcome: string
      readonly to: readonly TaskName[]
      /** The words of the task that decided, for those it leads to. */
      readonly feedback?: Feedback
    }
  | ({
      readonly type: 'attempt.started'
      readonly preimage?: Sha256
      /** All files before it, for a task around which all files are compared. */
      readonly before?: Sha256
      /** All files before it, for a claimed task with a scope. */
      readonly around?: Sha256
      readonly unwatched?: string
      readonly inputHash?: Sha256
      readonly claim?: Claim
      readonly begun?: false
      /** Where all files are compared: changes between the previous attempt and this one, which are therefore not the task's. */
      readonly edited?: readonly string[]
      /** The files reserved until this visit is over. */
      readonly reserves?: Reserves
      /** How many of its visits come from rollbacks and do not count as retries. */
      readonly goneBack?: number
      readonly holds?: Amounts
      /** How its commands run. Absent in older plans, and for tasks without commands. */
      readonly runs?: RunMode
    } & AttemptOf)
  | ({ readonly type: 'attempt.succeeded'; readonly result: Succeeded } & AttemptOf)
  | ({ readonly type: 'attempt.failed'; readonly result: Failed; readonly goneBack?: number } & AttemptOf)
  /** The outcome is unknown: the owner died, the engine interrupted it, or an agent's claim lapsed. */
  | ({
      readonly type: 'attempt.lost'
      readonly reason: string
      readonly byUs?: true
      /** When its processes were last known alive, for a task whose files are compared. */
      readonly lastSign?: Millis
      /** It certainly did nothing: the machine lacked something it needs, or it was not due. */
      readonly begun?: false
      /** It was not due: it is resumed then, without occupying a slot meanwhile. */
      readonly until?: Millis
      /** For a lapsed claim: the changes since the claim. */
      readonly wrote?: NonNullable<Result['wrote']>
      readonly goneBack?: number
    } & AttemptOf)
  /** A part of an artifact that a claimed task uploads: `partBytes` bytes from `from`. `sha256` and `bytes` are those of the whole, which is
   *  stored when its last part is recorded. */
  | ({
      readonly type: 'artifact.uploaded'
      readonly name: string
      readonly sha256: Sha256
      readonly bytes: number
      readonly from: number
      readonly part: Sha256
      readonly partBytes: number
    } & AttemptOf)
  | { readonly type: 'attempt.parked'; readonly task: TaskName; readonly evidence: Evidence }
  /** The report was not accepted: the claimant keeps the task and continues the same attempt. */
  | ({ readonly type: 'report.refused'; readonly failure: Failure; readonly verdicts: readonly Verdict[] } & AttemptOf)
  | { readonly type: 'retry.scheduled'; readonly task: TaskName; readonly at: Millis }
  | ({ readonly type: 'gate.opened'; readonly task: TaskName } & GateQuestion)
  | {
      readonly type: 'gate.decided'
      readonly task: TaskName
      readonly verdict: GateVerdict
      readonly rationale: string
      readonly by?: string
      /** The hash that was approved, from `gate.opened`. */
      readonly hash?: Sha256
      /** The approver gave no hash of what was shown, or said they had not seen it. */
      readonly unseen?: true
      /** The tasks it approves, with the hash of each and the expiry. */
      readonly binds?: { readonly [task: string]: Sha256 }
      readonly until?: Millis
      /** For a decision; for edits: `keep`, `take` or `merge`. */
      readonly option?: string
      readonly choices?: EditChoices
      readonly answers?: JsonObject
      readonly to?: TaskName
    }
  | {
      readonly type: 'criterion.judged'
      readonly task: TaskName
      readonly criterion: string
      readonly holds: boolean
      readonly evidence?: string
      /** Absent for the condition `when`. */
      readonly stage?: 'precondition'
    }
  | {
      readonly type: 'workspace.restored'
      readonly task: TaskName
      readonly to: Sha256
      readonly saved: Sha256
      readonly files?: readonly string[]
      readonly more?: number
      /** Edits that a person chose to keep; at most a hundred. */
      readonly kept?: readonly string[]
    }
  /** A person restored reverted files. `changes` lists what they replaced, `saved` stores it. */
  | {
      readonly type: 'files.restored'
      readonly changes: Sha256
      readonly saved: Sha256
      readonly paths: number
      readonly files: readonly string[]
      readonly by: string
    }
  | { readonly type: 'compensation.started'; readonly task: TaskName; readonly action: Action | CompensatingTask }
  | { readonly type: 'compensation.finished'; readonly task: TaskName; readonly result: Result }
  /** A transient failure; it is retried. */
  | { readonly type: 'compensation.retried'; readonly task: TaskName; readonly result: Failed; readonly at: Millis }
  | { readonly type: 'plan.compensating'; readonly reason: string }
  | {
      readonly type: 'checkpoint.taken'
      readonly name: CheckpointName
      /** `asked`: by hand. `task`: by a checkpoint task. `every`, `risky`: by policy, before `task`. `ended`: a fork ended. */
      readonly why: 'asked' | 'task' | 'every' | 'risky' | 'ended'
      readonly task?: TaskName
      readonly standing: WorkspaceStamp
    }
  /** The commit for a completed task, or why there is none. */
  | {
      readonly type: 'git.committed'
      readonly task: TaskName
      readonly visit: number
      readonly operations: readonly GitOperation[]
      readonly failure?: Failure
    }
  /** The worktree was created. A rollback does not remove it. */
  | { readonly type: 'place.made'; readonly operations: readonly GitOperation[] }
  | ({ readonly type: 'fork.adopted' } & ForkAdopted)
  | ({ readonly type: 'rollback.started' } & Omit<Rollback, 'type'>)
  /** Files and refs are restored, except for `left`; each task is reset. */
  | ({ readonly type: 'rollback.finished' } & Omit<RollbackOutcome, 'failure' | 'conflicts'>)
  /** The rollback failed. No file was changed; earlier compensations remain. */
  | ({ readonly type: 'rollback.stopped' } & RollbackOutcome & { readonly failure: Failure })
  /** The outputs of completed tasks that changed since; empty when all are intact again. */
  | { readonly type: 'outputs.checked'; readonly lost: readonly LostOutput[] }
  | {
      readonly type: 'note.added'
      readonly text: string
      readonly task?: TaskName
      readonly place?: NotePlace
      /** What a critic, a review or a person said about an attempt of the task, for all later attempts. */
      readonly kind?: 'lesson'
      readonly about?: { readonly visit: number; readonly attempt: number }
      readonly by?: string
    }

/** What a note is about: a field of its task, or of the plan when there is no task; a line of that text, or of the plan file. */
export interface NotePlace {
  readonly field?: string
  readonly line?: number
}

export interface AttemptOf {
  readonly task: TaskName
  /** `visit` counts the runs of the task from 1, `attempt` the tries within one. */
  readonly visit: number
  readonly attempt: number
}

export type EventType = Event['type']
export type EventOf<T extends EventType> = Extract<Event, { readonly type: T }>
export type FieldsOf<T extends EventType> = Omit<EventOf<T>, 'type'>

/** One append to the journal, as the views read it. */
export interface PlanEntry {
  readonly version: number
  readonly now: Millis
  readonly actor: string
  readonly hash: Sha256
  readonly events: readonly Event[]
}

export const isAttemptEnd = (event: Event): event is AttemptEnd =>
  event.type === 'attempt.succeeded' || event.type === 'attempt.failed' || event.type === 'attempt.lost'
export type AttemptEnd = EventOf<'attempt.succeeded' | 'attempt.failed' | 'attempt.lost'>

/** A task that had ended when the plan was written, according to its importer. */
export interface ImportedTask {
  readonly task: TaskName
  /** `pending`: open, and activated by an outcome. */
  readonly status: Extract<TaskStatus, 'pending' | 'completed' | 'failed' | 'skipped' | 'abandoned' | 'cancelled'>
  /** Its result in the plan that this one continues. */
  readonly result?: Result
  /** An outcome edge had handled its failure. */
  readonly handled?: true
  /** The tasks whose outcomes had activated it. */
  readonly routedBy?: readonly TaskName[]
}

/** An artifact that is being uploaded, or was, in this attempt. */
export interface Upload {
  readonly name: string
  /** Of the whole. */
  readonly sha256: Sha256
  readonly bytes: number
  readonly received: number
  readonly parts: readonly Sha256[]
}

/** The claim of an agent or person on an external task; its lease is stored outside the journal. */
export interface Claim {
  readonly token: string
  readonly by: string
}

/** The kind of question: approval of a gate task, a verdict on text criteria, or a decision about an unknown outcome. */
export type GateAsks =
  | {
      readonly type: 'approval'
      readonly show: readonly string[]
      readonly gate?: GateType
      readonly approvers?: Approvers
    }
  /** Before a task that is hard to undo, or whose approval is void. */
  | {
      readonly type: 'consent'
      readonly impact: Impact | 'changed'
      readonly why: string
      readonly approvers?: Approvers
    }
  | {
      readonly type: 'decision'
      readonly options: readonly Option[]
      readonly show?: readonly string[]
      readonly approvers?: Approvers
    }
  | {
      readonly type: 'question'
      readonly question: string
      readonly form: readonly Field[]
      readonly show?: readonly string[]
      readonly approvers?: Approvers
    }
  /** A task failed and a person decides what happens. `replan`: by a revision. */
  | { readonly type: 'recovery' | 'replan'; readonly failure: Failure; readonly to?: string }
  /** `before`: these are preconditions, and the task has not begun. */
  | { readonly type: 'verdict'; readonly criteria: readonly string[]; readonly before?: true }
  | { readonly type: 'unknown-outcome'; readonly evidence: Evidence }
  | ({ readonly type: 'edits' } & EditedPaths)

/** A person's edits in files that a retry would revert. `unmerged`: those that could not be merged as chosen. */
export interface EditedPaths {
  /** At most a hundred; the stored list holds all of them. */
  readonly paths: readonly string[]
  readonly more?: number
  readonly unmerged?: readonly string[]
  /** Plans and tasks that ran in parallel without a scope, and may have written these files. */
  readonly plans?: readonly string[]
}

/** `keep`: the edited file stays. `take`: the other version replaces it. */
export type EditChoice = 'keep' | 'take' | 'merge'
export type EditChoices = { readonly [path: string]: EditChoice }
export const EDIT_CHOICES: readonly EditChoice[] = ['keep', 'take', 'merge']

export interface GateQuestion {
  readonly asks: GateAsks
  /** The hash that the answer covers; that of the definition when it covers nothing else. */
  readonly hash?: Sha256
  readonly shown?: Sha256
  readonly evidence?: readonly Verdict[]
  readonly binds?: { readonly [task: string]: Sha256 }
  readonly expiresAt?: Millis
}

/**
 * `done` and `again` answer an unknown outcome: it happened; it did not, try again. `rejected` fails the task. `pushed-back` reopens
 * an earlier task with a comment; `chosen` names an option; `answered` fills in a form; `skipped` continues without it.
 */
export type GateVerdict = 'approved' | 'rejected' | 'done' | 'again' | 'pushed-back' | 'chosen' | 'answered' | 'skipped'
