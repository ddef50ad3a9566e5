// Converts views to their wire form: snake_case keys, ISO times. Values written by people, agents and programs pass unchanged,
// including their keys.

import { isHintList } from '../domain/hint.ts'
import type { Json } from '../domain/json.ts'
import { hintText } from './hint-text.ts'

export const iso = (at: number): string => new Date(at).toISOString()
export const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at))

const AS_WRITTEN: ReadonlySet<string> = new Set([
  'actual',
  'after',
  'annotations',
  'answers',
  'before',
  'binds',
  'bound',
  'choices',
  'command',
  'commits',
  'counts',
  'data',
  'default',
  'definition',
  'detail',
  'env',
  'events',
  'expected',
  'facts',
  'form',
  'inputs',
  'matrix',
  'outcomes',
  'outputs',
  'remotes',
  'roles',
  'said',
  'values',
])
const HINTS: ReadonlySet<string> = new Set(['hint', 'why', 'means', 'undo'])
const TIMES = /^(?:at|since|until|now|[a-z]+At)$/

export function onWire(value: unknown): Json {
  if (Array.isArray(value)) return value.map(onWire)
  if (value === null || typeof value !== 'object') return (value ?? null) as Json
  const entries: [string, Json][] = []
  for (const [key, inner] of Object.entries(value)) {
    if (inner === undefined) continue
    const isTime = typeof inner === 'number' && TIMES.test(key)
    if (HINTS.has(key) && isHintList(inner)) {
      entries.push([key, hintText(inner)])
      continue
    }
    entries.push([snake(key), AS_WRITTEN.has(key) ? (inner as Json) : isTime ? iso(inner) : onWire(inner)])
  }
  return Object.fromEntries(entries)
}

/** Only keys that look like our own are converted: task names are keys, too. */
const snake = (key: string): string =>
  /^[a-z]+(?:[A-Z][a-z]+)+$/.test(key) ? key.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`) : key

export const JSON_TYPE = 'application/json; charset=utf-8'
