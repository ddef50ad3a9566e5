// Everything the engine works with, as one value: opened by compose, handed down, never global.

import type { Wording } from '../domain/hint.ts'
import type { ActionType } from '../domain/plan.ts'
import type { AgentLogin } from '../domain/plan-rules/agent-request.ts'
import type { PolicyLayer } from '../domain/policy/policy-layer.ts'
import type { Publisher, Tracer } from './notifications/publisher.ts'
import type { ProcessTree, Runner } from '../runners/runner.ts'
import type { Answer } from '../safety/safety-refusal.ts'
import type { Sandbox } from '../safety/sandbox/sandbox.ts'
import type { Store } from '../stores/store.ts'
import type { Git } from '../workspace/git/git.ts'
import type { Snapshots, Workspace } from '../workspace/workspace.ts'
import type { Facts } from './attempts/preconditions.ts'
import type { Clock } from './clock.ts'
import type { LifeSigns } from './files/life-signs.ts'

export interface Rooms {
  readonly store: Store
  readonly workspace: Workspace
  /** All files of the workspace; absent where nobody looks at them. */
  readonly snapshots?: Snapshots
  /** Until when processes of a plan are known to have lived; absent where nobody looks. */
  readonly signs?: LifeSigns
  /** The repository around the workspace; it answers with a failure where there is none. Absent where git is not used. */
  readonly git?: Git
  /** The same rooms with another folder as their workspace, for plans that work in a place of their own. */
  readonly at?: (place: string) => Rooms
  readonly runners: ReadonlyMap<ActionType, Runner>
  /** Shuts commands in; absent where nobody does. */
  readonly sandbox?: Sandbox
  /** What organisation, user and project say about every plan here; absent where nobody says anything. */
  readonly policy?: () => Promise<Answer<readonly PolicyLayer[]>>
  /** Tells people outside; absent where nobody is told. */
  readonly publisher?: Publisher
  /** Is told what began and ended when; absent unless somebody collects traces. */
  readonly tracer?: Tracer
  readonly processes: ProcessTree
  readonly clock: Clock
  /** Random bytes, for ids and tokens. */
  readonly random: (bytes: number) => Uint8Array
  readonly root: string
  readonly stateDir: string
  readonly environment: { readonly [name: string]: string | undefined }
  readonly leaseMs: number
  /** The login of an agent, by its name; null: it has none that could be used. Absent: no agent is started. */
  readonly agentLogin?: (agent: string) => Promise<AgentLogin | null>
  /** How long an agent that Planfold started waits for a person before it is parked; ten minutes when absent. */
  readonly agentPatienceMs?: number
  /** What preconditions may ask about this machine; the machine itself when absent. */
  readonly facts?: () => Promise<Facts>
  /** Planfold, Node and platform, in a few words. */
  readonly about: string
  /** How steps are said in what people are handed: messages and documents. Plain names when no face says it. */
  readonly word?: Wording
}
