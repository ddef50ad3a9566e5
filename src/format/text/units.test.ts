import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  printDuration,
  printDurationRange,
  printMoney,
  readDuration,
  readDurationRange,
  readMoney,
  readSize,
} from './units.ts'

test.each([
  ['250ms', 250],
  ['5s', 5_000],
  ['1.5s', 1_500],
  ['30m', 1_800_000],
  ['2h', 7_200_000],
  ['1d', 86_400_000],
])('%s is a duration', (text, ms) => {
  expect(readDuration(text)).toEqual({ ok: true, value: ms })
})

test.each([
  '0s',
  '-5s',
  '5',
  's',
  '5 minutes',
  'Infinity',
  'NaNs',
  '1e9s',
  '0.0001ms',
  '99999d',
  '9007199254740992h',
  '',
  ' 5s',
  '5s ',
])('%j is refused as a duration, with a hint', text => {
  const read = readDuration(text)
  expect(read.ok).toBe(false)
  expect(read).toHaveProperty('hint')
})

test('a range has two ends in order', () => {
  expect(readDurationRange('1s..30s')).toEqual({ ok: true, value: { min: 1_000, max: 30_000 } })
  expect(readDurationRange('1s')).toEqual({ ok: true, value: { min: 1_000, max: 1_000 } })
  expect(readDurationRange('30s..1s')).toMatchObject({ ok: false, hint: 'write 1s..30s' })
  expect(readDurationRange('1s..2s..3s').ok).toBe(false)
})

test('sizes are decimal or binary', () => {
  expect(readSize('50MB')).toEqual({ ok: true, value: 50_000_000 })
  expect(readSize('64MiB')).toEqual({ ok: true, value: 67_108_864 })
  for (const text of ['0B', '-1MB', '50', '5XB', '9999999TB']) expect(readSize(text).ok).toBe(false)
})

test('money has an amount and a currency', () => {
  expect(readMoney('2 USD')).toEqual({ ok: true, value: { amount: 2, currency: 'USD' } })
  expect(readMoney('0.50 EUR')).toEqual({ ok: true, value: { amount: 0.5, currency: 'EUR' } })
  for (const text of ['0 USD', '-2 USD', 'NaN USD', '2', '2 dollars', '9999999999 USD'])
    expect(readMoney(text).ok).toBe(false)
})

test('what is printed reads back', () => {
  const ms = fc.integer({ min: 1, max: 365 * 86_400_000 })
  fc.assert(fc.property(ms, value => void expect(readDuration(printDuration(value))).toEqual({ ok: true, value })))
  fc.assert(
    fc.property(ms, ms, (a, b) => {
      const value = { min: Math.min(a, b), max: Math.max(a, b) }
      expect(readDurationRange(printDurationRange(value))).toEqual({ ok: true, value })
    }),
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e12 }), micros => {
      const value = { amount: micros / 1e6, currency: 'USD' }
      expect(readMoney(printMoney(value))).toEqual({ ok: true, value })
    }),
  )
})
