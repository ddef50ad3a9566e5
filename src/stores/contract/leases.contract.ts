// Leases, fences, takeovers.

import { describe, expect, it } from 'vitest'
import type { PlanId } from '../../domain/id.ts'
import { START } from '../../testing/index.ts'
import { LeaseLost, type Owner, type Store } from '../store.ts'
import { engine, given, must, ok, type Setup, two } from './harness.contract.ts'

export function leasesContract(what: string, setup: Setup): void {
  describe(`${what}: leases`, () => {
    const LEASE = { leaseMs: 1_000 }
    const fenced = (store: Store, id: PlanId, lease: { owner: string; fence: number }) =>
      store.update(id, { type: 'turn' }, { actor: engine, lease })
    async function driven() {
      const harness = await setup()
      const store = await harness.open()
      const id = await given(store, two('first'))
      await must(store, id, START)
      const owner = await store.leases.open(LEASE)
      return { ...harness, store, id, owner, lease: await taken(store, id, owner) }
    }
    async function taken(store: Store, id: PlanId, owner: Owner) {
      const claimed = await store.leases.claim(id, owner)
      if (!claimed.ok) throw new Error(`held by ${claimed.holder.owner}`)
      return claimed.lease
    }

    it('the holder writes with its fence, and the entry says so', async () => {
      const { store, id, lease } = await driven()
      ok(await fenced(store, id, lease))
      expect((await store.read(id)).at(-1)).toMatchObject({ actor: 'engine', fence: lease.fence })
      expect(await taken(store, id, { id: lease.owner } as Owner)).toEqual(lease)
    })

    it('a plan that is driven is not given to another', async () => {
      const { open, id, owner } = await driven()
      const other = await open({ pid: 200 })
      const claimed = await other.leases.claim(id, await other.leases.open(LEASE))
      expect(claimed).toMatchObject({ ok: false, holder: { owner: owner.id, host: 'here', pid: 100, alive: true } })
      expect(await other.leases.orphans()).toEqual([])
    })

    it('a lease that lapsed is taken over with a higher fence, and the old owner cannot write', async () => {
      const { open, store, clock, id, lease } = await driven()
      const other = await open({ pid: 200 })
      const rescuer = await other.leases.open({ leaseMs: 60_000 })
      clock.pass(1_000)
      expect(await other.leases.orphans()).toEqual([id])
      const claimed = await other.leases.claim(id, rescuer)
      expect(claimed).toMatchObject({
        ok: true,
        lease: { fence: lease.fence + 1 },
        tookOver: { pid: 100, alive: false },
      })
      await expect(fenced(store, id, lease)).rejects.toThrow(LeaseLost)
      expect((await store.read(id)).length).toBe(2)
    })

    it('a lease that lapsed cannot write even when nobody took over, and is never renewed', async () => {
      const { store, clock, id, owner, lease } = await driven()
      clock.pass(999)
      await renew(store)
      clock.pass(999)
      ok(await fenced(store, id, lease))
      clock.pass(1)
      await expect(fenced(store, id, lease)).rejects.toThrow(LeaseLost)
      await renew(store)
      expect(owner.lost.aborted).toBe(true)
      await expect(store.leases.claim(id, owner)).rejects.toThrow(LeaseLost)
    })

    it('a lease lost in a group does not stop the others of that group', async () => {
      const { store, clock, id, lease } = await driven()
      clock.pass(1_000)
      const [lost, note] = await Promise.allSettled([
        fenced(store, id, lease),
        must(store, id, { type: 'note', text: 'x' }),
      ])
      expect([lost.status, note.status]).toEqual(['rejected', 'fulfilled'])
    })

    it('jumps of the wall clock do not touch leases', async () => {
      const { store, clock, id, lease } = await driven()
      clock.wall += 365 * 24 * 3_600_000
      ok(await fenced(store, id, lease))
      clock.wall -= 2 * 365 * 24 * 3_600_000
      expect(await store.leases.holder(id)).toMatchObject({ alive: true })
    })

    it('an owner whose process is gone, or whose machine restarted, is taken over at once', async () => {
      for (const host of [{ isRunning: () => false }, { boot: 'boot-2' }]) {
        const { open, id, lease } = await driven()
        const other = await open({ pid: 200, ...host })
        const claimed = await other.leases.claim(id, await other.leases.open(LEASE))
        expect(claimed).toMatchObject({ ok: true, lease: { fence: lease.fence + 1 }, tookOver: { pid: 100 } })
      }
    })

    it('an owner on another machine is taken over when its lease has run out by the wall clock, not before', async () => {
      const { open, id, clock } = await driven()
      const other = await open({ pid: 200, host: 'there', boot: 'boot-2', isRunning: () => false })
      expect(await other.leases.claim(id, await other.leases.open(LEASE))).toMatchObject({ ok: false })
      expect(await other.leases.orphans()).toEqual([])
      clock.pass(LEASE.leaseMs + 1)
      expect(await other.leases.orphans()).toEqual([id])
      const claimed = await other.leases.claim(id, await other.leases.open(LEASE))
      expect(claimed).toMatchObject({ ok: true, tookOver: { host: 'here', pid: 100 } })
    })

    it('a process of another pid namespace is not taken for dead', async () => {
      const { open, id } = await driven()
      const other = await open({ pids: 'pids-2', isRunning: pid => pid !== 100 })
      expect(await other.leases.claim(id, await other.leases.open(LEASE))).toMatchObject({ ok: false })
    })

    it('a plan that was released, or whose owner stopped, is free', async () => {
      const { store, id, owner, lease } = await driven()
      await store.leases.release(id, owner)
      expect(await store.leases.holder(id)).toBeNull()
      await expect(fenced(store, id, lease)).rejects.toThrow(LeaseLost)
      expect((await taken(store, id, owner)).fence).toBe(lease.fence + 1)
      await owner.stop()
      expect(await store.leases.holder(id)).toBeNull()
      expect(await store.leases.orphans()).toEqual([])
    })

    async function renew(store: Store) {
      await (store.leases as unknown as { renew(): Promise<void> }).renew()
    }
  })
}
