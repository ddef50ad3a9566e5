// How much work one evaluation may do. Steps, not time: the same expression on the same values always ends the same way,
// on a fast machine and on a slow one.

import { Patterns } from './pattern.ts'
import { ExpressionError } from './value.ts'

/** Measured at 60 to 100 ns each: an evaluation that runs into the bound has blocked the loop for less than 50 ms. */
export const STEPS_MAX = 300_000
/** Longest text and list an expression may build. */
const TEXT_MAX = 4_000_000
const LIST_MAX = 100_000
/** So that a pattern of 24 instructions can be looked for in the longest text there may be. */
const UNITS_PER_STEP = 8

export class Meter {
  readonly patterns = new Patterns(units => this.spend(units / UNITS_PER_STEP))
  #left: number

  constructor(steps: number = STEPS_MAX) {
    this.#left = steps
  }

  spend(steps: number): void {
    this.#left -= steps
    if (this.#left < 0) throw exhausted('the expression needs too much work')
  }

  /** Reading through a text is native and cheap, but not free. */
  scan(length: number): void {
    this.spend(1 + Math.ceil(length / 256))
  }

  text(text: string): string {
    if (text.length > TEXT_MAX) throw exhausted(`the expression builds a text of more than ${TEXT_MAX} characters`)
    this.scan(text.length)
    return text
  }

  list<T>(list: T[]): T[] {
    if (list.length > LIST_MAX) throw exhausted(`the expression builds a list of more than ${LIST_MAX} elements`)
    this.spend(1 + list.length)
    return list
  }
}

function exhausted(message: string): ExpressionError {
  return new ExpressionError(message, 'work on less data, or do it in a task that runs a program', true)
}
