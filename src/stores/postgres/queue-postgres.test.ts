import { afterAll, describe, expect, it } from 'vitest'
import { queueContract } from '../../queues/queue.contract.ts'
import { plan, START, task } from '../../testing/index.ts'
import { given, must } from '../store.contract.ts'
import { ask, setup, startServer } from './postgres.fixture.ts'

const server = await startServer()
afterAll(() => server?.stop())
const LABELS = new Set(['linux'])

if (server === null) it.skip('there is no PostgreSQL here: install it, or set PLANFOLD_TEST_DATABASE', () => {})
else {
  queueContract('postgres', {
    setup: options => setup(server, options),
    queueOf: store => store.shared!.queue(LABELS),
  })

  describe('postgres: a queue of several processes', () => {
    it('hands each plan to one of those who ask at once, and to another when that one died before it took it', async () => {
      const { open, clock } = await setup(server)
      const store = await open()
      for (let at = 1; at <= 6; at++) {
        const id = await given(store, plan(`p${at}`, task('a')), at)
        await must(store, id, START)
      }
      const queues = [store, await open({ pid: 200 }), await open({ pid: 300 })].map(one => one.shared!.queue(LABELS))
      const taken = await Promise.all(queues.map(queue => queue.take(2)))
      expect(new Set(taken.flat()).size).toBe(6)
      expect(taken.map(({ length }) => length)).toEqual([2, 2, 2])
      clock.pass(500)
      expect(await queues[0]!.take(9)).toEqual([])
      clock.pass(600)
      expect((await queues[0]!.take(9)).length).toBe(6)
    })

    it('hands out what a process of this machine held that has ended, before its lease runs out', async () => {
      const { open, clock } = await setup(server)
      const store = await open({ isRunning: pid => pid === 100 })
      const id = await given(store, plan('held', task('a')))
      await must(store, id, START)
      const other = await open({ pid: 200 })
      const claimed = await other.leases.claim(id, await other.leases.open({ leaseMs: 60_000 }))
      expect(claimed.ok).toBe(true)
      const queue = store.shared!.queue(LABELS)
      expect(await queue.take(1)).toEqual([id])
      expect((await store.leases.holder(id))!.alive).toBe(false)
      expect(clock.now()).toBe(1_767_225_600_000)
    })

    it('hands a plan only to who has its labels and its files, and says what nobody has', async () => {
      const { open, url } = await setup(server)
      const store = await open()
      const gpu = await given(store, plan('gpu', task('a'), { place: ['gpu', 'linux'] }), 1)
      const away = await given(store, plan('away', task('a')), 2)
      await must(store, gpu, START)
      await must(store, away, START)
      await ask(
        url,
        `INSERT INTO planfold.workspaces VALUES (1, 'other', 'build-1', '/srv/shop');
         UPDATE planfold.heads h SET workspace = 'other' FROM planfold.plans p WHERE p.plan_no = h.plan_no AND p.id = '${away}'`,
      )
      expect(await store.shared!.workspaceOf(away)).toEqual({ here: false, host: 'build-1', root: '/srv/shop' })
      expect(await store.shared!.queue(LABELS).take(9)).toEqual([])
      expect(await store.shared!.standing()).toMatchObject({
        due: 2,
        unmet: expect.arrayContaining([
          { labels: ['gpu', 'linux'], folder: expect.any(String), plans: 1 },
          { labels: [], folder: '/srv/shop on build-1', plans: 1 },
        ]),
      })
      expect(await store.shared!.queue(new Set(['linux', 'gpu', 'x64'])).take(9)).toEqual([gpu])
    })
  })
}
