// How other formats write time, money and priority, converted to the text and numbers of plan files. What cannot be read
// is handed on as it stands, so that the schema says what is wrong with it.

import { defined, isMap, type Json, type JsonObject } from '../../domain/json.ts'
import type { Budget } from '../../domain/plan.ts'
import { printAmount, printDuration, printMoney, printSize, readDuration } from '../../format/text/units.ts'

const MS: { readonly [unit: string]: number } = {
  __proto__: null as never,
  ns: 1e-6,
  us: 1e-3,
  ms: 1,
  millisecond: 1,
  s: 1_000,
  sec: 1_000,
  second: 1_000,
  m: 60_000,
  min: 60_000,
  minute: 60_000,
  h: 3_600_000,
  hr: 3_600_000,
  hour: 3_600_000,
  d: 86_400_000,
  day: 86_400_000,
  w: 604_800_000,
  week: 604_800_000,
}

export type TimeUnit = 'ns' | 'ms' | 's' | 'min' | 'h' | 'd'

/** A duration as canonical text: a number in `unit`, or `5m`, `90 min`, `2 hours`, `1h30m`, `PT30M`. */
export function durationText(value: Json, unit: TimeUnit): Json {
  const ms = typeof value === 'number' ? value * (MS[unit] as number) : typeof value === 'string' ? textMs(value) : null
  if (ms === null || !Number.isFinite(ms) || Math.round(ms) < 1) return value
  return printDuration(Math.round(ms))
}

function textMs(value: string): number | null {
  const text = value.trim()
  const plain = readDuration(text)
  if (plain.ok) return plain.value
  if (text.length > 60) return null
  const iso = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/i.exec(text)
  if (iso !== null) {
    const [, days, hours, minutes, seconds] = iso.map(part => Number(part ?? 0))
    return ((days! * 24 + hours!) * 60 + minutes!) * 60_000 + seconds! * 1_000
  }
  // `1h30m`, `2 hours 5 min`: numbers and units and nothing else.
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?) ?([a-z]+)[, ]*/gi)]
  if (parts.length === 0 || parts.map(([whole]) => whole).join('') !== text) return null
  let sum = 0
  for (const [, amount, unit] of parts) {
    const word = unit!.toLowerCase()
    const length = MS[word] ?? MS[word.replace(/s$/, '')]
    if (length === undefined) return null
    sum += Number(amount) * length
  }
  return sum
}

/** `{timeMin, costUSD}` as `{time, cost}`; every other key stays. */
export function budgetMap(value: Json): Json {
  if (!isMap(value)) return value
  const { timeMin, costUSD, ...rest } = value
  return {
    ...rest,
    ...(timeMin === undefined ? {} : { time: durationText(timeMin, 'min') }),
    ...(costUSD === undefined ? {} : { cost: typeof costUSD === 'number' ? `${decimal(costUSD)} USD` : costUSD }),
  }
}

/** The reverse: minutes and dollars where they say it exactly. */
export function budgetInMinutes({
  timeMs,
  cost,
  tokens,
  calls,
  attempts,
  outputBytes,
  exceeded,
  large,
}: Budget): JsonObject {
  const minutes = timeMs === undefined ? undefined : timeMs / 60_000
  const exact = minutes !== undefined && durationText(minutes, 'min') === printDuration(timeMs as number)
  return {
    ...(timeMs === undefined ? {} : exact ? { timeMin: minutes as number } : { time: printDuration(timeMs) }),
    ...(cost === undefined ? {} : cost.currency === 'USD' ? { costUSD: cost.amount } : { cost: printMoney(cost) }),
    ...(tokens === undefined ? {} : { tokens: printAmount(tokens) }),
    ...defined({ calls, attempts }),
    ...(outputBytes === undefined ? {} : { output: printSize(outputBytes) }),
    ...(exceeded === undefined ? {} : { exceeded }),
    ...(large === undefined ? {} : { large: printMoney(large) }),
  }
}

/** Without an exponent, rounded to six decimal places (below 1e21). */
function decimal(amount: number): string {
  return Number.isFinite(amount) && Math.abs(amount) < 1e21 ? amount.toFixed(6).replace(/\.?0+$/, '') : String(amount)
}

const PRIORITIES: { readonly [word: string]: number } = {
  __proto__: null as never,
  critical: 20,
  urgent: 20,
  high: 10,
  medium: 0,
  normal: 0,
  low: -10,
}

/** `high` as a number, higher first; null for a word that says no priority. */
export function priorityOf(word: Json): number | null {
  return typeof word === 'string' ? (PRIORITIES[word.trim().toLowerCase()] ?? null) : null
}
