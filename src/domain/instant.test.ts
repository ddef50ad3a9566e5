import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { dueAt } from './instant.ts'

it('a moment is the one the calendar says, in any zone', () => {
  const moments = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-30'), noInvalidDate: true })
  fc.assert(
    fc.property(moments, fc.integer({ min: -840, max: 840 }), (date, minutes) => {
      const shifted = new Date(date.getTime() + minutes * 60_000)
      fc.pre(shifted.getUTCFullYear() >= 1 && shifted.getUTCFullYear() <= 9999)
      const pad = (value: number) => String(value).padStart(2, '0')
      const zone = `${minutes < 0 ? '-' : '+'}${pad(Math.floor(Math.abs(minutes) / 60))}:${pad(Math.abs(minutes) % 60)}`
      expect(dueAt(date.toISOString())).toBe(date.getTime())
      expect(dueAt(shifted.toISOString().replace('Z', zone))).toBe(date.getTime())
    }),
  )
})

it('a day is over when it is, in UTC; what is no date is none', () => {
  expect(dueAt('2024-02-29')).toBe(Date.parse('2024-03-01'))
  expect(dueAt('2026-06-01T12:00+02:00')).toBe(Date.parse('2026-06-01T10:00Z'))
  for (const text of ['soon', '2026', '2026-06-01T12:00', '2026-6-1']) expect(dueAt(text)).toBeNull()
})
