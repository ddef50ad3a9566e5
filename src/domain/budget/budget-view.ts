// What is spent, reserved and left: one block for the plan and for each group and task with a budget.

import type { Millis, PlanId, TaskName } from '../id.ts'
import type { PlanState } from '../state/state.ts'
import type { PlanStatus } from '../status.ts'
import { type Amounts, BUDGET_KEYS, type BudgetKey, type Shortfall } from './amounts.ts'
import { capOf, largeAbove } from './judge-spend.ts'
import { accountOf, budgetAt, EMPTY_ACCOUNT, type Level, timeSpent } from './ledger.ts'

export interface BudgetLine {
  readonly key: BudgetKey
  /** `added` included. */
  readonly cap: number
  readonly added: number
  readonly spent: number
  /** Always zero for time, which running tasks share. */
  readonly reserved: number
  readonly left: number
}

export interface BudgetBlock {
  readonly task: TaskName | null
  readonly exceeded: 'ask' | 'fail'
  readonly lines: readonly BudgetLine[]
  /** A cost limit in a currency in which no price is known. */
  readonly foreign: string | null
}

export interface BudgetView {
  readonly plan: PlanId
  readonly name: string
  readonly status: PlanStatus
  /** Does the plan have a budget that is counted? Plans started by earlier releases do not count theirs. */
  readonly kept: boolean
  readonly blocks: readonly BudgetBlock[]
  readonly used: Amounts | null
  /** The part of `used` for calls whose end is unknown, at the full reservation; absent when there are none. */
  readonly assumed?: Amounts
  readonly unpricedCalls: number
  /** US dollars: a person is asked before a single call that may cost more. */
  readonly largeAbove: number
  readonly asked: { readonly id: string; readonly text: string; readonly short: readonly Shortfall[] } | null
}

export function budgetView(state: PlanState, now: Millis): BudgetView {
  const { budget: ledger, definition, questions } = state
  const levels: Level[] = ['', ...state.order.map(task => task.definition.id)]
  const blocks = levels.flatMap(level => blockOf(state, level, now) ?? [])
  const account = ledger === null ? null : accountOf(ledger, '')
  const open = questions.find(({ budget }) => budget !== undefined)
  const timeMs = account === null ? 0 : timeSpent(account, now)
  return {
    plan: state.id,
    name: definition.name,
    status: state.status,
    kept: ledger !== null,
    blocks,
    used: account === null ? null : { ...account.spent, ...(timeMs === 0 ? {} : { timeMs }) },
    unpricedCalls: account?.unpriced ?? 0,
    largeAbove: largeAbove(state, '' as TaskName),
    asked:
      open?.budget === undefined
        ? null
        : { id: open.id, text: open.text, short: open.budget.reason.type === 'caps' ? open.budget.reason.short : [] },
  }
}

function blockOf(state: PlanState, level: Level, now: Millis): BudgetBlock | null {
  const budget = budgetAt(state, level)
  if (budget === null) return null
  const account = state.budget === null ? EMPTY_ACCOUNT : accountOf(state.budget, level)
  const lines = BUDGET_KEYS.flatMap((key): BudgetLine[] => {
    const cap = capOf(state, level, account, key)
    if (cap === null) return []
    const spent = key === 'timeMs' ? timeSpent(account, now) : (account.spent[key] ?? 0)
    const reserved = account.held[key] ?? 0
    const left = Math.max(0, cap - spent - reserved)
    return [{ key, cap, added: account.raised[key] ?? 0, spent, reserved, left: key === 'cost' ? round(left) : left }]
  })
  const { cost, exceeded = 'ask' } = budget
  const foreign = cost === undefined || cost.currency === 'USD' ? null : `${cost.amount} ${cost.currency}`
  return { task: level === '' ? null : level, exceeded, lines, foreign }
}

const round = (usd: number): number => Math.round(usd * 1e9) / 1e9
