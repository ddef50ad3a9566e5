import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { numberedPlanId } from '../../testing/index.ts'
import { fill, goesOn, shown, unheld } from '../copy/full-store.fixture.ts'
import { type CopySource, type CopyTarget, copyStore, createBackup, restoreBackup } from '../copy/store-copy.ts'
import { openSqliteSource, openSqliteTarget } from '../sqlite/copy-sqlite.ts'
import { writtenBefore } from '../sqlite/older-entries.fixture.ts'
import { setup as setupSqlite, temporaryFolder } from '../sqlite/store-sqlite.fixture.ts'
import { FakeClock, fakeHost, given, two } from '../store.contract.ts'
import { openPostgresSource, openPostgresTarget } from './copy-postgres.ts'
import { ask, setup, startServer } from './postgres.fixture.ts'

const server = await startServer()
const now = () => 7
const options = { now, newId: randomUUID }
const at = (folder: string) => ({ folder, clock: new FakeClock(), host: fakeHost(), newId: randomUUID })

async function copied(
  source: Promise<CopySource>,
  target: (name: string) => Promise<CopyTarget>,
  failpoint?: () => void,
) {
  const from = await source
  try {
    const to = await target(from.name)
    try {
      return await copyStore(from, to, { ...options, failpoint })
    } finally {
      await to.close()
    }
  } finally {
    await from.close()
  }
}

if (server === null)
  describe('postgres: copies', () => {
    it.skip('there is no PostgreSQL here: install it, or set PLANFOLD_TEST_DATABASE', () => {})
  })
else {
  afterAll(() => server.stop())

  const database = async () => {
    const made = await setup(server)
    const room = { url: made.url, folder: made.folder, now, newId: randomUUID, host: 'here' }
    return { ...made, source: () => openPostgresSource(room), target: (name: string) => openPostgresTarget(room, name) }
  }
  const folder = () => {
    const made = setupSqlite()
    return {
      ...made,
      source: () => openSqliteSource(at(made.folder)),
      target: (name: string) => openSqliteTarget(at(made.folder), name),
    }
  }

  describe('postgres: copies', () => {
    it('from SQLite to PostgreSQL and back: every journal, list and number is the same, and both go on', async () => {
      const [first, second, third] = [folder(), await database(), folder()]
      await fill(await first.open(), first.clock)
      // Of format 1, whose hashes cover positions: of this store, and of another one.
      writtenBefore(first.path, numberedPlanId(3), 0)
      writtenBefore(first.path, numberedPlanId(4), 7_000)
      const store = await first.open()
      const before = unheld(await shown(store))
      await copied(first.source(), second.target)
      await copied(second.source(), third.target)
      const [there, back] = [await second.open(), await third.open()]
      expect(await shown(there)).toEqual(before)
      expect(await shown(back)).toEqual(before)
      expect((await there.check({ readData: true })).faults).toEqual([])
      expect((await back.check({ readData: true })).faults).toEqual([])
      await goesOn(there)
      await goesOn(back)
      expect((await there.check()).faults).toEqual([])
      expect((await back.check()).faults).toEqual([])
    })

    it('from PostgreSQL through a file to SQLite and to another database, whose positions go on behind those of the first', async () => {
      const [first, second, third] = [await database(), folder(), await database()]
      const store = await first.open()
      await fill(store, first.clock)
      const file = join(temporaryFolder(), 'all.backup')
      const source = await first.source()
      await createBackup(source, file, options)
      await source.close()
      await restoreBackup(file, () => second.target(file))
      await restoreBackup(file, () => third.target(file))
      for (const copy of [await second.open(), await third.open()]) {
        expect(await shown(copy)).toEqual(unheld(await shown(store)))
        expect((await copy.check({ readData: true })).faults).toEqual([])
        await goesOn(copy)
        expect((await copy.check()).faults).toEqual([])
      }
      await expect(restoreBackup(file, () => third.target(file))).rejects.toThrow('is not empty')
    })

    it('ended at any point cannot be opened, and goes on when it is started again', async () => {
      const [first, other] = [folder(), folder()]
      const store = await first.open()
      await other.open()
      await fill(store, first.clock)
      for (const point of [0, 2, 5, 9, 13]) {
        const to = await database()
        let left = point
        const killed = copied(first.source(), to.target, () => {
          if (left-- === 0) throw new Error('killed')
        })
        await expect(killed).rejects.toThrow('killed')
        await expect(to.open()).rejects.toThrow(`this store is an unfinished copy of ${first.folder}`)
        await expect(to.source()).rejects.toThrow('unfinished copy')
        await expect(copied(other.source(), to.target)).rejects.toThrow('unfinished copy')
        await given(store, two(`meanwhile-${point}`), 100 + point)
        await copied(first.source(), to.target)
        const copy = await to.open()
        expect(await shown(copy)).toEqual(unheld(await shown(store)))
        expect((await copy.check()).faults).toEqual([])
      }
    })

    it('a failed restore leaves the database empty', async () => {
      const [first, to] = [folder(), await database()]
      await fill(await first.open(), first.clock)
      const file = join(temporaryFolder(), 'all.backup')
      const source = await first.source()
      await createBackup(source, file, options)
      await source.close()
      const failing = async () =>
        Object.assign(await to.target(file), { unmark: () => Promise.reject(new Error('broken')) })
      await expect(restoreBackup(file, failing)).rejects.toThrow('broken')
      await expect(ask(to.url, 'SELECT 1 FROM planfold.plans')).resolves.toEqual([])
      await restoreBackup(file, () => to.target(file))
    })
  })
}
