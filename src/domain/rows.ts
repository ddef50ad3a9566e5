// The rows of a task that stands for several: one for each item of its list, or for each combination of its matrix.

import type { Json, JsonObject } from './json.ts'
import { ITEMS_MAX } from './limits.ts'
import type { Bound, Matrix, TaskDefinition } from './plan.ts'

/** One row for each child: row by row, the first axis slowest. */
export function rowsOf(task: TaskDefinition): readonly Bound[] {
  if (task.forEach !== undefined) return (task.forEach.items ?? []).map((item, index) => ({ item, index }))
  const matrix = task.matrix ?? {}
  const count = Math.min(combinations(matrix), ITEMS_MAX + 1)
  return Array.from({ length: count }, (_, index) => ({ index, matrix: combination(matrix, index) }))
}

function combination(matrix: Matrix, index: number): JsonObject {
  const values: [string, Json][] = []
  let left = index
  for (const [axis, list] of Object.entries(matrix).reverse()) {
    values.push([axis, list[left % list.length]!])
    left = Math.floor(left / list.length)
  }
  return Object.fromEntries(values.reverse())
}

/** What tells one child from the other, for people. */
export function titled(task: TaskDefinition, row: Bound): { readonly title?: string } {
  const values: readonly (readonly [string, Json | undefined])[] = Object.entries(row.matrix ?? { '': row.item })
  const words = values.flatMap(([axis, value]) => {
    if (typeof value === 'string') return [value]
    return typeof value === 'number' || typeof value === 'boolean' ? [`${axis} ${value}`.trim()] : []
  })
  const label = words.join(', ').replaceAll(/\s+/g, ' ').slice(0, 60)
  if (label === '') return {}
  return { title: task.title === undefined ? label : `${task.title} (${label})` }
}

/** How many combinations a matrix has; a product of its axes that does not overflow. */
export const combinations = (matrix: Matrix): number =>
  Object.values(matrix).reduce((product, values) => Math.min(product * values.length, Number.MAX_SAFE_INTEGER), 1)
