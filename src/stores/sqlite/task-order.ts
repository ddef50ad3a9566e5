// The three orders tasks are listed in: as columns, as the key a cursor bears, and as a condition for what comes behind one.

import { openCursor } from '../cursor.ts'
import type { TaskQuery } from '../store.ts'
import type { Conditions } from './conditions.ts'
import type { Row } from './driver.ts'

export interface TaskOrder {
  /** The name its cursors bear. */
  readonly list: string
  /** Of all plans; `plan` is the column with the number of the plan. */
  readonly columns: (plan: string) => string
  /** Within one plan. */
  readonly within: string
  readonly key: (row: Row) => readonly number[]
  readonly compare: (a: readonly number[], b: readonly number[]) => number
  /** Only what comes behind the row with this key; `plan` is null within one plan. */
  readonly behind: (where: Conditions, after: readonly number[], plan: string | null) => void
}

export const orderOf = (query: TaskQuery): TaskOrder => ORDERS[query.order ?? 'plan']

/** Null on the first page. */
export const openTaskCursor = (query: TaskQuery, order: TaskOrder): readonly number[] | null =>
  openCursor(order.list, order.key({}).length, query)

const ORDERS: Readonly<Record<'plan' | 'sequence' | 'recent', TaskOrder>> = {
  plan: {
    list: 'tasks',
    columns: plan => `${plan} DESC, t.ordinal`,
    within: 't.ordinal',
    key: keyOf('plan_no', 'ordinal'),
    compare: compareBy(-1, 1),
    behind(where, [number, ordinal], plan) {
      if (plan === null) where.add('t.ordinal > ?', ordinal)
      else where.add(`${plan} <= ? AND (${plan} < ? OR t.ordinal > ?)`, number, number, ordinal)
    },
  },
  sequence: {
    list: 'tasks in sequence',
    columns: plan => `${plan} DESC, t.sequence, t.ordinal`,
    within: 't.sequence, t.ordinal',
    key: keyOf('plan_no', 'sequence', 'ordinal'),
    compare: compareBy(-1, 1, 1),
    behind(where, [number, ...place], plan) {
      const later = '(t.sequence, t.ordinal) > (?, ?)'
      if (plan === null) where.add(later, ...place)
      else where.add(`${plan} <= ? AND (${plan} < ? OR ${later})`, number, number, ...place)
    },
  },
  recent: {
    list: 'recent tasks',
    columns: () => 't.added_at DESC, t.plan_no DESC, t.ordinal DESC',
    // Ordinals count tasks in the order in which they came.
    within: 't.ordinal DESC',
    key: keyOf('added_at', 'plan_no', 'ordinal'),
    compare: compareBy(-1, -1, -1),
    behind(where, after, plan) {
      if (plan === null) where.add('t.ordinal < ?', after[2])
      else where.add('(t.added_at, t.plan_no, t.ordinal) < (?, ?, ?)', ...after)
    },
  },
}

function keyOf(...columns: readonly string[]): TaskOrder['key'] {
  return row => columns.map(column => row[column] as number)
}

/** 1 for a column that rises, -1 for one that falls. */
function compareBy(...signs: readonly number[]): TaskOrder['compare'] {
  return (a, b) => {
    const at = a.findIndex((value, index) => value !== b[index])
    return at === -1 ? 0 : (a[at]! - b[at]!) * signs[at]!
  }
}
