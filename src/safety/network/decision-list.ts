// Network decisions without duplicates, with their counts. Bounded, so that a program in a loop only increases a number.

import type { CountedDecision, NetworkDecision } from '../../domain/network-decision.ts'

const DECISIONS_MAX = 200
const PATH_MAX = 200

export class DecisionList {
  readonly #counted = new Map<string, { decision: NetworkDecision; count: number }>()
  readonly #onNew: (decision: NetworkDecision) => void
  readonly #each: (decision: NetworkDecision) => void

  /** `onNew` is called once for each different decision, until the list is full; `each` for every one. */
  constructor(onNew: (decision: NetworkDecision) => void, each: (decision: NetworkDecision) => void) {
    this.#onNew = onNew
    this.#each = each
  }

  note(decision: NetworkDecision): void {
    const { host, port, method, path, allowed, why } = decision
    const short = path !== undefined && path.length > PATH_MAX ? `${path.slice(0, PATH_MAX)}…` : path
    const noted = short === undefined ? decision : { ...decision, path: short }
    this.#each(noted)
    const key = JSON.stringify([host, port, method, short, allowed, why])
    const known = this.#counted.get(key)
    if (known !== undefined) {
      known.count += 1
      return
    }
    if (this.#counted.size >= DECISIONS_MAX) return
    this.#counted.set(key, { decision: noted, count: 1 })
    this.#onNew(noted)
  }

  all(): readonly CountedDecision[] {
    return [...this.#counted.values()].map(({ decision, count }) => ({ ...decision, count }))
  }
}
