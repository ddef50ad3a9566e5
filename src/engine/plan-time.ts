// Time as a plan lives it: dated by its journal, carried on by the monotonic clock. A wall clock that jumps back neither turns
// it back nor makes it stand still, so a retry due in a second comes in a second.

import type { Millis } from '../domain/id.ts'
import type { Clock } from './clock.ts'

export class PlanTime {
  readonly #clock: Clock
  #at: Millis
  #since: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#at = clock.now()
    this.#since = clock.monotonic()
  }

  now(): Millis {
    return Math.floor(this.#at + (this.#clock.monotonic() - this.#since))
  }

  /** The journal has moved on to this date. */
  follow(updatedAt: Millis): void {
    const monotonic = this.#clock.monotonic()
    this.#at = Math.max(Math.floor(this.#at + (monotonic - this.#since)), updatedAt)
    this.#since = monotonic
  }
}
