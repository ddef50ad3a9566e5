// `if:`, `each:` and `as:` on a task or a list item. They are followed when a plan is made of a template, and are gone
// afterwards. An item that is no map of its own is written under `item:`, several under `items:`.

import { isMap, type Json, type JsonObject } from '../../domain/json.ts'
import type { Path } from '../../format/text/diagnostic.ts'

export interface Control {
  readonly if: Json | undefined
  readonly each: Json | undefined
  readonly as: Json | undefined
  /** What stands under the condition, with the path from the item to it; in a list of its own it may be controlled again. */
  readonly values: readonly { readonly value: Json; readonly path: Path; readonly inList: boolean }[]
}

const KEYS = ['if', 'each', 'as']

/** Is this list item under a condition or in a loop? */
export function isControlled(item: Json): item is JsonObject {
  return isMap(item) && KEYS.some(key => Object.hasOwn(item, key))
}

export function controlOf(item: JsonObject): Control {
  const rest = Object.entries(item).filter(([key]) => !KEYS.includes(key))
  const [only] = rest
  const wrapped = rest.length === 1 && only !== undefined
  return {
    if: own(item, 'if'),
    each: own(item, 'each'),
    as: own(item, 'as'),
    values:
      wrapped && only[0] === 'item'
        ? [{ value: only[1], path: ['item'], inList: false }]
        : wrapped && only[0] === 'items' && Array.isArray(only[1])
          ? (only[1] as readonly Json[]).map((value, index) => ({ value, path: ['items', index], inList: true }))
          : [{ value: Object.fromEntries(rest), path: [], inList: false }],
  }
}

function own(map: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined
}
