// What was found before and is still so, because nobody else has committed since: what we commit ourselves changes the states at
// hand as well. One request asks for the same plan several times; looking into the tables for each would cost most of an answer.

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

  /** `moment` differs after every commit of somebody else; without it nothing is kept. */
  constructor(moment: (() => number) | undefined, states: States) {
    this.#moment = moment
    this.#states = states
  }

  found(reference: string, look: () => Found | null): Found | null {
    const known = this.#isNow() ? this.#found.get(reference) : undefined
    if (known !== undefined) return known
    const found = look()
    // A task may be taken away by a revision, a plan only by pruning.
    if (found !== null && found.task === null && this.#at !== null) keep(this.#found, reference, found)
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

  /** Plans were taken out. */
  forget(): void {
    this.#found.clear()
    this.#seen.clear()
  }

  /** The moment is asked for before anything is looked up: what is kept may be newer than it, never older. */
  #isNow(): boolean {
    if (this.#moment === undefined) return false
    const now = this.#moment()
    if (now === this.#at) return true
    this.#at = now
    this.forget()
    return false
  }
}

function keep<K, V>(map: Map<K, V>, key: K, value: V): void {
  if (map.size >= KEPT_MAX) map.clear()
  map.set(key, value)
}
