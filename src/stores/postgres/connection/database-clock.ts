// The time of the database, so that machines with different clocks agree: this machine's monotonic clock, and how far the database's time is
// from it. An answer bounds that: it was made between the question and its arrival.

import type { Millis } from '../../../domain/id.ts'
import type { Clock } from '../../leases/host.ts'

/** Quartz clocks drift by less, so an old answer is worth this much less for each millisecond. */
const DRIFT = 1e-4

export class DatabaseClock implements Clock {
  readonly #own: Clock
  #known: { readonly offset: number; readonly error: number; readonly at: number } | null = null
  #last = 0

  constructor(own: Clock) {
    this.#own = own
  }

  /** `time`: of the database, in an answer that was asked for and came at these monotonic times. */
  learn(time: Millis, asked: number, came: number): void {
    const error = (came - asked) / 2
    const known = this.#known
    if (known !== null && known.error + (came - known.at) * DRIFT < error) return
    this.#known = { offset: time - (asked + came) / 2, error, at: came }
  }

  monotonic(): number {
    return this.#own.monotonic()
  }

  /** Never goes back. Before the first answer it is the time of this machine. */
  now(): Millis {
    if (this.#known === null) return this.#own.now()
    this.#last = Math.max(this.#last, Math.floor(this.#own.monotonic() + this.#known.offset))
    return this.#last
  }
}
