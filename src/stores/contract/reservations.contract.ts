// Files reserved across plans: taken when an attempt starts, released with the visit, checked inside the transaction.

import { describe, expect, it } from 'vitest'
import type { PlanId } from '../../domain/id.ts'
import type { Reserves } from '../../domain/result.ts'
import { external, name, plan, START, succeeded, task } from '../../testing/index.ts'
import type { Store } from '../store.ts'
import { given, must, one, type Setup } from './harness.contract.ts'

const at = (...paths: readonly string[]): Omit<Reserves, 'seen'> => ({ root: '..', paths })

export function reservationsContract(what: string, setup: Setup): void {
  describe(`${what}: files reserved across plans`, () => {
    /** Two started plans, each with a task `a` that writes below `sc`. */
    async function scene() {
      const { open, ...harness } = await one(setup)
      const { store } = harness
      const ids: PlanId[] = []
      for (const [index, title] of ['p', 'q'].entries()) {
        const writes = task('a', { write: ['sc/**'], effect: 'workspace' })
        const id = await given(store, plan(title, writes, external('x')), index + 1)
        await must(store, id, START)
        ids.push(id)
      }
      const [p, q] = ids as [PlanId, PlanId]
      return { ...harness, open, store, p, q }
    }

    /** Starts `a` as the loop does, with its reservation in the preparation. */
    async function start(store: Store, id: PlanId, wanted: Omit<Reserves, 'seen'>, seen?: number) {
      const looked = seen ?? (await store.reservations.holders(id, wanted)).seen
      const state = (await store.state(id))!
      const { visit } = state.tasks.get(name('a'))!
      const preimage = await store.blobs.put(Buffer.from('{}'))
      const prepared = { preimage, reserves: { ...wanted, seen: looked } }
      return await must(store, id, { type: 'turn', prepared: [{ task: name('a'), visit, prepared }] })
    }
    const ended = (store: Store, id: PlanId) =>
      must(store, id, { type: 'turn', settled: [{ task: name('a'), visit: 1, attempt: 1, result: succeeded() }] })

    it('are held from the start of the attempt to the end of the visit, and seen by every process', async () => {
      const { store, open, p, q } = await scene()
      const other = await open()
      await start(store, p, at('sc/**'))
      const { holders } = await other.reservations.holders(q, at('SC/x'))
      expect(holders).toMatchObject([{ plan: p, name: 'p', task: 'a', visit: 1, paths: ['sc/**'] }])
      expect((await other.reservations.holders(p, at('sc/x'))).holders).toEqual([])
      expect((await other.reservations.holders(q, at('scx'))).holders).toEqual([])
      expect((await other.reservations.holders(q, { root: 'elsewhere', paths: ['sc/**'] })).holders).toEqual([])
      await ended(store, p)
      expect((await other.reservations.holders(q, at('sc/x'))).holders).toEqual([])
      expect((await store.check()).faults).toEqual([])
    })

    it('are never held by two: who comes second is passed over, and nothing is written of it', async () => {
      const { store, p, q } = await scene()
      await start(store, p, at('sc/**'))
      const { events, state } = await start(store, q, at('sc/deep/*'))
      expect(events).toEqual([])
      expect(state.tasks.get(name('a'))?.status).toBe('ready')
      expect(await store.reservations.held(q)).toEqual([])
    })

    it('must not have been taken and let go since they were looked at: what was captured may be half of something', async () => {
      const { store, p, q } = await scene()
      const { seen } = await store.reservations.holders(q, at('sc/**'))
      await start(store, p, at('sc/**'))
      await ended(store, p)
      expect((await start(store, q, at('sc/**'), seen)).events).toEqual([])
      expect((await start(store, q, at('sc/**'))).events).toMatchObject([{ type: 'attempt.started' }])
    })

    it('stay between two attempts of a visit, and go when the plan is cancelled', async () => {
      const { store, p, q } = await scene()
      await start(store, p, at('sc/**'))
      await must(store, p, { type: 'recover', reason: 'died' })
      expect((await store.reservations.holders(q, at('sc/**'))).holders).toHaveLength(1)
      await must(store, p, { type: 'cancel' })
      expect((await store.reservations.holders(q, at('sc/**'))).holders).toEqual([])
      expect((await store.check()).faults).toEqual([])
    })

    it('a claim of files that another plan holds is refused with its name', async () => {
      const { store, p, q } = await scene()
      await start(store, p, at('sc/**'))
      const claim = { type: 'claim', task: name('x'), token: 't', by: 'agent' } as const
      const refused = await store.update(
        q,
        { ...claim, prepared: { reserves: { ...at('sc/x'), seen: 0 } } },
        { actor: 'agent' as never },
      )
      expect(refused).toMatchObject({ ok: false, refusal: { code: 'not-ready', message: /plan 'p'/ } })
      await must(store, q, { ...claim, prepared: { reserves: { ...at('free'), seen: 0 } } })
      expect(await store.reservations.held(q)).toMatchObject([{ task: 'x', paths: ['free'] }])
      await must(store, q, { type: 'report', task: name('x'), token: 't', by: 'agent', result: succeeded() })
      expect(await store.reservations.held(q)).toEqual([])
    })

    it('a claim is refused when another plan took and released its files since they were looked at', async () => {
      const { store, p, q } = await scene()
      const { seen } = await store.reservations.holders(q, at('sc/x'))
      await start(store, p, at('sc/**'))
      await ended(store, p)
      const claim = { type: 'claim', task: name('x'), token: 't', by: 'agent' } as const
      const prepared = (looked: number) => ({ prepared: { reserves: { ...at('sc/x'), seen: looked } } })
      const refused = await store.update(q, { ...claim, ...prepared(seen) }, { actor: 'agent' as never })
      expect(refused).toMatchObject({ ok: false, refusal: { code: 'conflict', message: /task 'a' of plan 'p'/ } })
      expect(await store.reservations.held(q)).toEqual([])
      const again = await store.reservations.holders(q, at('sc/x'))
      await must(store, q, { ...claim, ...prepared(again.seen) })
      expect(await store.reservations.held(q)).toMatchObject([{ task: 'x' }])
    })

    it('are gone with the plan that is pruned', async () => {
      const { store, clock, p, q } = await scene()
      await start(store, p, at('sc/**'))
      await must(store, p, { type: 'cancel', force: true })
      await must(store, p, { type: 'recover', reason: 'died' })
      await must(store, p, { type: 'archive' })
      clock.pass(1_000)
      expect((await store.prune({ before: clock.now(), dryRun: false })).plans).toBe(1)
      expect((await store.reservations.holders(q, at('sc/**'))).holders).toEqual([])
      expect((await store.check()).faults).toEqual([])
    })
  })
}
