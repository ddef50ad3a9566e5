// The state of a plan before each entry, for announcements that depend on it. States are kept from entry to entry, since entries
// arrive in order; a missing one is folded again from the journal.

import type { PlanId } from '../../domain/id.ts'
import { evolve } from '../../domain/state/evolve.ts'
import { newState } from '../../domain/state/fold.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { Feed } from '../../engine/engine.ts'
import type { Entry } from '../../stores/store.ts'

const TASKS_MAX = 50_000
const PAGE = 200

export class LiveFolds {
  readonly #entries: Feed['entries']
  readonly #folds = new Map<PlanId, PlanState>()
  #turn: Promise<unknown> = Promise.resolve()

  constructor(entries: Feed['entries']) {
    this.#entries = entries
  }

  /** `announce` moves the state past the entry. The state is null if the journal before the entry cannot be read. */
  before<T>(entry: Entry, announce: (state: PlanState | null) => T): Promise<T> {
    const result = this.#turn.then(async () => {
      const state = await this.#at(entry.plan, entry.version - 1)
      const announced = announce(state)
      if (state !== null) this.#keep(entry, state)
      return announced
    })
    this.#turn = result.catch(() => {})
    return result
  }

  forget(): void {
    this.#folds.clear()
  }

  async #at(plan: PlanId, version: number): Promise<PlanState | null> {
    const known = this.#folds.get(plan)
    this.#folds.delete(plan)
    const state = known === undefined || known.version > version ? newState() : known
    try {
      while (state.version < version) {
        const page = await this.#entries(plan, state.version, Math.min(PAGE, version - state.version))
        if (page.length === 0) return null
        for (const entry of page) {
          for (const event of entry.events) evolve(state, event, entry.now)
          state.version = entry.version
        }
      }
    } catch {
      return null
    }
    return state
  }

  #keep({ plan, version }: Entry, state: PlanState): void {
    state.version = version
    this.#folds.set(plan, state)
    let tasks = 0
    for (const { order } of this.#folds.values()) tasks += order.length + 1
    for (const [oldest, { order }] of this.#folds) {
      if (tasks <= TASKS_MAX) return
      tasks -= order.length + 1
      this.#folds.delete(oldest)
    }
  }
}
