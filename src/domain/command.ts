// What is asked, in the imperative. `create` makes a plan; every other command is for an existing plan. The engine's own commands are
// `recover` (when a loop takes a plan) and `turn` (one turn of the loop); all others come from people and agents through a face.

import type { Amounts, SettingsCaps, Spend } from './budget/amounts.ts'
import type {
  AttemptOf,
  EditChoice,
  EditChoices,
  FieldsOf,
  GateQuestion,
  GateVerdict,
  ImportedTask,
  Proposal,
  Question,
} from './event.ts'
import type { CheckpointName, Millis, PlanId, PlanName, Sha256, TaskName } from './id.ts'
import type { Json, JsonObject } from './json.ts'
import type { NetworkDecided } from './network-decision.ts'
import type { PlanDefinition, PlanSource, TaskDefinition, Writer } from './plan.ts'
import type { GitOperation } from './plan-rules/git-operation.ts'
import type { PolicyAgain } from './policy/policy-layer.ts'
import type { Failure, Found, LostOutput, Prepared, Result, WorkspaceStamp, Wrote } from './result.ts'
import type { Shortage } from './shortage.ts'
import type { RaceRound, Tried, TriesVerdict } from './tries/race.ts'

export type Command =
  /** `imported`: tasks that had ended when the plan was written. */
  | ({ readonly type: 'create'; readonly imported?: readonly ImportedTask[] } & FieldsOf<'plan.created'>)
  | ({
      readonly type: 'revise'
      readonly expectedRevision?: number
      readonly reopen?: true
      /** A failed plan continues, even with an unchanged definition: tasks that failed, were undone or were changed run again. */
      readonly goOn?: UnsafeWork
    } & PolicyAgain &
      Omit<FieldsOf<'plan.revised'>, 'revision' | 'proposal'>)
  /** Appends plain tasks to a draft, at constant cost for each; anything else is a revision. */
  | { readonly type: 'add'; readonly tasks: readonly TaskDefinition[]; readonly writer?: Writer }
  /** Client data on the plan or a task, which the engine ignores. Merged key by key; null removes a key. */
  | { readonly type: 'annotate'; readonly set: JsonObject; readonly by: string; readonly task?: TaskName }
  | ({ readonly type: 'evaluate' } & Omit<FieldsOf<'task.evaluated'>, 'visit'>)
  /** A comment on the whole plan. `start`: how it starts a draft. */
  | {
      readonly type: 'finish'
      readonly as: 'completed' | 'failed'
      readonly reason: string
      readonly by: string
      readonly start?: Omit<Start, 'type'>
    }
  /** `rules`: those of the program that starts it. `files`: are all files compared around tasks whose writes are unknown? */
  | Start
  /** With `force` also ends tasks that are unsafe to repeat; they are parked. */
  | {
      readonly type: 'pause'
      readonly reason?: string
      readonly force?: true
      readonly halt?: boolean
      readonly cause?: Shortage
    }
  /** `policy`, here and below: the policy layers, if they changed since the start. `changed`: the files that did. */
  | ({ readonly type: 'resume' } & PolicyAgain)
  | { readonly type: 'cancel'; readonly reason?: string; readonly force?: boolean }
  | { readonly type: 'archive' }
  /** `lastSign`: when processes of the plan were last known alive. `lost`: outputs that changed; absent: none, or reported before. */
  | {
      readonly type: 'recover'
      readonly reason: string
      readonly lastSign?: Millis
      readonly lost?: readonly LostOutput[]
    }
  | Turn
  | {
      readonly type: 'claim'
      readonly task?: TaskName
      readonly token: string
      readonly by: string
      /** Only while no other task of the plan is running. */
      readonly alone?: true
      /** The capture made before the agent begins. */
      readonly prepared?: Pick<Prepared, 'preimage' | 'before' | 'around' | 'unwatched' | 'reserves'>
      /** For a task that needs an approval: what its claimant would do. */
      readonly consent?: Found
      /** The clock was set back since the last entry: how long a delay still lasts is not known, so no delay refuses the claim. */
      readonly clockBack?: true
    }
  | {
      readonly type: 'report'
      readonly task: TaskName
      readonly token?: string
      /** The token must be that of a valid claim. Absent in older journals, which did not check it. */
      readonly held?: true
      readonly by: string
      readonly result: Result
      /** The report was refused: the attempt continues until its limit. Absent in older journals. */
      readonly unaccepted?: true
      /** Unexplained changes outside the scope: the report waits. Absent in older journals, which did not look. */
      readonly outside?: readonly string[]
      /** As with a claim, for a report without one. */
      readonly consent?: Found
    }
  /** The bytes of the part are in the content store. */
  | ({ readonly type: 'upload'; readonly task: TaskName; readonly token: string } & Omit<
      FieldsOf<'artifact.uploaded'>,
      keyof AttemptOf
    >)
  /** `wrote`: the changes since the claim, if they were measured. */
  | {
      readonly type: 'lapse'
      readonly task: TaskName
      readonly token: string
      readonly reason: string
      readonly wrote?: Wrote
      readonly released?: true
    }
  | Decide
  /** Decides several gates, all or none. */
  | { readonly type: 'review'; readonly decisions: readonly Decide[] }
  | ({ readonly type: 'ask' } & Question)
  | ({ readonly type: 'answer' } & FieldsOf<'question.answered'>)
  | ({ readonly type: 'propose' } & Proposal)
  /** Accepts or declines a proposal; `hash` is that of the proposal as it was seen. */
  | {
      readonly type: 'judge'
      readonly id: string
      readonly hash: Sha256
      readonly verdict: 'accepted' | 'declined'
      readonly rationale: string
      readonly by: string
      readonly unseen?: true
      readonly stamp?: WorkspaceStamp
      /** `changes`: a person has reviewed the changes and becomes their author. */
      readonly writer?: Writer
    }
  | ({ readonly type: 'assess' } & FieldsOf<'assessment.made'>)
  /** `by`: who asks; absent in older journals. */
  | ({
      readonly type: 'retry'
      readonly task: TaskName
      readonly reason?: string
      readonly by?: string
      /** Deliberately repeats completed tasks whose effect is unsafe. */
      readonly repeat?: true
    } & PolicyAgain)
  | { readonly type: 'skip'; readonly task: TaskName; readonly reason: string; readonly by?: string }
  | ({ readonly type: 'restore' } & FieldsOf<'files.restored'>)
  | ({ readonly type: 'note' } & FieldsOf<'note.added'>)
  | {
      readonly type: 'checkpoint'
      readonly name: CheckpointName
      readonly standing: WorkspaceStamp
      readonly why?: 'ended'
    }
  | ({ readonly type: 'adopted' } & ForkAdopted)
  | ({ readonly type: 'place' } & FieldsOf<'place.made'>)
  | Rollback
  | ({ readonly type: 'network' } & NetworkDecided)
  /** Before a model call: the most that the call can use. */
  | ({
      readonly type: 'reserve'
      readonly id: string
      readonly spend: Spend
      readonly settings?: SettingsCaps
    } & AttemptOf)
  | { readonly type: 'settle'; readonly id: string; readonly actual: Spend }
  /** What happened in the race of a running attempt. */
  | ({ readonly type: 'race'; readonly step: RaceStep } & AttemptOf)
  | { readonly type: 'raise'; readonly add: Amounts; readonly task?: TaskName; readonly by: string }

export type RaceStep =
  | ({ readonly is: 'began' } & RaceRound)
  | ({ readonly is: 'tried' } & Tried)
  | { readonly is: 'judged'; readonly judge?: TriesVerdict }
  | ({ readonly is: 'applied' } & Omit<FieldsOf<'race.applied'>, keyof AttemptOf>)

/** What happens to completed work that is unsafe to repeat when it, or what it depends on, changed. */
export type UnsafeWork = 'refuse' | 'repeat' | 'keep'

export interface Start extends Omit<FieldsOf<'plan.started'>, 'sandboxOff'> {
  readonly type: 'start'
  /** Only in older journals, where a start asked first whether commands may run without a sandbox: the id of that question. */
  readonly asks?: string
}

export interface Decide {
  readonly type: 'decide'
  readonly task: TaskName
  readonly verdict: GateVerdict
  readonly rationale: string
  /** Absent in older journals. */
  readonly by?: string
  /** The hash that was shown; if the gate asks about something else by now, the answer is refused. */
  readonly hash?: Sha256
  /** Approved without seeing what it approves; absent in older journals. */
  readonly unseen?: true
  readonly until?: Millis
  readonly option?: string
  /** Choices for single paths, for edits that would be reverted. */
  readonly choices?: EditChoices
  readonly answers?: JsonObject
  /** For `pushed-back`: the task to do again. */
  readonly to?: TaskName
  /** Approved with these edits: they become a revision, which the approval covers. */
  readonly edits?: {
    readonly definition: PlanDefinition
    readonly hash: Sha256
    readonly source?: PlanSource
    readonly binds: { readonly [task: string]: Sha256 }
    /** Who wrote them; absent: not the person. */
    readonly writer?: Writer
  }
}

/** Returns a plan, backward or forward, to its state after an entry. The effect on each task was computed from the journal. */
export interface Rollback {
  readonly type: 'rollback'
  /** The same when the rollback continues after an interruption. */
  readonly id: string
  /** When it was requested, never the current time: backup refs are named after it, so a continued rollback finds its own. */
  readonly at: Millis
  /** `undo` reverts the last rollback. `adopt` merges the changes of a fork; tasks and refs stay. */
  readonly kind: 'rollback' | 'undo' | 'adopt'
  readonly adopts?: Adoption
  readonly undoes?: string
  readonly to: number
  readonly checkpoint?: CheckpointName
  /** The new state of each task that changed since; empty when only files are reverted. */
  readonly resets: readonly Reset[]
  readonly compensate: readonly TaskName[]
  readonly ends?: { readonly status: 'completed' | 'failed' | 'cancelled'; readonly reason: string }
  readonly paths?: readonly string[]
  readonly tasks?: readonly TaskName[]
  readonly filesOnly?: true
  readonly keepGit?: true
  /** Also reverts changes that no task declares, and changes made while a task without a scope ran: perhaps a person's. */
  readonly includeUnclaimed?: true
  /** Continues where a compensation failed, and takes the checkpoint's version of edited files after storing the edits. */
  readonly force?: true
  /** What to do with edited files, by path and by default. */
  readonly choices?: EditChoices
  readonly every?: EditChoice
  readonly reason?: string
  /** The plan failed and declares that all files are reverted then; afterwards it ends as failed, for the reason above. */
  readonly because?: 'failure'
}

export interface ForkAdopted {
  readonly into: PlanId
  readonly name: PlanName
  /** The entry of that plan that records it; null when the fork changed nothing. */
  readonly version: number | null
  readonly folder: 'removed' | 'kept'
  readonly why?: string
}

/** The changes of a fork, for the plan it was forked from. */
export interface Adoption {
  readonly fork: PlanId
  readonly name: PlanName
  readonly changes: Sha256
  readonly snapshot?: Sha256
}

/** The state of a task after a rollback: reopened in a new visit, or ended as it had. */
export interface Reset {
  readonly task: TaskName
  readonly status: 'pending' | 'completed' | 'failed' | 'skipped' | 'abandoned' | 'cancelled'
  readonly result?: Result
  readonly reason?: string
  readonly handled?: true
  readonly dormant?: true
  readonly routedBy?: readonly TaskName[]
  /** The recovery rule that was being followed, and how often each rule had been. */
  readonly recovering?: { readonly rule: number; readonly by: TaskName }
  readonly recoveries?: readonly number[]
  /** The visits that count against the loop bound, so that a loop keeps the bound it had. */
  readonly visits?: number
}

/** Everything that became true since the last turn: one command, one entry, one commit. */
export interface Turn {
  readonly type: 'turn'
  readonly settled?: readonly Settlement[]
  readonly prepared?: readonly { readonly task: TaskName; readonly visit: number; readonly prepared: Prepared }[]
  readonly restored?: readonly FieldsOf<'workspace.restored'>[]
  readonly compensated?: readonly { readonly task: TaskName; readonly result: Result }[]
  readonly committed?: readonly FieldsOf<'git.committed'>[]
  /** The outcome of the rollback with this id; ignored for any other id. */
  readonly rolledBack?: RolledBack
  readonly expanded?: readonly Expanded[]
  /** Questions prepared for gates, and approvals found to be void. */
  readonly gates?: readonly {
    readonly task: TaskName
    readonly visit: number
    /** The hash of the definition it was prepared for; ignored unless it is still the plan's. */
    readonly from: Sha256
    readonly question: GateQuestion
    readonly voids?: string
  }[]
  readonly proposed?: readonly (Proposal | NoProposal)[]
  readonly notices?: readonly FieldsOf<'notice.sent'>[]
  /** What the engine lacks to continue: the plan pauses. */
  readonly shortage?: Shortage
  /** Tasks whose files another plan has reserved; other tasks go first. */
  readonly held?: readonly TaskName[]
  /** False while the process is stopping: settle what ended, start nothing. */
  readonly start?: false
}

/** A recovery rule asked for a revision, and none could be made. */
export interface NoProposal {
  readonly task: TaskName
  readonly base: Sha256
  readonly none: string
}

export interface RolledBack {
  readonly id: string
  readonly outcome: RollbackOutcome
}

/** What was done to files and refs. With a `failure`, how far it came; no file was changed then. */
export interface RollbackOutcome {
  /** The change set of the rollback; null when no file had to change. */
  readonly changes: Sha256 | null
  readonly paths: number
  /** A snapshot of the files before it. */
  readonly saved?: Sha256
  /** Paths that were not restored, and why; at most a hundred. `kept`: by choice. `uncovered`: never stored. */
  readonly left?: readonly {
    readonly path: string
    readonly reason: string
    readonly kept?: true
    readonly uncovered?: true
  }[]
  /** For an adoption: the name of the fork. Then `left` names all of them. */
  readonly adopted?: PlanName
  /** Bytes written by others during the rollback, or between two tasks, stored under their hash. */
  readonly kept?: readonly { readonly path: string; readonly sha256: Sha256 }[]
  readonly git?: readonly GitOperation[]
  readonly failure?: Failure
  readonly conflicts?: readonly string[]
}

/** The items of a `for_each`, and the definition with them. Ignored unless `from` is still the plan's hash. */
export interface Expanded {
  /** The task that found the items, e.g. `fix/items`. */
  readonly task: TaskName
  readonly visit: number
  readonly from: Sha256
  readonly items: readonly Json[]
  readonly definition: PlanDefinition
  readonly hash: Sha256
}

export interface Settlement extends AttemptOf {
  readonly result: Result | Interrupted
}

/** The engine ended the attempt (pause, cancel, shutdown), so its outcome is unknown. */
export interface Interrupted {
  readonly status: 'interrupted'
  readonly reason: string
  /** False when the attempt certainly did nothing; absent when unknown. */
  readonly begun?: false
  /** It was not due yet, and is resumed then. */
  readonly until?: Millis
}

export type CommandType = Command['type']
export type CommandOf<T extends CommandType> = Extract<Command, { readonly type: T }>
