// The model and its use, as the journal stores it in the result of a task.

import type { Sha256 } from './id.ts'
import type { Json } from './json.ts'

export interface ModelUsage {
  /** Including cache reads and writes. */
  readonly inputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly outputTokens: number
  /** The part of `outputTokens` used for reasoning; 0 when the provider does not report it. */
  readonly reasoningTokens: number
}

/** In US dollars. `local`: an OpenAI-compatible server on this machine is free, unless the settings give it a price. */
export type ModelCost =
  | { readonly known: true; readonly usd: number; readonly by: 'price' | 'local' }
  | { readonly known: false }

export interface ModelUse {
  readonly model: string
  readonly calls: number
  readonly usage: ModelUsage
  readonly cost: ModelCost
  /** The provider's usage report for each call, verbatim. */
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

/** Unknown if either is. Rounded to a billionth of a dollar, so that sums do not drift. */
export function addCost(a: ModelCost, b: ModelCost): ModelCost {
  if (!a.known || !b.known) return { known: false }
  const by = a.by === 'price' || b.by === 'price' ? 'price' : 'local'
  return { known: true, usd: roundUsd(a.usd + b.usd), by }
}

export const roundUsd = (usd: number): number => Math.round(usd * 1e9) / 1e9

export const tokensOf = ({ inputTokens, outputTokens }: ModelUsage): number => inputTokens + outputTokens
