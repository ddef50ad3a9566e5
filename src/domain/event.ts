// What happened, in the past tense. Every event is plain JSON, self-contained, and versioned by the entry that holds it
// (see stores/journal/entry.ts). Adding a field is compatible; renaming or removing one needs an upcast. Described line by line in
// docs/formats/journal.md.

import type { Amounts, AskedBudget } from './budget/amounts.ts'
import type { ForkAdopted, Rollback, RollbackOutcome } from './command.ts'
import type { CheckpointName, Millis, PlanId, Sha256, TaskName } from './id.ts'
import type { Json, JsonObject } from './json.ts'
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
import type { Evidence, Failed, Failure, LostOutput, Reserves, Result, Standing, Succeeded, Verdict } from './result.ts'
import type { Shortage } from './shortage.ts'
import type { TaskStatus } from './status.ts'

// What clients say about a plan they keep here: tasks added one by one to a draft, annotations that are kept and never followed,
// evaluations of what a task did.

export type ClientEvent =
  /** Appended to a draft, which is unsealed by it: its definition has no hash until the next revision. */
  | { readonly type: 'task.added'; readonly tasks: readonly TaskDefinition[]; readonly writer?: Writer }
  | { readonly type: 'plan.annotated'; readonly set: JsonObject; readonly by: string }
  | { readonly type: 'task.annotated'; readonly task: TaskName; readonly set: JsonObject; readonly by: string }
  | ({ readonly type: 'task.evaluated'; readonly task: TaskName } & Said)

/** What somebody makes of a visit of a task. */
export interface Evaluation extends Said {
  readonly at: Millis
}

interface Said {
  readonly id: string
  readonly by: string
  readonly visit: number
  readonly score?: number
  readonly passed?: boolean
  readonly data?: Json
}

// What was judged and decided when things went wrong or somebody had to be asked: recovery, breakers, votes, questions,
// proposals, assessments, notices.

export type JudgementEvent =
  /** What is done about a failure, and why this. `rule` is the index in `recover`; absent for what `retry` and edges say. */
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
  /** The plan ends as failed, now: what has not begun is cancelled, what runs is ended. */
  | {
      readonly type: 'plan.aborted'
      readonly reason: string
      readonly with: 'compensate' | 'keep' | 'rollback'
      readonly task?: TaskName
    }
  /** Nothing that needs the capability begins before then. */
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
      /** Of the event it tells of: entry and place in it, so that none is told twice. */
      readonly id: string
      readonly kind: NoticeKind
      readonly to: string
      readonly task?: TaskName
      readonly failure?: string
    }

/** `route`: an outcome edge or a failure mode led on. `block`: nothing else is left; what needs it waits. */
export type RecoveryChoice = Recovery['type'] | 'route' | 'block'

/** Asked by an agent or a person in the middle of their work. */
export interface Question {
  readonly id: string
  readonly text: string
  readonly form: readonly Field[]
  readonly task?: TaskName
  readonly by: string
  /** Planfold asks: a command of the task wants to reach this. */
  readonly network?: AskedAddress
  /** Planfold asks: may commands run without a sandbox, where this machine has none? The plan waits for it. */
  readonly sandbox?: true
  /** Planfold asks: an agent that it started wants to do something beyond its task. `rule` is the same for the same thing. */
  readonly agent?: { readonly rule: string }
  readonly budget?: AskedBudget
  /** Planfold asks: do these changes outside the scope of a claimed task belong to it? */
  readonly outside?: { readonly paths: readonly string[] }
}

/** A revision that has not taken effect. It counts only while `base` is the plan's hash. */
export interface Proposal {
  readonly id: string
  readonly definition: PlanDefinition
  readonly hash: Sha256
  /** The hash of the definition it was made for. */
  readonly base: Sha256
  readonly rationale: string
  readonly by: string
  /** What was observed that the plan had not expected. */
  readonly cause?: string
  readonly source?: PlanSource
  readonly task?: TaskName
}

/** Whoever approves something approves exactly this. */
export interface Vote {
  readonly by: string
  readonly rationale: string
}

/** A person's agreement to one visit of a task, as it was shown. */
export interface Consent {
  /** Of everything it is bound to. */
  readonly hash: Sha256
  readonly until: Millis
  readonly by: string
  /** The gate that asked; the task itself when it was asked before it began. */
  readonly gate: TaskName
}

/** What somebody said who sent it back. */
export interface Feedback {
  readonly from: TaskName
  readonly by: string
  readonly text: string
}

// What is spent under a budget. Attempts, time and output are counted by the events of attempts.

export type BudgetEvent =
  /** The most that a call of a model can use, held before it is sent. */
  | ({
      readonly type: 'budget.reserved'
      readonly id: string
      readonly amount: Amounts
      /** The price is not known. */
      readonly unpriced?: true
    } & AttemptOf)
  /** What it really used. One that is never settled has used all that was held. */
  | ({ readonly type: 'budget.settled'; readonly id: string; readonly amount: Amounts } & AttemptOf)
  | {
      readonly type: 'budget.raised'
      readonly task?: TaskName
      readonly add?: Amounts
      readonly unpriced?: true
      /** Single calls of the task may cost so much, in US dollars. */
      readonly large?: number
      readonly by: string
    }

export type Event =
  | JudgementEvent
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
      /** Who wrote it; `others` are the tasks of a copied plan that are not theirs. */
      readonly writer?: Writer
      readonly others?: readonly TaskName[]
      /** The folder it works in, relative to the workspace; the workspace itself when absent. */
      readonly place?: string
      /** The entry of `origin` it goes on from. */
      readonly forkedAt?: number
      /** All files of the folder the fork begins in: what it changes is found by comparing with them. */
      readonly start?: Sha256
    }
  | {
      readonly type: 'plan.revised'
      readonly revision: number
      readonly definition: PlanDefinition
      readonly hash: Sha256
      readonly rationale: string
      readonly source?: PlanSource
      readonly proposal?: string
      /** Who wrote it; absent: not the person. `others`: of their file, what they did not write in it. */
      readonly writer?: Writer
      readonly others?: readonly TaskName[]
      /** How the world stood when it took effect. */
      readonly stamp?: Standing
    }
  /** Tasks that had ended when the plan was written stand where they stood. */
  | { readonly type: 'task.imported'; readonly tasks: readonly ImportedTask[] }
  /** `stamp`: how the world stood then. */
  | {
      readonly type: 'plan.started'
      readonly rules: number
      readonly files?: 'seen'
      readonly sandbox?: SandboxMode | 'by-task'
      /** A person approved the draft of a planner, or commands that they were shown: these are theirs from now on. */
      readonly approves?: 'draft' | readonly TaskName[]
      /** The plan says `policy.sandbox: off`, and that holds: commands run with the person's permissions. */
      readonly sandboxOff?: true
      /** The policy around the plan, widest layer first; it holds until the plan ends. */
      readonly policy?: readonly PolicyLayer[]
      /** It has a budget, and what it spends is counted. Absent in journals from before budgets were kept. */
      readonly budget?: 'kept'
      readonly stamp?: Standing
    }
  | {
      readonly type: 'plan.paused'
      readonly reason: string
      readonly force?: true
      /** Of a pause by force: whether everything was halted. Older journals do not say. */
      readonly halt?: boolean
      readonly cause?: Shortage
      /** Its budget is used up, and a person is asked for more; what runs goes on. */
      readonly budget?: true
    }
  /** `policy`: the policy around the plan, where it was read again and has changed. */
  | ({ readonly type: 'plan.resumed' } & PolicyAgain)
  | { readonly type: 'plan.cancelled'; readonly reason: string; readonly force: boolean }
  | { readonly type: 'plan.finished'; readonly status: 'completed' | 'failed' | 'cancelled'; readonly reason: string }
  | ({ readonly type: 'plan.reopened'; readonly reason: string } & PolicyAgain)
  | { readonly type: 'plan.archived' }
  | { readonly type: 'task.readied'; readonly tasks: readonly TaskName[] }
  /** `by`: the person who passed over it; absent when nobody did, and in journals from before it was said. */
  | { readonly type: 'task.skipped'; readonly task: TaskName; readonly reason: string; readonly by?: string }
  | { readonly type: 'task.blocked'; readonly tasks: readonly TaskName[]; readonly by: TaskName }
  | { readonly type: 'task.unblocked'; readonly tasks: readonly TaskName[] }
  | { readonly type: 'task.abandoned'; readonly task: TaskName; readonly reason: string }
  /** A group fails with one of its tasks, because it says where its failure leads. */
  | { readonly type: 'task.failed'; readonly task: TaskName; readonly by: TaskName; readonly reason: string }
  /** Each of `tasks` opens its next visit. */
  | {
      readonly type: 'task.reopened'
      readonly tasks: readonly TaskName[]
      readonly reason: string
      readonly feedback?: Feedback
    }
  /** An outcome edge was taken; a failure that was routed is handled. */
  | {
      readonly type: 'task.routed'
      readonly task: TaskName
      readonly outcome: string
      readonly to: readonly TaskName[]
    }
  | ({
      readonly type: 'attempt.started'
      readonly preimage?: Sha256
      /** All files before it, where it declares no scope. */
      readonly before?: Sha256
      /** All files before it, of a claimed task that declares a scope. */
      readonly around?: Sha256
      readonly unwatched?: string
      readonly inputHash?: Sha256
      readonly claim?: Claim
      readonly begun?: false
      /** Where all files are compared: what changed between the attempt before it and this one, and so is somebody else's. */
      readonly edited?: readonly string[]
      /** The files this visit keeps to itself until it is over. */
      readonly reserves?: Reserves
      /** So many of its visits were opened by going back, and are no retries. */
      readonly goneBack?: number
      readonly holds?: Amounts
      /** How its commands run. Absent in plans that were started before tasks decided, and for what runs none. */
      readonly runs?: RunMode
    } & AttemptOf)
  | ({ readonly type: 'attempt.succeeded'; readonly result: Succeeded } & AttemptOf)
  | ({ readonly type: 'attempt.failed'; readonly result: Failed; readonly goneBack?: number } & AttemptOf)
  /** Nobody can say how it ended: its owner died, it was interrupted by us, or an agent's claim lapsed. */
  | ({
      readonly type: 'attempt.lost'
      readonly reason: string
      readonly byUs?: true
      /** The last moment at which its processes are known to have lived, of a task whose files are looked at. */
      readonly lastSign?: Millis
      /** It is certain that it did nothing: the machine lacked what it takes to begin, or its time had not come. */
      readonly begun?: false
      /** Its time had not come: it is taken up again then, and nobody waits for it meanwhile. */
      readonly until?: Millis
      /** Of a claim that lapsed: what had changed since it was claimed. */
      readonly wrote?: NonNullable<Result['wrote']>
      readonly goneBack?: number
    } & AttemptOf)
  | { readonly type: 'attempt.parked'; readonly task: TaskName; readonly evidence: Evidence }
  /** Reported as done and not accepted: whoever has claimed it keeps it and goes on with the same attempt. */
  | ({ readonly type: 'report.refused'; readonly failure: Failure; readonly verdicts: readonly Verdict[] } & AttemptOf)
  | { readonly type: 'retry.scheduled'; readonly task: TaskName; readonly at: Millis }
  | ({ readonly type: 'gate.opened'; readonly task: TaskName } & GateQuestion)
  | {
      readonly type: 'gate.decided'
      readonly task: TaskName
      readonly verdict: GateVerdict
      readonly rationale: string
      readonly by?: string
      /** What was agreed to, as `gate.opened` said it. */
      readonly hash?: Sha256
      /** Whoever approved it named no hash of what they were shown, or said that they had not seen it. */
      readonly unseen?: true
      /** The tasks it agrees to, each to exactly this, until then. */
      readonly binds?: { readonly [task: string]: Sha256 }
      readonly until?: Millis
      /** Of a decision; of edits: `keep`, `take` or `merge`. */
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
      /** A precondition was judged; absent for the condition `when`. */
      readonly stage?: 'precondition'
    }
  | {
      readonly type: 'workspace.restored'
      readonly task: TaskName
      readonly to: Sha256
      readonly saved: Sha256
      readonly files?: readonly string[]
      readonly more?: number
      /** A person's edits that stay as they are, because somebody chose so; at most a hundred. */
      readonly kept?: readonly string[]
    }
  /** A person brought back what had been set back. `changes` lists what stood there, `saved` keeps it. */
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
  /** It failed in a way that may pass, and is tried again. */
  | { readonly type: 'compensation.retried'; readonly task: TaskName; readonly result: Failed; readonly at: Millis }
  /** The plan failed: what declared how is undone, last first. */
  | { readonly type: 'plan.compensating'; readonly reason: string }
  | {
      readonly type: 'checkpoint.taken'
      readonly name: CheckpointName
      /** `asked`: by hand. `task`: by a checkpoint task. `every`, `risky`: by policy, before `task`. `ended`: a fork ended. */
      readonly why: 'asked' | 'task' | 'every' | 'risky' | 'ended'
      readonly task?: TaskName
      readonly standing: Standing
    }
  /** What was committed for a task that is done, or why it could not be. */
  | {
      readonly type: 'git.committed'
      readonly task: TaskName
      readonly visit: number
      readonly operations: readonly GitOperation[]
      readonly failure?: Failure
    }
  /** The worktree it works in was made. No part of what a rollback takes back. */
  | { readonly type: 'place.made'; readonly operations: readonly GitOperation[] }
  | ({ readonly type: 'fork.adopted' } & ForkAdopted)
  | ({ readonly type: 'rollback.started' } & Omit<Rollback, 'type'>)
  /** Files and refs are as they were then, apart from what `left` names; each task is reset. */
  | ({ readonly type: 'rollback.finished' } & Omit<RollbackOutcome, 'failure' | 'conflicts'>)
  /** It could not be done. No file was changed; what was compensated before stays so. */
  | ({ readonly type: 'rollback.stopped' } & RollbackOutcome & { readonly failure: Failure })
  /** Which declared outputs of completed tasks are not as they were left; none when all are so again. */
  | { readonly type: 'outputs.checked'; readonly lost: readonly LostOutput[] }
  | { readonly type: 'note.added'; readonly text: string; readonly task?: TaskName; readonly place?: NotePlace }

/** Which part a note is about: a field of its task, or of the plan where no task is named; a line of that text, or of the plan file. */
export interface NotePlace {
  readonly field?: string
  readonly line?: number
}

/** Which attempt an event is about. */
export interface AttemptOf {
  readonly task: TaskName
  /** Counts the runs of the task, from 1; and `attempt` the tries within one. */
  readonly visit: number
  readonly attempt: number
}

export type EventType = Event['type']
export type EventOf<T extends EventType> = Extract<Event, { readonly type: T }>
export type FieldsOf<T extends EventType> = Omit<EventOf<T>, 'type'>

/** An attempt is over, whatever became of it. */
export const isAttemptEnd = (event: Event): event is AttemptEnd =>
  event.type === 'attempt.succeeded' || event.type === 'attempt.failed' || event.type === 'attempt.lost'
export type AttemptEnd = EventOf<'attempt.succeeded' | 'attempt.failed' | 'attempt.lost'>

/** A task that had ended when the plan was written, by the word of whoever brought it. */
export interface ImportedTask {
  readonly task: TaskName
  /** `pending`: it is open, and an outcome had led to it. */
  readonly status: Extract<TaskStatus, 'pending' | 'completed' | 'failed' | 'skipped' | 'abandoned' | 'cancelled'>
  /** What it left, when it ended in the plan this one goes on from. */
  readonly result?: Result
  /** There, its failure was taken up by an outcome edge. */
  readonly handled?: true
  /** There, the outcomes of these tasks had led to it. */
  readonly routedBy?: readonly TaskName[]
}

/** An agent's or person's hold on an external task; the lease itself lives beside the journal. */
export interface Claim {
  readonly token: string
  readonly by: string
}

/** What a gate asks: approval of a gate task, a verdict on prose criteria, or a decision about an unknown outcome. */
export type GateAsks =
  | {
      readonly type: 'approval'
      readonly show: readonly string[]
      readonly gate?: GateType
      readonly approvers?: Approvers
    }
  /** Before a task begins that is hard to take back, or that was agreed to as something else. */
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
  /** It failed, and a person says what then. `replan`: by a revision. */
  | { readonly type: 'recovery' | 'replan'; readonly failure: Failure; readonly to?: string }
  /** `before`: these are preconditions, and the task has not begun. */
  | { readonly type: 'verdict'; readonly criteria: readonly string[]; readonly before?: true }
  | { readonly type: 'unknown-outcome'; readonly evidence: Evidence }
  | ({ readonly type: 'edits' } & EditedPaths)

/** A person's edits in files that would be set back before a retry. `unmerged`: those that were to be merged and cannot be. */
export interface EditedPaths {
  /** At most a hundred; the stored list that is shown holds all of them. */
  readonly paths: readonly string[]
  readonly more?: number
  readonly unmerged?: readonly string[]
  /** Plans and tasks that ran at the same time without a declared scope, and may have written them. */
  readonly plans?: readonly string[]
}

/** What becomes of a file that somebody edited since: it stays, the other version takes its place, or both are merged. */
export type EditChoice = 'keep' | 'take' | 'merge'
export type EditChoices = { readonly [path: string]: EditChoice }
export const EDIT_CHOICES: readonly EditChoice[] = ['keep', 'take', 'merge']

/** What a gate puts before whoever decides. */
export interface GateQuestion {
  readonly asks: GateAsks
  /** Of everything the answer will be bound to; the definition's hash where nothing more is. */
  readonly hash?: Sha256
  readonly shown?: Sha256
  readonly evidence?: readonly Verdict[]
  readonly binds?: { readonly [task: string]: Sha256 }
  readonly expiresAt?: Millis
}

/**
 * `done` and `again` answer an unknown outcome: it happened; it did not, try again. `rejected` fails the task. `pushed-back` opens
 * an earlier task again with what is to be changed; `chosen` names an option; `answered` fills in a form; `skipped` goes on without.
 */
export type GateVerdict = 'approved' | 'rejected' | 'done' | 'again' | 'pushed-back' | 'chosen' | 'answered' | 'skipped'
