// The operators of expressions, as in CEL, with one extension: int and double can be mixed, in arithmetic and comparisons, and
// then count as doubles, because JSON does not distinguish them.

import { advise, quoted } from '../../domain/hint.ts'
import type { Meter } from './meter.ts'
import { ExpressionError, fromJson, isList, isMap, typeName, type Value } from './value.ts'

const INT_MAX = 2n ** 63n - 1n
const INT_MIN = -(2n ** 63n)

export type BinaryOperator = '==' | '!=' | 'in' | '+' | '-' | '*' | '/' | '%' | '<' | '<=' | '>' | '>='
export const BINARY_OPERATORS: ReadonlySet<string> = new Set<BinaryOperator>([
  '==',
  '!=',
  'in',
  '+',
  '-',
  '*',
  '/',
  '%',
  '<',
  '<=',
  '>',
  '>=',
])

export function binary(operator: BinaryOperator, left: Value, right: Value, meter: Meter): Value {
  switch (operator) {
    case '==':
      return equal(left, right, meter)
    case '!=':
      return !equal(left, right, meter)
    case 'in':
      return contains(left, right, meter)
    case '<':
    case '<=':
    case '>':
    case '>=':
      return compare(operator, left, right)
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
      return arithmetic(operator, left, right, meter)
    default:
      operator satisfies never
      throw new ExpressionError('unknown operator')
  }
}

export function negate(value: Value): Value {
  if (typeof value === 'bigint') return wholeNumber(-value)
  if (typeof value === 'number') return -value
  throw new ExpressionError(`a ${typeName(value)} has no negative`)
}

export function wholeNumber(value: bigint): bigint {
  if (value > INT_MAX || value < INT_MIN) throw new ExpressionError('the whole number is too large')
  return value
}

export function equal(left: Value, right: Value, meter: Meter): boolean {
  meter.spend(1)
  if (left === right) return true
  // biome-ignore lint/suspicious/noDoubleEquals: comparing a bigint with a number by value is what == does.
  if (isNumber(left) && isNumber(right)) return left == right
  if (isList(left) && isList(right)) {
    return (
      left.length === right.length && left.every((item, index) => equal(fromJson(item), fromJson(right[index]), meter))
    )
  }
  if (isMap(left) && isMap(right)) {
    const keys = Object.keys(left)
    if (keys.length !== Object.keys(right).length) return false
    return keys.every(key => Object.hasOwn(right, key) && equal(fromJson(left[key]), fromJson(right[key]), meter))
  }
  return false
}

function contains(item: Value, collection: Value, meter: Meter): boolean {
  if (isList(collection)) return collection.some(other => equal(item, fromJson(other), meter))
  if (isMap(collection)) return Object.hasOwn(collection, String(item))
  const hint = typeof collection === 'string' ? 'write text.contains(part)' : 'the right side must be a list or a map'
  throw new ExpressionError(`'in' cannot look into a ${typeName(collection)}`, hint)
}

function compare(operator: '<' | '<=' | '>' | '>=', left: Value, right: Value): boolean {
  const comparable = (isNumber(left) && isNumber(right)) || (typeof left === 'string' && typeof right === 'string')
  if (!comparable) throw mismatch(operator, left, right)
  if (operator === '<') return left < right
  if (operator === '<=') return left <= right
  return operator === '>' ? left > right : left >= right
}

function arithmetic(operator: '+' | '-' | '*' | '/' | '%', left: Value, right: Value, meter: Meter): Value {
  if (typeof left === 'bigint' && typeof right === 'bigint') return wholeNumber(onIntegers(operator, left, right))
  if (isNumber(left) && isNumber(right) && operator !== '%') return onDoubles(operator, Number(left), Number(right))
  if (operator === '+') {
    if (typeof left === 'string' && typeof right === 'string') return meter.text(left + right)
    if (isList(left) && isList(right)) {
      meter.spend(left.length + right.length)
      return meter.list([...left, ...right])
    }
  }
  throw mismatch(operator, left, right)
}

function onIntegers(operator: '+' | '-' | '*' | '/' | '%', left: bigint, right: bigint): bigint {
  if (operator === '+') return left + right
  if (operator === '-') return left - right
  if (operator === '*') return left * right
  if (right === 0n) throw new ExpressionError('division by zero', 'ask first whether the divisor is 0')
  return operator === '/' ? left / right : left % right
}

function onDoubles(operator: '+' | '-' | '*' | '/', left: number, right: number): number {
  if (operator === '+') return left + right
  if (operator === '-') return left - right
  return operator === '*' ? left * right : left / right
}

function isNumber(value: Value): value is bigint | number {
  return typeof value === 'bigint' || typeof value === 'number'
}

function mismatch(operator: string, left: Value, right: Value): ExpressionError {
  const words = new Set([typeName(left), typeName(right)])
  const hint = words.has('string')
    ? 'turn both into text with string(…), or both into numbers with int(…) or double(…)'
    : advise`look at the values with ${quoted('show')}`
  return new ExpressionError(`'${operator}' does not work on ${typeName(left)} and ${typeName(right)}`, hint)
}
