import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { inflateSync } from 'node:zlib'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import type { PlanId, Sha256 } from '../../domain/id.ts'
import { name, plan, START, succeeded, task } from '../../testing/index.ts'
import { copyStore } from '../copy/store-copy.ts'
import { openSqliteSource, openSqliteTarget } from '../sqlite/copy-sqlite.ts'
import { setup as setupSqlite, temporaryFolder } from '../sqlite/store-sqlite.fixture.ts'
import { FakeClock, fakeHost, given, must, two, two as twoTasks } from '../store.contract.ts'
import type { Store } from '../store.ts'
import { openPostgresSource, openPostgresTarget } from './copy-postgres.ts'
import { ask, setup, startServer } from './postgres.fixture.ts'
import { StorePostgres } from './store-postgres.ts'

const server = await startServer()

/** A machine: a folder of its own, and the database of all. */
async function machines() {
  const made = await setup(server!)
  const on = async (host: string, folder = temporaryFolder()) => {
    const store = await StorePostgres.open({
      url: made.url,
      folder,
      clock: made.clock,
      host: fakeHost({ host, boot: `boot of ${host}` }),
      newId: randomUUID,
      heartbeat: 'manual',
      foldEvery: 2,
    })
    onTestFinished(() => store.close())
    return { store, folder }
  }
  return { ...made, on }
}

/** A tree with one file, as a snapshot stores it. */
async function snapshot(store: Store, content: string): Promise<{ tree: Sha256; file: Sha256 }> {
  const batch = store.blobs.batch()
  const file = batch.add(Buffer.from(content))
  const tree = batch.add(
    Buffer.concat([Buffer.from('PFTREE1\n\0\0\0\0\x01\0\0\0', 'latin1'), Buffer.from(file, 'hex')]),
  )
  await batch.close()
  return { tree, file }
}

const read = async (store: Store, id: Sha256) =>
  (await store.blobs.get(id).then(bytes => bytes && Buffer.from(bytes).toString())) ?? null

/** Every text in every table, and the contents of files also unpacked. */
async function everything(url: string): Promise<string> {
  const tables = await ask(url, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'planfold'")
  let all = ''
  for (const { table_name: table } of tables) {
    const rows = await ask(
      url,
      `SET planfold.tenant = 1; SELECT to_jsonb(t)::text AS row FROM planfold.${String(table)} t`,
    )
    all += rows.map(({ row }) => String(row)).join('\n')
  }
  for (const { bytes } of await ask(
    url,
    'SELECT bytes FROM planfold.blobs UNION ALL SELECT body FROM planfold.folds',
  )) {
    all += Buffer.from(bytes as Uint8Array).toString('latin1')
    try {
      all += inflateSync(bytes as Uint8Array).toString()
    } catch {}
  }
  return all
}

const SECRET = 'the-recipe-of-the-sauce'

async function confidential(store: Store): Promise<PlanId> {
  const definition = plan('secret', task('a', { labels: ['confidential'], inputs: { in: `${SECRET}-in` } }), task('b'))
  const id = await given(store, definition, 7)
  await must(store, id, START)
  await must(store, id, { type: 'turn' })
  await store.logs.append([
    { plan: id, task: name('a'), visit: 1, attempt: 1, stream: 'stdout', at: 7, text: `${SECRET}-printed` },
  ])
  const artifact = await store.blobs.put(Buffer.from(`${SECRET}-artifact`))
  const result = succeeded({ outputs: { out: `${SECRET}-out`, file: { artifact } } })
  await must(store, id, { type: 'turn', settled: [{ task: name('a'), visit: 1, attempt: 1, result }] })
  await store.tidy({ rebuild: true })
  return id
}

if (server === null)
  describe('postgres: contents of files', () => {
    it.skip('there is no PostgreSQL here: install it, or set PLANFOLD_TEST_DATABASE', () => {})
  })
else {
  afterAll(() => server.stop())

  describe('postgres: contents of files', () => {
    it('that an entry names are read on another machine, and after the local folder is lost', async () => {
      const { on } = await machines()
      const first = await on('one')
      const id = await given(first.store, two('first'))
      const { tree, file } = await snapshot(first.store, 'a file')
      const unnamed = await first.store.blobs.put(Buffer.from('nobody names me'))
      await must(first.store, id, { type: 'note', text: `${tree} ${'long '.repeat(80_000)}` })
      const second = await on('two')
      expect(await second.store.read(id)).toEqual(await first.store.read(id))
      expect([await read(second.store, file), await read(second.store, unnamed)]).toEqual(['a file', null])
      await must(second.store, id, { type: 'note', text: 'goes on' })
      await first.store.close()
      rmSync(first.folder, { recursive: true })
      const third = await on('one', first.folder)
      expect((await third.store.state(id))!.version).toBe(3)
      expect(await read(third.store, tree)).toContain('PFTREE1')
      expect((await third.store.check({ readData: true })).faults).toEqual([])
      // Later, when it is named, also from a folder that has it already.
      const again = await second.store.blobs.put(Buffer.from('nobody names me'))
      await must(second.store, id, { type: 'note', text: again })
      expect(await read(third.store, unnamed)).toBe('nobody names me')
    })

    it('are all in the database before the entry is: if they cannot be published, nothing is appended', async () => {
      const { on, url } = await machines()
      const { store } = await on('one')
      const id = await given(store, two('first'))
      const { tree } = await snapshot(store, 'a file')
      await ask(url, "ALTER TABLE planfold.blobs ADD CONSTRAINT no CHECK (bytes <> 'a file')")
      await expect(must(store, id, { type: 'note', text: tree })).rejects.toThrow('violates check')
      expect((await store.state(id))!.version).toBe(1)
      await ask(url, 'ALTER TABLE planfold.blobs DROP CONSTRAINT no')
      await must(store, id, { type: 'note', text: tree })
      expect(await ask(url, 'SELECT 1 FROM planfold.blobs')).toHaveLength(2)
    })

    it('that nothing names are pruned from the database too, but not young ones', async () => {
      const { on, url, clock } = await machines()
      const { store } = await on('one')
      const count = async () => (await ask(url, 'SELECT 1 FROM planfold.blobs')).length
      const old = await given(store, two('old'))
      const keep = await given(store, two('keep'), 2)
      await must(store, old, { type: 'note', text: (await snapshot(store, 'old')).tree })
      const kept = await snapshot(store, 'keep')
      await must(store, keep, { type: 'note', text: kept.tree })
      await must(store, old, { type: 'archive' })
      expect(await count()).toBe(4)
      clock.pass(10_000)
      const before = clock.wall
      await store.prune({ before, blobsBefore: before - 60_000, dryRun: false })
      expect(await count()).toBe(4)
      expect(await store.prune({ before, dryRun: true })).toMatchObject({ blobs: 2 })
      expect(await count()).toBe(4)
      expect(await store.prune({ before, dryRun: false })).toMatchObject({ blobs: 2 })
      expect(await count()).toBe(2)
      const other = await on('two')
      expect(await read(other.store, kept.file)).toBe('keep')
      expect((await other.store.check({ readData: true })).faults).toEqual([])
    })
  })

  it('postgres: many plans are pruned, however many rows have to be loaded for it', async () => {
    const { on, clock } = await machines()
    const { store } = await on('one')
    for (let number = 1; number <= 40; number++) {
      const id = await given(store, two(`plan-${number}`), number)
      if (number > 20) await must(store, id, { type: 'archive' })
    }
    clock.pass(10_000)
    expect(await store.prune({ before: clock.wall, dryRun: true })).toMatchObject({ plans: 20, entries: 40 })
    expect(await store.prune({ before: clock.wall, dryRun: false })).toMatchObject({ plans: 20, entries: 40 })
    expect((await store.plans({ limit: 100 })).items).toHaveLength(20)
    expect((await store.check()).faults).toEqual([])
  })

  describe('postgres: a plan with a confidential task', () => {
    it('leaves its inputs, outputs and output on its host, where all of it is read', async () => {
      const { on, url } = await machines()
      const { store } = await on('one')
      const id = await confidential(store)
      const entries = await store.read(id)
      expect(JSON.stringify(entries)).toContain(`${SECRET}-out`)
      expect((await store.logs.read({ plan: id })).map(({ text }) => text)).toEqual([`${SECRET}-printed`])
      expect((await store.check({ readData: true })).faults).toEqual([])
      const all = await everything(url)
      expect(all).toContain('secret')
      expect(all.includes(SECRET)).toBe(false)
      // The same search finds what is not confidential.
      await must(store, await given(store, two('open')), { type: 'note', text: `${SECRET}-open` })
      expect((await everything(url)).includes(`${SECRET}-open`)).toBe(true)
    })

    it('is listed on another host and not damaged there, but neither read nor driven', async () => {
      const { on, clock } = await machines()
      const [one, two] = [await on('one'), await on('two')]
      const id = await confidential(one.store)
      expect((await two.store.plans({})).items.map(row => row.name)).toEqual(['secret'])
      await expect(two.store.state(id)).rejects.toThrow('only on the host that made them')
      expect((await two.store.logs.read({ plan: id })).map(({ text }) => text)).toEqual([
        '[confidential: only on the host that made it]',
      ])
      // The tail of all plans goes on behind it.
      const open = await given(two.store, twoTasks('open'), 2)
      const last = (await two.store.since(0, 2)).map(entry => entry.plan)
      expect(last).toEqual([open])
      for await (const entry of two.store.watch({ after: 0, signal: new AbortController().signal })) {
        expect(entry.plan).toBe(open)
        break
      }
      expect((await one.store.since(0, 100)).filter(entry => entry.plan === id).length).toBeGreaterThan(3)
      expect(await two.store.check()).toMatchObject({ ok: true, unread: [{ plan: id }] })
      const owner = await two.store.leases.open({ leaseMs: 1_000 })
      expect(await two.store.leases.claim(id, owner)).toMatchObject({
        ok: false,
        holder: { host: 'one', isHome: true },
      })
      clock.pass(10_000)
      const result = succeeded({})
      await must(one.store, id, { type: 'turn', settled: [{ task: name('b'), visit: 1, attempt: 1, result }] })
      await must(one.store, id, { type: 'archive' })
      clock.pass(10_000)
      expect(await two.store.prune({ before: clock.wall, dryRun: false })).toMatchObject({ plans: 0, held: 1 })
      const own = await one.store.leases.open({ leaseMs: 1_000 })
      expect(await one.store.leases.claim(id, own)).toMatchObject({ ok: true })
      expect(await one.store.prune({ before: clock.wall, dryRun: false })).toMatchObject({ plans: 1 })
    })

    it('is copied from its host without loss, and from another one not at all', async () => {
      const { on, url } = await machines()
      const [one, two] = [await on('one'), await on('two')]
      const id = await confidential(one.store)
      const room = { url, now: () => 7, newId: randomUUID, host: 'one' }
      const at = (folder: string) => ({ folder, clock: new FakeClock(), host: fakeHost(), newId: randomUUID })
      const copied = async (
        from: Awaited<ReturnType<typeof openPostgresSource>>,
        to: Awaited<ReturnType<typeof openPostgresTarget>>,
      ) => {
        try {
          return await copyStore(from, to, room)
        } finally {
          await from.close()
          await to.close()
        }
      }
      const local = setupSqlite()
      await copied(
        await openPostgresSource({ ...room, folder: one.folder }),
        await openSqliteTarget(at(local.folder), 'x'),
      )
      const copy = await local.open()
      expect(await copy.read(id)).toEqual(await one.store.read(id))
      expect(await copy.logs.read({ plan: id })).toEqual(await one.store.logs.read({ plan: id }))
      expect((await copy.check({ readData: true })).faults).toEqual([])
      await expect(
        copied(
          await openPostgresSource({ ...room, folder: two.folder }),
          await openSqliteTarget(at(temporaryFolder()), 'x'),
        ),
      ).rejects.toThrow(/blob \S+, the body of entry 1 of plan \S+, is missing/)
      // To another database: what stood in the folder stays there.
      const other = await setup(server!)
      const folder = temporaryFolder()
      await copied(
        await openPostgresSource({ ...room, folder: one.folder }),
        await openPostgresTarget({ ...room, url: other.url, folder }, 'x'),
      )
      expect((await everything(other.url)).includes(SECRET)).toBe(false)
      expect((await everything(other.url)).includes('secret')).toBe(true)
    })

    it('of an embedded store comes into a database only when it is said', async () => {
      const from = setupSqlite()
      const id = await confidential(await from.open())
      const to = await setup(server!)
      const room = { url: to.url, folder: to.folder, now: () => 7, newId: randomUUID, host: 'here' }
      const at = { folder: from.folder, clock: new FakeClock(), host: fakeHost(), newId: randomUUID }
      const copied = async (withConfidential: boolean) => {
        const source = await openSqliteSource(at)
        const target = await openPostgresTarget({ ...room, withConfidential }, 'x')
        await copyStore(source, target, room).finally(() => Promise.all([source.close(), target.close()]))
      }
      await expect(copied(false)).rejects.toThrow('confidential tasks')
      expect((await everything(to.url)).includes(SECRET)).toBe(false)
      await copied(true)
      const store = await to.open()
      expect(JSON.stringify(await store.read(id))).toContain(`${SECRET}-out`)
      expect((await store.check({ readData: true })).faults).toEqual([])
    })
  })
}
