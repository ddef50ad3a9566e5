// A date, or a date and time with zone, as `deadline` is written, in milliseconds. Computed here, because the domain reads neither clock
// nor calendar.

import type { Millis } from './id.ts'

const DAY_MS = 24 * 60 * 60_000
const MINUTE_MS = 60_000

/** A date without a time means the end of that day in UTC. Null for anything else. */
export function dueAt(text: string): Millis | null {
  const match =
    /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3})\d*)?)?(Z|[+-]\d{2}:?\d{2}))?$/i.exec(text)
  if (match === null) return null
  const [year, month, day, hours, minutes, seconds] = match.slice(1, 7).map(part => Number(part ?? 0))
  const midnight = daysSinceEpoch(year!, month!, day!) * DAY_MS
  const zone = match[8]
  if (zone === undefined) return midnight + DAY_MS
  const time = (hours! * 60 + minutes!) * MINUTE_MS + seconds! * 1_000 + Number((match[7] ?? '').padEnd(3, '0'))
  return midnight + time - offsetMs(zone)
}

function offsetMs(zone: string): number {
  if (zone.toUpperCase() === 'Z') return 0
  const digits = zone.replace(/\D/g, '')
  const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2))
  return (zone.startsWith('-') ? -minutes : minutes) * MINUTE_MS
}

/** In the Gregorian calendar, with years from March, so that a leap day is the last of its year. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const of = month > 2 ? year : year - 1
  const era = Math.floor(of / 400)
  const inEra = of - era * 400
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  return era * 146_097 + inEra * 365 + Math.floor(inEra / 4) - Math.floor(inEra / 100) + dayOfYear - 719_468
}
