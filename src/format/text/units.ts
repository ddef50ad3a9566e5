// Units as people write them: `250ms`, `1s..30s`, `50MB`, `2 USD`, `2M`. Each reader returns a number in a base unit
// (milliseconds, bytes) or an error; zero, negative, infinite and excessive values are errors.

import { DURATION_MAX_MS } from '../../domain/limits.ts'
import { clip } from './diagnostic.ts'

export type Read<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string; readonly hint: string }

const DURATION_UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const SIZE_UNITS_BYTES = {
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
} as const
const SIZE_MAX_BYTES = 2 ** 50
const MONEY_MAX = 1e9
const AMOUNT_UNITS = { k: 1e3, M: 1e6, G: 1e9 } as const
const AMOUNT_MAX = 1e15

/** `5s` -> 5000. */
export function readDuration(text: string, maxMs: number = DURATION_MAX_MS): Read<number> {
  const match = /^(\d{1,20}(?:\.\d{1,6})?)\s?(ms|s|m|h|d)$/.exec(text)
  if (match === null)
    return no(`'${clip(text, 40)}' is not a duration`, 'write a number and a unit: 250ms, 5s, 30m, 2h or 1d')
  const ms = Number(match[1]) * DURATION_UNITS_MS[match[2] as keyof typeof DURATION_UNITS_MS]
  const rounded = Math.round(ms)
  if (Math.abs(ms - rounded) > 1e-6)
    return no(`'${text}' is finer than a millisecond`, 'write whole milliseconds, for instance 250ms')
  if (rounded < 1) return no(`a duration of '${text}' would end at once`, 'write 1ms or more, or leave the key out')
  if (rounded > maxMs)
    return no(`'${text}' is longer than the limit of ${printDuration(maxMs)}`, `write at most ${printDuration(maxMs)}`)
  return { ok: true, value: rounded }
}

/** `2026-12-01T09:00:00Z` -> milliseconds since the epoch. */
export function readTime(text: string): Read<number> {
  const match = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[-+]\d\d:\d\d)$/.exec(text)
  const day = new Date(Date.UTC(Number(match?.[1]), Number(match?.[2]) - 1, Number(match?.[3])))
  const at = Date.parse(text)
  if (match === null || Number.isNaN(at) || day.getUTCDate() !== Number(match[3]))
    return no(`'${clip(text, 40)}' is not a time`, 'write a date and a time with zone: 2026-12-01T09:00:00Z')
  return { ok: true, value: at }
}

/** `1s..30s` -> { min, max }; a single duration is a range of one. */
export function readDurationRange(text: string, maxMs?: number): Read<{ readonly min: number; readonly max: number }> {
  const parts = text.split('..')
  if (parts.length > 2)
    return no(`'${clip(text, 40)}' is not a range`, 'write two durations with two dots between: 1s..30s')
  const min = readDuration((parts[0] as string).trim(), maxMs)
  if (!min.ok) return min
  const max = parts[1] === undefined ? min : readDuration(parts[1].trim(), maxMs)
  if (!max.ok) return max
  if (max.value < min.value) return no(`the range '${text}' ends before it begins`, `write ${parts[1]}..${parts[0]}`)
  return { ok: true, value: { min: min.value, max: max.value } }
}

/** `50MB` -> 50000000; `64MiB` -> 67108864. */
export function readSize(text: string): Read<number> {
  const match = /^(\d{1,20}(?:\.\d{1,6})?)\s?(B|kB|KB|MB|GB|TB|KiB|MiB|GiB|TiB)$/.exec(text)
  if (match === null)
    return no(`'${clip(text, 40)}' is not a size`, 'write a number and a unit: 512B, 64kB, 50MB, 2GB or 64MiB')
  const bytes = Math.round(Number(match[1]) * SIZE_UNITS_BYTES[match[2] as keyof typeof SIZE_UNITS_BYTES])
  if (bytes < 1) return no(`a size of '${text}' is nothing`, 'write 1B or more')
  if (bytes > SIZE_MAX_BYTES) return no(`'${text}' is larger than the limit of 1024TiB`, 'write a smaller size')
  return { ok: true, value: bytes }
}

/** `2 USD` -> { amount: 2, currency: 'USD' }. */
export function readMoney(text: string): Read<{ readonly amount: number; readonly currency: string }> {
  const match = /^(\d{1,10}(?:\.\d{1,6})?) ?([A-Z]{3})$/.exec(text)
  if (match === null)
    return no(`'${clip(text, 40)}' is not an amount of money`, 'write an amount and a currency: 2 USD or 0.50 EUR')
  const amount = Number(match[1])
  if (amount <= 0)
    return no(`a cost of '${text}' would allow nothing`, 'write an amount above zero, or leave the key out')
  if (amount > MONEY_MAX) return no(`'${text}' is more than the limit of ${MONEY_MAX}`, 'write a smaller amount')
  return { ok: true, value: { amount, currency: match[2] as string } }
}

/** `2M` -> 2000000; `500k`, `1500`. */
export function readAmount(text: string): Read<number> {
  const match = /^(\d{1,20}(?:\.\d{1,6})?)\s?(k|M|G)?$/.exec(text)
  if (match === null)
    return no(`'${clip(text, 40)}' is not an amount`, 'write a number, or one with k or M: 1500, 500k, 2M')
  const amount = Number(match[1]) * (match[2] === undefined ? 1 : AMOUNT_UNITS[match[2] as keyof typeof AMOUNT_UNITS])
  const rounded = Math.round(amount)
  if (Math.abs(amount - rounded) > 1e-6)
    return no(`'${text}' is not a whole number`, 'write a whole number: 1500, 500k, 2M')
  if (rounded < 1) return no(`'${text}' would allow nothing`, 'write 1 or more, or leave the key out')
  if (rounded > AMOUNT_MAX) return no(`'${text}' is more than the limit of ${AMOUNT_MAX}`, 'write a smaller amount')
  return { ok: true, value: rounded }
}

/** Exact and short: 2000000 -> `2M`. */
export function printAmount(amount: number): string {
  for (const unit of ['G', 'M', 'k'] as const)
    if (amount % AMOUNT_UNITS[unit] === 0) return `${amount / AMOUNT_UNITS[unit]}${unit}`
  return String(amount)
}

/** Exact, in the largest unit of which it is a multiple: 4294967296 -> `4GiB`. */
export function printSize(bytes: number): string {
  for (const unit of ['TiB', 'TB', 'GiB', 'GB', 'MiB', 'MB', 'KiB', 'kB'] as const)
    if (bytes % SIZE_UNITS_BYTES[unit] === 0) return `${bytes / SIZE_UNITS_BYTES[unit]}${unit}`
  return `${bytes}B`
}

/** The shortest exact form: 90000 -> `90s`, 3600000 -> `1h`. */
export function printDuration(ms: number): string {
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    const length = DURATION_UNITS_MS[unit]
    if (ms >= length && ms % length === 0) return `${ms / length}${unit}`
  }
  return `${ms}ms`
}

export function printDurationRange(range: { readonly min: number; readonly max: number }): string {
  return range.min === range.max ? printDuration(range.min) : `${printDuration(range.min)}..${printDuration(range.max)}`
}

export function printMoney(cost: { readonly amount: number; readonly currency: string }): string {
  return `${cost.amount.toFixed(6).replace(/\.?0+$/, '')} ${cost.currency}`
}

function no(message: string, hint: string): { ok: false; message: string; hint: string } {
  return { ok: false, message, hint }
}
