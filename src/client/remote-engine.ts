// The Engine door as a client: every call is one request. Who acts is whom the token names, whatever the caller says; refusals come
// back as refusals, and a reply that was lost is asked for again under the same key, so that nothing happens twice.

import type { Actor } from '../domain/id.ts'
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
import { bytesFrom } from './base64.ts'
import { refusalIn } from './refusals.ts'
import { remoteEntries } from './remote-entries.ts'
import { remoteStreams } from './remote-streams.ts'
import { type Connection, type Reply, type Request, send } from './transport.ts'
import { travelling } from './travelling.ts'
import { troubleOf } from './trouble.ts'

export class RemoteEngine implements Engine {
  readonly #connection: Connection
  readonly #closing = new AbortController()
  readonly killSwitch: KillSwitch
  readonly sessions: Engine['sessions']
  readonly goals: Engine['goals']

  constructor(connection: Connection) {
    this.#connection = connection
    const { newKey } = connection
    const stream = (body: object, key: string | undefined) => this.#post('/engine/streams', body, key)
    this.sessions = remoteStreams('sessions', stream, newKey)
    this.goals = remoteStreams('goals', stream, newKey)
    const halt = async (request: Omit<Request, 'signal'>) =>
      (await this.#got(request)) as Record<string, TravelledHalt | null>
    this.killSwitch = {
      halt: async reason => {
        const halted = await this.#got({ method: 'POST', path: '/halt', body: { reason } })
        return arrived(halted as TravelledHalt & Omit<Halted, 'at'>)
      },
      lift: async () => arrived((await halt({ method: 'DELETE', path: '/halt' })).lifted ?? null),
      halted: async () => arrived((await halt({ method: 'GET', path: '/halt' })).halt ?? null),
    }
  }

  async submit(plan: string | null, order: Order, _actor: Actor, options: SubmitOptions = {}): Promise<Submitted> {
    const { expectedVersion, once = this.#connection.newKey() } = options
    const version = expectedVersion === undefined ? {} : { expected_version: expectedVersion }
    const reply = await this.#post('/engine/orders', { plan, order: travelling(order), ...version }, once)
    if (reply.ok) return { ok: true, ...(reply.body as Omit<Extract<Submitted, { readonly ok: true }>, 'ok'>) }
    const refusal = refusalIn(reply.problem)
    if (refusal === null) throw troubleOf(reply.problem)
    return { ok: false, refusal }
  }

  async ask<T extends QueryType>(query: QueryOf<T>): Promise<AnswerOf<T>> {
    const reply = await this.#post('/engine/queries', { query }, undefined)
    if (!reply.ok) throw troubleOf(reply.problem)
    const body = reply.body as { readonly answer?: unknown; readonly bytes?: string }
    return (body.bytes === undefined ? body.answer : bytesFrom(body.bytes)) as AnswerOf<T>
  }

  watch: Engine['watch'] = options =>
    remoteEntries(this.#connection, { ...options, signal: this.#until(options.signal) })

  /** Ends what is under way here; the service goes on. */
  async close(): Promise<void> {
    this.#closing.abort()
  }

  #until(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#closing.signal])
  }

  #post(path: string, body: object, key: string | undefined): Promise<Reply> {
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
