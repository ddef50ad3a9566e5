// The Engine interface over HTTP: every call is one request. The token names the caller; refusals are returned as values.

import type { Json, JsonObject } from '../domain/json.ts'
import type { PlanDefinition } from '../domain/plan.ts'
import type {
  AnswerOf,
  Engine,
  Halt,
  Halted,
  KillSwitch,
  Order,
  OwnStreams,
  QueryOf,
  QueryType,
  SubmitOptions,
  Submitted,
} from '../engine/engine.ts'
import type { Entry, Position, Streams, StreamUpdated } from '../stores/store.ts'
import type { Plain } from './bodies.ts'
import { remoteEntries } from './event-stream.ts'
import {
  type RemoteCheckpoints,
  type RemoteGates,
  type RemotePlans,
  type RemoteTasks,
  remoteNouns,
} from './service-calls.ts'
import {
  type Connection,
  errorFrom,
  type RemoteRefusal,
  type Reply,
  type Request,
  refusalIn,
  send,
} from './transport.ts'

// Converts an order to its wire form: fields that only the engine fills are dropped. Definitions travel unchanged and the service
// converts them to documents, so a program in a browser needs no schemas.

function travelling(order: Order): JsonObject {
  switch (order.type) {
    case 'create':
    case 'revise':
    case 'propose':
      return json({ ...order, definition: marked(order.definition) })
    case 'fork':
      return json(order.definition === undefined ? order : { ...order, definition: marked(order.definition) })
    case 'decide':
      return json(
        order.edits === undefined
          ? order
          : { ...order, edits: { ...order.edits, definition: marked(order.edits.definition) } },
      )
    case 'change':
      return json({ ...order, ...changes(order) })
    case 'start':
      return { type: 'start' }
    default:
      return json(order)
  }
}

function marked(definition: PlanDefinition): object {
  if (!definition.tasks.every(({ action }) => action.type)) throw new TypeError('a task has no action')
  return { planfold: 1, from: 'engine', ...definition }
}

/** The changed part of a task, and the fields to remove. */
function changes({ task, set }: Extract<Order, { readonly type: 'change' }>): JsonObject {
  const given = Object.entries(set).filter(([, value]) => value !== undefined && value !== null)
  const unset = Object.entries(set).flatMap(([key, value]) => (value === null ? [key] : []))
  // In a document, an external task is one without an action.
  if (set.action?.type === 'external') unset.push('action')
  const part = { action: { type: 'external' }, ...Object.fromEntries(given), id: task } as JsonObject
  return { set: part, ...(unset.length === 0 ? {} : { unset }) }
}

const json = (value: object): JsonObject => value as { readonly [key: string]: Json }

// Serialises an order. What has the wrong shape, or cannot be JSON, is refused here as the service would refuse it: nothing throws.

type Packed = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly refusal: RemoteRefusal }

function pack(plan: string | null, order: Order, beside: object): Packed {
  try {
    return { ok: true, text: JSON.stringify({ plan, order: travelling(order), ...beside }) }
  } catch (error) {
    // Callers from JavaScript may pass anything; all we know of the error is this message.
    const why = error instanceof Error ? error.message : String(error)
    const type = (order as { readonly type?: unknown } | null)?.type
    const what = typeof type === 'string' ? `the order '${type}'` : 'this'
    return { ok: false, refusal: { code: 'invalid', message: `${what} cannot be sent as it is: ${why}`, hint: HINT } }
  }
}

const HINT = 'a definition has a name and tasks, each with an id and an action; a document goes to `plans.create`'

// Base64 decoding with what Node and browsers have in common.

function bytesFrom(text: string): Uint8Array {
  return Uint8Array.from(atob(text), char => char.charCodeAt(0))
}

// Sessions or goals of a remote store.

type Ask = (body: object, key: string | undefined) => Promise<Reply>

function remoteStreams<E, R, F>(
  of: 'sessions' | 'goals',
  ask: Ask,
  newKey: () => string,
): OwnStreams<Streams<E, R, F>> {
  const read = async <T>(body: object): Promise<T> => {
    const reply = await ask({ of, ...body }, undefined)
    if (!reply.ok) throw errorFrom(reply.problem)
    return (reply.body as { readonly answer: T }).answer
  }
  return {
    append: async (id, events, { expectedVersion, once } = {}) => {
      const version = expectedVersion === undefined ? {} : { expected_version: expectedVersion }
      const reply = await ask({ of, do: 'append', id, events, ...version }, once?.key ?? newKey())
      if (reply.ok) return (reply.body as { readonly answer: StreamUpdated }).answer
      const refusal = refusalIn(reply.problem)
      if (refusal === null) throw errorFrom(reply.problem)
      return { ok: false, refusal }
    },
    read: (id, options = {}) => read({ do: 'read', id, ...options }),
    get: id => read({ do: 'get', id }),
    list: query => read({ do: 'list', ...query }),
  }
}

// The Engine as a client: every call is one request. The token decides who acts; refusals are values. If the reply was lost, the
// request is repeated under the same idempotency key, so nothing happens twice.

/** A refusal lists all errors at once. */
export type RemoteSubmitted =
  | Extract<Submitted, { readonly ok: true }>
  | { readonly ok: false; readonly refusal: RemoteRefusal }

export class RemoteEngine implements Engine {
  readonly #connection: Connection
  readonly #closing = new AbortController()
  readonly killSwitch: KillSwitch
  readonly sessions: Engine['sessions']
  readonly goals: Engine['goals']
  readonly plans: RemotePlans
  readonly tasks: RemoteTasks
  readonly gates: RemoteGates
  readonly checkpoints: RemoteCheckpoints

  constructor(connection: Connection) {
    this.#connection = connection
    const { newKey } = connection
    const nouns = remoteNouns(request => this.#send(request), newKey)
    this.plans = nouns.plans
    this.tasks = nouns.tasks
    this.gates = nouns.gates
    this.checkpoints = nouns.checkpoints
    const stream = (body: object, key: string | undefined) => this.#post('/engine/streams', JSON.stringify(body), key)
    this.sessions = remoteStreams('sessions', stream, newKey)
    this.goals = remoteStreams('goals', stream, newKey)
    const halt = async (request: Omit<Request, 'signal'>) =>
      (await this.#got(request)) as Record<string, TravelledHalt | null>
    this.killSwitch = {
      halt: async reason => {
        const halted = await this.#got({ method: 'POST', path: '/halt', body: JSON.stringify({ reason }) })
        return arrived(halted as TravelledHalt & Omit<Halted, 'at'>)
      },
      lift: async () => arrived((await halt({ method: 'DELETE', path: '/halt' })).lifted ?? null),
      halted: async () => arrived((await halt({ method: 'GET', path: '/halt' })).halt ?? null),
    }
  }

  /** Names may be plain strings. */
  async submit(plan: string | null, order: Plain<Order>, options: SubmitOptions = {}): Promise<RemoteSubmitted> {
    const { expectedVersion, once = this.#connection.newKey() } = options
    const version = expectedVersion === undefined ? {} : { expected_version: expectedVersion }
    // The service validates names and everything else.
    const packed = pack(plan, order as Order, version)
    if (!packed.ok) return packed
    const reply = await this.#post('/engine/orders', packed.text, once)
    if (reply.ok) return { ok: true, ...(reply.body as Omit<Extract<Submitted, { readonly ok: true }>, 'ok'>) }
    const refusal = refusalIn(reply.problem)
    if (refusal === null) throw errorFrom(reply.problem)
    return { ok: false, refusal }
  }

  async ask<T extends QueryType>(query: QueryOf<T>): Promise<AnswerOf<T>> {
    const reply = await this.#post('/engine/queries', JSON.stringify({ query }), undefined)
    if (!reply.ok) throw errorFrom(reply.problem)
    const body = reply.body as { readonly answer?: unknown; readonly bytes?: string }
    return (body.bytes === undefined ? body.answer : bytesFrom(body.bytes)) as AnswerOf<T>
  }

  /** Runs until `signal` aborts, this client is closed, or the caller leaves the loop. */
  watch(options: {
    readonly plan?: string
    readonly after: Position
    readonly signal?: AbortSignal
  }): AsyncIterable<Entry> {
    return remoteEntries(this.#connection, { ...options, signal: this.#until(options.signal) })
  }

  /** Aborts pending requests and `watch` of this client; the service is not affected. */
  async close(): Promise<void> {
    this.#closing.abort()
  }

  #until(signal: AbortSignal | undefined): AbortSignal {
    return AbortSignal.any([...(signal === undefined ? [] : [signal]), this.#closing.signal])
  }

  #post(path: string, body: string, key: string | undefined): Promise<Reply> {
    return this.#send({ method: 'POST', path, body, key })
  }

  #send(request: Omit<Request, 'signal'>): Promise<Reply> {
    return send(this.#connection, { ...request, signal: this.#closing.signal })
  }

  async #got(request: Omit<Request, 'signal'>): Promise<unknown> {
    const reply = await this.#send(request)
    if (!reply.ok) throw errorFrom(reply.problem)
    return reply.body
  }
}

type TravelledHalt = Omit<Halt, 'at'> & { readonly at: string }

/** Converts times from text. */
function arrived<T extends { readonly at: string } | null>(travelled: T): Arrived<T> {
  return (travelled === null ? null : { ...travelled, at: Date.parse(travelled.at) }) as Arrived<T>
}
type Arrived<T> = T extends { readonly at: string } ? Omit<T, 'at'> & { readonly at: number } : null
