// How fast a model may be asked, by this process: so many requests and tokens in any minute. A request waits for its turn. When the
// provider asks for patience, every request to that model waits that long.

export interface RateClock {
  readonly monotonic: () => number
  /** Calls back once, not before `ms` have passed; returns how to call it off. */
  readonly after: (ms: number, callback: () => void) => () => void
}

export interface Rate {
  readonly requests?: number
  readonly tokens?: number
}

const MINUTE_MS = 60_000

export class RateLimit {
  readonly #rate: Rate
  readonly #clock: RateClock
  #sent: { readonly at: number; tokens: number }[] = []
  #notBefore = 0
  #queue: Promise<void> = Promise.resolve()

  constructor(rate: Rate, clock: RateClock) {
    this.#rate = rate
    this.#clock = clock
  }

  /** Answers when it may be sent, with a way to say how many tokens it really was. Rejects when `signal` fires first. */
  async turn(tokens: number, signal: AbortSignal | undefined): Promise<(tokens: number) => void> {
    const turn = this.#queue.then(async () => {
      for (let wait = this.#wait(tokens); wait > 0; wait = this.#wait(tokens)) await this.#sleep(wait, signal)
      signal?.throwIfAborted()
      const entry = { at: this.#clock.monotonic(), tokens }
      this.#sent.push(entry)
      return (counted: number) => {
        entry.tokens = counted
      }
    })
    this.#queue = turn.then(
      () => {},
      () => {},
    )
    return await turn
  }

  pause(ms: number): void {
    this.#notBefore = Math.max(this.#notBefore, this.#clock.monotonic() + ms)
  }

  #wait(tokens: number): number {
    const now = this.#clock.monotonic()
    this.#sent = this.#sent.filter(({ at }) => at > now - MINUTE_MS)
    const { requests = Number.POSITIVE_INFINITY, tokens: most = Number.POSITIVE_INFINITY } = this.#rate
    const used = this.#sent.reduce((sum, one) => sum + one.tokens, 0)
    const oldest = this.#sent[0]
    // One that alone is larger than the limit goes when nothing else was sent.
    const isFull = oldest !== undefined && (this.#sent.length >= requests || used + tokens > most)
    return Math.max(this.#notBefore - now, isFull ? oldest.at + MINUTE_MS - now : 0)
  }

  #sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason)
      const stop = () => {
        cancel()
        reject(signal?.reason)
      }
      const cancel = this.#clock.after(Math.ceil(ms), () => {
        signal?.removeEventListener('abort', stop)
        resolve()
      })
      signal?.addEventListener('abort', stop, { once: true })
    })
  }
}
