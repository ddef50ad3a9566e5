// The Engine door as a client: every call is one request. Who acts is whom the token names, whatever the caller says; refusals come
// back as refusals, and a reply that was lost is asked for again under the same key, so that nothing happens twice.

import type {
  AnswerOf,
  Engine,
  Halt,
  Halted,
  KillSwitch,
  Order,
  QueryOf,
  QueryType,
  SubmitOptions,
  Submitted,
} from '../engine/engine.ts'
import type { Entry, Position } from '../stores/store.ts'
import { bytesFrom } from './base64.ts'
import { pack } from './packing.ts'
import type { Plain } from './plain.ts'
import { type RemoteRefusal, refusalIn } from './refusals.ts'
import { remoteEntries } from './remote-entries.ts'
import { type RemoteGates, type RemotePlans, type RemoteTasks, remoteNouns } from './remote-nouns.ts'
import { remoteStreams } from './remote-streams.ts'
import { type Connection, type Reply, type Request, send } from './transport.ts'
import { troubleOf } from './trouble.ts'

/** What was refused says everything that was wrong with it. */
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

  constructor(connection: Connection) {
    this.#connection = connection
    const { newKey } = connection
    const nouns = remoteNouns(request => this.#send(request), newKey)
    this.plans = nouns.plans
    this.tasks = nouns.tasks
    this.gates = nouns.gates
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

  /** Names may be plain text. `actor` is only there because the door has it: who acts is whom the token names. */
  async submit(
    plan: string | null,
    order: Plain<Order>,
    _actor?: string,
    options: SubmitOptions = {},
  ): Promise<RemoteSubmitted> {
    const { expectedVersion, once = this.#connection.newKey() } = options
    const version = expectedVersion === undefined ? {} : { expected_version: expectedVersion }
    // What is sent is checked where it arrives, names and all.
    const packed = pack(plan, order as Order, version)
    if (!packed.ok) return packed
    const reply = await this.#post('/engine/orders', packed.text, once)
    if (reply.ok) return { ok: true, ...(reply.body as Omit<Extract<Submitted, { readonly ok: true }>, 'ok'>) }
    const refusal = refusalIn(reply.problem)
    if (refusal === null) throw troubleOf(reply.problem)
    return { ok: false, refusal }
  }

  async ask<T extends QueryType>(query: QueryOf<T>): Promise<AnswerOf<T>> {
    const reply = await this.#post('/engine/queries', JSON.stringify({ query }), undefined)
    if (!reply.ok) throw troubleOf(reply.problem)
    const body = reply.body as { readonly answer?: unknown; readonly bytes?: string }
    return (body.bytes === undefined ? body.answer : bytesFrom(body.bytes)) as AnswerOf<T>
  }

  /** Goes on until `signal` fires, this client is closed, or whoever iterates stops. */
  watch(options: {
    readonly plan?: string
    readonly after: Position
    readonly signal?: AbortSignal
  }): AsyncIterable<Entry> {
    return remoteEntries(this.#connection, { ...options, signal: this.#until(options.signal) })
  }

  /** Ends what is under way here; the service goes on. */
  async close(): Promise<void> {
    this.#closing.abort()
  }

  #until(signal: AbortSignal | undefined): AbortSignal {
    return AbortSignal.any([...(signal === undefined ? [] : [signal]), this.#closing.signal])
  }

  #post(path: string, body: string, key: string | undefined): Promise<Reply> {
    return this.#send({ method: 'POST', path, body, ...(key === undefined ? {} : { key }) })
  }

  #send(request: Omit<Request, 'signal'>): Promise<Reply> {
    return send(this.#connection, { ...request, signal: this.#closing.signal })
  }

  async #got(request: Omit<Request, 'signal'>): Promise<unknown> {
    const reply = await this.#send(request)
    if (!reply.ok) throw troubleOf(reply.problem)
    return reply.body
  }
}

type TravelledHalt = Omit<Halt, 'at'> & { readonly at: string }

/** Times travel as text. */
function arrived<T extends { readonly at: string } | null>(travelled: T): Arrived<T> {
  return (travelled === null ? null : { ...travelled, at: Date.parse(travelled.at) }) as Arrived<T>
}
type Arrived<T> = T extends { readonly at: string } ? Omit<T, 'at'> & { readonly at: number } : null
