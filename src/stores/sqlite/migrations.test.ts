import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { plan, task } from '../../testing/index.ts'
import { thisHost } from '../leases/host.ts'
import { ana, FakeClock, given } from '../store.contract.ts'
import { StoreRefused } from '../store.ts'
import { Connection } from './driver.ts'
import { migrate, refuseForeignFile, refuseWhileDriven } from './migrate.ts'
import { MIGRATIONS, type Migration, SCHEMA_FIRST, SCHEMA_VERSION } from './schema.ts'
import { applySettings } from './settings.ts'
import { setup, temporaryFolder } from './store-sqlite.fixture.ts'
import { StoreSqlite } from './store-sqlite.ts'
import { StoreReading } from './store-sqlite-readonly.ts'

const options = (folder: string) => ({
  folder,
  clock: new FakeClock(),
  host: thisHost(process.pid),
  newId: () => 'id',
  heartbeat: 'manual' as const,
})

/** Throws at the nth point it passes. */
function killedAt(point: number): () => void {
  let passed = 0
  return () => {
    if (++passed === point) throw new Error('killed')
  }
}

function openAt(path: string): Connection {
  mkdirSync(dirname(path), { recursive: true })
  const connection = new Connection(path, { readOnly: false, busyMs: 0 })
  applySettings(connection)
  return connection
}

/** The step a later program might take: it adds a column and fills it from what is there. */
const LATER: Migration = {
  number: SCHEMA_VERSION + 1,
  name: 'an example',
  statements: ['ALTER TABLE plans ADD COLUMN shout TEXT', 'UPDATE plans SET shout = upper(name)'],
}
const WITH_LATER = [...MIGRATIONS, LATER]

describe('sqlite: migrating', () => {
  it('a migration that fails at any statement leaves the schema as it was', () => {
    const connection = openAt(join(temporaryFolder(), 'x.db'))
    let version = 0
    for (const [at, { number, statements }] of WITH_LATER.entries()) {
      const schema = () => connection.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY rowid').all()
      const before = schema()
      const points = statements.length + 1
      const migrations = WITH_LATER.slice(0, at + 1)
      for (let point = 1; point <= points; point++) {
        expect(() => migrate(connection, { now: () => 1, failpoint: killedAt(point), migrations })).toThrow('killed')
        expect(schema()).toEqual(before)
        expect(connection.pragma('user_version')).toBe(version)
      }
      migrate(connection, { now: () => 1, failpoint: killedAt(points + 1), migrations })
      expect(connection.pragma('user_version')).toBe(number)
      version = number
    }
    connection.close()
  })

  it('a store with plans in it is brought to the next schema, and nothing is lost', async () => {
    const { path, open } = setup()
    const store = await open()
    await given(store, plan('first', task('a')))
    await store.close()
    const connection = openAt(path)
    migrate(connection, { now: () => 7, migrations: WITH_LATER })
    expect(connection.prepare('SELECT name, shout FROM plans').all()).toEqual([{ name: 'first', shout: 'FIRST' }])
    expect(connection.prepare('SELECT count(*) AS count FROM entries').get()).toEqual({ count: 1 })
    expect(connection.prepare('SELECT number, at FROM migrations ORDER BY number DESC LIMIT 1').get()).toEqual({
      number: LATER.number,
      at: 7,
    })
    connection.close()
  })

  it('is not done while an older program drives a plan in it, and is once that is gone', async () => {
    const { path, open } = setup()
    await (await open()).close()
    const own = thisHost(process.pid)
    const owner = (start: string) =>
      `DELETE FROM owners; INSERT INTO owners (id, host, boot, pids, pid, start_time, expires)
        VALUES ('old', 'h', '${own.boot}', '${own.pids}', ${own.pid}, '${start}', ${Number.MAX_SAFE_INTEGER})`
    const connection = openAt(path)
    connection.exec(owner(own.startTime))
    expect(() => refuseWhileDriven(connection, { host: own, clock: new FakeClock() }, LATER.number)).toThrow(
      `in use by an older planfold (pid ${own.pid})`,
    )
    connection.exec(owner('another'))
    refuseWhileDriven(connection, { host: own, clock: new FakeClock() }, LATER.number)
    connection.close()
  })

  it('a store from before the first release is refused and left as it is, to be written or only read', async () => {
    const { path, folder, open, raw } = setup()
    const store = await open()
    await given(store, plan('first', task('a')))
    await store.close()
    raw('DROP TABLE reservations; PRAGMA user_version = 3')
    const refusals = [
      await StoreSqlite.open(options(folder)).catch(error => error),
      await Promise.resolve()
        .then(() => StoreReading.open(options(folder)))
        .catch(error => error),
    ]
    for (const refusal of refusals) {
      expect(refusal).toBeInstanceOf(StoreRefused)
      expect(refusal.message).toBe(
        `the store has schema 3, from before the first release, and this program reads ${SCHEMA_FIRST} and later; nothing was changed`,
      )
      expect(refusal.hint).toBe('export its plans with the planfold that wrote it, or start with a new folder: --dir')
    }
    const connection = openAt(path)
    expect(connection.pragma('user_version')).toBe(3)
    expect(connection.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'reservations'`).all()).toEqual([])
    connection.close()
  })

  it('done by a newer program meanwhile, nothing more is written', async () => {
    const { open, raw } = setup()
    const store = await open()
    const id = await given(store, plan('first', task('a')))
    raw(`ALTER TABLE entries ADD COLUMN more TEXT; PRAGMA user_version = ${SCHEMA_VERSION + 1}`)
    const note = { type: 'note', text: 'late' } as const
    for (let time = 0; time < 2; time++)
      await expect(store.update(id, note, { actor: ana })).rejects.toThrow(
        `brought to schema ${SCHEMA_VERSION + 1} while it was in use`,
      )
    expect((await store.read(id)).length).toBe(1)
  })
})

it.each(['prepare', 'pragma'] as const)(
  'a store that another process makes while it is looked at is not taken for a foreign file (before %s)',
  method => {
    const path = join(temporaryFolder(), 'planfold.db')
    const [maker, looker] = [openAt(path), openAt(path)]
    const make = () => maker.pragma('user_version') === 0 && migrate(maker, { now: () => 0 })
    const looking = new Proxy(looker, {
      get: (target, key) => {
        if (key === method) make()
        const value: unknown = Reflect.get(target, key, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    expect(() => refuseForeignFile(looking)).not.toThrow()
    expect(maker.pragma('user_version')).toBe(SCHEMA_VERSION)
    for (const connection of [maker, looker]) connection.close()
  },
)
