// What a budget counts: attempts, model calls, tokens, money, time and stored output. Amounts are plain numbers; a key that is absent
// counts as nothing. Money is kept to a billionth of a dollar, so that sums do not drift.

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
  /** What commands print, as far as it is stored. */
  readonly outputBytes?: number
}

export type BudgetKey = keyof Amounts

/** In the order in which they are shown. */
export const BUDGET_KEYS: readonly BudgetKey[] = ['cost', 'tokens', 'calls', 'attempts', 'timeMs', 'outputBytes']

/** Prices of models are in this currency, so only a cap in it can be compared with them. */
export const PRICE_CURRENCY = 'USD'

export const NO_AMOUNTS: Amounts = {}

export const addAmounts = (a: Amounts, b: Amounts): Amounts => combine(a, b, (one, other) => one + other)

/** Never below zero. */
export const takeAmounts = (a: Amounts, b: Amounts): Amounts => combine(a, b, (one, other) => Math.max(0, one - other))

/** What may still be used; without a cap as much as one likes. Less than nothing when more was used than anybody thought. */
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

/** The caps a budget sets. A cap in another currency is no cap that can be counted, see `isForeign`. */
export function capsOf({ cost, timeMs, attempts, tokens, calls, outputBytes }: Budget): Amounts {
  const money = cost?.currency === PRICE_CURRENCY ? cost.amount : undefined
  const caps = { cost: money, tokens, calls, attempts, timeMs, outputBytes }
  return defined(caps)
}

/** Money in a currency that no price is known in. */
export const isForeign = ({ cost }: Budget): boolean => cost !== undefined && cost.currency !== PRICE_CURRENCY

/** What a single call may cost before somebody is asked, when the plan does not say. */
export const LARGE_COST_DEFAULT = 5

/** What somebody wants to use. `cost` is null where the price is not known; without `tokens`, nobody will count those either. */
export interface Spend {
  readonly cost?: number | null
  readonly tokens?: number
  readonly calls?: number
}

/** What the user wrote into the settings about one visit of a task. It comes with each call, so that it holds as it is then. */
export interface SettingsCaps {
  readonly caps: Pick<Amounts, 'calls' | 'tokens' | 'cost'>
  readonly file: string
}

/** A cap that is too small for what is needed. */
export interface Shortfall {
  /** The group or task whose cap it is; absent for that of the plan. */
  readonly task?: TaskName
  readonly key: BudgetKey
  /** It is the policy around the plan that allows no more: nobody here can add to it. */
  readonly byPolicy?: true
  /** It is the cap of this visit of the task, see visit-caps.ts; `settings`: the file of the user that says so. */
  readonly visit?: number
  readonly settings?: string
  readonly cap: number
  readonly spent: number
  readonly reserved: number
  readonly needed: number
}

/** Why somebody is asked: caps are too small, the price of a model is not known, or a single call is dear. */
export type BudgetReason =
  | { readonly type: 'caps'; readonly short: readonly Shortfall[] }
  /** `uncounted`: nobody counts what is used either, as when an agent speaks to its own servers. */
  | { readonly type: 'price'; readonly cap: string; readonly uncounted?: true }
  | { readonly type: 'large'; readonly cost: number; readonly above: number }

/** What Planfold asks about a budget; `attempt`: the attempt that waits for the answer. */
export interface AskedBudget {
  readonly reason: BudgetReason
  readonly visit?: number
  readonly attempt?: number
}
