// An agent that works for no plan, because it drafts one: the caps that the user wrote into the settings limit it, and what a person
// allows for it. All calls of one payer count. Only what somebody said holds: our own defaults are made for single questions, and an
// agent asks many.

import { roundUsd } from '../../../domain/model-use.ts'
import type {
  Allowance,
  Spending,
  SpendingAnswer,
  SpendingRequest,
  SpentAmount,
} from '../../../runners/model-gateway.ts'
import type { ModelCaps, ModelSpending } from '../../../runners/models.ts'
import type { ShortCap } from '../meter.ts'
import { type Raising, raisingOf } from '../raise-caps.ts'
import type { Settings } from '../user-settings.ts'

interface Amount {
  readonly calls: number
  readonly tokens: number
  readonly usd: number
}

const KEYS = ['calls', 'tokens', 'usd'] as const

export class CappedSpending implements Spending {
  readonly #said: ModelCaps
  readonly #allowance: Allowance
  readonly #raising: Raising
  readonly #held = new Map<string, Amount>()
  readonly #waiting = new Set<() => void>()
  #spent: Amount
  #made = 0
  #asking: Promise<boolean> | null = null

  constructor(settings: Pick<Settings, 'said' | 'file'>, before: ModelSpending, allowance: Allowance = { caps: {} }) {
    this.#said = settings.said
    this.#allowance = allowance
    this.#raising = raisingOf(settings, { more: allowance.more })
    const { calls, usage, cost } = before
    this.#spent = { calls, tokens: usage.inputTokens + usage.outputTokens, usd: cost.known ? cost.usd : 0 }
  }

  /** Waits while calls of ours hold what would make it fit, and while a person is asked. */
  async reserve(request: SpendingRequest, signal?: AbortSignal): Promise<SpendingAnswer> {
    const least = amountOf(request.least)
    const most = amountOf(request)
    for (;;) {
      const caps = this.#caps()
      if (caps.usd !== NONE && !request.cost.known)
        return {
          granted: false,
          reason: 'the cost is limited, and the price of the model is not known',
          hint: 'write its price into your settings, or set a limit of calls and tokens only',
        }
      const held = [...this.#held.values()].reduce<Amount>(add, NOTHING)
      const left = take(take(caps, this.#spent), held)
      if (fits(least, left)) {
        const tokens = Math.min(most.tokens, left.tokens)
        const usd = Math.min(most.usd, left.usd)
        const id = `capped-${++this.#made}`
        this.#held.set(id, { calls: most.calls, tokens, usd })
        return { granted: true, id, tokens, usd }
      }
      const free = take(caps, this.#spent)
      const key = KEYS.find(one => least[one] > free[one])
      if (signal?.aborted === true) return { granted: false, reason: 'nobody waits for it any more' }
      if (key === undefined) {
        await this.#change(signal)
        continue
      }
      const short: ShortCap = { key, cap: caps[key], need: this.#spent[key] + least[key] }
      const reason = this.#reason(short)
      const hint = this.#raising.hint(short)
      this.#asking ??= this.#raise(short, reason).finally(() => {
        this.#asking = null
      })
      if (!(await this.#asking)) return { granted: false, reason, ...(hint === undefined ? {} : { hint }) }
    }
  }

  async settle(id: string, actual: SpentAmount): Promise<void> {
    this.#spent = add(this.#spent, amountOf(actual))
    this.#held.delete(id)
    for (const tell of [...this.#waiting]) tell()
  }

  #caps(): Amount {
    const { caps } = this.#allowance
    const capOf = (key: keyof ModelCaps): number => Math.min(this.#said[key] ?? NONE, caps[key] ?? NONE)
    return { calls: capOf('calls'), tokens: capOf('tokens'), usd: capOf('usd') }
  }

  async #raise(short: ShortCap, message: string): Promise<boolean> {
    const raised = await this.#raising.ask(short, { message })
    if (raised === null) return false
    this.#allowance.caps = { ...this.#allowance.caps, [raised.key]: raised.cap }
    return true
  }

  #reason({ key, cap }: ShortCap): string {
    const { calls, tokens, usd } = this.#spent
    const spent = `${calls} calls, ${tokens} tokens and ${roundUsd(usd)} USD are spent`
    const limit = `${cap} ${key === 'usd' ? 'USD' : key}`
    return (this.#said[key] ?? NONE) <= cap
      ? `the limit of your settings for one task is reached (${limit}; ${spent})`
      : `the drafting limit is reached (${limit}; ${spent})`
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

const NONE = Number.POSITIVE_INFINITY
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
