// May this be spent? Checks every account it would be charged to: the task, the groups around it, the plan. Pure.

import type { Millis, TaskName } from '../id.ts'
import type { Budget } from '../plan.ts'
import {
  type Amounts,
  BUDGET_KEYS,
  type BudgetKey,
  type BudgetReason,
  capsOf,
  isForeign,
  LARGE_COST_DEFAULT,
  leftOf,
  PRICE_CURRENCY,
  type Shortfall,
  type Spend,
} from './amounts.ts'
import { keyText } from './budget-text.ts'
import {
  type Account,
  accountOf,
  type Budgeted,
  budgetAt,
  ceilingOf,
  type Ledger,
  type Level,
  levelsOf,
  timeSpent,
} from './ledger.ts'
import { type Visit, visitCaps } from './visit-caps.ts'

export type Judged =
  | { readonly type: 'granted' }
  /** It fits after other attempts settle their reservations. */
  | { readonly type: 'wait' }
  | { readonly type: 'refused'; readonly exceeded: 'ask' | 'fail'; readonly reason: BudgetReason }

const GRANTED: Judged = { type: 'granted' }
const WAIT: Judged = { type: 'wait' }

type Judging = Budgeted & { readonly budget: Ledger | null }

/** The levels around a task that have a budget, innermost first. */
export function budgetsOf(
  state: Judging,
  task: TaskName,
): readonly { readonly level: Level; readonly budget: Budget }[] {
  return levelsOf(task).flatMap(level => {
    const budget = budgetAt(state, level)
    return budget === null ? [] : [{ level, budget }]
  })
}

/** The cap with its increases, limited by the policy layers around the plan; null for no cap. */
export function capOf(state: Budgeted, level: Level, account: Account, key: BudgetKey): number | null {
  const own = level === '' ? state.definition.policy?.budget : budgetAt(state, level)
  const cap = own === undefined || own === null ? undefined : capsOf(own)[key]
  const most = capOfLayers(state, level, key)
  if (cap === undefined) return most
  return Math.min(cap + (account.raised[key] ?? 0), most ?? Number.POSITIVE_INFINITY)
}

export function capOfLayers(state: Budgeted, level: Level, key: BudgetKey): number | null {
  const ceiling = ceilingOf(state, level)
  return ceiling === null ? null : (capsOf(ceiling)[key] ?? null)
}

/** `visit`: for model calls, which the caps of a visit limit as well. */
export function judgeAmounts(
  state: Judging,
  ledger: Ledger,
  task: TaskName,
  need: Amounts,
  now: Millis,
  visit?: Visit,
): Judged {
  let waits = false
  let fails = false
  const short: Shortfall[] = []
  for (const { level, budget } of budgetsOf(state, task)) {
    const account = accountOf(ledger, level)
    for (const key of BUDGET_KEYS) {
      const cap = capOf(state, level, account, key)
      const needed = need[key] ?? 0
      if (cap === null || needed === 0) continue
      const spent = key === 'timeMs' ? timeSpent(account, now) : (account.spent[key] ?? 0)
      const reserved = account.held[key] ?? 0
      if (spent + reserved + needed <= cap + EPSILON) continue
      if (spent + needed <= cap + EPSILON) {
        waits = true
        continue
      }
      // An answer cannot exceed the limit of the policy layers.
      const most = capOfLayers(state, level, key)
      const byPolicy = most !== null && spent + needed > most + EPSILON
      if (budget.exceeded === 'fail' || byPolicy) fails = true
      short.push({
        ...(level === '' ? {} : { task: level }),
        ...(byPolicy ? { byPolicy } : {}),
        key,
        cap,
        spent,
        reserved,
        needed,
      })
    }
  }
  for (const { key, cap, spent, reserved, settings } of visit === undefined ? [] : visitCaps(state, ledger, visit)) {
    const needed = need[key] ?? 0
    if (needed === 0 || spent + reserved + needed <= cap + EPSILON) continue
    if (spent + needed <= cap + EPSILON) {
      waits = true
      continue
    }
    if (budgetAt(state, task)?.exceeded === 'fail') fails = true
    // An increase of the task's budget also raises the default cap of the visit.
    if (settings === undefined && short.some(one => one.task === task && one.key === key)) continue
    const by = settings === undefined ? {} : { settings }
    short.push({ task, visit: visit!.visit, ...by, key, cap, spent, reserved, needed })
  }
  if (short.length > 0) return { type: 'refused', exceeded: fails ? 'fail' : 'ask', reason: { type: 'caps', short } }
  return waits ? WAIT : GRANTED
}

/** Below the resolution of amounts. */
const EPSILON = 1e-10

export function judgeSpend(state: Judging, ledger: Ledger, visit: Visit, spend: Spend, now: Millis): Judged {
  const { task } = visit
  const { cost, ...rest } = spend
  const unpriced = priceGap(state, ledger, visit, spend)
  if (unpriced !== null) return unpriced
  const above = Math.max(largeAbove(state, task), ledger.large.get(task) ?? 0)
  if (typeof cost === 'number' && cost > above)
    return { type: 'refused', exceeded: 'ask', reason: { type: 'large', cost, above } }
  return judgeAmounts(state, ledger, task, { ...rest, ...(typeof cost === 'number' ? { cost } : {}) }, now, visit)
}

/** A cap of money for a call of unknown price, or a cap of calls or tokens that will not be counted. */
function priceGap(
  state: Judging,
  ledger: Ledger,
  { task, settings }: Visit,
  { cost = 0, tokens, calls }: Spend,
): Judged | null {
  if (ledger.unpriced || cost === 0) return null
  if (cost === null && tokens === undefined && calls === undefined) return uncounted(state, task)
  for (const { budget } of budgetsOf(state, task)) {
    if (budget.cost === undefined || (cost !== null && !isForeign(budget))) continue
    const cap = `${budget.cost.amount} ${budget.cost.currency}`
    return { type: 'refused', exceeded: budget.exceeded ?? 'ask', reason: { type: 'price', cap } }
  }
  const cap = settings?.caps.cost
  if (cost !== null || cap === undefined) return null
  const exceeded = budgetAt(state, task)?.exceeded ?? 'ask'
  return { type: 'refused', exceeded, reason: { type: 'price', cap: `${cap} ${PRICE_CURRENCY}` } }
}

function uncounted(state: Judging, task: TaskName): Judged | null {
  for (const { budget } of budgetsOf(state, task)) {
    const { cost, tokens, calls } = budget
    const caps = [
      ...(cost === undefined ? [] : [`${cost.amount} ${cost.currency}`]),
      ...(tokens === undefined ? [] : [keyText('tokens', tokens)]),
      ...(calls === undefined ? [] : [keyText('calls', calls)]),
    ]
    if (caps.length === 0) continue
    const reason = { type: 'price', cap: caps.join(', '), uncounted: true } as const
    return { type: 'refused', exceeded: budget.exceeded ?? 'ask', reason }
  }
  return null
}

/** The price of a single call above which a person is asked: from the innermost budget, else five dollars. */
export function largeAbove(state: Budgeted, task: TaskName): number {
  for (const level of levelsOf(task)) {
    const large = budgetAt(state, level)?.large
    if (large !== undefined) return large.currency === 'USD' ? large.amount : LARGE_COST_DEFAULT
  }
  return LARGE_COST_DEFAULT
}

/** The time left for an attempt that begins now, by the smallest cap, and what follows when it is over; null without a cap. */
export function timeLimitOf(
  state: Judging,
  task: TaskName,
  now: Millis,
): { readonly leftMs: number; readonly exceeded: 'ask' | 'fail' } | null {
  const { budget: ledger } = state
  if (ledger === null) return null
  let least: { leftMs: number; exceeded: 'ask' | 'fail' } | null = null
  for (const { level, budget } of budgetsOf(state, task)) {
    const account = accountOf(ledger, level)
    const cap = capOf(state, level, account, 'timeMs')
    if (cap === null) continue
    const leftMs = Math.max(0, cap - timeSpent(account, now))
    if (least === null || leftMs < least.leftMs) least = { leftMs, exceeded: budget.exceeded ?? 'ask' }
  }
  return least
}

/** What is left for a task by the smallest cap around it, never negative; null without a cap. Not for time, see `timeLimitOf`. */
export function amountLeft(
  state: Judging,
  ledger: Ledger,
  task: TaskName,
  key: BudgetKey,
  visit?: Visit,
): number | null {
  let least: number | null = null
  for (const one of visit === undefined ? [] : visitCaps(state, ledger, visit)) {
    if (one.key !== key) continue
    const left = Math.max(0, leftOf({ [key]: one.cap }, { [key]: one.spent }, { [key]: one.reserved }, key))
    least = Math.min(least ?? left, left)
  }
  for (const { level } of budgetsOf(state, task)) {
    const account = accountOf(ledger, level)
    const cap = capOf(state, level, account, key)
    if (cap === null) continue
    const left = Math.max(0, leftOf({ [key]: cap }, account.spent, account.held, key))
    least = Math.min(least ?? left, left)
  }
  return least
}
