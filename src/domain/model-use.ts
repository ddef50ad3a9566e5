// What a model was asked and what it used: as the journal keeps it in the result of a task.

import type { Sha256 } from './id.ts'
import type { Json } from './json.ts'

/** Tokens, counted alike for every provider. */
export interface ModelUsage {
  /** All of the input, with what was read from a cache or written to one. */
  readonly inputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly outputTokens: number
  /** The part of `outputTokens` that was thought and not said; 0 where the provider does not tell. */
  readonly reasoningTokens: number
}

/** In US dollars. `local`: an OpenAI-compatible server on this machine costs nothing, unless the settings give it a price. */
export type ModelCost =
  | { readonly known: true; readonly usd: number; readonly by: 'price' | 'local' }
  | { readonly known: false }

export interface ModelUse {
  /** `provider/name`. */
  readonly model: string
  readonly calls: number
  readonly usage: ModelUsage
  readonly cost: ModelCost
  /** The provider's own count of each call, as it came. */
  readonly wireUsage: readonly Json[]
  readonly providerMetadata: readonly Json[]
  /** The blob with all requests and responses, redacted. */
  readonly recording: Sha256
}

export const NO_USAGE: ModelUsage = {
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
}

export function addUsage(a: ModelUsage, b: ModelUsage): ModelUsage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  }
}

/** Not known as soon as one of them is not. Sums are kept to a billionth of a dollar, so that they do not drift. */
export function addCost(a: ModelCost, b: ModelCost): ModelCost {
  if (!a.known || !b.known) return { known: false }
  const by = a.by === 'price' || b.by === 'price' ? 'price' : 'local'
  return { known: true, usd: roundUsd(a.usd + b.usd), by }
}

export const roundUsd = (usd: number): number => Math.round(usd * 1e9) / 1e9

export const tokensOf = ({ inputTokens, outputTokens }: ModelUsage): number => inputTokens + outputTokens
