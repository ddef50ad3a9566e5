// What models cost. A row stands here only if the provider's own price page said so, on the day it names; every other price is
// unknown until the user's settings say it. Prices change: the settings win over this table.

import { type ModelCost, type ModelUsage, roundUsd } from '../../domain/model-use.ts'
import type { PriceRow, ProviderType } from '../../runners/models.ts'

const ANTHROPIC = {
  checked: '2026-11-16',
  source: 'platform.claude.com/docs/en/about-claude/pricing',
}
const opus = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25, ...ANTHROPIC }
const fable = { input: 10, output: 50, cacheWrite: 12.5, ...ANTHROPIC }

/** By provider and the provider's own name of the model. `cacheWrite` is the price of a cache that lasts five minutes. */
const PRICES: { readonly [name: string]: PriceRow } = {
  'anthropic/claude-opus-4-5': opus,
  'anthropic/claude-opus-4-5-20251101': opus,
  'anthropic/claude-opus-4-6': opus,
  'anthropic/claude-opus-4-7': opus,
  'anthropic/claude-opus-4-8': opus,
  'anthropic/claude-opus-5': opus,
  'anthropic/claude-fable-5': { ...fable, cacheRead: 1 },
  'anthropic/claude-fable-5-1': { ...fable, cacheRead: 0.25 },
}

const FREE: PriceRow = { input: 0, output: 0, checked: '', source: 'a server on this machine' }

/** The row of the settings, else of this table; a server on this machine is free; null when nobody knows. */
export function priceOf(
  place: { readonly provider: ProviderType; readonly id: string; readonly url: string },
  own: (Omit<PriceRow, 'checked' | 'source'> & Partial<PriceRow>) | undefined,
): PriceRow | null {
  if (own !== undefined) return { checked: '', source: 'your settings', ...own }
  if (place.provider === 'openai-compatible') return isLocal(place.url) ? FREE : null
  return PRICES[`${place.provider}/${place.id}`] ?? null
}

/** Each kind of token at its own price, to a billionth of a dollar. */
export function costOf(usage: ModelUsage, price: PriceRow | null): ModelCost {
  if (price === null) return { known: false }
  const plain = usage.inputTokens - usage.cacheReadTokens - usage.cacheWriteTokens
  const micros =
    plain * price.input +
    usage.cacheReadTokens * (price.cacheRead ?? price.input) +
    usage.cacheWriteTokens * (price.cacheWrite ?? price.input) +
    usage.outputTokens * price.output
  return { known: true, usd: roundUsd(micros / 1e6), by: price.source === FREE.source ? 'local' : 'price' }
}

export function isLocal(url: string): boolean {
  const { hostname } = new URL(url)
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}
