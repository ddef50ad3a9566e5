// C22: a node whose id ends in `*` is one task for each item that the task it depends on finds. The items are the plan's artifact
// that comes from that task, or else its output `items`.

import { isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import type { TaskDefinition } from '../../../domain/plan.ts'
import { isList } from '../../../format/text/source.ts'
import type { DocumentBuilder } from '../document-builder.ts'

/** A task whose id ended in `*` goes over what its dependency found. */
export function expandWildcards(
  draft: DocumentBuilder,
  tasks: readonly Json[],
  artifacts: ReadonlyMap<string, readonly JsonObject[]>,
): Json[] {
  const expanded = [...tasks]
  const byName = new Map(
    tasks.flatMap((task, index) => (isMap(task) && typeof task.id === 'string' ? [[task.id, index] as const] : [])),
  )
  for (const [index, task] of tasks.entries()) {
    if (!isMap(task) || !isWild(task) || task.for_each !== undefined || task.gate !== undefined) continue
    const needs = (isList(task.needs) ? task.needs : []).filter(name => {
      const need = tasks[byName.get(name as string) ?? -1]
      return isMap(need) && need.gate === undefined
    }) as readonly string[]
    const source = needs.find(name => artifacts.has(name)) ?? needs[0]
    if (source === undefined) {
      draft.sketched(
        ['tasks', index, 'id'],
        `nothing says what '${String(task.extra.id)}' goes over`,
        "let it depend on a task that finds the list, or add 'for_each:'",
      )
      continue
    }
    const output = (artifacts.get(source)?.[0]?.name as string | undefined) ?? 'items'
    const { matrix: _, ...rest } = task
    const inputs = isMap(rest.inputs) ? rest.inputs : {}
    expanded[index] = { ...rest, for_each: listExpression(source, output), inputs: { ...IMPLIED_INPUT, ...inputs } }
    const at = byName.get(source) as number
    const finder = expanded[at] as JsonObject
    const outputs = isMap(finder.outputs) ? finder.outputs : {}
    if (!Object.hasOwn(outputs, output))
      expanded[at] = { ...finder, outputs: { ...outputs, [output]: { report: true } } }
  }
  return expanded
}

/** Each child is handed what it was made for. */
const IMPLIED_INPUT = { item: '${{ item }}' }

/** The inputs without what only the wildcard said. */
export function withoutImplied(inputs: JsonObject): JsonObject | undefined {
  const rest = Object.entries(inputs).filter(([key, value]) => key !== 'item' || value !== IMPLIED_INPUT.item)
  return rest.length === 0 ? undefined : Object.fromEntries(rest)
}

function listExpression(task: string, output: string): string {
  return `tasks['${task}'].outputs${/^[A-Za-z_]\w*$/.test(output) ? `.${output}` : `['${output}']`}`
}

function isWild(task: JsonObject): task is JsonObject & { readonly extra: JsonObject } {
  return isMap(task.extra) && typeof task.extra.id === 'string' && task.extra.id.endsWith('*')
}

/** The list a task goes over when its id says only `*`. */
export function impliedList(
  task: TaskDefinition,
  tasks: readonly TaskDefinition[],
  artifacts: ReadonlyMap<string, readonly JsonObject[]>,
): string | null {
  if (typeof task.extra?.id !== 'string' || !task.extra.id.endsWith('*')) return null
  const needs = (task.needs ?? []).filter(name => tasks.some(({ id, action }) => id === name && action.type !== 'gate'))
  const source = needs.find(name => artifacts.has(name)) ?? needs[0]
  return source === undefined
    ? null
    : listExpression(source, (artifacts.get(source)?.[0]?.name as string | undefined) ?? 'items')
}
