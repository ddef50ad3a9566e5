// Time as a dependency. The wall clock dates entries and retries; the monotonic clock measures durations; `after` is the only timer.

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Milliseconds that never go backwards. */
  monotonic(): number
  /** Calls back once, not before `ms` have passed; returns a function that cancels. */
  after(ms: number, callback: () => void): () => void
}

/** Converts performance.now() to a clock that all processes since boot share, as leases need it. */
const SINCE_BOOT_MS = Number(process.hrtime.bigint() / 1_000n) / 1_000 - performance.now()

/** Node fires longer timeouts at once; longer waits are split. */
const TIMEOUT_MAX_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now() + SINCE_BOOT_MS,
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(0, ms), TIMEOUT_MAX_MS))
    return () => clearTimeout(timer)
  },
}
