import { afterAll, describe, expect, it } from 'vitest'
import { plan, START, task } from '../../testing/index.ts'
import { thisHost } from '../leases/host.ts'
import { engine, given, must, ok, storeContract } from '../store.contract.ts'
import { LeaseLost } from '../store.ts'
import { ask, setup, startServer } from './postgres.fixture.ts'
import { roundsTable } from './rounds.fixture.ts'

const server = await startServer()

if (server === null)
  describe('postgres', () => {
    it.skip('there is no PostgreSQL here: install it, or set PLANFOLD_TEST_DATABASE', () => {})
  })
else {
  console.log(`PostgreSQL ${server.version}`)
  afterAll(() => {
    console.log(roundsTable())
    server.stop()
  })
  storeContract('postgres', options => setup(server, options))

  const real = {
    clock: { now: () => Date.now(), monotonic: () => Number(process.hrtime.bigint() / 1_000_000n) },
    host: thisHost(process.pid),
    heartbeat: 'thread',
  } as const

  describe('postgres: a lease kept by its own thread', () => {
    async function driven() {
      const { open, url } = await setup(server!, real)
      const store = await open(real.host)
      const id = await given(store, plan('first', task('a')))
      await must(store, id, START)
      const owner = await store.leases.open({ leaseMs: 3_000 })
      const claimed = await store.leases.claim(id, owner)
      if (!claimed.ok) throw new Error('not claimed')
      const expires = async () => Number((await ask(url, 'SELECT expires FROM planfold.owners'))[0]!.expires)
      const turn = () => store.update(id, { type: 'turn' }, { actor: engine, lease: claimed.lease })
      return { url, store, id, owner, expires, turn }
    }

    it('outlives an event loop that is busy for longer than the lease', async () => {
      const { store, id, owner, expires, turn } = await driven()
      const first = await expires()
      await expect.poll(expires, { timeout: 120_000, interval: 5 }).toBeGreaterThan(first)
      const renewed = await expires()
      while (real.clock.monotonic() <= renewed);
      ok(await turn())
      expect(owner.lost.aborted).toBe(false)
      await owner.stop()
      expect(await store.leases.holder(id)).toBeNull()
    })

    it('is lost when its row is gone, and the fence keeps its owner out', async () => {
      const { url, owner, turn } = await driven()
      await ask(url, 'UPDATE planfold.heads SET owner = NULL, fence = fence + 1; DELETE FROM planfold.owners')
      await expect.poll(() => owner.lost.aborted, { timeout: 120_000, interval: 20 }).toBe(true)
      await expect(turn()).rejects.toThrow(LeaseLost)
    })
  })

  describe('postgres: the time of the database', () => {
    it('counts for entries and leases, also on a machine whose clock is an hour ahead', async () => {
      const { open, url } = await setup(server!, real)
      const ahead = { ...real.clock, now: () => Date.now() + 3_600_000 }
      const one = await open({}, { host: { ...real.host, host: 'one', boot: 'one' } })
      const two = await open({}, { host: { ...real.host, host: 'two', boot: 'two' }, clock: ahead })
      const id = await given(two, plan('first', task('a')))
      const [{ now }] = (await ask(url, 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now')) as [
        { now: number },
      ]
      const [entry] = await one.read(id)
      expect(Math.abs(entry!.now - now)).toBeLessThan(60_000)
      const [first, second] = [
        await one.leases.open({ leaseMs: 60_000 }),
        await two.leases.open({ leaseMs: 60_000 }),
      ] as const
      const claimed = await one.leases.claim(id, first)
      expect(claimed.ok).toBe(true)
      expect(await two.leases.claim(id, second)).toMatchObject({ ok: false, holder: { alive: true } })
      // The machine of the first was cut off, and its lease has run out.
      await ask(url, `UPDATE planfold.owners SET until = ${Math.floor(now)} WHERE id = '${first.id}'`)
      if (!claimed.ok) return
      const late = one.update(id, START, { actor: engine, lease: claimed.lease })
      await expect(late).rejects.toThrow(LeaseLost)
      expect(await two.leases.claim(id, second)).toMatchObject({ ok: true, tookOver: { alive: false } })
    })
  })

  describe('postgres: a connection that breaks', () => {
    it('is made again; a commit that it ended is sent again, once', async () => {
      const { open, url, clock } = await setup(server!)
      const store = await open()
      const id = await given(store, plan('first', task('a')))
      const holder = ask(url, 'BEGIN; LOCK planfold.heads; SELECT pg_sleep(1); COMMIT').catch(() => {})
      await expect
        .poll(
          async () =>
            (
              await ask(
                url,
                "SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation = 'planfold.heads'::regclass",
              )
            ).length,
        )
        .toBe(1)
      const note = must(store, id, { type: 'note', text: 'lost' }).catch((error: unknown) => error)
      await expect
        .poll(async () => (await ask(url, "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")).length)
        .toBe(1)
      await ask(
        url,
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      )
      expect(await note).toMatchObject({ ok: true, version: 2 })
      await holder
      expect((await store.state(id))!.version).toBe(2)
      clock.pass(1)
      expect((await store.check()).faults).toEqual([])
    })
  })

  describe('postgres: tenants', () => {
    it('see nothing of each other, and cannot write for each other, under a role that is no superuser', async () => {
      const { open, url } = await setup(server!)
      await given(await open(), plan('first', task('a')))
      const as = (tenant: number, text: string) =>
        ask(url, `SET search_path = planfold; SET planfold.tenant = ${tenant}; SET ROLE faces; ${text}`)
      const role = 'DO $$ BEGIN CREATE ROLE faces; EXCEPTION WHEN duplicate_object THEN NULL; END $$;'
      await ask(
        url,
        `${role} GRANT USAGE ON SCHEMA planfold TO faces; GRANT ALL ON ALL TABLES IN SCHEMA planfold TO faces`,
      )
      const count = async (tenant: number) => (await as(tenant, 'SELECT count(*)::int AS count FROM plans'))[0]!.count
      expect([await count(1), await count(2)]).toEqual([1, 0])
      const write = "INSERT INTO halts (tenant, by, at) VALUES (1, 'mallory', 1)"
      await expect(as(2, write)).rejects.toThrow(/row-level security/)
      // A key of another tenant is no obstacle.
      await as(1, write)
      await as(2, "INSERT INTO halts (by, at) VALUES ('ben', 1)")
    })
  })
}
