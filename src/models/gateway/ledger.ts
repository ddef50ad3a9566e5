// What the calls of one gateway used and said: the sum, what is still open, and one report for each model.

import { tokensOf } from '../../domain/model-use.ts'
import { add, NOTHING_SPENT, type Reservation } from '../meter.ts'
import type { ModelExchange, ModelRecording, ModelSpending } from '../model.ts'
import type { GatewayReport } from './gateway.ts'

/** Which model, where, at which price: a recording without its exchanges. */
export type AskedModel = Omit<ModelRecording, 'planfold' | 'version' | 'exchanges'>

export class GatewayLedger {
  readonly #open = new Map<string, Reservation>()
  readonly #models = new Map<string, { asked: AskedModel; spent: ModelSpending; exchanges: ModelExchange[] }>()
  #spent: ModelSpending = NOTHING_SPENT
  #largest = 0

  /** Of all calls so far, the tokens of the one with the most. */
  get largestCall(): number {
    return this.#largest
  }

  /** Counts until it is settled. */
  hold(id: string, reservation: Reservation): void {
    this.#open.set(id, reservation)
  }

  /** Nothing was sent. */
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

  record(asked: AskedModel, exchange: ModelExchange): void {
    this.#of(asked).exchanges.push(exchange)
  }

  spent(): ModelSpending {
    return [...this.#open.values()].reduce((sum, { usage, cost }) => add(sum, { calls: 1, usage, cost }), this.#spent)
  }

  reports(): readonly GatewayReport[] {
    return [...this.#models.values()].map(({ asked, spent, exchanges }) => ({
      use: {
        model: asked.model,
        calls: spent.calls,
        usage: spent.usage,
        cost: spent.cost,
        wireUsage: exchanges.flatMap(({ wireUsage }) => (wireUsage === undefined ? [] : [wireUsage])),
        providerMetadata: [],
      },
      recording: { planfold: 'model-recording', version: 1, ...asked, exchanges: [...exchanges] },
    }))
  }

  #of(asked: AskedModel) {
    const known = this.#models.get(asked.model)
    if (known !== undefined) return known
    const made = { asked, spent: NOTHING_SPENT, exchanges: [] }
    this.#models.set(asked.model, made)
    return made
  }
}
