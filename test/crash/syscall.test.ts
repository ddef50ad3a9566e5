// Killed between two writes of one commit: at every fsync, and at pwrite64s evenly spread over the run, by strace. Promise P02.
// strace counts `when=K` for each thread by itself, so each loop holds exactly one thread: the main one, in which SQLite
// works, by not following others; the thread pool, in which files are written, by attaching to its only thread.

import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Ended, endAll, type Ground } from './harness.ts'
import { Scene } from './scene.ts'
import { counted, killing, ONE_POOL_THREAD, tracedInPool, tracing, whyNoStrace } from './strace.ts'

const ALL = process.env.PLANFOLD_CRASH === 'all'
const SPREAD = 3
/** The ordinary run takes every thirtieth call; `npm run crash` takes all. */
const STEP = ALL ? 1 : 30
const missing = whyNoStrace()
if (missing !== null) console.warn(`SKIPPED: kills at system calls need strace, and ${missing}`)

// One task at a time, so that the k-th sync is the same in every run; and side by side, so that kills meet other orders too.
let scene: Scene
let sideBySide: Scene
beforeAll(async () => {
  if (missing !== null) return
  scene = await Scene.open(1)
  sideBySide = await Scene.open(3)
})
afterEach(endAll)
afterAll(async () => {
  await scene?.close()
  await sideBySide?.close()
})

describe.skipIf(missing !== null)(
  `a process killed at system calls${missing === null ? '' : ` (skipped: ${missing})`}`,
  () => {
    test(`at ${ALL ? 'every' : 'every thirtieth'} fsync and fdatasync of SQLite it comes to the same end, and the file is whole`, async () => {
      const { kills } = await scene.playEach(
        'fsync in the main thread',
        (ground, k) => ground.drive({}, killing('fsync,fdatasync', k)).end(),
        STEP,
      )
      expect(kills).toBeGreaterThan(15 / STEP)
    })

    test(`at ${ALL ? 'every' : 'every thirtieth'} fsync and fdatasync of files and blobs it comes to the same end`, async () => {
      const { kills } = await scene.playEach('fsync in the thread pool', killInPool, STEP)
      expect(kills).toBeGreaterThan(20 / STEP)
    })

    test(`at ${ALL ? 'every pwrite64' : `${SPREAD} pwrite64s, evenly spread`} it comes to the same end, and the file is whole`, {
      timeout: 3_600_000,
    }, async () => {
      const kill = (ground: Ground, k: number) => ground.drive({}, killing('pwrite64', k)).end()
      if (ALL) {
        expect((await sideBySide.playEach('pwrite64', kill)).kills).toBeGreaterThan(100)
        return
      }
      const count = await countWrites()
      const step = (0.9 * count) / SPREAD
      expect(step).toBeGreaterThan(1)
      const { kills } = await sideBySide.playSome(
        'pwrite64',
        Array.from({ length: SPREAD }, (_, at) => Math.round(1 + at * step)),
        kill,
      )
      // Side by side, a run may write a little less often than the one that was counted.
      expect(kills).toBeGreaterThanOrEqual(SPREAD - 2)
    })
  },
)

/** How many there are in a run without a fault. */
async function countWrites(): Promise<number> {
  let count = 0
  await sideBySide.play('counted', async ground => {
    const out = join(ground.base, 'strace.out')
    const ended = await ground.drive({}, tracing('pwrite64', out)).end()
    count = counted(out).length
    return ended
  })
  return count
}

const killInPool = (ground: Ground, k: number): Promise<Ended> =>
  tracedInPool(ground.drive(ONE_POOL_THREAD), killing('fsync,fdatasync', k))
