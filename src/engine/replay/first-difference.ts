// The first difference of two plain values, as a JSON path. Values are equal if their canonical JSON is: the order of keys does not matter,
// and an undefined key counts as absent.

import type { Json } from '../../domain/json.ts'
import type { Difference } from '../queries.ts'

export function firstDifference(expected: unknown, actual: unknown, path = '$'): Difference | null {
  if (expected === actual) return null
  if (!isTree(expected) || !isTree(actual) || Array.isArray(expected) !== Array.isArray(actual))
    return difference(path, expected, actual)
  if (Array.isArray(expected) && Array.isArray(actual)) {
    for (let at = 0; at < Math.max(expected.length, actual.length); at++) {
      const found = firstDifference(expected[at], actual[at], `${path}[${at}]`)
      if (found !== null) return found
    }
    return null
  }
  for (const key of Object.keys(expected)) {
    const found = firstDifference(expected[key], own(actual, key), member(path, key))
    if (found !== null) return found
  }
  for (const key of Object.keys(actual))
    if (actual[key] !== undefined && own(expected, key) === undefined)
      return difference(member(path, key), undefined, actual[key])
  return null
}

type Tree = { readonly [key: string]: unknown }

const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null

/** `__proto__` and the like are keys like any other. */
const own = (tree: Tree, key: string): unknown => (Object.hasOwn(tree, key) ? tree[key] : undefined)

const member = (path: string, key: string): string =>
  /^[A-Za-z_][A-Za-z0-9_]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`

function difference(path: string, expected: unknown, actual: unknown): Difference {
  return {
    path,
    expected: expected as Json | undefined,
    actual: actual as Json | undefined,
  }
}
