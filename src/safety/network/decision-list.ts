// What was asked for and what was answered, each different question once, with how often it came. Bounded: a program in a loop makes a
// number grow, and nothing else.

export interface NetworkDecision {
  readonly host: string
  readonly port: number
  /** CONNECT for a tunnel, whose inside is not seen. */
  readonly method: string
  /** Of plain HTTP, without its query. */
  readonly path?: string
  readonly allowed: boolean
  readonly why: string
  /** The rule that allowed it, as it was written. */
  readonly rule?: string
  /** When it was not allowed: the rule that would allow it. */
  readonly allowWith?: string
  /** Nobody has answered yet, so it waits for a person. */
  readonly asked?: true
}

export interface CountedDecision extends NetworkDecision {
  readonly count: number
}

const DECISIONS_MAX = 200
const PATH_MAX = 200

export class DecisionList {
  readonly #counted = new Map<string, { decision: NetworkDecision; count: number }>()
  readonly #told: (decision: NetworkDecision) => void
  #more = 0

  constructor(told: (decision: NetworkDecision) => void) {
    this.#told = told
  }

  note(decision: NetworkDecision): void {
    const { host, port, method, path, allowed, why } = decision
    const short = path !== undefined && path.length > PATH_MAX ? `${path.slice(0, PATH_MAX)}…` : path
    const key = JSON.stringify([host, port, method, short, allowed, why])
    const known = this.#counted.get(key)
    if (known !== undefined) {
      known.count += 1
      return
    }
    if (this.#counted.size >= DECISIONS_MAX) {
      this.#more += 1
      return
    }
    const noted = short === undefined ? decision : { ...decision, path: short }
    this.#counted.set(key, { decision: noted, count: 1 })
    this.#told(noted)
  }

  all(): readonly CountedDecision[] {
    return [...this.#counted.values()].map(({ decision, count }) => ({ ...decision, count }))
  }

  /** How many further ones were not listed. */
  get more(): number {
    return this.#more
  }
}
