import pg from 'pg'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import type { PlanId } from '../../domain/id.ts'
import { external, name, plan, START, succeeded, task } from '../../testing/index.ts'
import { thisHost } from '../leases/host.ts'
import { ana, engine, given, must, ok, storeContract } from '../store.contract.ts'
import { type Claimed, LeaseLost } from '../store.ts'
import { examineDatabase, migrateDatabase } from './migrate.ts'
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

  describe('postgres: two processes write to one plan', () => {
    it('and read it meanwhile: nobody is shown what is not in the journal', async () => {
      const { open } = await setup(server!)
      const stores = [await open(), await open()]
      const names = Array.from({ length: 60 }, (_, at) => name(`t${at}`))
      const id = await given(stores[0]!, plan('shared', ...names.map(each => external(each))))
      await must(stores[0]!, id, START)
      let isOver = false
      // Two of each process, so that there is always one that writes while another one reads.
      const members = [...stores, ...stores]
      const writing = members.map(async (store, at) => {
        for (const task of names.filter((_, number) => number % members.length === at))
          ok(await store.update(id, { type: 'claim', task, token: `of ${task}`, by: 'agent' }, { actor: ana }))
      })
      const claimed: { readonly version: number; readonly tasks: readonly string[] }[] = []
      const reading = members.map(async store => {
        while (!isOver) {
          const { version, tasks } = (await store.state(id))!
          claimed.push({ version, tasks: names.filter(task => tasks.get(task)!.claim !== null) })
        }
      })
      await Promise.all([Promise.all(writing).finally(() => (isOver = true)), ...reading])
      const journal = await stores[0]!.read(id)
      for (const { version, tasks } of claimed) {
        const events = journal.slice(0, version).flatMap(entry => entry.events)
        const inJournal = events.flatMap(event => (event.type === 'attempt.started' ? [event.task] : []))
        expect(new Set(tasks)).toEqual(new Set(inJournal))
      }
      expect((await stores[0]!.check()).faults).toEqual([])
    })

    it('a refusal is of what is stored, and not of what this process knew', async () => {
      const { open } = await setup(server!)
      const [a, b] = [await open(), await open()]
      const id = await given(a, plan('steps', external('first'), external('second', { needs: [name('first')] })))
      await must(a, id, START)
      const claim = (task: string) => ({ type: 'claim', task: name(task), token: task, by: 'agent' }) as const
      ok(await b.update(id, claim('first'), { actor: ana }))
      const report = { type: 'report', task: name('first'), token: 'first', by: 'agent', result: succeeded() } as const
      ok(await b.update(id, report, { actor: ana }))
      expect(await a.update(id, claim('second'), { actor: ana })).toMatchObject({ ok: true })
    })

    it('who takes a plan over finds what its last owner began', async () => {
      const { open, clock } = await setup(server!)
      const [a, b] = [await open(), await open({ pid: 2 })]
      const id = await given(a, plan('one', task('a', { effect: 'pure' })))
      await must(a, id, START)
      const [first, next] = [await a.leases.open({ leaseMs: 1_000 }), await b.leases.open({ leaseMs: 60_000 })]
      const { lease } = (await a.leases.claim(id, first)) as Extract<Claimed, { ok: true }>
      expect(await b.leases.claim(id, next)).toMatchObject({ ok: false })
      ok(await a.update(id, { type: 'turn' }, { actor: engine, lease }))
      clock.pass(2_000)
      const taken = (await b.leases.claim(id, next)) as Extract<Claimed, { ok: true }>
      const recover = { type: 'recover', reason: 'it died' } as const
      const recovered = await b.update(id, recover, { actor: engine, lease: taken.lease })
      expect(ok(recovered).events).toMatchObject([{ type: 'attempt.lost', task: 'a' }])
    })
  })

  describe('postgres: a long transaction of somebody else', () => {
    it('holds the feed back, and not who wants files that are free again', async () => {
      const { open, url } = await setup(server!)
      const store = await open()
      const wanted = { root: '.', paths: ['src/**'] }
      const reserving = async (at: number) => {
        const id = await given(store, plan(`p${at}`, task('a', { write: ['src/**'], effect: 'workspace' })), at)
        await must(store, id, START)
        const { seen } = await store.reservations.holders(id, wanted)
        const preimage = await store.blobs.put(Buffer.from('{}'))
        const prepared = { preimage, reserves: { ...wanted, seen } }
        const begun = await must(store, id, { type: 'turn', prepared: [{ task: name('a'), visit: 1, prepared }] })
        expect(begun.events).toMatchObject([{ type: 'attempt.started' }])
        const settled = { task: name('a'), visit: 1, attempt: 1, result: succeeded() }
        await must(store, id, { type: 'turn', settled: [settled] })
      }
      const before = await store.position()
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      onTestFinished(() => client.end())
      await client.query('BEGIN; SELECT pg_current_xact_id()')
      await reserving(1)
      await reserving(2)
      expect(await store.position()).toBe(before)
      await client.query('COMMIT')
      await expect.poll(() => store.position()).toBeGreaterThan(before)
    })
  })

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

  describe('postgres: rounds of loading', () => {
    it('do not grow with the number of plans', async () => {
      const { open, clock } = await setup(server!)
      const [store, other] = [await open(), await open()]
      const count = 30
      const ids: PlanId[] = []
      for (let number = 1; number <= count; number++) {
        const id = await given(store, plan(`plan-${number}`, task('a'), external('x')), number)
        await must(store, id, START)
        await must(store, id, { type: 'claim', task: name('x'), token: `t${number}`, by: 'agent' })
        ids.push(id)
      }
      // Another process knows none of them. Each of these would throw after eight rounds.
      const chunk = { task: name('a'), visit: 1, attempt: 1, stream: 'stdout', at: 1, text: 'x' } as const
      await other.logs.append(ids.map(id => ({ plan: id, ...chunk })))
      expect((await other.overview({ limit: count })).items).toHaveLength(count)
      expect((await other.plans({ agent: 'nobody' })).items).toEqual([])
      expect((await other.tasks({ assignee: 'agent', limit: count })).items).toHaveLength(count)
      const middle = (await other.since(0, 1_000))[count]!.position
      expect((await other.since(middle, 1_000)).length).toBeGreaterThan(count)
      clock.pass(24 * 3_600_000)
      expect(await other.claims.lapsed()).toHaveLength(count)
      for (const id of ids) {
        await must(store, id, { type: 'cancel', force: true })
        await must(store, id, { type: 'archive' })
      }
      clock.pass(1)
      expect(await other.prune({ before: clock.now(), dryRun: false })).toMatchObject({ plans: count })
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

  describe('postgres: the roles of the processes', () => {
    async function scene() {
      const { open, roles, url } = await setup(server!)
      const id = await given(await open(), plan('first', task('a')))
      const { appendUrl } = roles
      if (appendUrl === undefined) throw new Error('the roles of this server have passwords that nobody knows')
      const as = (role: string, tenant: number, text: string) =>
        ask(role, `SET search_path = planfold; SET planfold.tenant = ${tenant}; ${text}`)
      const version = async () => (await ask(url, 'SELECT version FROM planfold.heads'))[0]!.version
      return { id, as, faces: roles.url, append: appendUrl, version }
    }

    it('only read: no row of another tenant, also not through a view', async () => {
      const { as, faces } = await scene()
      for (const table of ['plans', 'entries', 'tasks', 'last_entries']) {
        const count = async (tenant: number) =>
          (await as(faces, tenant, `SELECT count(*)::int AS count FROM ${table}`))[0]!.count
        expect([await count(1), await count(2)], table).toEqual([1, 0])
      }
      await expect(as(faces, 1, "INSERT INTO halts (by, at) VALUES ('mallory', 1)")).rejects.toThrow(
        /permission denied/,
      )
      await expect(as(faces, 1, `SELECT append('{}')`)).rejects.toThrow(/permission denied/)
    })

    it('or only append, and to no plan of another tenant', async () => {
      const { id, as, faces, append, version } = await scene()
      await expect(as(append, 1, 'SELECT * FROM plans')).rejects.toThrow(/permission denied/)
      await expect(as(append, 1, `SELECT put('{"w": "lift"}', 0)`)).rejects.toThrow(/permission denied/)
      const row = { name: 'stolen', status: 'draft', revision: 1, tasks: 0, archived: false, createdAt: 1 }
      const send = (tenant: number, no: string) => {
        const writes = [
          {
            w: 'entry',
            no,
            p: -1,
            v: 2,
            at: 1,
            actor: 'm',
            fence: null,
            body: '{}',
            blob: null,
            hash: '00',
            format: 2,
            done: 0,
          },
          { w: 'move', no, row },
        ]
        const guards = [{ g: 'head', no, v: 1, fence: null, owner: null, now: 0 }]
        const batch = JSON.stringify({ writer: 'm', call: 1, items: [{ guards, writes }], now: 0 })
        return as(append, tenant, `SELECT register('m'); SELECT append('${batch}') AS answer`)
      }
      const no = String((await as(faces, 1, `SELECT plan_no FROM plans WHERE id = '${id}'`))[0]!.plan_no)
      expect((await send(2, no))[0]!.answer).toMatchObject({ passed: [0] })
      expect(await version()).toBe(1)
      // The same call for its own tenant.
      expect((await send(1, no))[0]!.answer).toMatchObject({ passed: [] })
      expect(await version()).toBe(2)
    })

    it('are made once; an administrator is needed for them', async () => {
      const { url, roles } = await setup(server!)
      const fixed = { now: 0, newPassword: () => 'fixed' }
      expect((await migrateDatabase(url, fixed)).roles).toMatchObject({ status: 'made', isNew: false })
      expect((await examineDatabase(url)).isWalled).toBe(false)
      expect((await examineDatabase(roles.url)).isWalled).toBe(true)
      const refused = (await migrateDatabase(roles.url, fixed)).roles
      if (refused.status !== 'refused') throw new Error('a role that only reads has made roles')
      await ask(url, refused.sql)
      expect(refused.sql).toContain("CREATE ROLE planfold_append LOGIN PASSWORD 'password of planfold_append'")
    })
  })
}
