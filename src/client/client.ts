// The public entry point of `client/`: the Engine of a remote store, over HTTP, for Node and browsers. Randomness and timers are
// chosen here, as `compose` does for the local Engine, and injected everywhere else.

import { RemoteEngine } from './remote-engine.ts'
import type { Connection } from './transport.ts'

export type { Actor, PlanId, PlanName, Sha256, TaskId, TaskName } from '../domain/id.ts'
export type { PlanDefinition, TaskDefinition } from '../domain/plan.ts'
export type { Refusal } from '../domain/refusal.ts'
export type { Result } from '../domain/result.ts'
export type { AnswerOf, Engine, Order, Queries, QueryOf, QueryType, Submitted } from '../engine/engine.ts'
export type { ProblemFault as RemoteFault } from '../format/wire/answers/problem.ts'
export {
  BadCursor,
  CommitUnknown,
  type Entry,
  type Page,
  StoreBusy,
  StoreDamaged,
  StoreFull,
  StoreGone,
} from '../stores/store.ts'
export type * from './bodies.ts'
export type { Plain } from './bodies.ts'
export { type Heard, type StreamEvent, type Subscription, subscribe } from './event-stream.ts'
export { RemoteEngine, type RemoteSubmitted } from './remote-engine.ts'
export type {
  Answered,
  AttemptWanted,
  CheckpointsWanted,
  ClaimWanted,
  Decision,
  Keyed,
  PlansWanted,
  RemoteCheckpoints,
  RemoteGates,
  RemotePlans,
  RemoteTasks,
  TasksWanted,
} from './service-calls.ts'
export type { RemoteRefusal } from './transport.ts'
export { RemoteTrouble, type TroubleKind } from './transport.ts'

export interface ConnectOptions {
  /** Base URL of the service, e.g. `http://127.0.0.1:8011`. */
  readonly url: string
  /** Not needed if the service runs without tokens, nor in a browser with the session cookie. */
  readonly token?: string
  readonly fetch?: typeof fetch
  /** Timeout of one attempt; one minute by default. */
  readonly timeoutMs?: number
  /** Attempts per request if there is no response; six by default, within about three seconds. */
  readonly tries?: number
}

const TIMEOUT_MS = 60_000
const TRIES = 6

/** Makes no request: an unreachable service shows with the first call. */
export function connect({ url, token, fetch: given, timeoutMs, tries }: ConnectOptions): RemoteEngine {
  const connection: Connection = {
    url: url.replace(/\/+$/, ''),
    token: token ?? null,
    // In browsers, fetch must be called as a method of the global object.
    fetch: given ?? ((...asked) => globalThis.fetch(...asked)),
    newKey,
    wait,
    timeoutMs: timeoutMs ?? TIMEOUT_MS,
    triesMax: Math.max(1, tries ?? TRIES),
  }
  return new RemoteEngine(connection)
}

/** `randomUUID` is missing in browsers on pages without TLS. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise(resolve => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
  })
}
