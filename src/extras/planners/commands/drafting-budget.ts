// `--budget` of `planfold plan`: how much a model may be used for the drafting, as '3 USD', '40 calls', '600k tokens', or several of them.

import { usage } from '../../../cli/exit.ts'
import { readAmount, readMoney } from '../../../format/text/units.ts'
import type { DraftingBudget } from '../planner.ts'

const PART = /(\d[\d.,]*[a-zA-Z]?)\s*(USD|calls?|tokens?)(?=[\s,;]|$)/g

export function readDraftingBudget(text: string): DraftingBudget {
  const bad = usage(
    `'${text}' is not a budget for drafting`,
    "write '3 USD', '40 calls', '600k tokens', or several of them",
  )
  if (text.replace(PART, '').replace(/[\s,;]/g, '') !== '') throw bad
  const parts = [...text.matchAll(PART)].map(([, number = '', unit = '']): DraftingBudget => {
    const plain = number.replaceAll(',', '')
    const read = unit === 'USD' ? readMoney(`${plain} USD`) : readAmount(plain)
    if (!read.ok) throw bad
    const amount = typeof read.value === 'number' ? read.value : read.value.amount
    if (amount <= 0) throw bad
    return unit === 'USD' ? { usd: amount } : unit.startsWith('call') ? { calls: amount } : { tokens: amount }
  })
  if (parts.length === 0) throw bad
  return Object.assign({}, ...parts)
}
