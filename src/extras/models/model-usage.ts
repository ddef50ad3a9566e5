// What models were asked from this state folder, and what it cost: the list of calls, added up by model.

import { addUsage, type ModelUsage, NO_USAGE, roundUsd } from '../../domain/model-use.ts'
import type { ModelCallRecord, Models } from '../../runners/models.ts'

export interface UsageReport {
  readonly total: UsageSum
  readonly models: readonly (UsageSum & { readonly model: string })[]
  readonly purposes: readonly (UsageSum & { readonly purpose: string })[]
}

export interface UsageSum {
  readonly calls: number
  readonly failed: number
  /** Calls whose end nobody saw; they count with what was said of them, else with the most they can have used. */
  readonly cutOff: number
  /** Tokens in `usage` that nobody counted: of calls that were cut off, and of answers without a count. */
  readonly assumedTokens: number
  readonly usage: ModelUsage
  /** US dollars of all calls whose price is known. */
  readonly usd: number
  /** Calls whose price is not known. */
  readonly unpriced: number
}

export async function modelUsage(models: Models, { since }: { readonly since?: number } = {}): Promise<UsageReport> {
  const calls = (await models.calls()).filter(({ at }) => since === undefined || at >= since)
  return {
    total: sumOf(calls),
    models: groups(calls, 'model').map(([model, list]) => ({ model, ...sumOf(list) })),
    purposes: groups(calls, 'purpose').map(([purpose, list]) => ({ purpose, ...sumOf(list) })),
  }
}

/** What the tasks of one plan asked; empty where nothing was. */
export async function planModels(models: Models, plan: string): Promise<UsageReport['models']> {
  const calls = (await models.calls()).filter(({ payer }) => payer?.startsWith(`${plan}/`) === true)
  return groups(calls, 'model').map(([model, list]) => ({ model, ...sumOf(list) }))
}

function groups(
  calls: readonly ModelCallRecord[],
  key: 'model' | 'purpose',
): readonly (readonly [string, readonly ModelCallRecord[]])[] {
  const names = [...new Set(calls.map(call => call[key]))].sort()
  return names.map(name => [name, calls.filter(call => call[key] === name)])
}

function sumOf(calls: readonly ModelCallRecord[]): UsageSum {
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
