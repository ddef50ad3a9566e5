// Plans as a table, for `list` and `status`.

import type { PlanRow } from '../stores/store.ts'
import type { Context } from './context.ts'
import { ago } from './elapsed.ts'
import { planWord, tint } from './paint.ts'
import { table } from './table.ts'

export function planTable(context: Context, plans: readonly PlanRow[]): readonly string[] {
  const { paint, terminal } = context
  const now = context.now()
  const rows = plans.map(plan => [
    { text: plan.name, tint: paint.bold },
    {
      text: plan.archived ? `${planWord(plan.status)}, archived` : planWord(plan.status),
      tint: tint(paint, plan.status),
    },
    `${plan.done}/${plan.tasks}`,
    ago(plan.updatedAt, now),
    plan.title ?? plan.goal ?? '',
  ])
  return table(paint, ['plan', 'status', 'done', 'changed', 'title'], rows, terminal?.columns() ?? null)
}
