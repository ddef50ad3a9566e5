// Every order that can be given about a plan, and what it answers: part of the door of `engine/`. A new order is added here, to
// `EngineLocal` (engine-local.ts), to the rights it needs (permissions/needed-rights.ts; gate-rules.ts where it could get past a gate)
// and to the wire (format/wire/orders.ts). One that changes a plan in a new way is also a command of the domain (domain/command.ts).

import type { CommandOf, Decide, UnsafeWork } from '../domain/command.ts'
import type { EditChoice, EditChoices, Event, ImportedTask } from '../domain/event.ts'
import type { PlanId, TaskName } from '../domain/id.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import type { Field, PlanDefinition, PlanSource, TaskDefinition } from '../domain/plan.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { Result } from '../domain/result.ts'
import type { PlanChanges, TaskChanges } from '../domain/revisions/merge.ts'
import type { Conversation } from '../stores/store.ts'
import type { Choice, LeftOut } from '../workspace/workspace.ts'

export interface RestoreAsk {
  readonly paths: readonly string[]
  /** Of the version, or its first digits; the last one that was replaced when absent. */
  readonly hash?: string
  /** Where something else stands by now: keep that, take the kept version after storing what stands there, or merge both. */
  readonly every?: Choice
}

export type EditingOrder = RevisingOrder | KeepingOrder

/** Made from the definition as it stands when it is written, whoever else wrote meanwhile. */
export type RevisingOrder = Revising & {
  readonly rationale?: string
  /** Refused when the plan has another by then. */
  readonly expectedRevision?: number
}

export type Revising =
  /** At the end of the plan. To a draft, plain tasks are added one by one at a constant cost; anything else is a revision. */
  | { readonly type: 'add'; readonly tasks: readonly TaskDefinition[] }
  /** `extra` is merged key by key; null takes a key away. */
  | { readonly type: 'change'; readonly task: TaskName; readonly set: TaskChanges; readonly extra?: JsonObject }
  /** Refused while others need them. */
  | { readonly type: 'remove'; readonly tasks: readonly TaskName[] }
  /** These first, in this order; all others behind them, as they stood. */
  | { readonly type: 'reorder'; readonly order: readonly TaskName[] }
  /** What the plan says of itself; null takes it away. `extra` is merged key by key. */
  | { readonly type: 'outline'; readonly set: PlanChanges; readonly extra?: JsonObject }

export type KeepingOrder =
  /** Kept beside the plan or the task and never followed; merged key by key, null takes a key away. */
  | { readonly type: 'annotate'; readonly set: JsonObject; readonly task?: TaskName }
  /** Its id is in the event. */
  | {
      readonly type: 'evaluate'
      readonly task: TaskName
      readonly score?: number
      readonly passed?: boolean
      readonly data?: Json
    }
  /** Somebody's word about the whole plan. What is open is passed over in their name. */
  | { readonly type: 'finish'; readonly as: 'completed' | 'failed'; readonly reason: string }

export type ReplanningOrder =
  /** A revision that takes effect when somebody agrees to it, or at once where the policy says so. */
  | {
      readonly type: 'propose'
      readonly definition: PlanDefinition
      readonly rationale: string
      readonly source?: PlanSource
      readonly cause?: string
      readonly task?: TaskName
      readonly expectedRevision?: number
    }
  /** Accepts or declines a proposed revision, as it was seen. `shown`: tasks whose new commands a person was shown. */
  | (Omit<CommandOf<'judge'>, 'by' | 'writer'> & { readonly shown?: readonly TaskName[] })
  /** Judges the definition of done against the workspace, in a round of its own. */
  | { readonly type: 'assess' /** No check takes longer. */; readonly timeoutMs?: number }
  /** Adds a task for each criterion that did not hold in the last round: with this script, or for whoever claims it. */
  | { readonly type: 'append'; readonly with?: string }

/** How the work of a fork is brought into the plan it was made from. */
export interface AdoptAsk {
  /** Another plan to record it in, by name or UUID; the nearest ancestor with a folder when absent. */
  readonly into?: string
  /** For single paths that changed there since the fork was made. */
  readonly choices?: EditChoices
  /** For all other such paths. */
  readonly every?: EditChoice
  /** Leave the folder of the fork where it is. */
  readonly keepFolder?: true
  /** Remove the folder although it holds ignored files, which no snapshot has. */
  readonly removeIgnored?: true
}

/** What came of an `adopt`. */
export type Adopted =
  /** Whoever drives that plan carries it out; then the same order again settles it. */
  | { readonly status: 'ordered'; readonly into: { readonly plan: PlanId; readonly name: string } }
  | {
      readonly status: 'settled'
      readonly into: { readonly plan: PlanId; readonly name: string }
      readonly folder: 'removed' | 'kept'
      /** Why it was kept. */
      readonly why?: string
    }

/** From where, and with what else. */
export interface ForkAsk {
  /** A task (where it had ended), `before:TASK`, a checkpoint, or the number of an entry. */
  readonly from: string
  /** `<plan>-fork`, numbered, when absent. */
  readonly name?: string
  /** By `task.key`, for tasks that are open there. */
  readonly inputs?: { readonly [place: string]: Json }
  /** Another definition than that of then. */
  readonly definition?: PlanDefinition
  readonly source?: PlanSource
  /** For open tasks that ask a model. */
  readonly model?: string
  /** Work in the workspace as it is, instead of in a folder of its own. */
  readonly here?: true
  /** Gates that were passed ask again, where what they let go on is still to be done: for whoever may not decide at them. */
  readonly gates?: 'asked again'
}

/** What a fork begins with. */
export interface Forked {
  /** The entry of the other plan it goes on from. */
  readonly from: number
  /** Brought along with what they left. */
  readonly ended: readonly TaskName[]
  readonly open: readonly TaskName[]
  readonly works:
    | { readonly in: 'workspace' }
    | {
        readonly in: 'folder' | 'worktree'
        /** Relative to the workspace. */
        readonly place: string
        readonly files: number
        /** What is not there: ignored, or never stored. */
        readonly left: { readonly paths: number; readonly first: readonly LeftOut[] }
        /** Files the plan never wrote: as they were at that entry, or as they are now. */
        readonly others: 'then' | 'now'
        /** Tasks that worked since without anybody looking at what they wrote: their files are as they are now. */
        readonly unseen: readonly TaskName[]
        /** Files that are in no commit, and were copied with the others. */
        readonly uncommitted: { readonly paths: number; readonly first: readonly string[] }
        /** Why it is no worktree although there is a repository. */
        readonly why?: string
      }
}

/** Where to, and how much of it. */
export interface RollbackAsk {
  /** A checkpoint, a task, `before:TASK`, or the number of an entry; before the first task when absent. */
  readonly to?: string
  /** Only these paths or patterns; tasks stay as they are. */
  readonly files?: readonly string[]
  /** Only what these tasks wrote; they and what came after them are open again. */
  readonly tasks?: readonly TaskName[]
  readonly filesOnly?: true
  readonly keepGit?: true
  /** Also paths that no task declares and that changed while a task without a scope ran. Without it they stay, and are named. */
  readonly includeUnclaimed?: true
  readonly force?: true
  /** For single paths where somebody has worked since. */
  readonly choices?: EditChoices
  /** For all other such paths. */
  readonly every?: EditChoice
}

/** Not the caller, who only passes it on: a planner without a model drafted it, or somebody else wrote it. */
export type WrittenBy = 'planner' | 'others'

/** What a face may order. Ids, hashes and tokens are made by the engine. */
export type Order =
  | {
      readonly type: 'create'
      readonly definition: PlanDefinition
      readonly origin?: PlanId
      readonly session?: string
      /** What its session holds of it: written in the same transaction as the plan. */
      readonly conversation?: Conversation
      readonly goal?: string
      /** Who is to carry it out. */
      readonly agent?: string
      /** `number` makes `name-2`, `name-3` … when the name is taken. */
      readonly taken?: 'refuse' | 'number'
      readonly source?: PlanSource
      readonly imported?: readonly ImportedTask[]
      readonly written?: WrittenBy
      /** The folder it works in, where that is not the workspace; whoever orders it makes the folder before the plan runs. */
      readonly folder?: string
    }
  | {
      readonly type: 'revise'
      readonly definition: PlanDefinition
      readonly rationale: string
      readonly source?: PlanSource
      readonly expectedRevision?: number
      /** A plan that failed goes on by it, also when the definition is the same. */
      readonly goOn?: UnsafeWork
      readonly written?: WrittenBy
      /** It is a file of the caller's, which holds these tasks; others in the definition are kept from before. */
      readonly file?: readonly TaskName[]
    }
  /** `shown`: tasks whose commands a person was shown when they approved the plan. `unseen`: nobody has looked at it. */
  | { readonly type: 'start'; readonly shown?: readonly TaskName[]; readonly unseen?: true }
  | Omit<CommandOf<'pause'>, 'halt'>
  | CommandOf<'resume'>
  | CommandOf<'cancel'>
  | CommandOf<'archive'>
  /** `alone`: only while no other task of the plan is running. */
  | { readonly type: 'claim'; readonly task?: TaskName; readonly leaseMs?: number; readonly alone?: true }
  /** Without the token of the claim, the claim must be the caller's. */
  | { readonly type: 'heartbeat'; readonly task: TaskName; readonly token?: string; readonly leaseMs?: number }
  /** Gives a claim back, whoever holds it; what was changed since the claim is written down. */
  | { readonly type: 'release'; readonly task: TaskName; readonly reason?: string }
  | {
      readonly type: 'report'
      readonly task: TaskName
      readonly token?: string
      readonly result: Result
      /** Patterns of what has changed outside its scope since the claim, and is somebody else's. */
      readonly notMine?: readonly string[]
    }
  /** `edits` is a whole revised document: approved as it stands there. */
  | (Omit<Decide, 'by' | 'edits'> & { readonly edits?: GateEdits })
  /** Several gates in one review: all of them are decided, or none. Each with the hash of what was seen. */
  | { readonly type: 'review'; readonly decisions: readonly Omit<Decide, 'type' | 'by' | 'edits'>[] }
  /** A question in the middle of somebody's work; its id is in the event. */
  | { readonly type: 'ask'; readonly text: string; readonly form: readonly Field[]; readonly task?: TaskName }
  | { readonly type: 'answer'; readonly id: string; readonly answers: JsonObject }
  | ReplanningOrder
  | EditingOrder
  /** More may be spent; only a person may say so. */
  | Omit<CommandOf<'raise'>, 'by'>
  | CommandOf<'retry'>
  | CommandOf<'skip'>
  | CommandOf<'note'>
  /** All files are stored first; without a name it is called after the time. */
  | { readonly type: 'checkpoint'; readonly name?: string }
  /** Refused where somebody has worked since and nobody chose. Whoever drives the plan carries it out. */
  | ({ readonly type: 'rollback' } & RollbackAsk)
  /** A new plan that goes on from where this one stood; this one and its files stay as they are. */
  | ({ readonly type: 'fork' } & ForkAsk)
  /** Brings back versions of files that had been set back. Refused where something else stands and nobody chose. */
  | ({ readonly type: 'restore' } & RestoreAsk)
  /** Of a fork: its work is brought into the plan it was made from, whose journal `undo` takes it back with. */
  | ({ readonly type: 'adopt' } & AdoptAsk)
  /** Takes back the last rollback; twice is a redo. */
  | ({ readonly type: 'undo' } & Pick<RollbackAsk, 'choices' | 'every' | 'force' | 'keepGit' | 'includeUnclaimed'>)

/** What somebody makes of the plan while they approve it. */
export interface GateEdits {
  readonly definition: PlanDefinition
  readonly source?: PlanSource
}

export type Submitted =
  | {
      readonly ok: true
      readonly plan: PlanId
      readonly name: string
      readonly version: number
      readonly events: readonly Event[] /** For `claim`. */
      readonly claim?: { readonly task: TaskName; readonly token: string; readonly expiresInMs: number }
      /** For `fork`; the plan told of is the new one. */
      readonly fork?: Forked
      /** For `adopt`; the plan told of is the one it is recorded in while it is ordered, then the fork. */
      readonly adopted?: Adopted
      /** It was ordered before under the same key: version and events are those of then. */
      readonly replayed?: true
    }
  | { readonly ok: false; readonly refusal: Refusal }
