// What is asked, in the imperative. `create` makes a plan; every other command is for a plan that exists. The engine's own
// commands are `recover` (once, when a loop takes a plan) and `turn` (one turn of the loop); all others come from people
// and agents through a face.

import type { Amounts, SettingsCaps, Spend } from './budget/amounts.ts'
import type {
  EditChoice,
  EditChoices,
  EventOf,
  GateQuestion,
  GateVerdict,
  ImportedTask,
  NotePlace,
  Proposal,
  Question,
} from './event.ts'
import type { CheckpointName, Millis, PlanId, PlanName, Sha256, TaskName } from './id.ts'
import type { Json, JsonObject } from './json.ts'
import type { NetworkDecided } from './network-decision.ts'
import type { NoticeKind, PlanDefinition, PlanSource, SandboxMode, TaskDefinition, Writer } from './plan.ts'
import type { GitOperation } from './plan-rules/git-operation.ts'
import type { PolicyAgain, PolicyLayer } from './policy/policy-layer.ts'
import type { Failure, Found, LostOutput, Prepared, Result, Standing, Verdict, Wrote } from './result.ts'
import type { Shortage } from './shortage.ts'

export type Command =
  | {
      readonly type: 'create'
      readonly plan: PlanId
      readonly definition: PlanDefinition
      readonly hash: Sha256
      readonly origin?: PlanId
      readonly session?: string
      readonly goal?: string
      /** Who is to carry it out. */
      readonly agent?: string
      readonly source?: PlanSource
      /** It came from elsewhere: over the network, from another format, from a model or an agent. */
      readonly outside?: true
      /** Who wrote it; `others` are the tasks of a copied plan that are not theirs. */
      readonly writer?: Writer
      readonly others?: readonly TaskName[]
      /** Tasks that had ended when the plan was written. */
      readonly imported?: readonly ImportedTask[]
      /** The folder it works in, relative to the workspace; the workspace itself when absent. */
      readonly place?: string
      /** The entry of `origin` it goes on from. */
      readonly forkedAt?: number
      /** All files of the folder the fork begins in: what it changes is found by comparing with them. */
      readonly start?: Sha256
    }
  | {
      readonly type: 'revise'
      readonly policy?: readonly PolicyLayer[]
      readonly changed?: readonly string[]
      readonly definition: PlanDefinition
      readonly hash: Sha256
      readonly rationale: string
      readonly source?: PlanSource
      readonly expectedRevision?: number
      /** A plan that has ended is taken up again by it. */
      readonly reopen?: true
      /** A plan that failed goes on by it, also when the definition is the same: what failed, was undone or was changed runs again. */
      readonly goOn?: UnsafeWork
      /** How the world stands, for whoever asks later what has moved since. */
      readonly stamp?: Standing
      /** Who wrote it; absent: not the person. `others`: of their file, what they did not write in it. */
      readonly writer?: Writer
      readonly others?: readonly TaskName[]
    }
  /** Appends plain tasks to a draft, at a cost that does not grow with it; anything else is a revision. */
  | { readonly type: 'add'; readonly tasks: readonly TaskDefinition[]; readonly writer?: Writer }
  /** What a client keeps beside the plan or a task: never followed. Merged key by key; null takes a key away. */
  | { readonly type: 'annotate'; readonly set: JsonObject; readonly by: string; readonly task?: TaskName }
  | {
      readonly type: 'evaluate'
      readonly task: TaskName
      readonly id: string
      readonly by: string
      readonly score?: number
      readonly passed?: boolean
      readonly data?: Json
    }
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
      /** Of a pause by force: whether everything is halted. */
      readonly halt?: boolean
      readonly cause?: Shortage
    }
  /** `policy`, here and below: the policy around the plan was read again, and says something else than at the start. `changed`: in these files. */
  | ({ readonly type: 'resume' } & PolicyAgain)
  | { readonly type: 'cancel'; readonly reason?: string; readonly force?: boolean }
  | { readonly type: 'archive' }
  /**
   * `lastSign`: the last moment at which processes of the plan are known to have lived. `lost`: declared outputs that are not as they
   * were left; absent when all are, and nobody was told otherwise before.
   */
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
      /** Somebody gave it back before its time was over. */
      readonly released?: true
    }
  | Decide
  /** Several gates in one review: all of them are decided, or none. */
  | { readonly type: 'review'; readonly decisions: readonly Decide[] }
  | ({ readonly type: 'ask' } & Question)
  | { readonly type: 'answer'; readonly id: string; readonly answers: JsonObject; readonly by: string }
  | ({ readonly type: 'propose' } & Proposal)
  /** Accepts or declines a proposal; `hash` is that of the proposal as it was seen. */
  | {
      readonly type: 'judge'
      readonly id: string
      readonly hash: Sha256
      readonly verdict: 'accepted' | 'declined'
      readonly rationale: string
      readonly by: string
      /** Accepted without having seen it. */
      readonly unseen?: true
      readonly stamp?: Standing
      /** `changes`: a person has seen what it changes, and makes it theirs. */
      readonly writer?: Writer
    }
  /** The definition of done as it was judged in a round of `converge`. */
  | { readonly type: 'assess'; readonly round: number; readonly verdicts: readonly Verdict[] }
  /** `by`, of these: who asks; absent in journals from before it was said. */
  | {
      readonly type: 'retry'
      readonly policy?: readonly PolicyLayer[]
      readonly changed?: readonly string[]
      readonly task: TaskName
      readonly reason?: string
      readonly by?: string
      /** Completed tasks whose effect is unsafe are done a second time on purpose. */
      readonly repeat?: true
    }
  | { readonly type: 'skip'; readonly task: TaskName; readonly reason: string; readonly by?: string }
  /** Files that had been set back were brought back. */
  | ({ readonly type: 'restore' } & Omit<EventOf<'files.restored'>, 'type'>)
  | { readonly type: 'note'; readonly text: string; readonly task?: TaskName; readonly place?: NotePlace }
  | {
      readonly type: 'checkpoint'
      readonly name: CheckpointName
      readonly standing: Standing
      /** A fork has ended: its files are stored, so that they can be adopted without its folder. */
      readonly why?: 'ended'
    }
  /** The work of this fork was brought into another plan. */
  | ({ readonly type: 'adopted' } & ForkAdopted)
  /** The worktree the plan works in was made. */
  | { readonly type: 'place'; readonly operations: readonly GitOperation[] }
  | Rollback
  /** What the proxy of a sandbox answered to commands of a task. */
  | ({ readonly type: 'network' } & NetworkDecided)
  /** An attempt is about to call a model: the most that the call can use. */
  | {
      readonly type: 'reserve'
      readonly id: string
      readonly task: TaskName
      readonly visit: number
      readonly attempt: number
      readonly spend: Spend
      /** What the settings of whoever runs it say at this time. */
      readonly settings?: SettingsCaps
    }
  /** What it really used. */
  | { readonly type: 'settle'; readonly id: string; readonly actual: Spend }
  /** A person allows more to be spent. */
  | { readonly type: 'raise'; readonly add: Amounts; readonly task?: TaskName; readonly by: string }

/**
 * Of a plan that goes on: what becomes of completed work that is unsafe to repeat and would run again, because it was changed or
 * because what it needs runs again.
 */
export type UnsafeWork = 'refuse' | 'repeat' | 'keep'

export interface Start {
  readonly type: 'start'
  readonly rules: number
  readonly files?: 'seen'
  readonly sandbox?: SandboxMode | 'by-task'
  /** Of journals from before a person's own plan ran without a sandbox: the id of the question that asks first. */
  readonly asks?: string
  /** A person approves the draft of a planner, or commands that they were shown. */
  readonly approves?: 'draft' | readonly TaskName[]
  /** It has a budget: what it spends is counted. */
  readonly budget?: 'kept'
  /** What organisation, user and project say about every plan here; absent where they say nothing. */
  readonly policy?: readonly PolicyLayer[]
  readonly stamp?: Standing
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
  /** Until when an approval may be used. */
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
    /** What the tasks would do then. */
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
  /** Of `undo`: the fork whose adoption is taken back. */
  readonly undoes?: string
  /** The entry after which the plan stood as it shall stand again. */
  readonly to: number
  /** The checkpoint it is known by. */
  readonly checkpoint?: CheckpointName
  /** What becomes of each task that has moved since; none when only files go back. */
  readonly resets: readonly Reset[]
  /** Completed tasks whose declared compensation is to be run, last first. */
  readonly compensate: readonly TaskName[]
  /** How the plan had ended there, when it had. */
  readonly ends?: { readonly status: 'completed' | 'failed' | 'cancelled'; readonly reason: string }
  /** Only these paths; all that were written since when absent. */
  readonly paths?: readonly string[]
  /** Only what these tasks wrote. */
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
  /** Why the folder was kept. */
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
  readonly restored?: readonly {
    readonly task: TaskName
    readonly to: Sha256
    readonly saved: Sha256
    readonly files?: readonly string[]
    readonly more?: number
    readonly kept?: readonly string[]
  }[]
  readonly compensated?: readonly { readonly task: TaskName; readonly result: Result }[]
  /** What was committed for tasks that are done. */
  readonly committed?: readonly {
    readonly task: TaskName
    readonly visit: number
    readonly operations: readonly GitOperation[]
    readonly failure?: Failure
  }[]
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
  readonly notices?: readonly {
    readonly id: string
    readonly kind: NoticeKind
    readonly to: string
    readonly task?: TaskName
    readonly failure?: string
  }[]
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

export interface Settlement {
  readonly task: TaskName
  readonly visit: number
  readonly attempt: number
  readonly result: Result | Interrupted
}

/** Ended by us in the middle (pause, cancel, shutdown): an unknown outcome by our own hand. */
export interface Interrupted {
  readonly status: 'interrupted'
  readonly reason: string
  /** False where it is certain that the attempt did nothing; absent when nobody knows. */
  readonly begun?: false
}

export type CommandType = Command['type']
export type CommandOf<T extends CommandType> = Extract<Command, { readonly type: T }>
