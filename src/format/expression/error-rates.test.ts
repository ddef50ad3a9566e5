// Error rates of a canary against an exact count, and against values from tables.

import { expect, test } from 'vitest'
import { errorRateP } from './error-rates.ts'
import { compile, evaluate } from './expression.ts'

/** P(X >= errors) of the hypergeometric distribution, in whole numbers. */
function exactly(errors: number, requests: number, baseErrors: number, baseRequests: number): number {
  const bad = errors + baseErrors
  const total = requests + baseRequests
  const choose = (all: number, some: number): bigint => {
    let ways = 1n
    if (some < 0 || some > all) return 0n
    for (let at = 1; at <= some; at++) ways = (ways * BigInt(all - some + at)) / BigInt(at)
    return ways
  }
  let tail = 0n
  for (let count = errors; count <= Math.min(requests, bad); count++)
    tail += choose(bad, count) * choose(total - bad, requests - count)
  return Number((tail * 10n ** 15n) / choose(total, requests)) / 1e15
}

test('with few errors it is the exact tail, for every small table', () => {
  let compared = 0
  for (const requests of [1, 7, 20, 60])
    for (const baseRequests of [1, 9, 50])
      for (let errors = 0; errors <= Math.min(requests, 8); errors++)
        for (let baseErrors = 0; baseErrors <= Math.min(baseRequests, 6); baseErrors++) {
          const bad = errors + baseErrors
          const total = requests + baseRequests
          const least = (Math.min(requests, baseRequests) * Math.min(bad, total - bad)) / total
          if (least >= 5) continue
          compared++
          expect(errorRateP(errors, requests, baseErrors, baseRequests)).toBeCloseTo(
            exactly(errors, requests, baseErrors, baseRequests),
            5,
          )
        }
  expect(compared).toBeGreaterThan(300)
})

test('known values: z of 2.052 is 2 %, a tea tasting is 1 in 70, no errors are no evidence', () => {
  expect(errorRateP(4, 4, 0, 4)).toBeCloseTo(1 / 70, 6)
  expect(errorRateP(0, 100, 0, 10_000)).toBe(1)
  expect(errorRateP(60, 1_000, 40, 1_000)).toBeCloseTo(0.020087, 5)
  expect(errorRateP(40, 1_000, 60, 1_000)).toBeCloseTo(0.979913, 5)
  expect(errorRateP(500, 1_000, 50, 1_000)).toBeLessThan(1e-100)
})

test('an expression compares counts, and refuses what are none', () => {
  const value = (text: string) => {
    const compiled = compile(text)
    return compiled.ok ? evaluate(compiled.compiled, {}) : compiled
  }
  expect(value('error_rate_p(60, 1000, 40, 1000) < 0.05')).toMatchObject({ ok: true, value: true })
  for (const [text, fault] of [
    ['error_rate_p(2, 1, 0, 9)', 'more errors than requests'],
    ['error_rate_p(0, 0, 0, 9)', 'without requests'],
    ['error_rate_p(0.5, 9, 0, 9)', 'whole numbers'],
    ['error_rate_p(-1, 9, 0, 9)', 'whole numbers'],
  ] as const)
    expect(JSON.stringify(value(text))).toContain(fault)
})
