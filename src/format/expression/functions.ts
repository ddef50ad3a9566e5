// The functions available to expressions, as `name(x)` or `x.name()`. A closed list: nothing of JavaScript is reachable.

import { readDuration, readSize } from '../text/units.ts'
import { errorRateP } from './error-rates.ts'
import type { Meter } from './meter.ts'
import { wholeNumber } from './operators.ts'
import { PatternError } from './pattern.ts'
import { ExpressionError, fromJson, isList, isMap, toJson, typeName, type Value } from './value.ts'

export interface ExpressionFunction {
  /** Allowed argument counts, without the receiver. */
  readonly arity: readonly number[]
  readonly apply: (args: readonly Value[], meter: Meter) => Value
}

type Table = ReadonlyMap<string, ExpressionFunction>
const table = (entries: { readonly [name: string]: ExpressionFunction }): Table => new Map(Object.entries(entries))
const fn = (arity: readonly number[], apply: ExpressionFunction['apply']): ExpressionFunction => ({ arity, apply })

/** `name(x)` */
export const FUNCTIONS: Table = table({
  size: fn([1], ([value], meter) => size(value!, meter)),
  string: fn([1], ([value], meter) => meter.text(asText(value!))),
  int: fn([1], ([value]) => asInt(value!)),
  double: fn([1], ([value]) => asDouble(value!)),
  bool: fn([1], ([value]) => asBool(value!)),
  dyn: fn([1], ([value]) => value!),
  type: fn([1], ([value]) => typeName(value!)),
  bytes: fn([1], ([value]) => unit(readSize(text(value!, 'bytes')))),
  duration: fn([1], ([value]) => unit(readDuration(text(value!, 'duration')))),
  timestamp: fn([1], ([value]) => timestamp(text(value!, 'timestamp'))),
  matches: fn([2], ([value, pattern], meter) => matches(text(value!, 'matches'), text(pattern!, 'matches'), meter)),
  error_rate_p: fn([4], ([...counts]) => errorRate(counts)),
  quote: fn([1, 2], ([value, max], meter) => meter.text(quote(value!, max))),
})

/** `x.name(…)`; the receiver is the first argument. */
export const METHODS: Table = table({
  size: fn([0], ([value], meter) => size(value!, meter)),
  contains: fn(
    [1],
    onTexts('contains', (whole, part) => whole.includes(part)),
  ),
  startsWith: fn(
    [1],
    onTexts('startsWith', (whole, part) => whole.startsWith(part)),
  ),
  endsWith: fn(
    [1],
    onTexts('endsWith', (whole, part) => whole.endsWith(part)),
  ),
  matches: fn([1], onTexts('matches', matches)),
  indexOf: fn(
    [1],
    onTexts('indexOf', (whole, part) => BigInt(whole.indexOf(part))),
  ),
  lastIndexOf: fn(
    [1],
    onTexts('lastIndexOf', (whole, part) => BigInt(whole.lastIndexOf(part))),
  ),
  trim: fn([0], ([value], meter) => meter.text(text(value!, 'trim').trim())),
  lowerAscii: fn([0], ([value], meter) => meter.text(text(value!, 'lowerAscii').toLowerCase())),
  upperAscii: fn([0], ([value], meter) => meter.text(text(value!, 'upperAscii').toUpperCase())),
  substring: fn([1, 2], substring),
  split: fn([1], split),
  join: fn([0, 1], joinList),
})

/** Macros bind a variable in an unevaluated argument, so the evaluator implements them. */
export const MACROS: ReadonlyMap<string, readonly number[]> = new Map([
  ['all', [2]],
  ['exists', [2]],
  ['exists_one', [2]],
  ['filter', [2]],
  ['map', [2, 3]],
])

function onTexts(
  name: string,
  apply: (whole: string, part: string, meter: Meter) => Value,
): ExpressionFunction['apply'] {
  return ([receiver, argument], meter) => {
    const whole = text(receiver!, name)
    meter.scan(whole.length)
    return apply(whole, text(argument!, name), meter)
  }
}

function text(value: Value, name: string): string {
  if (typeof value === 'string') return value
  throw new ExpressionError(`${name}() wants text, not a ${typeName(value)}`, 'turn it into text with string(…)')
}

function size(value: Value, meter: Meter): bigint {
  if (typeof value === 'string') {
    meter.scan(value.length * 16)
    let count = 0n
    for (const _ of value) count++
    return count
  }
  if (isList(value)) return BigInt(value.length)
  if (isMap(value)) return BigInt(Object.keys(value).length)
  throw new ExpressionError(`size() wants text, a list or a map, not a ${typeName(value)}`)
}

function asText(value: Value): string {
  if (value !== null && typeof value !== 'object') return String(value)
  throw new ExpressionError(`string() cannot turn a ${typeName(value)} into text`)
}

function asInt(value: Value): bigint {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number' && Number.isFinite(value)) return wholeNumber(BigInt(Math.trunc(value)))
  if (typeof value === 'string' && /^[-+]?\d{1,20}$/.test(value)) return wholeNumber(BigInt(value.replace(/^\+/, '')))
  throw new ExpressionError(`int() cannot turn this ${typeName(value)} into a whole number`)
}

function asDouble(value: Value): number {
  if (typeof value === 'bigint' || typeof value === 'number') return Number(value)
  if (typeof value === 'string' && /^[-+]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})(e[-+]?\d{1,3})?$/i.test(value))
    return Number(value)
  throw new ExpressionError(`double() cannot turn this ${typeName(value)} into a number`)
}

function errorRate(values: readonly Value[]): number {
  const [errors, requests, baseErrors, baseRequests] = values.map(value => {
    const count = typeof value === 'bigint' || typeof value === 'number' ? Number(value) : Number.NaN
    if (Number.isSafeInteger(count) && count >= 0) return count
    throw new ExpressionError(
      'error_rate_p() takes four whole numbers: errors and requests, of the new version and of the old one',
    )
  }) as [number, number, number, number]
  if (requests === 0 || baseRequests === 0)
    throw new ExpressionError('error_rate_p() cannot compare versions without requests')
  if (errors > requests || baseErrors > baseRequests)
    throw new ExpressionError('error_rate_p() was given more errors than requests')
  return errorRateP(errors, requests, baseErrors, baseRequests)
}

function asBool(value: Value): boolean {
  if (typeof value === 'boolean') return value
  if (value === 'true' || value === 'false') return value === 'true'
  throw new ExpressionError(`bool() cannot turn this ${typeName(value)} into true or false`)
}

function unit(read: ReturnType<typeof readSize>): bigint {
  if (read.ok) return BigInt(read.value)
  throw new ExpressionError(read.message, read.hint)
}

function timestamp(value: string): bigint {
  const ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[-+]\d\d:\d\d)$/.test(value)
    ? Date.parse(value)
    : Number.NaN
  if (Number.isFinite(ms)) return BigInt(ms)
  throw new ExpressionError('timestamp() wants a date and time', "write it like '2026-01-31T12:00:00Z'")
}

function matches(whole: string, pattern: string, meter: Meter): boolean {
  try {
    return meter.patterns.isIn(whole, pattern)
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    throw new ExpressionError(
      `matches(): ${error.message}`,
      'use a simpler pattern, or contains(), startsWith(), endsWith()',
    )
  }
}

function substring([value, from, to]: readonly Value[], meter: Meter): string {
  const whole = text(value!, 'substring')
  const start = index(from!, whole.length)
  const end = to === undefined ? whole.length : index(to, whole.length)
  if (end < start) throw new ExpressionError('substring() ends before it begins')
  return meter.text(whole.substring(start, end))
}

const QUOTE_MAX = 8_000
/** All characters that a terminal, a page or a model may treat as a line end. */
const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/

/** Prefixes each line of untrusted text, so that none can pass for the surrounding text. */
function quote(value: Value, max: Value = BigInt(QUOTE_MAX)): string {
  const isLong = value !== null && isMap(value) && 'artifact' in value
  const whole = isLong ? `(too long to quote: ${String(value.bytes)} bytes)` : quotedText(value)
  const most = index(max, 1_000_000)
  const half = Math.floor(most / 2)
  const cut = `${whole.slice(0, half)}\n… (${whole.length - 2 * half} characters left out) …\n${whole.slice(whole.length - half)}`
  return (whole.length > most ? cut : whole)
    .split(LINE_END)
    .map(line => `> ${line}`.trimEnd())
    .join('\n')
}

function quotedText(value: Value): string {
  const whole = typeof value === 'string' ? value.trim() : value === null ? '' : JSON.stringify(toJson(value))
  return whole === '' ? '(nothing)' : whole
}

function index(value: Value, length: number): number {
  if (typeof value !== 'bigint' || value < 0n || value > BigInt(length)) {
    throw new ExpressionError(`the position must be a whole number from 0 to ${length}`)
  }
  return Number(value)
}

function split([value, separator]: readonly Value[], meter: Meter): Value {
  const whole = text(value!, 'split')
  meter.scan(whole.length)
  return meter.list(whole.split(text(separator!, 'split'), 100_001))
}

function joinList([list, separator]: readonly Value[], meter: Meter): string {
  if (!isList(list!)) throw new ExpressionError(`join() wants a list, not a ${typeName(list!)}`)
  const glue = separator === undefined ? '' : text(separator, 'join')
  meter.spend(list.length)
  let length = 0
  const parts = list.map(item => {
    const part = text(fromJson(item), 'join')
    length += part.length + glue.length
    meter.spend(length > 4_000_000 ? Number.POSITIVE_INFINITY : 1)
    return part
  })
  return meter.text(parts.join(glue))
}
