// A time is told from records only.

import { expect, test } from 'vitest'
import { plan, task } from '../../../testing/index.ts'
import { timeRange } from './time-range.ts'

const MIN = 60_000
const took: { readonly [key: string]: readonly [number, number, number] } = {
  'validate run': [3, MIN, 2 * MIN],
  'implement external': [4, 5 * MIN, 9 * MIN],
  'implement agent': [2, MIN, MIN],
}
const engine = {
  ask: async ({ kind, capability }: { readonly kind: string; readonly capability: string }) => {
    const [succeeded, p50, p95] = took[`${kind} ${capability}`] ?? []
    return { items: succeeded === undefined ? [] : [{ succeeded, durationMs: { p50, p95 } }] }
  },
} as never

const tests = task('tests', { kind: 'validate', action: { type: 'run', command: { argv: ['true'] } } })
const work = task('work', { kind: 'implement', action: { type: 'external' }, needs: ['tests'] as never })
const look = task('look', { action: { type: 'gate', gate: 'diff' }, needs: ['work'] as never })

test('the range is from the records of the same kind and action, one after the other, without people', async () => {
  expect(await timeRange(engine, plan('p', tests, work, look))).toEqual({ fromMs: 6 * MIN, toMs: 11 * MIN, runs: 7 })
})

test('fewer than three records of one of its tasks, or no work at all: nothing is said', async () => {
  expect(await timeRange(engine, plan('p', tests, work), 'opencode')).toBeNull()
  expect(await timeRange(engine, plan('p', { ...tests, kind: 'lint' }))).toBeNull()
  expect(await timeRange(engine, plan('p', look))).toBeNull()
})
