// Groups: the items of a `for_each`, evaluated when the group starts, and the collected outputs of its children.

import type { Expanded } from '../../domain/command.ts'
import type { Hint } from '../../domain/hint.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import { ITEMS_MAX, ITEMS_MAX_BYTES, PAYLOAD_MAX_BYTES } from '../../domain/limits.ts'
import type { Action } from '../../domain/plan.ts'
import { bindItems } from '../../domain/plan-rules/for-each.ts'
import type { Failure } from '../../domain/result.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { definitionHash } from '../../format/plan/hash.ts'
import { evaluator, ownContext } from './expressions.ts'

export type FoundItems = { readonly expanded: Expanded } | { readonly failure: Failure }

export async function findItems(state: PlanState, task: TaskState): Promise<FoundItems> {
  const { id, action } = task.definition
  if (action.type !== 'items') throw new Error(`bug: '${id}' finds no items`)
  const evaluate = await evaluator(state, ownContext(task))
  // No await from here on: expression, definition and hash must come from the same state.
  const evaluation = evaluate(action.in)
  const about = `for_each of '${action.of}'`
  if (!evaluation.ok)
    return fault(`${about}: '${action.in}' cannot be evaluated: ${evaluation.message}`, evaluation.hint)
  const items = evaluation.value
  if (!Array.isArray(items))
    return fault(`${about} gives ${kindOf(items)}, not a list`, 'let the expression give a list, e.g. [outputs.file]')
  if (items.length > ITEMS_MAX)
    return fault(`${about} gives ${items.length} items, more than ${ITEMS_MAX}`, 'take fewer, or several items at once')
  if (JSON.stringify(items).length > ITEMS_MAX_BYTES)
    return fault(`${about} gives items of more than ${ITEMS_MAX_BYTES} bytes`, 'hand over names or paths, not contents')
  const definition = bindItems(state.definition, action.of, items)
  const hash = definitionHash(definition)
  return { expanded: { task: id, visit: task.visit, from: state.hash, items, definition, hash } }
}

/** Outputs of the children, in order. Beyond a size limit the rest is listed without outputs. */
export function gather(state: PlanState, { children }: Extract<Action, { type: 'group' }>): JsonObject {
  let bytes = 0
  let leftOff = 0
  const items = children.map((name): Json => {
    const child = state.tasks.get(name)
    const outputs = child?.result?.outputs ?? {}
    const size = JSON.stringify(outputs).length
    const fits = bytes + size <= PAYLOAD_MAX_BYTES
    if (fits) bytes += size
    else leftOff++
    return { task: name, status: child?.status ?? 'pending', outputs: fits ? outputs : null }
  })
  return { items, ...(leftOff === 0 ? {} : { left_off: leftOff }) }
}

const kindOf = (value: Json): string => (value === null ? 'null' : typeof value === 'object' ? 'a map' : typeof value)

function fault(message: string, hint: Hint | undefined): FoundItems {
  return { failure: { class: 'logic', message, hint, retryable: false } }
}
