// What the calls of one gateway used and said: the sum, what is still open, and one report for each model.

import { createHash } from 'node:crypto'
import { isMap, type Json } from '../../../domain/json.ts'
import { tokensOf } from '../../../domain/model-use.ts'
import type { GatewayReport } from '../../../runners/model-gateway.ts'
import type { ModelExchange, ModelRecording, ModelSpending } from '../../../runners/models.ts'
import { add, NOTHING_SPENT, type Reservation } from '../meter.ts'

/** Which model, where, at which price: a recording without its exchanges. */
export type AskedModel = Omit<ModelRecording, 'planfold' | 'version' | 'exchanges'>

/** Written out, a recording of this length is still a text that can be stored. Beyond it calls are counted, and not recorded. */
const RECORDING_MAX_BYTES = 128 * 1024 * 1024

export class GatewayLedger {
  readonly #open = new Map<string, Reservation>()
  readonly #models = new Map<
    string,
    { asked: AskedModel; spent: ModelSpending; exchanges: ModelExchange[]; left: number }
  >()
  readonly #parts = new Map<string, Json>()
  #spent: ModelSpending = NOTHING_SPENT
  #largest = 0
  #bytes = 0

  get largestCall(): number {
    return this.#largest
  }

  hold(id: string, reservation: Reservation): void {
    this.#open.set(id, reservation)
  }

  release(id: string): void {
    this.#open.delete(id)
  }

  settle(id: string, asked: AskedModel, used: Reservation): void {
    this.#open.delete(id)
    this.#largest = Math.max(this.#largest, tokensOf(used.usage))
    this.#spent = add(this.#spent, { calls: 1, ...used })
    const of = this.#of(asked)
    of.spent = add(of.spent, { calls: 1, ...used })
  }

  record(asked: AskedModel, exchange: ModelExchange): boolean {
    const { request, response } = exchange
    this.#bytes += JSON.stringify(request.body).length + response.body.length
    const of = this.#of(asked)
    if (this.#bytes > RECORDING_MAX_BYTES) {
      of.left += 1
      return false
    }
    of.exchanges.push({ ...exchange, request: { ...request, body: this.#shared(request.body) } })
    return true
  }

  spent(): ModelSpending {
    return [...this.#open.values()].reduce<ModelSpending>(
      (sum, { usage, cost }) => add(sum, { calls: 1, usage, cost }),
      this.#spent,
    )
  }

  reports(): readonly GatewayReport[] {
    return [...this.#models.values()].map(({ asked, spent, exchanges, left }) => ({
      use: {
        model: asked.model,
        calls: spent.calls,
        usage: spent.usage,
        cost: spent.cost,
        wireUsage: exchanges.flatMap(({ wireUsage }) => (wireUsage === undefined ? [] : [wireUsage])),
        providerMetadata: [],
      },
      recording: { planfold: 'model-recording', version: 1, ...asked, exchanges: [...exchanges] },
      unrecorded: left,
    }))
  }

  /** Agents send the whole conversation with every call: what was there before is kept once. */
  #shared(body: Json): Json {
    if (!isMap(body)) return body
    const share = (item: Json): Json => {
      const key = createHash('sha256').update(JSON.stringify(item)).digest('base64')
      const known = this.#parts.get(key) ?? item
      this.#parts.set(key, known)
      return known
    }
    return Object.fromEntries(
      Object.entries(body).map(([name, value]) => [name, Array.isArray(value) ? value.map(share) : value]),
    )
  }

  #of(asked: AskedModel) {
    const known = this.#models.get(asked.model)
    if (known !== undefined) return known
    const made = { asked, spent: NOTHING_SPENT, exchanges: [], left: 0 }
    this.#models.set(asked.model, made)
    return made
  }
}
