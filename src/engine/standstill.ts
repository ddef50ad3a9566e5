// A loop that cannot go on for want of something on our side: what it lacks, when it tries again, and when it gives up.

import type { Shortage } from '../domain/shortage.ts'
import type { Clock } from './clock.ts'

const WAIT_FIRST_MS = 100
const WAIT_MAX_MS = 5_000

export class Standstill {
  readonly #clock: Clock
  readonly #lastsMs: number
  #shortage: Shortage | null = null
  #since = 0
  #waitMs = 0
  #retryAt = 0

  constructor(clock: Clock, lastsMs: number) {
    this.#clock = clock
    this.#lastsMs = lastsMs
  }

  /** What is lacking, when something is. */
  get shortage(): Shortage | null {
    return this.#shortage
  }

  /** It was met, for the first time or again. */
  meet(shortage: Shortage): void {
    const now = this.#clock.monotonic()
    if (this.#shortage === null) {
      this.#since = now
      this.#waitMs = WAIT_FIRST_MS
    } else if (now < this.#retryAt) return
    else this.#waitMs = Math.min(WAIT_MAX_MS, this.#waitMs * 2)
    this.#shortage = shortage
    this.#retryAt = now + this.#waitMs
  }

  /** It is there again. */
  pass(): void {
    this.#shortage = null
  }

  /** Until it is tried again; null when nothing is lacking or it may be tried now. */
  get waitMs(): number | null {
    const waitMs = this.#retryAt - this.#clock.monotonic()
    return this.#shortage === null || waitMs <= 0 ? null : waitMs
  }

  /** It has lasted too long. */
  get isHopeless(): boolean {
    return this.#shortage !== null && this.#clock.monotonic() - this.#since >= this.#lastsMs
  }
}
