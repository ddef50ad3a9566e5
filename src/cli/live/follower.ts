// Follows a plan's journal from a version on and passes on each entry once, in order; can wait until it has caught up.

import type { PlanId } from '../../domain/id.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Entry } from '../../stores/store.ts'

export class Follower {
  readonly #closing = new AbortController()
  readonly #followed: Promise<void>
  #seen: number
  #waiters: { readonly version: number; readonly resolve: () => void }[] = []
  #ended = false

  constructor(engine: Engine, plan: PlanId, afterVersion: number, onEntry: (entry: Entry) => void) {
    this.#seen = afterVersion
    this.#followed = this.#follow(engine, plan, onEntry)
    // `reach` and `close` report a failure; until then the rejection must not count as unhandled.
    this.#followed.catch(() => {})
  }

  async reach(version: number): Promise<void> {
    if (this.#seen >= version || this.#ended) return
    await Promise.race([new Promise<void>(resolve => this.#waiters.push({ version, resolve })), this.#followed])
  }

  /** Settles when nothing more comes; rejects when the journal cannot be read on, for instance because it is damaged. */
  get followed(): Promise<void> {
    return this.#followed
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#followed
  }

  async #follow(engine: Engine, plan: PlanId, onEntry: (entry: Entry) => void): Promise<void> {
    try {
      const after = await positionBefore(engine, plan, this.#seen)
      for await (const entry of engine.watch({ plan, after, signal: this.#closing.signal })) {
        if (entry.version <= this.#seen) continue
        onEntry(entry)
        this.#seen = entry.version
        this.#waiters = this.#waiters.filter(waiter => {
          if (waiter.version > entry.version) return true
          waiter.resolve()
          return false
        })
      }
    } catch (error) {
      if (!this.#closing.signal.aborted) throw error
    } finally {
      this.#ended = true
    }
  }
}

async function positionBefore(engine: Engine, plan: PlanId, version: number): Promise<number> {
  const entries = await engine.ask({ type: 'entries', plan, after: Math.max(0, version - 1), limit: 1 })
  const entry = entries?.[0]
  if (entry === undefined) return 0
  return version === 0 ? entry.position - 1 : entry.position
}
