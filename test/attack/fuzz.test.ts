// Needs the extras: dialects

import { expect, test } from 'vitest'
import { fuzz } from './fuzz.ts'

// 200,000 in `npm run soak`; any number with `npm run fuzz -- --inputs N`.
test('1,000 damaged documents of every dialect: no throw, no hang, no pollution, every fault in place', () => {
  const cpuMs = () => process.cpuUsage().user / 1_000
  const found = fuzz({ seed: 20261115, inputs: 1_000, limitMs: 5_000, now: cpuMs })
  expect(found.faults).toEqual([])
  expect(found.inputs).toBe(1_000)
  // Documents that are always refused, or never, would prove nothing.
  expect(found.accepted).toBeGreaterThan(80)
  expect(found.refused).toBeGreaterThan(400)
})
