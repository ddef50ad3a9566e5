// Time, handed in. The wall clock dates entries and retries; the monotonic clock measures; `after` is the only timer.

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Milliseconds that never go backwards. */
  monotonic(): number
  /** Calls back once, not before `ms` have passed; returns how to call it off. */
  after(ms: number, callback: () => void): () => void
}

/** Both are one clock, counted from other beginnings: this one is shared by all processes of a boot, as leases need it. */
const SINCE_BOOT_MS = Number(process.hrtime.bigint() / 1_000n) / 1_000 - performance.now()

/** Node fires a longer timeout at once; longer waits are cut and asked again. */
const TIMEOUT_MAX_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now() + SINCE_BOOT_MS,
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(0, ms), TIMEOUT_MAX_MS))
    return () => clearTimeout(timer)
  },
}
