// Everything the service works with, as one value that is passed down; there are no globals.

import type { Actor } from '../domain/id.ts'
import type { EngineInProcess } from '../engine/engine.ts'
import type { StartableAgent } from '../operations/agents/worker-request.ts'
import type { Models } from '../runners/models.ts'
import type { Guard } from './auth/guard.ts'
import type { DocumentPool } from './documents/document-pool.ts'
import type { ServerLimits } from './limits.ts'
import type { Live } from './live/hub.ts'
import type { Log } from './monitoring/log.ts'
import type { Meter } from './monitoring/metrics.ts'
import type { PageFiles } from './page-files.ts'
import type { ListedRoute } from './route.ts'

export interface ServerRooms extends RouteRooms {
  /** Each request gets an engine that is bound to its caller. */
  readonly engine: EngineInProcess
}

/** What routes work with, without the engine: theirs comes with the request (request.ts). */
export interface RouteRooms {
  readonly guard: Guard
  readonly log: Log
  readonly meter: Meter
  readonly live: Live
  readonly documents: DocumentPool
  /** For drafts. They use the keys of the user who started the service. */
  readonly models: Models
  readonly agents: () => Promise<readonly StartableAgent[]>
  readonly mayCommit: () => Promise<boolean>
  readonly limits: ServerLimits
  readonly routes: readonly ListedRoute[]
  readonly owner: Actor
  readonly now: () => number
  readonly random: (bytes: number) => Uint8Array
  readonly root: string
  readonly stateDir: string
  /** The environment of the service process; planners look for programs in its PATH. */
  readonly environment: { readonly [name: string]: string | undefined }
  readonly version: string
  readonly page: PageFiles | null
  /** Aborts when the service stops: streams end, nothing new begins. */
  readonly stopping: AbortSignal
}
