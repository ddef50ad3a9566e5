// The one place where a loop waits (law L3). Anybody may ring; whoever waits wakes, once, and a ring nobody waited for is kept.

import type { Clock } from './clock.ts'

export class Bell {
  #rung = false
  #wake: (() => void) | null = null

  ring(): void {
    this.#rung = true
    this.#wake?.()
  }

  /** Resolves at the next ring, at once if it has rung since the last wait, or when `ms` have passed. */
  async wait(clock: Clock, ms: number | null): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>(resolve => {
        const cancel = ms === null ? null : clock.after(ms, resolve)
        this.#wake = () => {
          cancel?.()
          resolve()
        }
      })
      this.#wake = null
    }
    this.#rung = false
  }
}
