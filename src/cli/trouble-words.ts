// What is being done about failures, what is held back for a while, and what to do when a plan has failed: a few lines of a status.

import type { Millis } from '../domain/id.ts'
import { breakerLine } from '../domain/views/explain.ts'
import type { Summary } from '../domain/views/summary.ts'
import { brief } from './brief.ts'
import type { Paint } from './paint.ts'

/** Of how many it tells. */
const SHOWN_MAX = 5

export function troubleLines(
  { recovering = [], breakers = [], stopped }: Pick<Summary, 'recovering' | 'breakers' | 'stopped'>,
  now: Millis,
  paint: Paint,
): readonly string[] {
  return [
    ...recovering.slice(0, SHOWN_MAX).map(({ task, how }) => `  ${paint.yellow('recovers')} ${task}: ${brief(how)}`),
    ...breakers.slice(0, SHOWN_MAX).map(breaker => `  ${paint.yellow('held')}     ${brief(breakerLine(breaker, now))}`),
    ...(stopped?.next ?? []).map((line, at) => `  ${at === 0 ? 'next    ' : '        '} ${brief(line)}`),
  ]
}
