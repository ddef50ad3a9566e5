// All dependencies of the engine as one value: opened by compose, passed down, never global.

import type { Wording } from '../domain/hint.ts'
import type { ActionType } from '../domain/plan.ts'
import type { AgentLogin } from '../domain/plan-rules/agent-request.ts'
import type { PolicyLayer } from '../domain/policy/policy-layer.ts'
import type { Programs } from '../domain/result.ts'
import type { Queue } from '../queues/queue.ts'
import type { ProcessTree, Runner } from '../runners/runner.ts'
import type { Answer } from '../safety/safety-refusal.ts'
import type { Sandbox } from '../safety/sandbox/sandbox.ts'
import type { Store } from '../stores/store.ts'
import type { Git } from '../workspace/git/git.ts'
import type { Snapshots, Workspace } from '../workspace/workspace.ts'
import type { Facts } from './attempts/preconditions.ts'
import type { Clock } from './clock.ts'
import type { LifeSigns } from './files/life-signs.ts'
import type { MemoryRoom } from './memory.ts'
import type { Publisher, Tracer } from './notifications/publisher.ts'

export interface Rooms {
  readonly store: Store
  readonly workspace: Workspace
  /** Snapshots of the whole workspace; absent if they are off. */
  readonly snapshots?: Snapshots
  /** Heartbeat files of running plans; absent if they are off. */
  readonly signs?: LifeSigns
  /** The repository around the workspace; it answers with a failure if there is none. Absent if git is off. */
  readonly git?: Git
  /** The same with another folder as workspace, for plans that work elsewhere: relative to the workspace of the process, or absolute. */
  readonly at?: (place: string) => Rooms
  readonly runners: ReadonlyMap<ActionType, Runner>
  /** Runs commands in a sandbox; absent if none is used. */
  readonly sandbox?: Sandbox
  /** Policy layers of organisation, user and project; absent if there are none. */
  readonly policy?: () => Promise<Answer<readonly PolicyLayer[]>>
  /** Absent if notifications are off. */
  readonly publisher?: Publisher
  /** Memory by key; absent in tests that have none. */
  readonly memory?: MemoryRoom
  /** Absent if tracing is off. */
  readonly tracer?: Tracer
  readonly processes: ProcessTree
  /** Where to look for plans that want a driver; absent if none is sought here. */
  readonly queue?: (everyMs: number) => Queue
  /** What plans may want of who drives them, see `place` in a plan. */
  readonly labels?: ReadonlySet<string>
  readonly clock: Clock
  readonly random: (bytes: number) => Uint8Array
  readonly root: string
  readonly stateDir: string
  /** What tells folders of several machines apart. Absent: their paths relative to the state folder do. */
  readonly workspaceId?: (realRoot: string) => string
  readonly environment: { readonly [name: string]: string | undefined }
  readonly leaseMs: number
  /** The login of an agent, by its name; null: it has none that could be used. Absent: no agent is started. */
  readonly agentLogin?: (agent: string) => Promise<AgentLogin | null>
  /** The programs of this machine; `asks`: it may start them for their version. Absent: they are not recorded. */
  readonly programs?: (how: { readonly asks: boolean }) => Promise<Programs>
  /** How long an agent started by Planfold waits for a person before it is parked; ten minutes by default. */
  readonly agentPatienceMs?: number
  /** Facts for preconditions; of this machine by default. */
  readonly facts?: () => Promise<Facts>
  /** Versions of Planfold, Node and platform in a few words. */
  readonly about: string
  /** How a face words next steps in messages and documents; plain names by default. */
  readonly word?: Wording
}
