// Tasks that wait for files of another plan, as lines for a person: who holds them, and the two commands that end the wait.

import { type ScopeWaitFacts, scopeHolders, stalledPlans } from '../../domain/views/scope-wait.ts'
import { brief } from '../terminal/one-line.ts'
import type { Paint } from '../terminal/paint.ts'

const SHOWN_MAX = 5

export function scopeWaitLines(waits: readonly ScopeWaitFacts[], paint: Paint): readonly string[] {
  const lines = waits
    .slice(0, SHOWN_MAX)
    .map(wait => `  ${paint.yellow('waits')}    ${brief(wait.task)}: ${brief(scopeHolders(wait))}`)
  if (waits.length > SHOWN_MAX) lines.push(paint.dim(`           … and ${waits.length - SHOWN_MAX} more`))
  for (const name of stalledPlans(waits)) {
    lines.push(`           nobody drives ${name}: planfold resume ${name}`)
    lines.push(`           or give it up:  planfold cancel ${name}`)
  }
  return lines
}

/** The same on one line, for a view that shows what is going on now; null when nobody waits. */
export function scopeWaitLine(waits: readonly ScopeWaitFacts[]): string | null {
  const [first] = waits
  if (first === undefined) return null
  const more = waits.length > 1 ? ` (and ${waits.length - 1} more)` : ''
  const ways = stalledPlans(waits).map(
    name => `; nobody drives it: planfold resume ${name}, or planfold cancel ${name}`,
  )
  return `${first.task} waits: ${scopeHolders(first)}${more}${ways.join('')}`
}
