// Reports about a plan's journal: audit, handoff, digest.

import type { PlanStatus, TaskStatus } from '../../../domain/status.ts'
import type { Int, Loose, NotePlace, PageOf, PlanNamed, Time } from './fields.ts'

export interface AuditTrail extends PlanNamed {
  /** How many entries the chain proves. */
  readonly entries: Int
  /** The hash of the last of them. */
  readonly head: string
  /** Where the chain is broken; behind it nothing is told. */
  readonly fault: { readonly version: Int; readonly message: string; readonly [key: string]: unknown } | null
  readonly lines: readonly {
    readonly version: Int
    readonly at: Time
    readonly actor: string
    readonly hash: string
    readonly kind: string
    readonly type: string
    readonly task: string | null
    readonly text: string
    readonly facts: Loose
  }[]
}

export interface Digest extends PlanNamed, Loose {
  readonly status: PlanStatus
  readonly entries: Int
  readonly completed: readonly { readonly task: string; readonly [key: string]: unknown }[]
  readonly failed: readonly { readonly task: string; readonly message: string; readonly [key: string]: unknown }[]
  readonly waiting: readonly Loose[]
}

export interface Handoff extends PlanNamed, Loose {
  readonly status: PlanStatus
  readonly readme: string
  readonly postmortem: string
  readonly tasks: readonly Loose[]
}

export interface Contract extends PlanNamed {
  readonly status: PlanStatus
  readonly revision: Int
  readonly hash: string
  readonly counts: { readonly holds: Int; readonly broken: Int; readonly open: Int }
  readonly lines: readonly {
    readonly task: string
    readonly part: string
    readonly criterion: string
    readonly holds: boolean | null
    readonly [key: string]: unknown
  }[]
}

export interface Replay extends PlanNamed, Loose {
  readonly ok: boolean
  readonly entries: Int
  readonly trace: string
  readonly head: string
  readonly fault: { readonly version: Int; readonly message: string; readonly [key: string]: unknown } | null
}

export type BoardPage = PageOf<{
  readonly id: string
  readonly name: string
  readonly title: string | null
  readonly action: string
  readonly status: TaskStatus
  readonly needs: readonly string[]
  readonly reason: string | null
  readonly [key: string]: unknown
}>

export interface Note extends PlanNamed {
  readonly text: string
  readonly task: string | null
  readonly place: NotePlace | null
  readonly by: string
  readonly version: Int
}

type HaltFacts = { readonly by: string; readonly at: Time; readonly reason: string | null }
export type Halt = { readonly halted: boolean; readonly halt: HaltFacts | null }

export interface HaltDone extends HaltFacts {
  readonly paused: readonly string[]
  readonly already: readonly string[]
  readonly left: readonly { readonly name: string; readonly why: string }[]
}

export type HaltLifted = { readonly lifted: HaltFacts | null }
