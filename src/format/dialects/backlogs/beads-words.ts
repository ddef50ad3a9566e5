// What the words of a Beads issue mean: its status, its priority, its list of criteria.

import type { Json, JsonObject } from '../../../domain/json.ts'
import type { TaskStatus } from '../../../domain/status.ts'
import type { EndedStatus } from '../dialect.ts'
import { endedStatus, statusWords } from '../status-words.ts'

export const STATUS = statusWords<TaskStatus>({
  open: 'pending',
  deferred: 'pending',
  pinned: 'pending',
  in_progress: 'running',
  hooked: 'running',
  blocked: 'blocked',
  closed: 'completed',
  tombstone: 'cancelled',
})

/** `closed` is done, unless the reason says that it was only given up. */
export function endingOf(raw: JsonObject): EndedStatus | null {
  const status = STATUS.read(raw.status ?? 'open')
  const over = status.ok ? endedStatus(status.status) : null
  return over === 'completed' && isGivenUp(raw.close_reason) ? raw.close_reason : over
}

function isGivenUp(reason: Json | undefined): reason is 'skipped' | 'cancelled' | 'abandoned' {
  return reason === 'skipped' || reason === 'cancelled' || reason === 'abandoned'
}

/** 0 is the most urgent, 2 the usual. */
export function rank(priority: Json | undefined): number | undefined {
  return typeof priority === 'number' && Number.isInteger(priority) && Math.abs(priority) < 100
    ? (2 - priority) * 10 || 0
    : undefined
}

/** A list of points is as many criteria; any other text is one. */
export function criteriaOf(text: Json | undefined): readonly string[] | undefined {
  if (typeof text !== 'string' || text.trim() === '') return undefined
  const lines = text.split('\n').filter(line => line.trim() !== '')
  const points = lines.map(line => /^[-*] (?:\[[ xX]\] )?(.*\S.*)$/.exec(line)?.[1])
  return points.every(point => point !== undefined) && points.length > 1 ? (points as string[]) : [text]
}
