// How an attempt is told that it is no longer wanted. Most end before anybody asks, and a signal costs more than all else that is made
// for an attempt together; so it is made for the first who listens.

import type { Stop } from '../../runners/runner.ts'

export class Stopper implements Stop {
  #aborted = false
  #controller: AbortController | null = null

  get aborted(): boolean {
    return this.#aborted
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.#aborted) this.#controller.abort()
    }
    return this.#controller.signal
  }

  abort(): void {
    this.#aborted = true
    this.#controller?.abort()
  }
}

/** The same, of a signal that is there already. */
export const stopFrom = (signal: AbortSignal): Stop => ({
  get aborted() {
    return signal.aborted
  },
  signal,
})
