// What every queue promises: whoever asks often enough is told of every plan that has work, and not of the others again and again.

import { describe, expect, it } from 'vitest'
import type { PlanId } from '../domain/id.ts'
import { nextLookAt } from '../domain/next-actions.ts'
import { given, must, type Setup } from '../stores/store.contract.ts'
import type { Store } from '../stores/store.ts'
import { external, failed, name, plan, START, succeeded, task } from '../testing/index.ts'
import type { Queue } from './queue.ts'

type Harness = Awaited<ReturnType<Setup>>

export interface QueueParts {
  readonly setup: Setup
  readonly queueOf: (store: Store, clock: Harness['clock']) => Queue
}

export function queueContract(what: string, { setup, queueOf }: QueueParts): void {
  async function begun() {
    const { open, clock } = await setup()
    const store = await open()
    const queue = queueOf(store, clock)
    /** All that is due, looked at as a worker would: what has nothing to do is put to rest. */
    const due = async (): Promise<readonly PlanId[]> => {
      clock.pass(Math.ceil(queue.quietMs()) + 1)
      const wanted: PlanId[] = []
      for (const id of await queue.take(10)) {
        const state = (await store.state(id))!
        const at = nextLookAt(state, clock.now())
        if (at === 0) wanted.push(id)
        else await queue.rest(id, state.version, at)
      }
      return wanted
    }
    const does = async (id: PlanId, ...commands: Parameters<typeof must>[2][]) => {
      for (const command of commands) await must(store, id, command)
      queue.heard({ plan: id, fence: null })
    }
    return { store, open, clock, queue, due, does }
  }

  describe(`${what}: a queue`, () => {
    it('hands out a plan that has work, and none that is a draft, paused or has ended', async () => {
      const { store, due, does } = await begun()
      const ids: PlanId[] = []
      for (const [at, title] of ['draft', 'active', 'paused', 'ended'].entries())
        ids.push(await given(store, plan(title, task('a')), at + 1))
      const [, active, paused, ended] = ids as [PlanId, PlanId, PlanId, PlanId]
      await does(active, START)
      await does(paused, START, { type: 'pause' })
      await does(ended, START, { type: 'cancel', reason: 'enough' })
      expect(await due()).toEqual([active])
      expect((await store.state(paused))!.status).toBe('paused')
    })

    it('leaves alone what waits for an agent, until it reports', async () => {
      const { store, due, does } = await begun()
      const id = await given(store, plan('waits', external('a'), task('b', { needs: ['a'] })))
      await does(id, START)
      expect(await due()).toEqual([])
      await does(id, { type: 'claim', token: 't', by: 'ana' })
      expect(await due()).toEqual([])
      await does(id, { type: 'report', task: name('a'), token: 't', by: 'ana', result: succeeded() })
      expect(await due()).toEqual([id])
    })

    it('hands out a plan whose retry is due, and not before', async () => {
      const { store, clock, due, does } = await begun()
      const retry = { attempts: 3, backoffMs: { min: 60_000, max: 60_000 } }
      const id = await given(store, plan('again', task('a', { retry })))
      await does(id, START, { type: 'turn' })
      const { attempt, visit } = (await store.state(id))!.order[0]!
      await does(id, {
        type: 'turn',
        settled: [{ task: name('a'), visit, attempt, result: failed({ retryable: true }) }],
      })
      expect(await due()).toEqual([])
      clock.pass(70_000)
      expect(await due()).toEqual([id])
    })

    it('hands out what an owner held that died', async () => {
      const { store, open, clock, due, does } = await begun()
      const id = await given(store, plan('held', task('a')))
      const other = await open({ pid: 200, boot: 'another', host: 'elsewhere' })
      const owner = await other.leases.open({ leaseMs: 30_000 })
      await does(id, START)
      expect((await other.leases.claim(id, owner)).ok).toBe(true)
      clock.pass(40_000)
      expect(await due()).toEqual([id])
    })
  })
}
