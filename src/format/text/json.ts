// A fast path for JSON. Programs send plans as JSON, and the YAML reader is a hundred times slower than JSON.parse. In case of
// any doubt this returns null, and the YAML reader reads the text again and reports errors with positions. Errors of the schema
// are located by `jsonPlaces`.

import type { Json } from '../../domain/json.ts'
import { DEPTH_MAX } from '../../domain/limits.ts'
import type { Path } from './diagnostic.ts'
import type { Span, Spans } from './place.ts'

// Finds positions in a JSON text. The text is known to be valid, so this only walks along paths.

/** For many paths: contents of maps and lists are indexed once, since a long list may have hundreds of errors. */
export function jsonPlaces(text: string): (path: Path) => Spans {
  const members = new Map<number, ReadonlyMap<string | number, Found>>()
  const ends = new Map<number, number>()
  return path => {
    let key: Span | null = null
    let at = skipBlank(text, 0)
    for (const step of path) {
      const member = membersAt(at).get(step)
      if (member === undefined) return { key, value: { start: at, end: endOf(at) }, exact: false }
      key = member.key
      at = member.value
    }
    return { key, value: { start: at, end: endOf(at) }, exact: true }
  }

  function membersAt(open: number): ReadonlyMap<string | number, Found> {
    const found = members.get(open) ?? membersOf(text, open)
    members.set(open, found)
    return found
  }

  function endOf(at: number): number {
    const end = ends.get(at) ?? skipValue(text, at)
    ends.set(at, end)
    return end
  }
}

type Found = { readonly key: Span | null; readonly value: number }

function membersOf(text: string, open: number): ReadonlyMap<string | number, Found> {
  const found = new Map<string | number, Found>()
  let at = skipBlank(text, open + 1)
  if (text[open] === '[')
    for (let index = 0; text[at] !== ']'; index++) {
      found.set(index, { key: null, value: at })
      at = skipComma(text, skipValue(text, at))
    }
  else if (text[open] === '{')
    while (text[at] !== '}') {
      const end = skipString(text, at)
      const value = skipBlank(text, skipBlank(text, end) + 1)
      found.set(JSON.parse(text.slice(at, end)) as string, { key: { start: at, end }, value })
      at = skipComma(text, skipValue(text, value))
    }
  return found
}

function skipValue(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; ) {
    const sign = text[at] as string
    if (sign === '"') at = skipString(text, at)
    else if (sign === '{' || sign === '[') {
      depth++
      at++
    } else if (sign === '}' || sign === ']') {
      if (depth === 0) return at
      depth--
      at++
    } else if (depth === 0 && (sign === ',' || /\s/.test(sign))) return at
    else {
      at++
      if (depth > 0) continue
      while (at < text.length && /[^\s,\]}]/.test(text[at] as string)) at++
      return at
    }
    if (depth === 0) return at
  }
  return text.length
}

function skipString(text: string, from: number): number {
  let at = from + 1
  while (text[at] !== '"' && at < text.length) at += text[at] === '\\' ? 2 : 1
  return at + 1
}

function skipComma(text: string, from: number): number {
  const at = skipBlank(text, from)
  return text[at] === ',' ? skipBlank(text, at + 1) : at
}

function skipBlank(text: string, from: number): number {
  let at = from
  while (at < text.length && /\s/.test(text[at] as string)) at++
  return at
}

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
  // JSON.parse keeps the last of duplicate keys; the text then has more colons than the value has keys.
  return keys !== null && keys === countColons(text) ? { value } : null
}

/** Total number of keys; null if something needs a closer look. */
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
      // Skips a string. It ends, because JSON.parse has accepted the text.
      for (at++; text.charCodeAt(at) !== 34; at++) if (text.charCodeAt(at) === 92) at++
    }
  }
  return count
}
