// The real domain, the real loop and the real worker on a fake clock, a faulty store and processes that die: a hundred
// seeds, of which `replay.test.ts` runs the first fifty, because it replays them; ten are run twice. And bugs planted on
// purpose, because a harness that cannot fail proves nothing. `npm run sim -- --seeds 500 --twice` runs all of them twice, and
// `npm run soak` many thousands.

import { describe, expect, test } from 'vitest'
import badSeeds from './bad-seeds.json' with { type: 'json' }
import { FAULTS, noneFired } from './faults.ts'
import { guardGlobals } from './leaks.ts'
import { MUTANTS } from './mutants.ts'
import { failureText, run } from './run.ts'

const SEEDS = 100
const TWICE = 10
/** The seeds up to here are run, and held to every promise, by `replay.test.ts`. */
const REPLAYED = 50
const MUTANT_SEEDS = 150
/** Only what hangs is ended by it. */
const TIMEOUT_MS = 1_200_000

describe('the simulator', () => {
  test(
    `seeds up to ${SEEDS} keep every promise, and ${TWICE} of them repeat themselves to the letter`,
    async () => {
      const fired = noneFired()
      let [busy, rollbacks] = [0, 0]
      const numbers = Array.from({ length: SEEDS }, (_, at) => at + 1)
      const mine = numbers.filter(at => at <= TWICE || at > REPLAYED)
      for (const at of mine) {
        const seed = `0x${at.toString(16)}`
        const verdict = await run({ seed })
        if (verdict.violation !== null) expect.fail(failureText(verdict))
        if (at <= TWICE)
          expect(
            (await run({ seed })).hash,
            `seed ${seed} does not repeat itself: npm run sim -- --seed ${seed} --twice`,
          ).toBe(verdict.hash)
        if (verdict.completed > 0) busy++
        rollbacks += verdict.rollbacks
        for (const fault of FAULTS) fired[fault] += verdict.fired[fault]
      }
      expect(busy, 'seeds in which at least one task was completed').toBeGreaterThanOrEqual(mine.length * 0.8)
      expect(rollbacks, 'rollbacks that came to their end').toBeGreaterThanOrEqual(mine.length / 5)
      expect(
        FAULTS.filter(fault => fired[fault] === 0),
        'faults that never happened',
      ).toEqual([])
    },
    TIMEOUT_MS,
  )

  test.each(badSeeds)(
    'seed $seed, which once found: $found',
    async ({ seed }) => {
      const verdict = await run({ seed })
      if (verdict.violation !== null) expect.fail(failureText(verdict))
    },
    TIMEOUT_MS,
  )

  test.each(MUTANTS)(
    'a planted bug is caught: $name',
    async mutant => {
      const caught = await firstCaught(mutant)
      expect(caught, `no invariant saw it in ${MUTANT_SEEDS} seeds`).not.toBeNull()
      expect(mutant.caughtBy).toContain(caught!.violation!.invariant)
      const text = failureText(caught!)
      expect(text).toContain(`npm run sim -- --seed ${caught!.seed}`)
      expect(text).toContain(caught!.violation!.invariant)
    },
    TIMEOUT_MS,
  )

  test('whoever asks the real clock, luck or a timer during a seed is found', () => {
    const leaks: string[] = []
    const undo = guardGlobals(what => leaks.push(what))
    try {
      expect(() => Date.now()).toThrow('leak')
      expect(() => Math.random()).toThrow('leak')
      expect(() => setTimeout(() => {}, 0)).toThrow('leak')
    } finally {
      undo()
    }
    expect(leaks).toHaveLength(3)
    expect(Date.now()).toBeGreaterThan(0)
  })
})

async function firstCaught(mutant: (typeof MUTANTS)[number]) {
  const numbered = Array.from({ length: MUTANT_SEEDS }, (_, at) => `0x${(at + 1).toString(16)}`)
  for (const seed of mutant.seed === undefined ? numbered : [mutant.seed, ...numbered]) {
    const verdict = await run({ seed, mutant })
    if (verdict.violation !== null) return verdict
  }
  return null
}
