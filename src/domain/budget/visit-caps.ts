// The caps of model use for one visit of a task, besides the budgets of the plan: those in the user's settings, or else defaults for model
// tasks. A default is a budget that a person can increase when asked; a cap from the settings changes only there.

import { actionFacts } from '../actions/actions.ts'
import type { TaskName } from '../id.ts'
import { type Amounts, type SettingsCaps, takeAmounts } from './amounts.ts'
import { accountOf, type Budgeted, type Ledger } from './ledger.ts'

export interface Visit {
  readonly task: TaskName
  readonly visit: number
  readonly settings?: SettingsCaps | undefined
}

/** `settings`: the file that sets it. */
export interface VisitCap {
  readonly key: VisitKey
  readonly cap: number
  readonly spent: number
  readonly reserved: number
  readonly settings?: string
}

type VisitKey = 'calls' | 'tokens' | 'cost'
const KEYS: readonly VisitKey[] = ['cost', 'tokens', 'calls']

/** The default for one visit of a model task, or one planner run; `cost` in US dollars. */
export const CALLS_DEFAULT: Required<Pick<Amounts, VisitKey>> = { calls: 20, tokens: 400_000, cost: 2 }

/** The default is for single questions; an agent asks many. */
export function hasDefault({ tasks }: Pick<Budgeted, 'tasks'>, task: TaskName): boolean {
  const action = tasks.get(task)?.definition.action
  return action !== undefined && actionFacts(action).sends === 'models'
}

export function visitCaps(
  state: Pick<Budgeted, 'tasks'>,
  ledger: Ledger,
  { task, visit, settings }: Visit,
): readonly VisitCap[] {
  const account = accountOf(ledger, task)
  const base = ledger.visits.get(task)
  const before = base?.visit === visit ? base : { spent: {}, raised: {} }
  const spent = takeAmounts(account.spent, before.spent)
  const raised = takeAmounts(account.raised, before.raised)
  const isOurs = hasDefault(state, task)
  return KEYS.flatMap((key): readonly VisitCap[] => {
    const used = { key, spent: spent[key] ?? 0, reserved: account.held[key] ?? 0 }
    const cap = settings?.caps[key]
    if (settings !== undefined && cap !== undefined) return [{ ...used, cap: cap, settings: settings.file }]
    return isOurs ? [{ ...used, cap: CALLS_DEFAULT[key] + (raised[key] ?? 0) }] : []
  })
}
