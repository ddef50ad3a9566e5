// Usage and cost of models from this state folder: its list of calls, summed up by model.

import { addUsage, NO_USAGE, roundUsd } from '../../domain/model-use.ts'
import type { ModelCallRecord, Models, ModelUsageSum } from '../../runners/models.ts'

export interface UsageReport {
  readonly total: ModelUsageSum
  readonly models: readonly (ModelUsageSum & { readonly model: string })[]
  readonly purposes: readonly (ModelUsageSum & { readonly purpose: string })[]
}

export async function modelUsage(
  models: Pick<Models, 'calls'>,
  { since }: { readonly since?: number } = {},
): Promise<UsageReport> {
  const calls = (await models.calls()).filter(({ at }) => since === undefined || at >= since)
  return {
    total: sumOf(calls),
    models: groups(calls, 'model').map(([model, list]) => ({ model, ...sumOf(list) })),
    purposes: groups(calls, 'purpose').map(([purpose, list]) => ({ purpose, ...sumOf(list) })),
  }
}

/** What the tasks of one plan asked; empty where nothing was. */
export function planUsage(all: readonly ModelCallRecord[], plan: string): UsageReport['models'] {
  const calls = all.filter(({ payer }) => payer?.startsWith(`${plan}/`) === true)
  return groups(calls, 'model').map(([model, list]) => ({ model, ...sumOf(list) }))
}

function groups(
  calls: readonly ModelCallRecord[],
  key: 'model' | 'purpose',
): readonly (readonly [string, readonly ModelCallRecord[]])[] {
  const names = [...new Set(calls.map(call => call[key]))].sort()
  return names.map(name => [name, calls.filter(call => call[key] === name)])
}

function sumOf(calls: readonly ModelCallRecord[]): ModelUsageSum {
  return {
    calls: calls.length,
    failed: calls.filter(({ status }) => status === 'failed').length,
    cutOff: calls.filter(({ status }) => status === 'cut off').length,
    assumedTokens: calls.reduce((sum, call) => sum + call.assumedTokens, 0),
    usage: calls.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE),
    usd: roundUsd(calls.reduce((sum, { cost }) => sum + (cost.known ? cost.usd : 0), 0)),
    unpriced: calls.filter(({ cost }) => !cost.known).length,
  }
}
