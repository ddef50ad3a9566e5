// A WHERE clause that grows by what is asked; absent values ask nothing.

import type { Value } from './driver.ts'

export class Conditions {
  readonly #terms: string[] = []
  readonly values: Value[] = []

  add(term: string, ...values: readonly (Value | undefined)[]): void {
    if (values.includes(undefined)) return
    this.#terms.push(term)
    this.values.push(...(values as Value[]))
  }

  toString(): string {
    return this.#terms.length === 0 ? '' : `WHERE ${this.#terms.join(' AND ')}`
  }
}
