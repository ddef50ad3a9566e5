// The one place where a loop waits (law L3). Anybody may ring; whoever waits wakes, once, and a ring nobody waited for is kept.

import { setMaxListeners } from 'node:events'
import type { Clock } from '../clock.ts'

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

/** Tells of signals that end many plans at once: a listener for each plan is no leak. Returns how to stop. */
export function onSignals(signals: readonly (AbortSignal | undefined)[], ring: () => void): () => void {
  const given = signals.filter(signal => signal !== undefined)
  setMaxListeners(0, ...given)
  for (const signal of given) signal.addEventListener('abort', ring)
  return () => {
    for (const signal of given) signal.removeEventListener('abort', ring)
  }
}
