// What may be ordered about a plan, and what comes of it: part of the door of `engine/`. A new order is a row in format/wire/orders.ts
// (its keys) and one in order-table.ts (the right it needs, and what it does); permissions/gate-rules.ts where it could get past a
// gate. One that changes a plan in a new way is also a command of the domain (domain/command.ts).

import type { Event } from '../domain/event.ts'
import type { PlanId, TaskName } from '../domain/id.ts'
import type { TaskDefinition } from '../domain/plan.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { TaskChanges } from '../domain/revisions/merge.ts'
import type { WireOrders } from '../format/wire/declarations.ts'
import type { LeftOut } from '../workspace/workspace.ts'

/** Not the caller, who only passes it on: a planner without a model drafted it, or somebody else wrote it. */
export type WrittenBy = 'planner' | 'others'

/** Where an order in this process says more than one that travels, or says it in the values that travel as documents. */
interface InProcess {
  create: {
    readonly written?: WrittenBy
    /** The folder it works in, where that is not the workspace; whoever orders it makes the folder before the plan runs. */
    readonly folder?: string
  }
  revise: {
    readonly written?: WrittenBy
    /** It is a file of the caller's, which holds these tasks; others in the definition are kept from before. */
    readonly file?: readonly TaskName[]
  }
  /** `shown`: tasks whose commands a person was shown when they approved the plan. `unseen`: nobody has looked at it. */
  start: { readonly shown?: readonly TaskName[]; readonly unseen?: true }
  /** Without the token of the claim, the claim must be the caller's. */
  heartbeat: { readonly token?: string }
  /** `shown`: tasks whose new commands a person was shown. */
  judge: { readonly shown?: readonly TaskName[] }
  add: { readonly tasks: readonly TaskDefinition[] }
  change: { readonly set: TaskChanges; readonly unset?: never }
  /** Gates that were passed ask again, where what they let go on is still to be done: for whoever may not decide at them. */
  fork: { readonly gates?: 'asked again' }
}

/** What may be ordered, by its type: the keys are those of format/wire/orders.ts. Ids, hashes and tokens are made by the engine. */
export type Orders = {
  readonly [T in keyof WireOrders]: T extends keyof InProcess
    ? Omit<WireOrders[T], keyof InProcess[T]> & InProcess[T]
    : WireOrders[T]
}
export type OrderType = keyof Orders
export type Order = Orders[OrderType]

/** Made from the definition as it stands when it is written, whoever else wrote meanwhile. */
export type RevisingOrder = Orders['add' | 'change' | 'remove' | 'reorder' | 'outline']
export type ReplanningOrder = Orders['propose' | 'judge' | 'assess' | 'append']

export type RollbackAsk = Omit<Orders['rollback'], 'type'>
export type RestoreAsk = Omit<Orders['restore'], 'type'>
export type ForkAsk = Omit<Orders['fork'], 'type'>
/** How the work of a fork is brought into the plan it was made from. */
export type AdoptAsk = Omit<Orders['adopt'], 'type'>

/** What came of an `adopt`. */
export type Adopted =
  /** Whoever drives that plan carries it out; then the same order again settles it. */
  | { readonly status: 'ordered'; readonly into: { readonly plan: PlanId; readonly name: string } }
  | {
      readonly status: 'settled'
      readonly into: { readonly plan: PlanId; readonly name: string }
      readonly folder: 'removed' | 'kept'
      readonly why?: string
    }

/** What a fork begins with. */
export interface Forked {
  /** The entry of the other plan it goes on from. */
  readonly from: number
  readonly ended: readonly TaskName[]
  readonly open: readonly TaskName[]
  readonly works:
    | { readonly in: 'workspace' }
    | {
        readonly in: 'folder' | 'worktree'
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
