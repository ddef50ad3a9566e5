// The caps that the user wrote into the settings hold for an agent as for every other task, in front of the budget of the plan. All
// calls of one payer count, also those of attempts before. Only what somebody wrote down holds: our own defaults are made for single
// questions, and an agent asks many.

import type { ModelCaps, ModelSpending } from '../model.ts'
import type { Spending, SpendingAnswer, SpendingRequest, SpentAmount } from './gateway.ts'

interface Amount {
  readonly calls: number
  readonly tokens: number
  readonly usd: number
}

type Granted = Extract<SpendingAnswer, { readonly granted: true }> & Amount

export class CappedSpending implements Spending {
  readonly #caps: Amount
  readonly #inner: Spending
  readonly #held = new Map<string, Amount & { readonly inner: string }>()
  readonly #waiting = new Set<() => void>()
  #spent: Amount
  #made = 0

  /** `before`: what the payer has spent already. */
  constructor(caps: ModelCaps, before: ModelSpending, inner: Spending) {
    const none = Number.POSITIVE_INFINITY
    this.#caps = { calls: caps.calls ?? none, tokens: caps.tokens ?? none, usd: caps.usd ?? none }
    const { calls, usage, cost } = before
    this.#spent = { calls, tokens: usage.inputTokens + usage.outputTokens, usd: cost.known ? cost.usd : 0 }
    this.#inner = inner
  }

  async reserve(request: SpendingRequest, signal?: AbortSignal): Promise<SpendingAnswer> {
    const own = await this.#hold(request, signal)
    if (!own.granted) return own
    const { id, tokens, usd } = own
    const cost = request.cost.known ? { ...request.cost, usd } : request.cost
    let isGranted = false
    try {
      const answer = await this.#inner.reserve({ ...request, tokens, cost }, signal)
      if (!answer.granted) return answer
      isGranted = true
      this.#held.set(id, { calls: own.calls, tokens, usd, inner: answer.id })
      const none = Number.POSITIVE_INFINITY
      return {
        granted: true,
        id,
        tokens: Math.min(tokens, answer.tokens ?? none),
        usd: Math.min(usd, answer.usd ?? none),
      }
    } finally {
      if (!isGranted) this.#release(id)
    }
  }

  async settle(id: string, actual: SpentAmount): Promise<void> {
    const held = this.#held.get(id)
    this.#spent = add(this.#spent, amountOf(actual))
    this.#release(id)
    if (held !== undefined) await this.#inner.settle(held.inner, actual)
  }

  /** Waits while calls of ours hold what would make it fit. */
  async #hold(
    request: SpendingRequest,
    signal: AbortSignal | undefined,
  ): Promise<Granted | (SpendingAnswer & { granted: false })> {
    const least = amountOf(request.least)
    const most = amountOf(request)
    if (this.#caps.usd !== Number.POSITIVE_INFINITY && !request.cost.known)
      return { granted: false, reason: 'your settings limit the cost, and the price of the model is not known' }
    for (;;) {
      const held = [...this.#held.values()].reduce<Amount>(add, NOTHING)
      const left = take(take(this.#caps, this.#spent), held)
      if (fits(least, left)) {
        const granted = {
          calls: most.calls,
          tokens: Math.min(most.tokens, left.tokens),
          usd: Math.min(most.usd, left.usd),
        }
        const id = `capped-${++this.#made}`
        this.#held.set(id, { ...granted, inner: '' })
        return { granted: true, id, ...granted }
      }
      if (signal?.aborted === true || !fits(least, take(this.#caps, this.#spent)))
        return { granted: false, reason: this.#reason() }
      await this.#change(signal)
    }
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

  #release(id: string): void {
    this.#held.delete(id)
    for (const tell of [...this.#waiting]) tell()
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
