// What a plan has spent, and may still spend.

import type { Int, PlanNamed } from './fields.ts'

interface Amounts {
  /** US dollars. */
  readonly cost?: number
  readonly tokens?: number
  readonly calls?: number
  readonly attempts?: number
  readonly time_ms?: number
  readonly output_bytes?: number
}

export interface Budget extends PlanNamed {
  readonly status: string
  /** What the plan spends is counted. */
  readonly kept: boolean
  readonly blocks: readonly {
    /** The group or task; null for the plan. */
    readonly task: string | null
    readonly exceeded: 'ask' | 'fail'
    readonly lines: readonly {
      readonly key: 'cost' | 'tokens' | 'calls' | 'attempts' | 'timeMs' | 'outputBytes'
      readonly cap: number
      readonly added: number
      readonly spent: number
      readonly reserved: number
      readonly left: number
    }[]
    readonly foreign: string | null
  }[]
  readonly used: Amounts | null
  /** Of `used`: calls of models whose end nobody saw. */
  readonly assumed?: Amounts
  readonly unpriced_calls: Int
  readonly large_above: number
  readonly asked: { readonly id: string; readonly text: string; readonly [key: string]: unknown } | null
  readonly forecast: {
    readonly tasks: Int
    readonly unknown: Int
    readonly samples: Int
    readonly rest: Amounts | null
  }
}
