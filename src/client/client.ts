// The door of `client/`: the Engine of a store that is elsewhere, over HTTP. Works in Node and in browsers. Here chance and timers
// are chosen, as `compose` does for the Engine of this machine; everything behind is handed them.

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
  /** Where the service answers, e.g. `http://127.0.0.1:8011`. */
  readonly url: string
  /** Not needed where nobody is asked for one, nor in a browser that has the cookie. */
  readonly token?: string
  /** Instead of the global one. */
  readonly fetch?: typeof fetch
  /** How long one try may take; a minute when not said. */
  readonly timeoutMs?: number
  /** How often a request is tried in all when nobody answers; six times, in about three seconds, when not said. */
  readonly tries?: number
}

const TIMEOUT_MS = 60_000
const TRIES = 6

/** Nothing is asked yet: whether anybody is there shows with the first request. */
export function connect({ url, token, fetch: given, timeoutMs, tries }: ConnectOptions): RemoteEngine {
  const connection: Connection = {
    url: url.replace(/\/+$/, ''),
    token: token ?? null,
    // A method of the global object in browsers: it must be called as one.
    fetch: given ?? ((...asked) => globalThis.fetch(...asked)),
    newKey,
    wait,
    timeoutMs: timeoutMs ?? TIMEOUT_MS,
    triesMax: Math.max(1, tries ?? TRIES),
  }
  return new RemoteEngine(connection)
}

/** `randomUUID` is missing in browsers where a page came without TLS. */
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
