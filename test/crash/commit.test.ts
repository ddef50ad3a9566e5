// Killed at every commit of a twelve-task plan, before and after it; and killed again while recovering. Promises P01, P03, P04,
// P06; regression 26.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { driverEnd, type Ended, endAll, type Ground, inParallel, until } from './harness.ts'
import { asTold } from './kill-loop/journal.ts'
import { ALL, someOf, spread } from './kill-points.ts'
import { Scene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await Scene.open()
})
afterEach(endAll)
afterAll(() => scene.close())

/** How many packs the plan writes, or fewer. */
const PACKS = 8

const kill = (point: string) => (ground: Ground, k: number) =>
  ground.drive({ PLANFOLD_FAILPOINT: `${point}:${k}` }).end()
const killAt = (point: string, ks: Iterable<number>) =>
  ALL ? scene.playEach(point, kill(point)) : scene.playSome(point, ks, kill(point))

async function killInsideShip(ground: Ground): Promise<Ended> {
  const shipped = () => scene.recorder.effects().filter(({ name }) => name === 'ship').length
  const before = shipped()
  await scene.recorder.block('ship')
  const run = ground.drive()
  await until('ship', () => shipped() > before)
  run.kill('SIGKILL')
  const ended = await run.end()
  await scene.recorder.release('ship')
  return ended
}

describe('a process killed at every commit', () => {
  let decided = 0
  test('regression 26: store.commit:before: every k leads to the same end, the same files and no forbidden repetition', async () => {
    const { kills, decisions } = await killAt('store.commit:before', spread(scene.entries, 2))
    // Every task takes at least one commit; a loop in which nothing fires proves nothing.
    expect(kills).toBeGreaterThanOrEqual(ALL ? 16 : 2)
    decided += decisions
  })

  test('regression 26: store.commit:after: every k leads to the same end, the same files and no forbidden repetition', async () => {
    const { kills, decisions } = await killAt('store.commit:after', spread(scene.entries, 1))
    expect(kills).toBeGreaterThanOrEqual(ALL ? 16 : 1)
    decided += decisions
  })

  test('among all those kills an unsafe task was caught in the middle, and one decision was enough', async () => {
    // The kills of the ordinary run may all have missed it.
    if (decided === 0) decided += (await scene.play('killed inside ship', killInsideShip)).decisions
    expect(decided).toBeGreaterThan(0)
  })

  test(`pack.rename:before: ${ALL ? 'every k' : 'one k'} leads to the same end`, async () => {
    expect((await killAt('pack.rename:before', spread(PACKS, 1))).kills).toBeGreaterThan(0)
  })

  test('a store killed while it is being made is made by the next process', async () => {
    const points = ['migration:statement:5', ...(ALL ? ['migration:statement:1', 'migration:commit:1'] : [])]
    for (const point of points) {
      const { fired } = await scene.play(`killed at ${point}`, ground =>
        ground.drive({ PLANFOLD_FAILPOINT: point }).end(),
      )
      expect(fired).toBe(true)
    }
  })
})

describe('the command line, killed', () => {
  test('has said nothing that is not in the journal, and goes on to the same end with resume and approve', async () => {
    await inParallel(
      someOf(['before:5', 'after:9', 'before:12', 'after:15'], 1).map(at => async () => {
        const ground = scene.ground()
        const first = await ground.runPlan({ PLANFOLD_FAILPOINT: `store.commit:${at}` }, ['--json']).end()
        expect(first.signal).toBe('SIGKILL')
        const journal = ground.journal()
        const told = first.out
          .split('\n')
          .slice(0, -1)
          .map(line => (JSON.parse(line) as { data: { type: string; version: number; event: unknown } }).data)
        expect(told.length).toBeGreaterThan(0)
        for (const { type, version, event } of told)
          if (type === 'event') expect(journal[version - 1]?.events.map(asTold)).toContainEqual(event)

        // At most a parked task and the gate stand between here and the end.
        let code = (await ground.planfold(['resume', 'twelve']).end()).code
        for (let decisions = 0; code === 4 && decisions < 2; decisions++) {
          const task = ground.query<{ name: string }>("SELECT name FROM tasks WHERE status = 'waiting'")[0]!.name
          const happened = task === 'review' || scene.recorder.effects(ground.plan()).some(({ name }) => name === task)
          expect((await ground.planfold([happened ? 'approve' : 'retry', 'twelve', task]).end()).code).toBe(0)
          code = (await ground.planfold(['resume', 'twelve']).end()).code
        }
        expect(code).toBe(0)
        expect(ground.treeHash()).toBe(scene.reference.tree)
        expect((await ground.planfold(['doctor', 'store', '--read-data']).end()).code).toBe(0)
        ground.remove()
      }),
    )
  })
})

describe('a process killed while it recovers', () => {
  // Where the first process dies, and where each of the five that come after it dies.
  const chains = [
    ['before:9', 'before:1', 'after:1', 'before:2', 'after:2', 'before:3'],
    ['after:12', 'after:1', 'after:2', 'after:3', 'after:4', 'after:5'],
    ['after:17', 'before:3', 'before:3', 'before:3', 'before:3', 'before:3'],
    ['before:20', 'after:3', 'after:2', 'after:3', 'after:2', 'after:3'],
  ]
  test('comes to the same end after five times in a row, with at most one more attempt a crash', async () => {
    await inParallel(
      someOf(chains, 1).map(chain => async () => {
        await scene.play(`killed at ${chain.join(', ')}`, async ground => {
          const runs: Ended[] = []
          for (const at of chain) {
            const run = await ground.drive({ PLANFOLD_FAILPOINT: `store.commit:${at}` }).end()
            runs.push(run)
            // A parked unsafe task may keep a later process from reaching its point.
            if (run.signal !== 'SIGKILL') expect(driverEnd(run).parked.map(({ task }) => task)).toEqual(['ship'])
          }
          expect(runs.filter(({ signal }) => signal === 'SIGKILL').length).toBeGreaterThan(3)
          return runs
        })
      }),
    )
  })
})
