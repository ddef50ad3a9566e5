// The stop signal of an attempt, created when the first listener asks for it. Most attempts end before that, and an AbortController costs
// more than everything else created for an attempt.

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

export const stopFrom = (signal: AbortSignal): Stop => ({
  get aborted() {
    return signal.aborted
  },
  signal,
})
