// Bounds the work of one evaluation in steps, not in time, so that the same expression on the same values ends the same way on
// any machine.

import { Patterns } from './pattern.ts'
import { ExpressionError } from './value.ts'

/** A step takes 60 to 100 ns, so an evaluation at the limit blocks the event loop for less than 50 ms. */
export const STEPS_MAX = 300_000
/** The longest text or list an expression may build. */
const TEXT_MAX = 4_000_000
const LIST_MAX = 100_000
/** Allows a pattern of 24 instructions on the longest text. */
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

  /** Native text operations are cheap, but not free. */
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
