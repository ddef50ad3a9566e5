// The values of expressions. Integers are bigint (CEL's int), other numbers are number (CEL's double). JSON has one number type,
// so values from the context are converted when they are read.

import type { Hint } from '../../domain/hint.ts'
import type { Json } from '../../domain/json.ts'

export type Value = null | boolean | bigint | number | string | readonly unknown[] | { readonly [key: string]: unknown }

/** An evaluation error. `exhausted` means the work limit was hit; no operator may absorb it. */
export class ExpressionError extends Error {
  readonly hint: Hint | null
  readonly exhausted: boolean
  constructor(message: string, hint: Hint | null = null, exhausted = false) {
    super(message)
    this.hint = hint
    this.exhausted = exhausted
  }
}

export function fromJson(value: unknown): Value {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  if (value === undefined || typeof value === 'function' || typeof value === 'symbol') return null
  return value as Value
}

export function toJson(value: Value, depth = 0): Json {
  if (depth > 64) throw new ExpressionError('the result is nested too deeply')
  if (typeof value === 'bigint') {
    const number = Number(value)
    if (!Number.isSafeInteger(number)) throw new ExpressionError(`the result ${value} is too large for a JSON number`)
    return number
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new ExpressionError(`the result is ${value}, which is not a JSON number`)
    return value
  }
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(item => toJson(item as Value, depth + 1))
  const entries = Object.entries(value).map(([key, item]) => [key, toJson(item as Value, depth + 1)] as const)
  return Object.fromEntries(entries)
}

export function isMap(value: Value): value is { readonly [key: string]: unknown } {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

export function isList(value: Value): value is readonly unknown[] {
  return Array.isArray(value)
}

export function typeName(value: Value): string {
  if (value === null) return 'null'
  if (typeof value === 'bigint') return 'int'
  if (typeof value === 'number') return 'double'
  if (typeof value === 'object') return Array.isArray(value) ? 'list' : 'map'
  return typeof value === 'boolean' ? 'bool' : 'string'
}
