// Killed between two writes of one commit: at every fsync, and at pwrite64s evenly spread over the run, by strace. Promise P02.
// strace counts `when=K` for each thread by itself, so each loop holds exactly one thread: the main one, in which SQLite
// works, by not following others; the thread pool, in which files are written, by attaching to its only thread.

import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Ended, endAll, type Ground } from './harness.ts'
import { ALL, spread } from './kill-points.ts'
import { Scene } from './scene.ts'
import { counted, killing, ONE_POOL_THREAD, tracedInPool, tracing, whyNoStrace } from './strace.ts'

/** So many of each kind are taken by the ordinary run; `npm run crash` takes all. */
const SPREAD = 2
const SYNCS = 'fsync,fdatasync'
/** How often files and blobs are synced in a run, or less often. */
const SYNCS_IN_POOL = 30
const missing = whyNoStrace()
if (missing !== null) console.warn(`SKIPPED: kills at system calls need strace, and ${missing}`)

// One task at a time, so that the k-th sync is the same in every run; and side by side, so that kills meet other orders too.
const SIDE_BY_SIDE = 3
let scene: Scene
beforeAll(async () => {
  if (missing !== null) return
  scene = await Scene.open()
})
afterEach(endAll)
afterAll(() => scene?.close())

describe.skipIf(missing !== null)(
  `a process killed at system calls${missing === null ? '' : ` (skipped: ${missing})`}`,
  () => {
    const many = ALL ? 'every' : `${SPREAD}, evenly spread,`

    test(`at ${many} fsync and fdatasync of SQLite it comes to the same end, and the file is whole`, async () => {
      const kill = (ground: Ground, k: number) => ground.drive({}, killing(SYNCS, k)).end()
      if (ALL) expect((await scene.playEach('fsync in the main thread', kill)).kills).toBeGreaterThan(15)
      else {
        const { syncs } = await traced()
        const { kills } = await scene.playSome('fsync in the main thread', spread(syncs, SPREAD), kill)
        expect(kills).toBeGreaterThanOrEqual(1)
      }
    })

    test(`at ${ALL ? 'every' : 'some'} fsync and fdatasync of files and blobs it comes to the same end`, async () => {
      if (ALL) expect((await scene.playEach('fsync in the thread pool', killInPool)).kills).toBeGreaterThan(20)
      else
        expect((await scene.playSome('fsync in the thread pool', spread(SYNCS_IN_POOL, 1), killInPool)).kills).toBe(1)
    })

    test(`at ${many} pwrite64 it comes to the same end, and the file is whole`, { timeout: 3_600_000 }, async () => {
      const kill = (ground: Ground, k: number) => ground.drive({}, killing('pwrite64', k)).end()
      if (ALL) {
        expect((await scene.playEach('pwrite64', kill, SIDE_BY_SIDE)).kills).toBeGreaterThan(100)
        return
      }
      const { writes } = await traced()
      expect(writes).toBeGreaterThan(100)
      // Side by side, a run may write a little less often than the one that was counted.
      const ks = spread(Math.floor(0.9 * writes), SPREAD)
      const { kills } = await scene.playSome('pwrite64', ks, kill, SIDE_BY_SIDE)
      expect(kills).toBeGreaterThanOrEqual(1)
    })
  },
)

let counts: Promise<{ readonly syncs: number; readonly writes: number }> | undefined
/** How many calls the main thread makes in a run without a fault. */
const traced = () => {
  counts ??= countCalls()
  return counts
}

async function countCalls() {
  let calls: ReturnType<typeof counted> = []
  await scene.play('counted', async ground => {
    const out = join(ground.base, 'strace.out')
    const ended = await ground.drive({}, tracing(`pwrite64,${SYNCS}`, out)).end()
    calls = counted(out)
    return ended
  })
  const writes = calls.filter(([call]) => call === 'pwrite64').length
  return { syncs: calls.length - writes, writes }
}

const killInPool = (ground: Ground, k: number): Promise<Ended> =>
  tracedInPool(ground.drive(ONE_POOL_THREAD), killing(SYNCS, k))
