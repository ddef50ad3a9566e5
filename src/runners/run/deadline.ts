// A timer that may be longer than a Node timer can count, and is never instant by accident: zero, negative and absurd
// times fall back to the default.

import { TIMEOUT_DEFAULT_MS, TIMEOUT_MAX_MS } from '../../domain/limits.ts'

const TIMER_MAX_MS = 2 ** 31 - 1

/** Calls back once after `ms`; returns how to stop it. */
export function startDeadline(ms: number, passed: () => void): () => void {
  let left = ms > 0 ? Math.min(ms, TIMEOUT_MAX_MS) : TIMEOUT_DEFAULT_MS
  let timer: NodeJS.Timeout
  const step = () => {
    const now = Math.min(left, TIMER_MAX_MS)
    left -= now
    timer = setTimeout(() => (left > 0 ? step() : passed()), now)
  }
  step()
  return () => clearTimeout(timer)
}
