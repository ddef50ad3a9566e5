// An agent that works for no plan, because it drafts one: the caps that the user wrote into the settings are all that limits it. All calls
// of one payer count. Only what somebody wrote down holds: our own defaults are made for single questions, and an agent asks many.

import type { ModelCaps, ModelSpending } from '../model.ts'
import type { Spending, SpendingAnswer, SpendingRequest, SpentAmount } from './gateway.ts'

interface Amount {
  readonly calls: number
  readonly tokens: number
  readonly usd: number
}

export class CappedSpending implements Spending {
  readonly #caps: Amount
  readonly #held = new Map<string, Amount>()
  readonly #waiting = new Set<() => void>()
  #spent: Amount
  #made = 0

  /** `before`: what the payer has spent already. */
  constructor(caps: ModelCaps, before: ModelSpending) {
    const none = Number.POSITIVE_INFINITY
    this.#caps = { calls: caps.calls ?? none, tokens: caps.tokens ?? none, usd: caps.usd ?? none }
    const { calls, usage, cost } = before
    this.#spent = { calls, tokens: usage.inputTokens + usage.outputTokens, usd: cost.known ? cost.usd : 0 }
  }

  /** Waits while calls of ours hold what would make it fit. */
  async reserve(request: SpendingRequest, signal?: AbortSignal): Promise<SpendingAnswer> {
    const least = amountOf(request.least)
    const most = amountOf(request)
    if (this.#caps.usd !== Number.POSITIVE_INFINITY && !request.cost.known)
      return { granted: false, reason: 'your settings limit the cost, and the price of the model is not known' }
    for (;;) {
      const held = [...this.#held.values()].reduce<Amount>(add, NOTHING)
      const left = take(take(this.#caps, this.#spent), held)
      if (fits(least, left)) {
        const tokens = Math.min(most.tokens, left.tokens)
        const usd = Math.min(most.usd, left.usd)
        const id = `capped-${++this.#made}`
        this.#held.set(id, { calls: most.calls, tokens, usd })
        return { granted: true, id, tokens, usd }
      }
      if (signal?.aborted === true || !fits(least, take(this.#caps, this.#spent)))
        return { granted: false, reason: this.#reason() }
      await this.#change(signal)
    }
  }

  async settle(id: string, actual: SpentAmount): Promise<void> {
    this.#spent = add(this.#spent, amountOf(actual))
    this.#held.delete(id)
    for (const tell of [...this.#waiting]) tell()
  }

  #reason(): string {
    const { calls, tokens, usd } = this.#caps
    const limits = [
      ...(calls === Number.POSITIVE_INFINITY ? [] : [`${calls} calls`]),
      ...(tokens === Number.POSITIVE_INFINITY ? [] : [`${tokens} tokens`]),
      ...(usd === Number.POSITIVE_INFINITY ? [] : [`${usd} USD`]),
    ]
    const spent = `${this.#spent.calls} calls, ${this.#spent.tokens} tokens and ${this.#spent.usd} USD are spent`
    return `the limit of your settings for one task is reached (${limits.join(', ')}; ${spent}); raise \`caps\` there`
  }

  #change(signal: AbortSignal | undefined): Promise<void> {
    return new Promise(resolve => {
      const tell = (): void => {
        this.#waiting.delete(tell)
        signal?.removeEventListener('abort', tell)
        resolve()
      }
      this.#waiting.add(tell)
      signal?.addEventListener('abort', tell, { once: true })
    })
  }
}

const NOTHING: Amount = { calls: 0, tokens: 0, usd: 0 }

const amountOf = ({ calls, tokens, cost }: SpentAmount): Amount => ({ calls, tokens, usd: cost.known ? cost.usd : 0 })
const add = (a: Amount, b: Amount): Amount => ({
  calls: a.calls + b.calls,
  tokens: a.tokens + b.tokens,
  usd: a.usd + b.usd,
})
const take = (a: Amount, b: Amount): Amount => ({
  calls: a.calls - b.calls,
  tokens: a.tokens - b.tokens,
  usd: a.usd - b.usd,
})
const fits = (a: Amount, b: Amount): boolean => a.calls <= b.calls && a.tokens <= b.tokens && a.usd <= b.usd
