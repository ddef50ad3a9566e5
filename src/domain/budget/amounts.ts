// What a budget counts: attempts, model calls, tokens, money, time and stored output. An absent key means zero. Money is rounded to a
// billionth of a dollar, so that sums do not drift.

import type { TaskName } from '../id.ts'
import { defined } from '../json.ts'
import { roundUsd } from '../model-use.ts'
import type { Budget } from '../plan.ts'

export interface Amounts {
  readonly attempts?: number
  readonly calls?: number
  readonly tokens?: number
  /** US dollars. */
  readonly cost?: number
  readonly timeMs?: number
  /** Of what commands print, as far as it is stored. */
  readonly outputBytes?: number
}

export type BudgetKey = keyof Amounts

/** In display order. */
export const BUDGET_KEYS: readonly BudgetKey[] = ['cost', 'tokens', 'calls', 'attempts', 'timeMs', 'outputBytes']

/** Model prices are in this currency, so only caps in it can be compared with them. */
export const PRICE_CURRENCY = 'USD'

export const NO_AMOUNTS: Amounts = {}

export const addAmounts = (a: Amounts, b: Amounts): Amounts => combine(a, b, (one, other) => one + other)

export const takeAmounts = (a: Amounts, b: Amounts): Amounts => combine(a, b, (one, other) => Math.max(0, one - other))

/** What is left below the caps; without a cap, unlimited. Negative when more was used than was reserved. */
export function leftOf(
  caps: { readonly [K in BudgetKey]?: number | undefined },
  spent: Amounts,
  held: Amounts,
  key: BudgetKey,
): number {
  const cap = caps[key]
  if (cap === undefined) return Number.POSITIVE_INFINITY
  const left = cap - (spent[key] ?? 0) - (held[key] ?? 0)
  return key === 'cost' ? roundUsd(left) : left
}

function combine(a: Amounts, b: Amounts, how: (one: number, other: number) => number): Amounts {
  const sum: { -readonly [K in BudgetKey]?: number } = {}
  for (const key of BUDGET_KEYS) {
    const both = how(a[key] ?? 0, b[key] ?? 0)
    const value = key === 'cost' ? roundUsd(both) : both
    if (value !== 0) sum[key] = value
  }
  return sum
}

/** The caps of a budget, except one in another currency, which cannot be counted; see `isForeign`. */
export function capsOf({ cost, timeMs, attempts, tokens, calls, outputBytes }: Budget): Amounts {
  const money = cost?.currency === PRICE_CURRENCY ? cost.amount : undefined
  const caps = { cost: money, tokens, calls, attempts, timeMs, outputBytes }
  return defined(caps)
}

export const isForeign = ({ cost }: Budget): boolean => cost !== undefined && cost.currency !== PRICE_CURRENCY

/** In US dollars: the default price of a single call above which a person is asked. */
export const LARGE_COST_DEFAULT = 5

/** What a call may use. `cost` is null for an unknown price; if `tokens` and `calls` are absent too, the use is not counted at all. */
export interface Spend {
  readonly cost?: number | null
  readonly tokens?: number
  readonly calls?: number
}

/** The caps in the user's settings for one visit of a task. Passed with each call, so that changes apply at once. */
export interface SettingsCaps {
  readonly caps: Pick<Amounts, 'calls' | 'tokens' | 'cost'>
  readonly file: string
}

export interface Shortfall {
  /** The group or task whose cap it is; absent for the plan. */
  readonly task?: TaskName
  readonly key: BudgetKey
  /** The cap comes from a policy layer around the plan, so an answer cannot raise it. */
  readonly byPolicy?: true
  /** The cap is that of this visit of the task, see visit-caps.ts; `settings`: the user's file that sets it. */
  readonly visit?: number
  readonly settings?: string
  readonly cap: number
  readonly spent: number
  readonly reserved: number
  readonly needed: number
}

/** Why a person is asked: a cap is too small, the price of a model is unknown, or a single call is expensive. */
export type BudgetReason =
  | { readonly type: 'caps'; readonly short: readonly Shortfall[] }
  /** `uncounted`: the use is not counted either, as when an agent calls its own servers. */
  | { readonly type: 'price'; readonly cap: string; readonly uncounted?: true }
  | { readonly type: 'large'; readonly cost: number; readonly above: number }

/** A question about a budget; `attempt` is the attempt that waits for the answer. */
export interface AskedBudget {
  readonly reason: BudgetReason
  readonly visit?: number
  readonly attempt?: number
}
