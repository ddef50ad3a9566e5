// Orders as they travel: definitions become documents, fields that only the engine fills are left at home.

import type { Json, JsonObject } from '../domain/json.ts'
import type { TaskDefinition } from '../domain/plan.ts'
import type { Order } from '../engine/engine.ts'
import { raisePlan, raiseTask } from '../format/raise.ts'

export function travelling(order: Order): JsonObject {
  switch (order.type) {
    case 'create':
    case 'revise':
    case 'propose':
      return json({ ...order, definition: raisePlan(order.definition) })
    case 'fork':
      return json(order.definition === undefined ? order : { ...order, definition: raisePlan(order.definition) })
    case 'decide': {
      const { edits, ...decision } = order
      return json(
        edits === undefined ? decision : { ...decision, edits: { ...edits, definition: raisePlan(edits.definition) } },
      )
    }
    case 'add':
      return json({ ...order, tasks: order.tasks.map(raiseTask) })
    case 'change':
      return json({ ...order, ...changes(order) })
    case 'start':
      return { type: 'start' }
    case 'retry':
    case 'skip': {
      const { by: _, ...told } = order
      return json(told)
    }
    default:
      return json(order)
  }
}

/** What is set, as a part of a task document; and which fields are taken away. */
function changes({ task, set }: Extract<Order, { readonly type: 'change' }>): JsonObject {
  const given = Object.entries(set).filter(([, value]) => value !== undefined && value !== null)
  const { id: _, ...document } = raiseTask({
    action: { type: 'external' },
    ...Object.fromEntries(given),
    id: task,
  } as TaskDefinition)
  const unset = Object.entries(set).flatMap(([key, value]) => (value === null ? [key] : []))
  // A document says nothing where somebody is to claim the task.
  if (set.action?.type === 'external') unset.push('action')
  return { set: document, ...(unset.length === 0 ? {} : { unset }) }
}

const json = (value: object): JsonObject => value as { readonly [key: string]: Json }
