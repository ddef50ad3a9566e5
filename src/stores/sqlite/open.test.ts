import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { plan, task } from '../../testing/index.ts'
import { given } from '../store.contract.ts'
import { StoreGone, StoreRefused } from '../store.ts'
import { Connection } from './driver.ts'
import { SCHEMA_VERSION } from './schema.ts'
import { applySettings, assertSettings } from './settings.ts'
import { setup, temporaryFolder } from './store-sqlite.fixture.ts'

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

describe('sqlite: the file under it', () => {
  it('nothing is acknowledged any more once the folder is gone, nor after it came back', async () => {
    const { folder, path, clock, open } = setup()
    const store = await open()
    await given(store, plan('first', task('a')))
    renameSync(folder, `${folder}-elsewhere`)
    clock.pass(100)
    await expect(given(store, plan('second', task('a')), 2)).rejects.toThrow(StoreGone)
    await expect(store.plans({})).rejects.toThrow(StoreGone)
    expect(existsSync(path)).toBe(false)
    renameSync(`${folder}-elsewhere`, folder)
    clock.pass(100)
    await expect(given(store, plan('third', task('a')), 3)).rejects.toThrow(StoreGone)
    expect((await (await open()).plans({})).items.map(({ name }) => name)).toEqual(['first'])
  })

  it('another file in its place is not the one that was opened', async () => {
    const { folder, clock, open } = setup()
    const store = await open()
    const owner = await store.leases.open({ leaseMs: 1_000 })
    rmSync(folder, { recursive: true })
    const other = await open()
    clock.pass(100)
    await expect(given(store, plan('here', task('a')), 2)).rejects.toThrow(StoreGone)
    await expect(owner.stop()).rejects.toThrow(StoreGone)
    await given(other, plan('there', task('a')))
  })
})
