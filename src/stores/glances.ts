// What was found a moment ago and is still so, because nobody has committed since. One request asks for the same plan several
// times, and many requests fit between two commits; looking into the tables for each of them would cost most of an answer.

import type { PlanId } from '../domain/id.ts'
import type { PlanState } from '../domain/state.ts'
import type { States } from './states.ts'
import type { Found } from './store.ts'

const KEPT_MAX = 1_000

export class Glances {
  readonly #moment: (() => number) | undefined
  readonly #states: States
  #at: number | null = null
  readonly #found = new Map<string, Found>()
  readonly #seen = new Map<PlanId, PlanState>()

  /** `moment` differs after every commit, whoever made it; without it nothing is kept. */
  constructor(moment: (() => number) | undefined, states: States) {
    this.#moment = moment
    this.#states = states
  }

  found(reference: string, look: () => Found | null): Found | null {
    const known = this.#isNow() ? this.#found.get(reference) : undefined
    if (known !== undefined) return known
    const found = look()
    if (found !== null && this.#at !== null) keep(this.#found, reference, found)
    return found
  }

  state(plan: PlanId, look: () => PlanState | null): PlanState | null {
    const known = this.#isNow() ? this.#seen.get(plan) : undefined
    // A state that a failed transaction had changed was dropped, and must not be seen again.
    if (known !== undefined && this.#states.holds(plan, known)) return known
    const state = look()
    if (state !== null && this.#at !== null) keep(this.#seen, plan, state)
    return state
  }

  /** The moment is asked for before anything is looked up: what is kept may be newer than it, never older. */
  #isNow(): boolean {
    if (this.#moment === undefined) return false
    const now = this.#moment()
    if (now === this.#at) return true
    this.#at = now
    this.#found.clear()
    this.#seen.clear()
    return false
  }
}

function keep<K, V>(map: Map<K, V>, key: K, value: V): void {
  if (map.size >= KEPT_MAX) map.clear()
  map.set(key, value)
}
