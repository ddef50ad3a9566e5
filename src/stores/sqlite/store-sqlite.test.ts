import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Sha256 } from '../../domain/id.ts'
import { external, plan, task } from '../../testing/index.ts'
import { type Host, thisHost } from '../host.ts'
import { ana, carryOut, engine, FakeClock, fakeHost, given, must, ok, storeContract } from '../store.contract.ts'
import { LeaseLost, StoreBusy, StoreDamaged, StoreRefused } from '../store.ts'
import { Connection } from './driver.ts'
import { migrate } from './migrate.ts'
import { MIGRATIONS, SCHEMA_VERSION } from './schema.ts'
import { applySettings, assertSettings } from './settings.ts'
import { StoreSqlite, type StoreSqliteOptions } from './store-sqlite.ts'

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'planfold-store-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function setup(options: Partial<StoreSqliteOptions> = {}) {
  const folder = temporaryFolder()
  const clock = new FakeClock()
  const points: string[] = []
  let next = 0
  const open = async (host: Partial<Host> = {}) => {
    const store = await StoreSqlite.open({
      folder,
      clock,
      host: fakeHost(host),
      newId: () => `id-${++next}`,
      heartbeat: 'manual',
      failpoint: point => points.push(point),
      ...options,
    })
    onTestFinished(() => store.close())
    return store
  }
  const path = join(folder, 'planfold.db')
  /** Another program with its hands in the file. */
  const raw = (sql: string) => {
    const connection = new Connection(path, { readOnly: false, busyMs: 1_000 })
    connection.exec(`PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; ${sql}`)
    connection.close()
  }
  const commits = () => points.filter(point => point === 'store.commit:after').length
  return { folder, path, clock, points, open, raw, commits }
}

storeContract('sqlite', async options => setup(options))

const real: Pick<StoreSqliteOptions, 'clock' | 'host' | 'heartbeat'> = {
  clock: { now: () => Date.now(), monotonic: () => Number(process.hrtime.bigint() / 1_000_000n) },
  host: thisHost(process.pid),
  heartbeat: 'thread',
}

describe('sqlite: tampering is detected', () => {
  async function written() {
    const harness = setup()
    const store = await harness.open()
    const id = await given(store, plan('first', task('a', { kind: 'k' }), task('b', { needs: ['a'] }), external('c')))
    await carryOut(store, id, 1)
    await must(store, id, { type: 'note', text: 'n'.repeat(300_000) })
    await store.sessions.append('s', [{ type: 'session.opened', title: 'x' }], { actor: ana })
    expect((await store.check({ readData: true })).faults).toEqual([])
    return { ...harness, store, id }
  }

  const changes: Record<string, string> = {
    'the position of an entry': 'UPDATE entries SET position = 99 WHERE version = 5',
    'two positions exchanged':
      'UPDATE entries SET position = 99 WHERE version = 3; UPDATE entries SET position = 3 WHERE version = 2; UPDATE entries SET position = 2 WHERE position = 99',
    'the version of an entry': 'UPDATE entries SET version = 99 WHERE version = 5',
    'the time of an entry': 'UPDATE entries SET at = at + 1 WHERE version = 2',
    'the actor of an entry': "UPDATE entries SET actor = 'eve' WHERE version = 2",
    'the fence of an entry': 'UPDATE entries SET fence = 7 WHERE version = 2',
    'the body of an entry':
      "UPDATE entries SET body = replace(body, 'attempt.started', 'attempt.startet') WHERE version = 3",
    'the blob of an entry': `UPDATE entries SET blob = x'${'ab'.repeat(32)}' WHERE blob IS NOT NULL`,
    'the hash of an entry': `UPDATE entries SET hash = x'${'ab'.repeat(32)}' WHERE version = 2`,
    'the plan of an entry': 'UPDATE entries SET plan_no = 9 WHERE version = 2',
    'an entry deleted in the middle': 'DELETE FROM entries WHERE version = 3',
    'the last entry deleted': 'DELETE FROM entries WHERE version = 5',
    'two entries exchanged':
      'UPDATE entries SET version = 99 WHERE version = 2; UPDATE entries SET version = 2 WHERE version = 3; UPDATE entries SET version = 3 WHERE version = 99',
    'the version of the head': 'UPDATE heads SET version = 4',
    'the time of the head': 'UPDATE heads SET at = at + 1',
    'the count of done tasks': 'UPDATE heads SET done = 7',
    'the status of a plan': "UPDATE plans SET status = 'failed'",
    'the title of a plan': "UPDATE plans SET title = 'eve'",
    'the id of a plan': "UPDATE plans SET id = '01234567-89ab-7def-8123-456700000000'",
    'the status of a task': "UPDATE tasks SET status = 'completed' WHERE ordinal = 2",
    'the name of a task': "UPDATE tasks SET name = 'x' WHERE ordinal = 2",
    'a task deleted': 'DELETE FROM tasks WHERE ordinal = 3',
    'a task added':
      'INSERT INTO tasks SELECT plan_no, 9, name, title, kind, assignee, status, visit, attempt, started_at, ended_at FROM tasks LIMIT 1',
    'the end of an attempt': 'UPDATE attempts SET ended_at = 1 WHERE ordinal = 1',
    'an attempt deleted': 'DELETE FROM attempts WHERE ordinal = 1',
    'a whole plan deleted':
      'DELETE FROM entries; DELETE FROM heads; DELETE FROM tasks; DELETE FROM attempts; DELETE FROM plans',
    'a word in a session': "UPDATE stream_entries SET body = replace(body, 'x', 'y')",
    'the row of a session': "UPDATE streams SET row = replace(row, 'open', 'shut')",
  }

  for (const [what, sql] of Object.entries(changes)) {
    it(`${what}`, async () => {
      const { store, raw } = await written()
      raw(sql)
      const report = await store.check()
      expect(report.ok).toBe(false)
      expect(report.faults[0]!.hint).not.toBe('')
    })
  }

  it('a plan whose chain is broken is not run', async () => {
    const { open, raw, id } = await written()
    raw("UPDATE entries SET actor = 'eve' WHERE version = 2")
    const other = await open()
    await expect(other.state(id)).rejects.toThrow(StoreDamaged)
    await expect(other.update(id, { type: 'pause' }, { actor: ana })).rejects.toThrow(StoreDamaged)
    await given(other, plan('healthy', task('a')), 2)
  })

  it('a damaged blob, in any byte, is found and never returned; a missing one is missed', async () => {
    const { store, folder, id } = await written()
    const [first] = readdirSync(join(folder, 'blobs'))
    const [rest] = readdirSync(join(folder, 'blobs', first!))
    const path = join(folder, 'blobs', first!, rest!)
    const bytes = readFileSync(path)
    for (const at of [0, bytes.length >> 1, bytes.length - 1]) {
      const damaged = Buffer.from(bytes)
      damaged[at]! ^= 4
      writeFileSync(path, damaged)
      await expect(store.blobs.get((first! + rest!) as Sha256)).rejects.toThrow(StoreDamaged)
      expect((await store.check({ readData: true })).ok).toBe(false)
    }
    await expect(store.read(id)).rejects.toThrow(StoreDamaged)
    rmSync(path)
    expect((await store.check()).ok).toBe(false)
  })

  it('a stored fold that was altered is not used', async () => {
    const harness = setup({ foldEvery: 20 })
    const store = await harness.open()
    const id = await given(store, plan('first', task('a')))
    for (let round = 1; round <= 50; round++) await must(store, id, { type: 'note', text: 'x' })
    await store.close()
    const other = await harness.open()
    expect((await other.state(id))!.version).toBe(51)
    harness.raw("UPDATE folds SET body = CAST(body || x'00' AS BLOB)")
    expect((await other.check()).ok).toBe(false)
    const third = await harness.open()
    await expect(third.state(id)).rejects.toThrow(StoreDamaged)
    harness.raw('UPDATE folds SET version = version - 1')
    await expect(third.state(id)).rejects.toThrow(StoreDamaged)
    harness.raw('DELETE FROM folds')
    expect((await third.state(id))!.version).toBe(51)
  })
})

describe('sqlite: blobs on disk', () => {
  it('an id that is no hash never becomes a path', async () => {
    const store = await setup().open()
    await expect(store.blobs.get('../../etc/passwd' as Sha256)).rejects.toThrow(RangeError)
    await expect(store.blobs.get('A'.repeat(64) as Sha256)).rejects.toThrow(RangeError)
  })

  it('nothing half-written is left when writing fails', async () => {
    const { folder, open } = setup({
      failpoint: point => {
        if (point === 'blob.rename:before') throw new Error('no')
      },
    })
    const store = await open()
    await expect(store.blobs.put(Buffer.from('x'))).rejects.toThrow('no')
    expect(
      readdirSync(join(folder, 'blobs'), { recursive: true }).filter(name => String(name).endsWith('.tmp')),
    ).toEqual([])
    const id = await given(store, plan('first', task('a')))
    await expect(store.update(id, { type: 'note', text: 'x'.repeat(300_000) }, { actor: ana })).rejects.toThrow('no')
    expect((await store.state(id))!.version).toBe(1)
    expect((await store.check()).faults).toEqual([])
  })

  it('only their owner may read the files', async () => {
    const { folder, path, open } = setup()
    const store = await open()
    const id = await store.blobs.put(Buffer.from('secret'))
    for (const file of [path, `${path}-wal`, join(folder, 'blobs', id.slice(0, 2), id.slice(2))]) {
      expect(statSync(file).mode & 0o077).toBe(0)
    }
  })
})

describe('sqlite: opening', () => {
  it('the settings are what we promise, also when a file is opened again', async () => {
    const { path, open } = setup()
    await (await open()).close()
    for (let again = 0; again < 2; again++) {
      const connection = new Connection(path, { readOnly: false, busyMs: 0 })
      applySettings(connection)
      expect(connection.pragma('synchronous')).toBe(2)
      expect(connection.pragma('journal_mode')).toBe('wal')
      connection.close()
    }
  })

  it('unsafe settings are refused', () => {
    for (const unsafe of [
      'synchronous = NORMAL',
      'foreign_keys = OFF',
      'wal_autocheckpoint = 250',
      'journal_mode = DELETE',
      'trusted_schema = ON',
    ]) {
      const connection = new Connection(join(temporaryFolder(), 'x.db'), { readOnly: false, busyMs: 0 })
      applySettings(connection)
      connection.exec(`PRAGMA ${unsafe}`)
      expect(() => assertSettings(connection), unsafe).toThrow(StoreRefused)
      connection.close()
    }
  })

  it('a network filesystem is refused', async () => {
    for (const filesystemType of [
      () => 0x6969,
      () => 0x517b,
      () => 0xfe534d42,
      () => 0xff534d42 | 0,
      () => 0x01021997,
    ]) {
      await expect(setup({ filesystemType }).open()).rejects.toThrow(StoreRefused)
    }
    await setup({ filesystemType: () => 0xef53 }).open()
  })

  it('a newer schema is refused with a hint; the file stays as it is', async () => {
    const { open, raw } = setup()
    await (await open()).close()
    raw(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`)
    await expect(open()).rejects.toMatchObject({ name: 'StoreRefused', hint: expect.stringContaining('newer') })
  })

  it('a file of another program is refused, and so is one that is no database', async () => {
    const foreign = setup()
    foreign.raw('CREATE TABLE theirs (x)')
    await expect(foreign.open()).rejects.toThrow(StoreRefused)
    const rubbish = setup()
    writeFileSync(rubbish.path, 'this is not a database, but it is long enough to look at'.repeat(20))
    await expect(rubbish.open()).rejects.toThrow(StoreRefused)
  })

  it('a migration that fails at any statement leaves the old schema or the new one', () => {
    const statements = MIGRATIONS.flatMap(({ statements }) => statements).length
    for (let at = 1; at <= statements + 2; at++) {
      const path = join(temporaryFolder(), 'x.db')
      const connection = new Connection(path, { readOnly: false, busyMs: 0 })
      applySettings(connection)
      let count = 0
      const failpoint = () => {
        if (++count === at) throw new Error('killed')
      }
      const run = () => migrate(connection, { now: () => 1, failpoint })
      if (at <= statements + 1) {
        expect(run).toThrow('killed')
        expect(connection.prepare('SELECT count(*) AS count FROM sqlite_schema').get()!.count).toBe(0)
        expect(connection.pragma('user_version')).toBe(0)
      }
      migrate(connection, { now: () => 1 })
      expect(connection.pragma('user_version')).toBe(SCHEMA_VERSION)
      connection.close()
    }
  })

  it('the final schema is the one that was reviewed', async () => {
    const { path, open } = setup()
    await open()
    const connection = new Connection(path, { readOnly: true, busyMs: 0 })
    const rows = connection.prepare('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name').all()
    connection.close()
    const dump = rows.map(row => String(row.sql).replaceAll(/\s+/g, ' ')).join(';\n')
    await expect(`${dump};\n`).toMatchFileSnapshot('./schema.sql')
  })

  it('two processes may open a new store at the same moment', async () => {
    const { open } = setup()
    const stores = await Promise.all([open(), open(), open()])
    const id = await given(stores[0]!, plan('first', task('a')))
    expect((await stores[2]!.state(id))!.version).toBe(1)
  })
})

describe('sqlite: a busy writer', () => {
  it('is waited for without blocking the event loop, while reads go on', async () => {
    const { path, open, clock } = setup()
    const store = await open()
    const id = await given(store, plan('first', task('a')))
    const holder = new Connection(path, { readOnly: false, busyMs: 0 })
    onTestFinished(() => holder.close())
    holder.exec('BEGIN IMMEDIATE')
    let done = false
    const update = must(store, id, { type: 'start' }).then(updated => {
      done = true
      return updated
    })
    for (let tick = 0; tick < 20; tick++) {
      clock.pass(400)
      await new Promise(resolve => setTimeout(resolve, 2))
      expect((await store.plans({})).items).toHaveLength(1)
      expect((await store.state(id))!.status).toBe('draft')
    }
    expect(done).toBe(false)
    holder.exec('COMMIT')
    expect((await update).version).toBe(2)
  })

  it('is given up after a while, with nothing written', async () => {
    const { path, open, clock } = setup()
    const store = await open()
    const id = await given(store, plan('first', task('a')))
    const holder = new Connection(path, { readOnly: false, busyMs: 0 })
    onTestFinished(() => holder.close())
    holder.exec('BEGIN IMMEDIATE')
    const update = expect(must(store, id, { type: 'start' })).rejects.toThrow(StoreBusy)
    await new Promise(resolve => setTimeout(resolve, 5))
    clock.pass(30_000)
    await update
    holder.exec('COMMIT')
    expect((await must(store, id, { type: 'start' })).version).toBe(2)
  })
})

describe('sqlite: commits', () => {
  it('an error in the middle of a group rolls all of it back, and the store goes on', async () => {
    const { open, raw } = setup()
    const store = await open()
    const id = await given(store, plan('first', task('a')))
    raw("CREATE TRIGGER no BEFORE INSERT ON task_logs BEGIN SELECT RAISE(ABORT, 'no logs today'); END")
    const chunk = {
      plan: id,
      task: plan('x', task('a')).tasks[0]!.id,
      visit: 1,
      attempt: 1,
      stream: 'stdout',
      at: 1,
      text: 'x',
    } as const
    const group = await Promise.allSettled([must(store, id, { type: 'start' }), store.logs.append([chunk])])
    expect(group.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect((await store.state(id))!.version).toBe(1)
    expect((await must(store, id, { type: 'start' })).version).toBe(2)
    expect((await store.check()).faults).toEqual([])
  })

  it('failpoints stand immediately before and after every commit', async () => {
    const { open, points } = setup()
    const store = await open()
    points.length = 0
    await given(store, plan('first', task('a')))
    expect(points).toEqual(['store.commit:before', 'store.commit:after'])
  })
})

describe('sqlite: a lease kept by its own thread', () => {
  const busy = (ms: number) => {
    const until = performance.now() + ms
    while (performance.now() < until);
  }

  it('outlives an event loop that is busy for longer than the lease', async () => {
    const { open } = setup(real)
    const store = await open(real.host)
    const id = await given(store, plan('first', task('a')))
    await must(store, id, { type: 'start' })
    const owner = await store.leases.open({ leaseMs: 300 })
    const claimed = await store.leases.claim(id, owner)
    if (!claimed.ok) throw new Error('not claimed')
    // The thread needs the event loop once, to start.
    await new Promise(resolve => setTimeout(resolve, 150))
    busy(700)
    ok(await store.update(id, { type: 'turn' }, { actor: engine, lease: claimed.lease }))
    expect(owner.lost.aborted).toBe(false)
    await owner.stop()
    expect(await store.leases.holder(id)).toBeNull()
  })

  it('tells when the lease is gone', async () => {
    const { open, raw } = setup(real)
    const store = await open(real.host)
    const id = await given(store, plan('first', task('a')))
    const owner = await store.leases.open({ leaseMs: 200 })
    const claimed = await store.leases.claim(id, owner)
    if (!claimed.ok) throw new Error('not claimed')
    const lost = new Promise(resolve => owner.lost.addEventListener('abort', resolve))
    raw('UPDATE owners SET expires = 0')
    await lost
    await expect(store.update(id, { type: 'start' }, { actor: engine, lease: claimed.lease })).rejects.toThrow(
      LeaseLost,
    )
  })
})

describe('the host', () => {
  it('knows that this process runs, that another start time is another process, and that nobody has pid 0', () => {
    const host = thisHost(process.pid)
    expect(host.isRunning(process.pid, host.startTime)).toBe(true)
    expect(host.isRunning(process.pid, '1')).toBe(false)
    expect(host.isRunning(2 ** 22 + 1, '1')).toBe(false)
    expect(host.boot).not.toBe('')
  })
})
