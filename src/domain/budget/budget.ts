// The limits that a plan file may set.

export interface Budget {
  /** Counts while at least one task runs, not while people are waited for. */
  readonly timeMs?: number
  readonly cost?: Money
  readonly tokens?: number
  readonly calls?: number
  readonly attempts?: number
  readonly outputBytes?: number
  readonly exceeded?: 'ask' | 'fail'
  readonly large?: Money
}

export interface Money {
  readonly amount: number
  readonly currency: string
}
