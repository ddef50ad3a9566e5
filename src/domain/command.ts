// What is asked, in the imperative. `create` makes a plan; every other command is for a plan that exists. The engine's own
// commands are `recover` (once, when a loop takes a plan) and `turn` (one turn of the loop); all others come from people
// and agents through a face.

import type { GateVerdict, ImportedTask, PlanSource } from './event.ts'
import type { PlanId, Sha256, TaskName } from './id.ts'
import type { Json } from './json.ts'
import type { PlanDefinition } from './plan.ts'
import type { Prepared, Result } from './result.ts'

export type Command =
  | {
      readonly type: 'create'
      readonly plan: PlanId
      readonly definition: PlanDefinition
      readonly hash: Sha256
      readonly origin?: PlanId
      readonly session?: string
      readonly goal?: string
      readonly source?: PlanSource
      /** Tasks that had ended when the plan was written. */
      readonly imported?: readonly ImportedTask[]
    }
  | {
      readonly type: 'revise'
      readonly definition: PlanDefinition
      readonly hash: Sha256
      readonly rationale: string
      readonly source?: PlanSource
      readonly expectedRevision?: number
    }
  | { readonly type: 'start' }
  | { readonly type: 'pause'; readonly reason?: string }
  | { readonly type: 'resume' }
  | { readonly type: 'cancel'; readonly reason?: string; readonly force?: boolean }
  | { readonly type: 'archive' }
  | { readonly type: 'recover'; readonly reason: string }
  | Turn
  | { readonly type: 'claim'; readonly task?: TaskName; readonly token: string; readonly by: string }
  | {
      readonly type: 'report'
      readonly task: TaskName
      readonly token?: string
      readonly by: string
      readonly result: Result
    }
  | { readonly type: 'lapse'; readonly task: TaskName; readonly token: string; readonly reason: string }
  | { readonly type: 'decide'; readonly task: TaskName; readonly verdict: GateVerdict; readonly rationale: string }
  | { readonly type: 'retry'; readonly task: TaskName; readonly reason?: string }
  | { readonly type: 'skip'; readonly task: TaskName; readonly reason: string }
  | { readonly type: 'note'; readonly text: string; readonly task?: TaskName }

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
  }[]
  readonly compensated?: readonly { readonly task: TaskName; readonly result: Result }[]
  readonly expanded?: readonly Expanded[]
  /** False while the process is stopping: settle what ended, start nothing. */
  readonly start?: false
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
}

export type CommandType = Command['type']
export type CommandOf<T extends CommandType> = Extract<Command, { readonly type: T }>
