// A deadline as a moment: `2026-01-31` is over when the day is over in UTC, `2026-01-31T12:00:00Z` says it exactly. The
// domain has no clock and no calendar of its own, so the days are counted here.

import type { Millis } from '../id.ts'

const DEADLINE = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:Z|([-+])(\d\d):(\d\d)))?$/
const DAY_MS = 86_400_000

/** Null for text that is no deadline. */
export function instantOf(text: string): Millis | null {
  const match = DEADLINE.exec(text)
  if (match === null) return null
  const number = (group: number): number => Number(match[group] ?? 0)
  const days = daysBefore(number(1), number(2), number(3))
  if (match[4] === undefined) return (days + 1) * DAY_MS
  const zone = (match[8] === '-' ? -1 : 1) * (number(9) * 60 + number(10)) * 60_000
  const fraction = Number(`0.${match[7] ?? 0}`) * 1000
  return days * DAY_MS + number(4) * 3_600_000 + number(5) * 60_000 + number(6) * 1000 + Math.floor(fraction) - zone
}

/** Days from 1970-01-01 to a day of the Gregorian calendar; years begin in March, so that leap days come last. */
function daysBefore(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year
  const era = Math.floor(shifted / 400)
  const ofEra = shifted - era * 400
  const ofYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  return era * 146_097 + ofEra * 365 + Math.floor(ofEra / 4) - Math.floor(ofEra / 100) + ofYear - 719_468
}
