// Which try is the best, by what was recorded of each.

import { describe, expect, test } from 'vitest'
import type { Sha256 } from '../id.ts'
import { closestOf, judgeRace, type Race, type Tried } from './race.ts'

const tried = (number: number, more: Partial<Tried> = {}): Tried => ({
  ...{ round: 1, number, by: 'run', ended: 'passed', changes: '' as Sha256, paths: 1, lines: 5 },
  ...more,
})
const race = (...all: readonly Tried[]): Race => ({ visit: 1, round: 1, start: '' as Sha256, of: [], tried: all })
const best = (...all: readonly Tried[]) => {
  const { best: chosen, why } = judgeRace(race(...all))
  return [chosen?.number, why]
}

describe('the best try', () => {
  test('passes all checks, whatever its size', () => {
    expect(best(tried(1, { ended: 'failed', lines: 1 }), tried(2, { ended: 'outside', lines: 1 }), tried(3))).toEqual([
      3,
      'alone',
    ])
    expect(best(tried(1, { ended: 'failed' }), tried(2, { ended: 'stopped' }))).toEqual([undefined, 'none'])
  })
  test('changes the fewest paths outside `effects`, then the fewest lines', () => {
    expect(best(tried(1, { beyond: 2, lines: 1 }), tried(2, { beyond: 1, lines: 9 }))).toEqual([2, 'effects'])
    expect(best(tried(1, { beyond: 1 }), tried(2, { beyond: 1, lines: 3 }))).toEqual([2, 'lines'])
  })
  test('stands earlier in the list, whichever ended first', () => {
    expect(best(tried(3, { lines: 9 }), tried(2), tried(1))).toEqual([1, 'order'])
  })
  test('is what the judge says, among those that only the size could decide', () => {
    const says = (number: number) => ({ by: 'model', best: { round: 1, number }, says: '' })
    const all = race(tried(1, { beyond: 1 }), tried(3), tried(2, { lines: 9 }))
    expect(judgeRace(all, says(2))).toMatchObject({ best: { number: 2 }, why: 'judge' })
    expect(judgeRace(all, says(1))).toMatchObject({ best: { number: 3 }, why: 'lines' })
  })
})

test('a next round begins from the best, or from what failed the fewest checks', () => {
  const verdicts = (...unmet: readonly string[]) => ({ ended: 'failed', unmet }) as const
  expect(
    closestOf(race(tried(1, verdicts('a', 'b')), tried(2, verdicts('a')), tried(3, { ended: 'failed', lines: 1 })))
      ?.number,
  ).toBe(2)
  expect(closestOf(race(tried(1, { ended: 'failed', changes: null }), tried(2, { ended: 'outside' })))).toBeUndefined()
})
