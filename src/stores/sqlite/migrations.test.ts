import { cpSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { external, gate, name, numberedSha, plan, task } from '../../testing/index.ts'
import { BlobsFiles } from '../blobs/blobs.ts'
import { thisHost } from '../leases/host.ts'
import { BlobsMemory } from '../memory/blobs-memory.ts'
import { ana, carryOut, FakeClock, given, must } from '../store.contract.ts'
import type { Store } from '../store.ts'
import { Connection } from './driver.ts'
import { migrate } from './migrate.ts'
import { MIGRATIONS, SCHEMA_VERSION } from './schema.ts'
import { applySettings } from './settings.ts'
import { setup, temporaryFolder } from './store-sqlite.fixture.ts'
import { StoreSqlite } from './store-sqlite.ts'
import { StoreReading } from './store-sqlite-readonly.ts'

const bodies = new BlobsMemory(new Map(), new FakeClock())
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

const placed = (id: string, place: number, more = {}) => external(id, { extra: { sequence_order: place }, ...more })

/** Plans whose rows say what only their journals know: places in a sequence, tasks that came later. */
async function written() {
  const { folder, path, open, clock } = setup({ foldEvery: 20 })
  const store = await open()
  const plain = await given(store, plan('plain', task('a', { kind: 'k' }), task('b', { needs: ['a'] })))
  await carryOut(store, plain)
  clock.pass(1_000)
  await given(store, plan('placed', placed('x', 9), placed('y', -3, { assignee: 'ann' })), 2)
  const grown = await given(store, plan('grown', task('a'), placed('b', 5)), 3)
  for (let note = 0; note < 30; note++) await must(store, grown, { type: 'note', text: 'tick' })
  clock.pass(1_000)
  const definition = plan('grown', task('a'), placed('b', 2), task('c'))
  await must(store, grown, { type: 'revise', definition, hash: numberedSha(2), rationale: 'more' })
  clock.pass(1_000)
  await given(store, plan('large', placed('a', 7, { description: 'x'.repeat(300_000) }), task('b')), 4)
  const asks = await given(store, plan('asks', gate('a'), { session: 's', goal: 'why' }), 5)
  await must(store, asks, { type: 'start' })
  const held = await given(store, plan('held', external('named', { assignee: 'ann' }), external('free')), 6)
  await must(store, held, { type: 'start' })
  for (const each of ['named', 'free'])
    await must(store, held, { type: 'claim', task: name(each), token: each, by: 'cleo' })
  for (let note = 0; note < 30; note++) await must(store, grown, { type: 'note', text: 'tick' })
  await store.logs.append([
    { plan: plain, task: name('a'), visit: 1, attempt: 1, stream: 'stdout', at: 1, text: 'printed words' },
  ])
  await store.goals.append('g', [{ type: 'goal.set', title: 'G', parent: null, priority: 1, criteria: [] }], {
    actor: ana,
  })
  await store.close()
  return { folder, path, grown }
}

/** The same store as a program with schema 1 would have left it: what it had no column for is not there. */
function asSchemaOne(path: string): string {
  const folder = temporaryFolder()
  const old = openAt(join(folder, 'planfold.db'))
  migrate(old, { now: () => 1, bodies, migrations: MIGRATIONS.slice(0, 1) })
  old.exec(`PRAGMA foreign_keys = OFF; ATTACH '${path}' AS new; BEGIN`)
  const tables = old.prepare(`SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name <> 'migrations'`).all()
  for (const { name: table } of tables) {
    const columns = old
      .prepare(`SELECT name FROM pragma_table_info('${table}')`)
      .all()
      .map(row => row.name)
    old.exec(`INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM new.${table}`)
  }
  // Whoever had claimed a task stood in the place of whom it names.
  old.exec(`UPDATE main.tasks SET assignee = 'cleo' WHERE status = 'running'`)
  old.exec('COMMIT; DETACH new')
  old.close()
  cpSync(join(dirname(path), 'blobs'), join(folder, 'blobs'), { recursive: true })
  return folder
}

async function told(store: Store) {
  return {
    plans: (await store.plans({})).items,
    blocked: (await store.plans({ status: 'blocked' })).items,
    ofGoal: (await store.plans({ session: 's' })).items,
    sequence: (await store.tasks({ order: 'sequence' })).items,
    recent: (await store.tasks({ order: 'recent' })).items,
    assigned: (await store.tasks({ order: 'recent', assignee: 'ann' })).items,
    roots: (await store.goals.list({ where: { parent: null } })).items,
  }
}

describe('sqlite: migrating', () => {
  it('a migration that fails at any statement leaves the schema as it was', () => {
    const connection = openAt(join(temporaryFolder(), 'x.db'))
    for (const [at, { number, statements, fill }] of MIGRATIONS.entries()) {
      const schema = () => connection.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY rowid').all()
      const before = schema()
      const points = statements.length + (fill === undefined ? 1 : 2)
      const migrations = MIGRATIONS.slice(0, at + 1)
      for (let point = 1; point <= points; point++) {
        expect(() => migrate(connection, { now: () => 1, failpoint: killedAt(point), bodies, migrations })).toThrow(
          'killed',
        )
        expect(schema()).toEqual(before)
        expect(connection.pragma('user_version')).toBe(number - 1)
      }
      migrate(connection, { now: () => 1, failpoint: killedAt(points + 1), bodies, migrations })
      expect(connection.pragma('user_version')).toBe(number)
    }
    expect(connection.pragma('user_version')).toBe(SCHEMA_VERSION)
    connection.close()
  })

  it('a store of schema 1 opens, and lists, finds and counts what one of today does', async () => {
    const { folder, path, grown } = await written()
    const today = await StoreSqlite.open(options(folder))
    const old = asSchemaOne(path)
    const store = await StoreSqlite.open(options(old))
    expect(await told(store)).toEqual(await told(today))
    const sequences = (await store.tasks({ plan: grown, order: 'sequence' })).items
    expect(sequences.map(row => [row.name, row.sequence])).toEqual([
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ])
    expect(sequences.map(row => row.addedAt - sequences[0]!.addedAt)).toEqual([0, 0, 1_000])
    expect(await store.search({ text: 'printed' })).toEqual(await today.search({ text: 'printed' }))
    expect(await store.steps({ by: 'kind' })).toEqual(await today.steps({ by: 'kind' }))
    expect((await store.check({ readData: true })).faults).toEqual([])
    await must(store, grown, { type: 'start' })
    await store.close()
    await today.close()
  })

  it('killed at any statement with plans in it, nothing is lost, and the next one to open goes on', async () => {
    const { path } = await written()
    const old = asSchemaOne(path)
    const [, second] = MIGRATIONS
    const blobs = new BlobsFiles({ folder: join(old, 'blobs'), now: () => 1, newId: () => 'x' })
    const rows = (connection: Connection) =>
      connection.prepare('SELECT plan_no, ordinal, name, status FROM tasks ORDER BY 1, 2').all()
    const connection = openAt(join(old, 'planfold.db'))
    const before = rows(connection)
    expect(before).toHaveLength(12)
    for (let at = 1; at <= second!.statements.length + 2; at++) {
      expect(() => migrate(connection, { now: () => 1, failpoint: killedAt(at), bodies: blobs })).toThrow('killed')
      expect(connection.pragma('user_version')).toBe(1)
      expect(rows(connection)).toEqual(before)
    }
    migrate(connection, { now: () => 1, bodies: blobs })
    expect(rows(connection)).toEqual(before)
    connection.close()
  })

  it('is not done under the hands of an older program that drives a plan, and is once that is gone', async () => {
    const { path } = await written()
    const old = asSchemaOne(path)
    const own = thisHost(process.pid)
    const owner = (pid: number, start: string) =>
      `DELETE FROM owners; INSERT INTO owners (id, host, boot, pids, pid, start_time, expires)
        VALUES ('old', 'h', '${own.boot}', '${own.pids}', ${pid}, '${start}', ${Number.MAX_SAFE_INTEGER})`
    const connection = openAt(join(old, 'planfold.db'))
    connection.exec(owner(own.pid, own.startTime))
    await expect(StoreSqlite.open(options(old))).rejects.toThrow(`in use by an older planfold (pid ${own.pid})`)
    expect(connection.pragma('user_version')).toBe(1)
    connection.exec(owner(own.pid, 'another'))
    connection.close()
    await (await StoreSqlite.open(options(old))).close()
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

  it('a plan whose journal is damaged keeps nobody from opening the store', async () => {
    const { path } = await written()
    const old = asSchemaOne(path)
    const hands = new Connection(join(old, 'planfold.db'), { readOnly: false, busyMs: 0 })
    hands.exec(`UPDATE entries SET actor = 'eve' WHERE version = 1 AND plan_no = 3`)
    hands.close()
    const store = await StoreSqlite.open(options(old))
    expect((await store.plans({})).items).toHaveLength(6)
    expect((await store.check()).ok).toBe(false)
    await store.close()
  })

  it('a store of schema 1 that may only be read is read as a copy, with its lists right', async () => {
    const { folder, path } = await written()
    const today = await StoreSqlite.open(options(folder))
    const reading = StoreReading.open(options(asSchemaOne(path)))
    expect(await told(reading)).toEqual(await told(today))
    await reading.close()
    await today.close()
  })
})
