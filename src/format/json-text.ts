// The quick way for JSON. Programs send plans as JSON, and the YAML reader is a hundred times slower than JSON.parse. So a
// text that is clean JSON is read natively; with the least doubt this answers null, and the YAML reader, which knows JSON
// too, reads it again and tells what is wrong and where. What the schema then finds wrong is placed by json-place.ts.

import type { Json } from '../domain/json.ts'
import { DEPTH_MAX } from '../domain/limits.ts'

export const RESERVED_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

export function readJson(text: string): { readonly value: Json } | null {
  if (!/^\s*\{/.test(text)) return null
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch {
    return null
  }
  const keys = countKeys(value, 0)
  // JSON.parse keeps the last of two equal keys; then there are more colons in the text than keys in the value.
  return keys !== null && keys === countColons(text) ? { value } : null
}

/** How many keys the value has in all; null when something in it needs a closer look. */
function countKeys(value: Json, depth: number): number | null {
  if (typeof value === 'string') return isClean(value) ? 0 : null
  if (typeof value === 'number') return Math.abs(value) <= Number.MAX_SAFE_INTEGER && !Object.is(value, -0) ? 0 : null
  if (value === null || typeof value !== 'object') return 0
  if (depth > DEPTH_MAX) return null
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) {
      const inside = countKeys(item, depth + 1)
      if (inside === null) return null
      count += inside
    }
    return count
  }
  for (const [key, item] of Object.entries(value)) {
    if (RESERVED_KEYS.has(key) || key === '<<' || !isClean(key)) return null
    const inside = countKeys(item as Json, depth + 1)
    if (inside === null) return null
    count += inside + 1
  }
  return count
}

function isClean(text: string): boolean {
  return !text.includes('\0') && !/\p{Surrogate}/u.test(text)
}

function countColons(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 58) count++
    else if (code === 34) {
      // Skip the string: JSON.parse has accepted the text, so it ends.
      for (at++; text.charCodeAt(at) !== 34; at++) if (text.charCodeAt(at) === 92) at++
    }
  }
  return count
}
