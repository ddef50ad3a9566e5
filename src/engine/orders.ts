// The orders about a plan, and their answers: part of the door of `engine/`. A new order is a row in format/wire/orders.ts (its keys) and
// one in order-table.ts (its right, and what it does); also in permissions/gate-rules.ts if it could bypass a gate. If it changes a plan in
// a new way, it is also a command of the domain (domain/command.ts).

import type { Event } from '../domain/event.ts'
import type { PlanId, TaskName } from '../domain/id.ts'
import type { ProposedMemory } from '../domain/memory/memory-items.ts'
import type { TaskDefinition } from '../domain/plan.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { TaskChanges } from '../domain/revisions/merge.ts'
import type { WireOrders } from '../format/wire/declarations.ts'
import type { LeftOut } from '../workspace/workspace.ts'

/** The author, if that is not the caller, who only passes it on: a planner without a model, or anybody else. */
export type WrittenBy = 'planner' | 'others'

/** Options of orders in this process that cannot be sent over HTTP, or are sent as documents. */
interface InProcess {
  create: {
    readonly written?: WrittenBy
    /** The folder the plan works in, if that is not the workspace. The caller creates it before the plan runs. */
    readonly folder?: string
    /** Contents that results of `imported` name by their hash. */
    readonly contents?: readonly Uint8Array[]
  }
  revise: {
    readonly written?: WrittenBy
    /** The caller's own file contains these tasks; other tasks of the definition are kept from before. */
    readonly file?: readonly TaskName[]
  }
  /** `shown`: tasks whose commands were shown to the person who approved the plan. `unseen`: nothing was shown. */
  start: { readonly shown?: readonly TaskName[]; readonly unseen?: true }
  /** Kept when a person says so. */
  ask: { readonly memory?: ProposedMemory }
  /** Without a token, the claim must be the caller's own. */
  heartbeat: { readonly token?: string }
  /** `shown`: tasks whose new commands were shown to the person. */
  judge: { readonly shown?: readonly TaskName[] }
  add: { readonly tasks: readonly TaskDefinition[] }
  change: { readonly set: TaskChanges; readonly unset?: never }
  /** Passed gates ask again if what they release is not done yet: for callers who may not decide. */
  fork: { readonly gates?: 'asked again' }
}

/** Orders by type, with the keys of format/wire/orders.ts. The engine adds ids, hashes and tokens. */
export type Orders = {
  readonly [T in keyof WireOrders]: T extends keyof InProcess
    ? Omit<WireOrders[T], keyof InProcess[T]> & InProcess[T]
    : WireOrders[T]
}
export type OrderType = keyof Orders
export type Order = Orders[OrderType]

/** Applied to the definition inside the transaction, so that concurrent edits are kept. */
export type RevisingOrder = Orders['add' | 'change' | 'remove' | 'reorder' | 'outline']
export type ReplanningOrder = Orders['propose' | 'judge' | 'assess' | 'append']

export type RollbackAsk = Omit<Orders['rollback'], 'type'>
export type RestoreAsk = Omit<Orders['restore'], 'type'>
export type ForkAsk = Omit<Orders['fork'], 'type'>
/** How the work of a fork is brought into its origin. */
export type AdoptAsk = Omit<Orders['adopt'], 'type'>

export type Adopted =
  /** The owner of that plan carries it out; then the same order again completes it. */
  | { readonly status: 'ordered'; readonly into: { readonly plan: PlanId; readonly name: string } }
  | {
      readonly status: 'settled'
      readonly into: { readonly plan: PlanId; readonly name: string }
      readonly folder: 'removed' | 'kept'
      readonly why?: string
    }

export interface Forked {
  /** The entry of the origin it starts from. */
  readonly from: number
  readonly ended: readonly TaskName[]
  readonly open: readonly TaskName[]
  readonly works:
    | { readonly in: 'workspace' }
    | {
        readonly in: 'folder' | 'worktree'
        readonly place: string
        readonly files: number
        /** Missing files: ignored, or never stored. */
        readonly left: { readonly paths: number; readonly first: readonly LeftOut[] }
        /** Files that the plan never wrote: as they were at that entry, or as they are now. */
        readonly others: 'then' | 'now'
        /** Tasks that worked since without captured files: their files are as they are now. */
        readonly unseen: readonly TaskName[]
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
      /** For `fork`; `plan` is the new one. */
      readonly fork?: Forked
      /** For `adopt`; `plan` is the origin while the order is carried out, then the fork. */
      readonly adopted?: Adopted
      /** A repeated request: version and events are those of the first. */
      readonly replayed?: true
    }
  | { readonly ok: false; readonly refusal: Refusal }
