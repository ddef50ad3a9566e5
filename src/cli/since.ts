// Since when: a while ago (`24h`), or a time that is written out (`2026-11-15`, `2026-11-15T08:30:00Z`).

import { InvalidArgumentError } from 'commander'
import type { Millis } from '../domain/id.ts'
import { readDuration } from '../format/units.ts'

export type Since = { readonly agoMs: number } | { readonly at: Millis }

const ISO = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/

export function since(text: string): Since {
  const read = readDuration(text)
  if (read.ok) return { agoMs: read.value }
  const at = ISO.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at))
    throw new InvalidArgumentError('Write how long ago, e.g. 24h or 7d, or a time, e.g. 2026-11-15T08:30:00Z.')
  return { at }
}

export const momentOf = (when: Since, now: Millis): Millis => ('at' in when ? when.at : now - when.agoMs)
