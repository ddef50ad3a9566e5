// The one place where a loop waits (law L3). Anyone may ring; a ring while nobody waits is kept for the next wait.

import { setMaxListeners } from 'node:events'
import type { Clock } from '../clock.ts'

export class Bell {
  #rung = false
  #wake: (() => void) | null = null

  ring(): void {
    this.#rung = true
    this.#wake?.()
  }

  /** Resolves at the next ring, at once if it has rung since the last wait, or after `ms`. */
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

/** Rings on abort signals shared by many plans; many listeners are no leak here. Returns how to unsubscribe. */
export function onSignals(signals: readonly (AbortSignal | undefined)[], ring: () => void): () => void {
  const given = signals.filter(signal => signal !== undefined)
  setMaxListeners(0, ...given)
  for (const signal of given) signal.addEventListener('abort', ring)
  return () => {
    for (const signal of given) signal.removeEventListener('abort', ring)
  }
}
