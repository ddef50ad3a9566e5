// `wait`: a duration, or a map. Stored as written; `domain/actions/wait-action.ts` reads it.

import { z } from 'zod'
import { isMap } from '../../domain/json.ts'
import type { Action } from '../../domain/plan.ts'
import { asWritten } from '../plan/codec.ts'
import * as value from '../plan/schema-values.ts'
import type { DocumentFault, Path } from '../text/diagnostic.ts'
import { type Read, readDuration, readTime } from '../text/units.ts'
import { type ActionFormat, isComputed, keyed, type Raw } from './action-format.ts'

type Wait = Extract<Action, { readonly type: 'wait' }>

const wait = z
  .union([
    value.line,
    z.strictObject({
      until: value.line.optional().describe('A time with zone: 2026-12-01T09:00:00Z.'),
      for: value.line.optional().describe('A duration; with `url`, how long at most.'),
      url: value.line.optional().describe('An address that is asked until it answers as expected.'),
      status: z.int().min(100).max(599).optional().describe('Of the answer; 200 to 299 when not said.'),
      contains: value.line.optional().describe('Text that the body must contain.'),
      every: value.line.optional().describe('How soon it is asked again, at first; 10s when not said.'),
    }),
  ])
  .meta({
    description: 'Waits until a time, for a duration, or until an address answers as expected.',
    examples: ['10m', { url: 'https://example.com/health', contains: 'ok', for: '1h' }],
  })

export const WAIT: ActionFormat<Wait> = {
  ...keyed<Wait>('wait', { spec: ['wait', asWritten(wait)] }),
  rules,
}

const KEYS = ['until', 'for', 'url'] as const
const OF_URL = ['status', 'contains', 'every'] as const

function* rules(task: Raw, path: Path): Generator<DocumentFault> {
  const { wait } = task
  const place = [...path, 'wait']
  if (typeof wait === 'string') yield* faultOf(wait, readDuration, place)
  if (!isMap(wait)) return
  const present = KEYS.filter(key => wait[key] !== undefined && !(key === 'for' && wait.url !== undefined))
  // An unknown key is reported separately.
  const isKnown = Object.keys(wait).every(key => [...KEYS, ...OF_URL].some(known => known === key))
  if (present.length !== 1 && isKnown)
    yield {
      path: present[1] === undefined ? place : [...place, present[1]],
      atKey: true,
      message:
        present.length === 0
          ? 'this does not say what to wait for'
          : `it waits for '${present[0]}' or '${present[1]}', not both`,
      hint: 'write { until: TIME }, { for: DURATION } or { url: ADDRESS }',
    }
  if (wait.url === undefined && present.length === 1)
    for (const key of OF_URL)
      if (wait[key] !== undefined)
        yield {
          path: [...place, key],
          atKey: true,
          message: `'${key}' is about an answer`,
          hint: 'add `url`, or leave it out',
        }
  yield* faultOf(wait.until, readTime, [...place, 'until'])
  yield* faultOf(wait.for, readDuration, [...place, 'for'])
  yield* faultOf(wait.every, readDuration, [...place, 'every'])
  if (typeof wait.url === 'string' && !isComputed(wait.url) && !/^https?:\/\/[^/@]+(\/|$)/i.test(wait.url))
    yield {
      path: [...place, 'url'],
      message: `'${wait.url.slice(0, 100)}' is not a web address`,
      hint: 'write https://host/path',
    }
}

function* faultOf(text: unknown, read: (text: string) => Read<number>, path: Path): Generator<DocumentFault> {
  if (typeof text !== 'string' || isComputed(text)) return
  const is = read(text)
  if (!is.ok) yield { path, message: is.message, hint: is.hint }
}
