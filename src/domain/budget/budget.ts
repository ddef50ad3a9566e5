// What a plan file may say about how much is used.

/** How much may be used: by a task, by a group with all of its tasks, or by the whole plan. */
export interface Budget {
  /** While at least one task runs; the time during which people are waited for does not count. */
  readonly timeMs?: number
  readonly cost?: Money
  readonly tokens?: number
  readonly calls?: number
  readonly attempts?: number
  /** Of what commands print, as far as it is stored. */
  readonly outputBytes?: number
  /** When it is used up: a person is asked for more (the default), or the task fails. */
  readonly exceeded?: 'ask' | 'fail'
  /** A single call of a model that may cost more than this is asked about first. */
  readonly large?: Money
}

export interface Money {
  readonly amount: number
  readonly currency: string
}
