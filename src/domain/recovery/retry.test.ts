import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { plan, task } from '../../testing/index.ts'
import { backoffMs, retryOf } from './retry.ts'

const retry = { attempts: 5, backoffMs: { min: 1_000, max: 30_000 } }

describe('back-off', () => {
  it('doubles from min to max, with jitter between half and the whole of each step', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.string(), (failures, seed) => {
        const step = Math.min(30_000, 1_000 * 2 ** (failures - 1))
        const wait = backoffMs(retry, failures, seed)
        expect(wait).toBeGreaterThanOrEqual(Math.max(1_000, step / 2))
        expect(wait).toBeLessThanOrEqual(step)
        expect(Number.isInteger(wait)).toBe(true)
      }),
    )
  })

  it('is drawn from a seed: the same for the same attempt, spread over different ones', () => {
    const waits = Array.from({ length: 200 }, (_, at) => backoffMs(retry, 5, `plan/task-${at}/1`))
    expect(Array.from({ length: 200 }, (_, at) => backoffMs(retry, 5, `plan/task-${at}/1`))).toEqual(waits)
    expect(new Set(waits).size).toBeGreaterThan(150)
    const capped = waits.map((_, at) => backoffMs(retry, 50, `plan/task-${at}/1`))
    expect(new Set(capped).size).toBeGreaterThan(150)
    expect(waits.some(wait => wait < 10_000) && waits.some(wait => wait > 14_000)).toBe(true)
  })
})

it("a task's own retry comes before the plan's, and without either there is one attempt", () => {
  const own = { attempts: 2, backoffMs: { min: 1, max: 2 } }
  expect(retryOf(plan('p', task('a', { retry: own }), { defaults: { retry } }), task('a', { retry: own }))).toEqual(own)
  expect(retryOf(plan('p', task('a'), { defaults: { retry } }), task('a'))).toEqual(retry)
  expect(retryOf(plan('p', task('a')), task('a'))).toEqual({ attempts: 1, backoffMs: { min: 1_000, max: 30_000 } })
})
