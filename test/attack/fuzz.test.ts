import { expect, test } from 'vitest'
import { fuzz } from './fuzz.ts'

test('5,000 damaged documents of every dialect: no throw, no hang, no pollution, every fault in place', () => {
  const found = fuzz({ seed: 20261115, inputs: 5_000, limitMs: 5_000, now: () => performance.now() })
  expect(found.faults).toEqual([])
  expect(found.inputs).toBe(5_000)
  // Documents that are always refused, or never, would prove nothing.
  expect(found.accepted).toBeGreaterThan(200)
  expect(found.refused).toBeGreaterThan(1_000)
}, 120_000)
