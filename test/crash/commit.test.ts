// Killed at every commit of a twelve-task plan, before and after it; and killed again while recovering. Promises P01, P03, P04,
// P06; regressions 26 and 27.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { driverEnd, type Ended, endAll, Ground, inParallel, Recorder } from './harness.ts'
import { expectSound, goOn, type Reference, referenceOf } from './oracles.ts'
import { FILES, twelveTasks } from './twelve-tasks.ts'

let recorder: Recorder
let reference: Reference
const setup = () => new Ground(twelveTasks(recorder), FILES)

beforeAll(async () => {
  recorder = await Recorder.open()
  const ground = setup()
  const ended = await ground.drive().end()
  const end = driverEnd(ended)
  reference = referenceOf(ground, end)
  expect(reference.status).toBe('completed')
  expectSound(ground, recorder, reference, { end, runs: [ended], crashes: 0 })
  ground.remove()
})
afterEach(endAll)
afterAll(() => recorder.close())

async function killAt(point: string, k: number): Promise<{ fired: boolean; decisions: number }> {
  const ground = setup()
  const first = await ground.drive({ PLANFOLD_FAILPOINT: `${point}:${k}` }).end()
  const fired = first.signal === 'SIGKILL'
  try {
    const { end, runs, decisions } = fired ? await goOn(ground, recorder) : { end: driverEnd(first), runs: [], decisions: 0 }
    expectSound(ground, recorder, reference, { end, runs: [first, ...runs], crashes: fired ? 1 : 0 })
    ground.remove()
    return { fired, decisions }
  } catch (error) {
    // The folder of a failure is kept.
    throw new Error(`killed at ${point}:${k}, see ${ground.base}: ${(error as Error).message}`, { cause: error })
  }
}

/** k = 1, 2, 3 … until it no longer fires. */
async function killEverywhere(point: string): Promise<{ kills: number; decisions: number }> {
  let over = false
  function* jobs() {
    for (let k = 1; !over; k++) yield () => killAt(point, k)
  }
  let kills = 0
  let decisions = 0
  await inParallel(
    (function* () {
      for (const job of jobs()) {
        yield async () => {
          const one = await job()
          if (one.fired) kills++
          else over = true
          decisions += one.decisions
        }
      }
    })(),
  )
  console.log(`${point}: killed ${kills} times, ${decisions} decisions`)
  return { kills, decisions }
}

describe('a process killed at every commit', () => {
  for (const point of ['store.commit:before', 'store.commit:after']) {
    test(`${point}: every k leads to the same end, the same files and no forbidden repetition`, async () => {
      const { kills, decisions } = await killEverywhere(point)
      // Every task takes at least one commit; a loop in which nothing fires proves nothing.
      expect(kills).toBeGreaterThan(15)
      expect(decisions).toBeGreaterThan(0)
    })
  }

  test('blob.rename:before: every k leads to the same end', async () => {
    expect((await killEverywhere('blob.rename:before')).kills).toBeGreaterThan(0)
  })

  test('migration:statement: a store killed while it is being made is made by the next process', async () => {
    for (const k of [1, 5]) expect((await killAt('migration:statement', k)).fired).toBe(true)
    expect((await killAt('migration:commit', 1)).fired).toBe(true)
  })
})

describe('a process killed while it recovers', () => {
  // Where the first process dies, and where each of the five that come after it dies.
  const chains: readonly (readonly string[])[] = [
    ['before:9', 'before:1', 'after:1', 'before:2', 'after:2', 'before:3'],
    ['after:12', 'after:1', 'after:2', 'after:3', 'after:4', 'after:5'],
    ['after:20', 'before:3', 'before:3', 'before:3', 'before:3', 'before:3'],
    ['before:26', 'after:3', 'after:2', 'after:3', 'after:2', 'after:3'],
  ]
  test('five times in a row it still comes to the same end, with at most one more attempt a crash', async () => {
    await inParallel(
      chains.map(chain => async () => {
        const ground = setup()
        const runs: Ended[] = []
        let decided = 0
        for (const at of chain) {
          const run = await ground.drive({ PLANFOLD_FAILPOINT: `store.commit:${at}` }).end()
          runs.push(run)
          // A parked unsafe task may keep a later process from reaching its point.
          if (run.signal !== 'SIGKILL') expect(driverEnd(run).parked.map(({ task }) => task)).toEqual(['ship'])
        }
        const { end, runs: more, decisions } = await goOn(ground, recorder)
        decided += decisions
        expect(decided).toBeLessThanOrEqual(1)
        const crashes = runs.filter(({ signal }) => signal === 'SIGKILL').length
        expect(crashes).toBeGreaterThan(3)
        expectSound(ground, recorder, reference, { end, runs: [...runs, ...more], crashes })
        ground.remove()
      }),
    )
  })
})
