// Counts wrong tokens and codes by where they come from. Nobody can guess 256 bits; what this saves is our time and the log. Whoever
// has the right one is let in, however many wrong ones came from the same place.

import { type Problem, problem } from './problem.ts'

export interface Tries {
  /** One more wrong one: a problem when there were too many of late. */
  wrong(source: string): Problem | null
}

const WINDOW_MS = 60_000
const WRONG_MAX = 30
const SOURCES_MAX = 1_000

export function openTries(now: () => number): Tries {
  const counted = new Map<string, { since: number; count: number }>()
  return {
    wrong: source => {
      const at = now()
      const known = counted.get(source)
      const current = known === undefined || at - known.since >= WINDOW_MS ? { since: at, count: 0 } : known
      counted.delete(source)
      if (counted.size >= SOURCES_MAX) counted.delete(counted.keys().next().value!)
      counted.set(source, current)
      current.count++
      if (current.count <= WRONG_MAX) return null
      const seconds = Math.ceil((current.since + WINDOW_MS - at) / 1_000)
      return problem(429, 'too-many-tries', 'too many wrong tokens or codes came from there', {
        hint: `wait ${seconds} s, then use the right one`,
        headers: { 'retry-after': String(seconds) },
      })
    },
  }
}
