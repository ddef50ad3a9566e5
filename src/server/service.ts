// Everything the service works with, as one value: opened by whoever starts it, handed down, never global.

import type { Actor } from '../domain/id.ts'
import type { EngineInProcess, Worker } from '../engine/engine.ts'
import type { Guard } from './auth/guard.ts'
import type { DocumentPool } from './documents/document-pool.ts'
import type { Live } from './live/hub.ts'
import type { Meter } from './monitoring/metrics.ts'
import type { AnyRoute } from './route.ts'

export interface ServerRooms {
  readonly engine: EngineInProcess
  readonly worker: Worker
  readonly guard: Guard
  readonly log: Log
  readonly meter: Meter
  /** Who listens to what happens. */
  readonly live: Live
  /** Works on long documents, beside the event loop. */
  readonly documents: DocumentPool
  readonly limits: ServerLimits
  readonly routes: readonly AnyRoute[]
  /** In whose name the owner's token writes. */
  readonly owner: Actor
  readonly now: () => number
  /** Random bytes, for codes and request ids. */
  readonly random: (bytes: number) => Uint8Array
  /** The workspace. */
  readonly root: string
  readonly stateDir: string
  readonly version: string
  /** Fires when the service stops: streams end, nothing new begins. */
  readonly stopping: AbortSignal
}

/** Structured lines; fields first, so that a line is one JSON object. */
export interface Log {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}
export type LogFields = { readonly [name: string]: unknown }

export interface ServerLimits {
  readonly bodyBytes: number
  readonly planBytes: number
  readonly jsonDepth: number
  readonly jsonNodes: number
  readonly headersMs: number
  readonly requestMs: number
  readonly connections: number
  /** A client that takes nothing of its answers for so long is cut off. */
  readonly answerSilentMs: number
  /** Streams one token may hold open. */
  readonly streams: number
  /** What may wait in memory for one client of a stream. */
  readonly streamBytes: number
  /** A client of a stream that takes nothing for so long is cut off. */
  readonly streamSilentMs: number
  readonly heartbeatMs: number
}

export const LIMITS: ServerLimits = {
  bodyBytes: 1_000_000,
  planBytes: 5_000_000,
  jsonDepth: 64,
  jsonNodes: 100_000,
  headersMs: 10_000,
  requestMs: 30_000,
  connections: 2_000,
  answerSilentMs: 30_000,
  streams: 200,
  streamBytes: 1_000_000,
  streamSilentMs: 30_000,
  heartbeatMs: 15_000,
}
