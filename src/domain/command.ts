// What is asked, in the imperative. `create` makes a plan; every other command is for a plan that exists. The engine's own
// commands are `recover` (once, when a loop takes a plan) and `turn` (one turn of the loop); all others come from people
// and agents through a face.

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
import type { Failure, Found, LostOutput, Prepared, Result, Standing, Wrote } from './result.ts'
import type { Shortage } from './shortage.ts'

export type Command =
  /** `imported`: tasks that had ended when the plan was written. */
  | ({ readonly type: 'create'; readonly imported?: readonly ImportedTask[] } & FieldsOf<'plan.created'>)
  | ({
      readonly type: 'revise'
      readonly expectedRevision?: number
      readonly reopen?: true
      /** A plan that failed goes on by it, also when the definition is the same: what failed, was undone or was changed runs again. */
      readonly goOn?: UnsafeWork
    } & PolicyAgain &
      Omit<FieldsOf<'plan.revised'>, 'revision' | 'proposal'>)
  /** Appends plain tasks to a draft, at a cost that does not grow with it; anything else is a revision. */
  | { readonly type: 'add'; readonly tasks: readonly TaskDefinition[]; readonly writer?: Writer }
  /** What a client keeps beside the plan or a task: never followed. Merged key by key; null takes a key away. */
  | { readonly type: 'annotate'; readonly set: JsonObject; readonly by: string; readonly task?: TaskName }
  | ({ readonly type: 'evaluate' } & Omit<FieldsOf<'task.evaluated'>, 'visit'>)
  /** Somebody's word about the whole plan. `start`: how a draft is started by it. */
  | {
      readonly type: 'finish'
      readonly as: 'completed' | 'failed'
      readonly reason: string
      readonly by: string
      readonly start?: Omit<Start, 'type'>
    }
  /** `rules`: those of the program that starts it. `files`: are all files looked at around tasks without a scope? */
  | Start
  /** With `force` also what may not be run again is ended; it is parked. */
  | {
      readonly type: 'pause'
      readonly reason?: string
      readonly force?: true
      readonly halt?: boolean
      readonly cause?: Shortage
    }
  /** `policy`, here and below: the policy around the plan was read again, and says something else than at the start. `changed`: in these files. */
  | ({ readonly type: 'resume' } & PolicyAgain)
  | { readonly type: 'cancel'; readonly reason?: string; readonly force?: boolean }
  | { readonly type: 'archive' }
  /** `lastSign`: processes of the plan lived then. `lost`: outputs that changed; absent: none, or said before. */
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
      /** What was captured before the agent begins. */
      readonly prepared?: Pick<Prepared, 'preimage' | 'before' | 'around' | 'unwatched' | 'reserves'>
      /** What whoever claims it would do, of a task before which somebody must agree. */
      readonly consent?: Found
    }
  | {
      readonly type: 'report'
      readonly task: TaskName
      readonly token?: string
      /** The token must be that of a claim that holds. Absent in journals from before it was asked for. */
      readonly held?: true
      readonly by: string
      readonly result: Result
      /** It was reported as done, and judged not to be: the attempt goes on until its limit. Absent in journals from before that. */
      readonly unaccepted?: true
      /** Changes outside its scope that nobody has explained: the report waits. Absent in journals from before that was looked at. */
      readonly outside?: readonly string[]
      /** As with a claim, when nobody has claimed it. */
      readonly consent?: Found
    }
  /** `wrote`: what had changed since it was claimed, when somebody looked. */
  | {
      readonly type: 'lapse'
      readonly task: TaskName
      readonly token: string
      readonly reason: string
      readonly wrote?: Wrote
      readonly released?: true
    }
  | Decide
  /** Several gates in one review: all of them are decided, or none. */
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
      readonly stamp?: Standing
      /** `changes`: a person has seen what it changes, and makes it theirs. */
      readonly writer?: Writer
    }
  | ({ readonly type: 'assess' } & FieldsOf<'assessment.made'>)
  /** `by`, of these: who asks; absent in journals from before it was said. */
  | ({
      readonly type: 'retry'
      readonly task: TaskName
      readonly reason?: string
      readonly by?: string
      /** Completed tasks whose effect is unsafe are done a second time on purpose. */
      readonly repeat?: true
    } & PolicyAgain)
  | { readonly type: 'skip'; readonly task: TaskName; readonly reason: string; readonly by?: string }
  | ({ readonly type: 'restore' } & FieldsOf<'files.restored'>)
  | ({ readonly type: 'note' } & FieldsOf<'note.added'>)
  | {
      readonly type: 'checkpoint'
      readonly name: CheckpointName
      readonly standing: Standing
      readonly why?: 'ended'
    }
  | ({ readonly type: 'adopted' } & ForkAdopted)
  | ({ readonly type: 'place' } & FieldsOf<'place.made'>)
  | Rollback
  | ({ readonly type: 'network' } & NetworkDecided)
  /** An attempt is about to call a model: the most that the call can use. */
  | ({
      readonly type: 'reserve'
      readonly id: string
      readonly spend: Spend
      readonly settings?: SettingsCaps
    } & AttemptOf)
  | { readonly type: 'settle'; readonly id: string; readonly actual: Spend }
  | { readonly type: 'raise'; readonly add: Amounts; readonly task?: TaskName; readonly by: string }

/** What becomes of completed work that is unsafe to repeat and would run again, because it or what it needs changed. */
export type UnsafeWork = 'refuse' | 'repeat' | 'keep'

export interface Start extends Omit<FieldsOf<'plan.started'>, 'sandboxOff'> {
  readonly type: 'start'
  /** Of journals from before a person's own plan ran without a sandbox: the id of the question that asks first. */
  readonly asks?: string
}

/** A person's answer to a gate. */
export interface Decide {
  readonly type: 'decide'
  readonly task: TaskName
  readonly verdict: GateVerdict
  readonly rationale: string
  /** Who decides; absent in journals from before it was said. */
  readonly by?: string
  /** Of what was seen; when the gate asks about something else by now, the answer is refused. */
  readonly hash?: Sha256
  /** Approved without having seen what it approves; absent in journals from before it was said. */
  readonly unseen?: true
  readonly until?: Millis
  readonly option?: string
  /** What else is chosen for single paths, of edits that would be set back. */
  readonly choices?: EditChoices
  readonly answers?: JsonObject
  /** Of `pushed-back`: the task that is done again. */
  readonly to?: TaskName
  /** Approved with these edits: they become a revision, and the approval agrees to that. */
  readonly edits?: {
    readonly definition: PlanDefinition
    readonly hash: Sha256
    readonly source?: PlanSource
    readonly binds: { readonly [task: string]: Sha256 }
    /** Who wrote them; absent: not the person. */
    readonly writer?: Writer
  }
}

/** Go back, or forward again, to where the plan stood at an entry. What it means was worked out from the journal before. */
export interface Rollback {
  readonly type: 'rollback'
  /** Made for it; a rollback that was cut off is known by it. */
  readonly id: string
  /** When it was asked for; refs that keep what is taken off a branch are named after it. */
  readonly at: Millis
  /** `undo` takes back the last rollback. `adopt` brings in what a fork changed; tasks and refs stay as they are. */
  readonly kind: 'rollback' | 'undo' | 'adopt'
  /** Of `adopt`: the fork, and what it changed. */
  readonly adopts?: Adoption
  readonly undoes?: string
  /** The entry after which the plan stood as it shall stand again. */
  readonly to: number
  readonly checkpoint?: CheckpointName
  /** What becomes of each task that has moved since; none when only files go back. */
  readonly resets: readonly Reset[]
  /** Completed tasks whose declared compensation is to be run, last first. */
  readonly compensate: readonly TaskName[]
  readonly ends?: { readonly status: 'completed' | 'failed' | 'cancelled'; readonly reason: string }
  readonly paths?: readonly string[]
  readonly tasks?: readonly TaskName[]
  readonly filesOnly?: true
  readonly keepGit?: true
  /** Also what no task declares and what changed while a task without a scope ran: perhaps a person's. */
  readonly includeUnclaimed?: true
  /** Go on where a compensation failed; take the checkpoint's side where somebody has worked since, after storing theirs. */
  readonly force?: true
  /** What to do where somebody has worked since, path by path, and everywhere else. */
  readonly choices?: EditChoices
  readonly every?: EditChoice
  readonly reason?: string
  /** The plan failed and says that all files go back then; afterwards it ends failed, for the reason above. */
  readonly because?: 'failure'
}

/** Where the work of a fork was brought, and what became of its folder. */
export interface ForkAdopted {
  readonly into: PlanId
  readonly name: PlanName
  /** The entry of that plan which says so; null when the fork had changed nothing. */
  readonly version: number | null
  readonly folder: 'removed' | 'kept'
  readonly why?: string
}

/** The work of a fork, as it is brought into the plan it was made from. */
export interface Adoption {
  readonly fork: PlanId
  readonly name: PlanName
  /** The change set, from what the fork began with to what it left. */
  readonly changes: Sha256
  /** All files of the fork, when they were stored. */
  readonly snapshot?: Sha256
}

/** How a task stands after a rollback: open again in a new visit, or ended as it had. */
export interface Reset {
  readonly task: TaskName
  readonly status: 'pending' | 'completed' | 'failed' | 'skipped' | 'abandoned' | 'cancelled'
  readonly result?: Result
  readonly reason?: string
  readonly handled?: true
  readonly dormant?: true
  readonly routedBy?: readonly TaskName[]
  /** Which rule was being followed about its failure, and how often each had been. */
  readonly recovering?: { readonly rule: number; readonly by: TaskName }
  readonly recoveries?: readonly number[]
  /** How many visits count for it, so that a loop may go round as often as it could then. */
  readonly visits?: number
}

/** Everything that became true since the last turn, in one command, one entry, one commit. */
export interface Turn {
  readonly type: 'turn'
  readonly settled?: readonly Settlement[]
  readonly prepared?: readonly { readonly task: TaskName; readonly visit: number; readonly prepared: Prepared }[]
  readonly restored?: readonly FieldsOf<'workspace.restored'>[]
  readonly compensated?: readonly { readonly task: TaskName; readonly result: Result }[]
  /** What was committed for tasks that are done. */
  readonly committed?: readonly FieldsOf<'git.committed'>[]
  /** How the rollback of this id ended; of another one it is told too late, or again. */
  readonly rolledBack?: RolledBack
  readonly expanded?: readonly Expanded[]
  /** Gates that were made ready to be asked, and approvals found to be for something else by now. */
  readonly gates?: readonly {
    readonly task: TaskName
    readonly visit: number
    /** The hash of the definition it was made for; believed only while that is the plan's. */
    readonly from: Sha256
    readonly question: GateQuestion
    /** Why an approval that had been given does not count. */
    readonly voids?: string
  }[]
  /** Revisions that rules and templates propose, or why none could be. */
  readonly proposed?: readonly (Proposal | NoProposal)[]
  readonly notices?: readonly FieldsOf<'notice.sent'>[]
  /** What the engine itself lacks to go on: the plan is paused. */
  readonly shortage?: Shortage
  /** Tasks whose files another plan has reserved: others in line go before them. */
  readonly held?: readonly TaskName[]
  /** False while the process is stopping: settle what ended, start nothing. */
  readonly start?: false
}

/** A rule asks for a revision, and nothing could be made of it. */
export interface NoProposal {
  readonly task: TaskName
  readonly base: Sha256
  readonly none: string
}

export interface RolledBack {
  readonly id: string
  readonly outcome: RollbackOutcome
}

/** What was done to files and refs. With a `failure`, that is how far it came; no file was changed then. */
export interface RollbackOutcome {
  /** The blob that lists what the rollback changed; null when no file had to change. */
  readonly changes: Sha256 | null
  readonly paths: number
  /** A snapshot of what stood there before. */
  readonly saved?: Sha256
  /** Paths that are not as they were then, and why; at most a hundred. `kept`: by somebody's choice. `uncovered`: never stored. */
  readonly left?: readonly {
    readonly path: string
    readonly reason: string
    readonly kept?: true
    readonly uncovered?: true
  }[]
  /** Of an adoption: the name of the fork. Then `left` names all of them. */
  readonly adopted?: PlanName
  /** Bytes somebody wrote while it worked, or between two tasks, kept under their hash. */
  readonly kept?: readonly { readonly path: string; readonly sha256: Sha256 }[]
  readonly git?: readonly GitOperation[]
  readonly failure?: Failure
  /** Where somebody has worked since and nobody chose. */
  readonly conflicts?: readonly string[]
}

/** The items a `for_each` goes through, and the definition that binds them. Believed only while `from` is the plan's hash. */
export interface Expanded {
  /** The task that found them, e.g. `fix/items`. */
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

/** Ended by us in the middle (pause, cancel, shutdown): an unknown outcome by our own hand. */
export interface Interrupted {
  readonly status: 'interrupted'
  readonly reason: string
  /** False where it is certain that the attempt did nothing; absent when nobody knows. */
  readonly begun?: false
  /** Its time has not come; then it is taken up again. */
  readonly until?: Millis
}

export type CommandType = Command['type']
export type CommandOf<T extends CommandType> = Extract<Command, { readonly type: T }>
