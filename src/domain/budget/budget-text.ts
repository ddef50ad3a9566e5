// Budgets in words, the same for every face.

import type { EventOf } from '../event.ts'
import { numberOf, spoken } from '../phrases.ts'
import { type Amounts, BUDGET_KEYS, type BudgetKey, type BudgetReason, type Shortfall } from './amounts.ts'

/** The start of the reason of a pause because of a cap. This text and the next are in journals and are recognised there: do not change. */
export const USED_UP = 'the budget is used up'
export const OUT_OF_TIME = 'its time budget is used up'

/** "1.5 USD", "12,000 tokens", "20m". */
export function keyText(key: BudgetKey, amount: number): string {
  switch (key) {
    case 'cost':
      return moneyText(amount)
    case 'tokens':
      return `${grouped(Math.round(amount))} ${amount === 1 ? 'token' : 'tokens'}`
    case 'calls':
      return `${grouped(amount)} ${amount === 1 ? 'call' : 'calls'}`
    case 'attempts':
      return `${grouped(amount)} ${amount === 1 ? 'attempt' : 'attempts'}`
    case 'timeMs':
      return spoken(amount)
    case 'outputBytes':
      return sizeText(amount)
    default:
      return key satisfies never
  }
}

/** Cents for dollars, more digits below a cent. */
export function moneyText(usd: number): string {
  if (usd === 0) return '0 USD'
  const digits = usd >= 0.01 ? 2 : usd >= 0.0001 ? 4 : 9
  const text = usd.toFixed(digits)
  // Rounding must not show less than the amount.
  const exact = Number(text) === usd ? text : usd.toFixed(usd >= 0.01 ? 4 : 9)
  return `${exact.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '')} USD`
}

function sizeText(bytes: number): string {
  for (const [unit, size] of SIZES) if (bytes >= size) return `${Math.round((bytes / size) * 10) / 10} ${unit}`
  return numberOf(Math.round(bytes), 'byte')
}

const SIZES = [
  ['GB', 1e9],
  ['MB', 1e6],
  ['kB', 1e3],
] as const

const grouped = (amount: number): string => String(amount).replace(/\B(?=(\d{3})+$)/g, ',')

/** "the plan may use 2 USD: 1.9 USD spent, 0.05 USD reserved, 0.3 USD needed". */
export function shortfallText(short: Shortfall): string {
  const { key, cap, spent, reserved, needed } = short
  const owner = whoseCap(short)
  const used = `${keyText(key, spent)} ${key === 'timeMs' ? 'used' : 'spent'}`
  const held = reserved === 0 ? '' : `, ${keyText(key, reserved)} reserved`
  const more = key === 'timeMs' || key === 'outputBytes' ? '' : `, ${keyText(key, needed)} needed`
  return `${owner} may use ${keyText(key, cap)}: ${used}${held}${more}`
}

function whoseCap({ task, byPolicy, settings }: Shortfall): string {
  if (byPolicy === true) return 'by the policy around it, the plan'
  if (settings !== undefined) return `by your settings (${settings}), '${task}'`
  return task === undefined ? 'the plan' : `'${task}'`
}

/** "1 call, 1,200 tokens". */
export const amountsText = (amounts: Amounts): string =>
  BUDGET_KEYS.flatMap(key => (amounts[key] === undefined ? [] : [keyText(key, amounts[key])])).join(', ') || 'nothing'

/** "ana added 2 USD to the budget of the plan". */
export function raisedText({ task, add, unpriced, large, by }: Omit<EventOf<'budget.raised'>, 'type'>): string {
  const owner = task === undefined ? 'the plan' : task
  if (unpriced === true) return `${by} allowed models whose price is not known`
  if (large !== undefined) return `${by} allowed single calls of ${owner} up to ${moneyText(large)}`
  return `${by} added ${amountsText(add ?? {})} to the budget of ${owner}`
}

export function reasonText(reason: BudgetReason): string {
  switch (reason.type) {
    case 'caps':
      return `${USED_UP}: ${reason.short.map(shortfallText).join('; ')}`
    case 'price':
      if (reason.uncounted === true)
        return `with your own login, the agent calls its provider directly; Planfold cannot count the cost, so it cannot keep the limit of ${reason.cap}`
      return `Planfold does not know the price of the model in the currency of the budget, so it cannot keep the limit of ${reason.cap}`
    case 'large':
      return `a single call may cost ${moneyText(reason.cost)}, more than ${moneyText(reason.above)}`
    default:
      return reason satisfies never
  }
}
