// Everything the engine works with, as one value: opened by compose, handed down, never global.

import type { ActionType } from '../domain/plan.ts'
import type { ProcessTree, Runner } from '../runners/runner.ts'
import type { Store } from '../stores/store.ts'
import type { Workspace } from '../workspace/workspace.ts'
import type { Clock } from './clock.ts'
import type { Facts } from './facts.ts'

export interface Rooms {
  readonly store: Store
  readonly workspace: Workspace
  readonly runners: ReadonlyMap<ActionType, Runner>
  readonly processes: ProcessTree
  readonly clock: Clock
  /** Random bytes, for ids and tokens. */
  readonly random: (bytes: number) => Uint8Array
  readonly root: string
  readonly stateDir: string
  readonly environment: { readonly [name: string]: string | undefined }
  readonly leaseMs: number
  /** What preconditions may ask about this machine; the machine itself when absent. */
  readonly facts?: () => Promise<Facts>
  /** Planfold, Node and platform, in a few words. */
  readonly about: string
}
