// The hard caps: how many calls, tokens and dollars one drafting or task may use. What a request could use at most is reserved before
// it is sent and given back when its real use is known, so that questions asked at the same time cannot pass a cap together.
//
// The length of the answer is bounded exactly: it is cut to what the caps leave. The length of the input is only estimated before
// the provider has counted it (a third of its bytes, and no less than the input of the call before), so the last call before a cap
// can pass it by the error of that estimate.

import { type Amounts, leftOf } from '../../domain/budget/amounts.ts'
import {
  addCost,
  addUsage,
  type ModelCost,
  type ModelUsage,
  NO_USAGE,
  roundUsd,
  tokensOf,
} from '../../domain/model-use.ts'
import type { Failure } from '../../domain/result.ts'
import type { ModelCaps, ModelSpending, PriceRow } from '../../runners/models.ts'
import { modelFailure } from './model-failure.ts'
import { costOf } from './price-table.ts'

/** An answer shorter than this is of no use to anybody. */
const OUTPUT_MIN_TOKENS = 64
const BYTES_PER_TOKEN = 3

export const NOTHING_SPENT: ModelSpending = {
  calls: 0,
  usage: NO_USAGE,
  cost: { known: true, usd: 0, by: 'local' },
}

export interface Reservation {
  readonly usage: ModelUsage
  readonly cost: ModelCost
}

export type Reserved =
  | { readonly ok: true; readonly outputTokens: number; readonly reservation: Reservation }
  /** `short`: the cap that is too small. */
  | { readonly ok: false; readonly failure: Failure; readonly short?: ShortCap }

export interface ShortCap {
  readonly key: keyof ModelCaps
  readonly cap: number
  readonly need?: number
}

export class Meter {
  #caps: ModelCaps
  readonly #price: PriceRow | null
  readonly #before: ModelSpending
  readonly #open = new Set<Reservation>()
  #spent: ModelSpending = NOTHING_SPENT
  #lastInput = 0

  constructor(caps: ModelCaps, price: PriceRow | null, before: ModelSpending = NOTHING_SPENT) {
    this.#caps = caps
    this.#price = price
    this.#before = before
  }

  get spent(): ModelSpending {
    return this.#spent
  }

  raise({ key, cap }: ShortCap): void {
    this.#caps = { ...this.#caps, [key]: Math.max(cap, this.#caps[key] ?? 0) }
  }

  reserve(inputBytes: number, outputTokensMax: number): Reserved {
    const { calls, tokens, usd } = this.#caps
    const spent = add(this.#before, this.#spent)
    const held = [...this.#open].reduce<ModelSpending>((sum, one) => add(sum, { calls: 1, ...one }), NOTHING_SPENT)
    // Counted as the budgets of plans are, see domain/budget/.
    const caps = { calls, tokens, cost: usd }
    const left = (key: keyof typeof caps): number => leftOf(caps, amountsOf(spent), amountsOf(held), key)
    if (left('calls') < 1) return reached(calls === 1 ? '1 call' : `${calls} calls`, { key: 'calls', cap: calls! })
    const inputTokens = Math.max(Math.ceil(inputBytes / BYTES_PER_TOKEN), this.#lastInput)
    let output = Math.min(outputTokensMax, left('tokens') - inputTokens)
    const isShort = () => output < Math.min(OUTPUT_MIN_TOKENS, outputTokensMax)
    if (isShort())
      return reached(`${tokens} tokens, of which ${tokens! - left('tokens')} are used`, { key: 'tokens', cap: tokens! })
    if (usd !== undefined) {
      if (this.#price === null || !spent.cost.known || !held.cost.known)
        return {
          ok: false,
          failure: modelFailure(
            'model:cap',
            `a limit of ${usd} USD cannot be kept, because the price of the model is not known`,
            'write its price into your settings, or set a limit of calls and tokens only',
          ),
        }
      const rest = left('cost') - (inputTokens * dearest(this.#price)) / 1e6
      if (rest < 0) output = 0
      else if (this.#price.output > 0) output = Math.min(output, Math.floor((rest * 1e6) / this.#price.output))
      if (isShort())
        return reached(`${usd} USD, of which ${roundUsd(usd - left('cost'))} are spent`, { key: 'usd', cap: usd })
    }
    const usage = { ...NO_USAGE, inputTokens, outputTokens: output }
    const reservation = { usage, cost: costOf(usage, this.#price) }
    return { ok: true, outputTokens: output, reservation }
  }

  hold(reservation: Reservation): void {
    this.#open.add(reservation)
  }

  release(reservation: Reservation): void {
    this.#open.delete(reservation)
  }

  settle(reservation: Reservation, { usage, cost }: Reservation): void {
    this.#open.delete(reservation)
    this.#lastInput = usage.inputTokens
    this.#spent = add(this.#spent, { calls: 1, usage, cost })
  }
}

export function add(a: ModelSpending, b: ModelSpending): ModelSpending {
  return { calls: a.calls + b.calls, usage: addUsage(a.usage, b.usage), cost: addCost(a.cost, b.cost) }
}

const amountsOf = ({ calls, usage, cost }: ModelSpending): Amounts => ({
  calls,
  tokens: tokensOf(usage),
  ...(cost.known ? { cost: cost.usd } : {}),
})

const dearest = ({ input, cacheWrite = 0 }: PriceRow): number => Math.max(input, cacheWrite)

function reached(what: string, short: ShortCap): Reserved {
  const failure = modelFailure('model:cap', `the limit of ${what} is reached; nothing more was sent`, 'ask for less')
  return { ok: false, failure, short }
}
