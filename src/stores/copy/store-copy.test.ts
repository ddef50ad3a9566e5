import { randomUUID } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Sha256 } from '../../domain/id.ts'
import { openSqliteSource, openSqliteTarget } from '../sqlite/copy-sqlite.ts'
import { setup, temporaryFolder } from '../sqlite/store-sqlite.fixture.ts'
import { carryOut, FakeClock, fakeHost, given, must, two } from '../store.contract.ts'
import { StoreRefused } from '../store.ts'
import { fill, goesOn, shown, unheld } from './full-store.fixture.ts'
import { copyStore, createBackup, restoreBackup, verifyBackup } from './store-copy.ts'

const options = { now: () => 7, newId: () => 'id' }
const at = (folder: string) => ({ folder, clock: new FakeClock(), host: fakeHost(), newId: randomUUID })

async function filled() {
  const from = setup()
  const store = await from.open()
  await fill(store, from.clock)
  return { ...from, store }
}

async function copied(fromFolder: string, toFolder: string, failpoint?: (name: string) => void) {
  const from = await openSqliteSource(at(fromFolder))
  const to = await openSqliteTarget(at(toFolder), from.name)
  try {
    return await copyStore(from, to, { ...options, failpoint })
  } finally {
    await from.close()
    await to.close()
  }
}

async function backup(folder: string) {
  const file = join(temporaryFolder(), 'all.backup')
  const source = await openSqliteSource(at(folder))
  const report = await createBackup(source, file, options)
  await source.close()
  return { file, report }
}

const restore = (file: string, folder: string) => restoreBackup(file, () => openSqliteTarget(at(folder), file))

describe('a copy of a store', () => {
  it('holds the same, is whole, and goes on; nobody drives its plans', async () => {
    const { folder, store } = await filled()
    const to = setup()
    const report = await copied(folder, to.folder)
    expect(report).toMatchObject({
      position: await store.position(),
      tables: { plans: { rows: 3 }, pruned: { rows: 1 } },
    })
    const copy = await to.open()
    expect(await shown(copy)).toEqual(unheld(await shown(store)))
    expect((await copy.check({ readData: true })).faults).toEqual([])
    await goesOn(copy)
    expect((await copy.check()).faults).toEqual([])
  })

  it('is as of one moment, while the source is written', async () => {
    const { folder, store } = await filled()
    const before = await shown(store)
    const to = setup()
    let more = 0
    const writing: Promise<unknown>[] = []
    await copied(folder, to.folder, () => {
      if (more++ < 3) writing.push(given(store, two(`later-${more}`), 20 + more))
    })
    await Promise.all(writing)
    expect(more).toBeGreaterThan(3)
    expect(await shown(await to.open())).toEqual(unheld(before))
  })

  it('ended at any point cannot be opened, and goes on when it is started again, also with what was written meanwhile', async () => {
    const { folder, store, clock } = await filled()
    let point = 0
    for (let isDone = false; !isDone; point++) {
      const to = setup()
      let left = point
      isDone = await copied(folder, to.folder, () => {
        if (left-- === 0) throw new Error('killed')
      }).then(
        () => true,
        () => false,
      )
      if (isDone) break
      await expect(to.open()).rejects.toThrow(`this store is an unfinished copy of ${folder}`)
      await expect(copied(to.folder, temporaryFolder())).rejects.toThrow('unfinished copy')
      await expect(openSqliteTarget(at(to.folder), '/another')).rejects.toThrow('unfinished copy')
      await given(store, two(`meanwhile-${point}`), 100 + point)
      if (point === 3) {
        await must(store, await given(store, two('short'), 99), { type: 'archive' })
        await carryOut(store, await given(store, two('long'), 98))
      }
      if (point === 5) {
        clock.pass(1)
        await store.prune({ before: clock.wall, blobsBefore: 0, dryRun: false })
      }
      await copied(folder, to.folder)
      const copy = await to.open()
      expect(await shown(copy)).toEqual(unheld(await shown(store)))
      expect((await copy.check()).faults).toEqual([])
    }
    expect(point).toBeGreaterThan(10)
  })

  it('is refused where a store is, and another process that had opened the empty one can write no more', async () => {
    const { folder } = await filled()
    const full = setup()
    await given(await full.open(), two('here'))
    await expect(copied(folder, full.folder)).rejects.toThrow('is not empty')
    const empty = setup()
    const early = await empty.open()
    const to = await openSqliteTarget(at(empty.folder), folder)
    await expect(given(early, two('late'))).rejects.toThrow('unfinished copy')
    await to.close()
  })

  it('of a store with a damaged journal is refused, and the entry named', async () => {
    const { folder, raw } = await filled()
    raw("UPDATE entries SET actor = 'mallory' WHERE version = 2 AND plan_no = 1")
    await expect(copied(folder, temporaryFolder())).rejects.toThrow(/entry 2 of plan \S+ does not match its hash/)
    raw('DELETE FROM entries WHERE plan_no = 1 AND version > 3')
    await expect(backup(folder)).rejects.toThrow(/does not match|ends at entry/)
  })
})

describe('a backup', () => {
  it('is verified, restored to an empty folder, and holds the same; only its owner reads it', async () => {
    const { folder, store } = await filled()
    const { file, report } = await backup(folder)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(await verifyBackup(file)).toEqual({ ...report, at: 7 })
    const to = setup()
    await restore(file, to.folder)
    const copy = await to.open()
    expect(await shown(copy)).toEqual(unheld(await shown(store)))
    expect((await copy.check({ readData: true })).faults).toEqual([])
    await goesOn(copy)
    await expect(restore(file, to.folder)).rejects.toThrow('is not empty')
  })

  it('never replaces a file, and leaves none when it fails', async () => {
    const { folder, raw } = await filled()
    const { file } = await backup(folder)
    const source = await openSqliteSource(at(folder))
    onTestFinished(() => source.close())
    await expect(createBackup(source, file, options)).rejects.toThrow('is there already')
    const loose = join(temporaryFolder(), 'link')
    symlinkSync(file, loose)
    await expect(createBackup(source, loose, options)).rejects.toThrow('is there already')
    await expect(createBackup(source, '/nowhere/x', options)).rejects.toThrow(StoreRefused)
    raw("UPDATE entries SET actor = 'mallory' WHERE version = 2")
    const other = join(temporaryFolder(), 'x')
    const damaged = await openSqliteSource(at(folder))
    onTestFinished(() => damaged.close())
    await expect(createBackup(damaged, other, options)).rejects.toThrow('does not match its hash')
    expect(existsSync(other) || existsSync(`${other}.id.tmp`)).toBe(false)
  })

  it('that was cut or altered at any place is refused with the place, and nothing is restored', async () => {
    const { folder } = await filled()
    const { file } = await backup(folder)
    const whole = readFileSync(file)
    const bad = join(temporaryFolder(), 'bad.backup')
    const target = temporaryFolder()
    const places = [0, 17, 18, 21, 22, 60, 100, whole.length - 1]
    const spread = Array.from({ length: 40 }, (_, one) => Math.floor((whole.length * one) / 40))
    for (const place of [...places, ...spread]) {
      const flipped = Buffer.from(whole)
      flipped[place]! ^= 0x10
      for (const bytes of [flipped, whole.subarray(0, place)]) {
        writeFileSync(bad, bytes)
        await expect(restore(bad, target), `byte ${place}`).rejects.toThrow(
          /frame \d+, at byte \d+|no backup|of format|frame \d+, at/,
        )
      }
    }
    writeFileSync(bad, Buffer.concat([whole, Buffer.from('more')]))
    await expect(verifyBackup(bad)).rejects.toThrow('4 bytes follow it')
    expect(existsSync(join(target, 'planfold.db'))).toBe(false)
  })

  it('of another format, with a huge length, a folder, or no backup at all is refused in a sentence', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'x')
    const said = async (bytes: Uint8Array | string) => {
      writeFileSync(file, bytes)
      return await verifyBackup(file).then(
        () => 'verified',
        (error: Error) => error.message.replaceAll(file, 'FILE'),
      )
    }
    expect(await said('planfold-backup 7\nabc')).toBe('FILE is a backup of format "7", and this program reads 1')
    expect(await said('SQLite format 3')).toBe('FILE is no backup')
    expect(await said('')).toBe('FILE is no backup')
    expect(await said(Buffer.concat([Buffer.from('planfold-backup 1\n'), Buffer.alloc(40, 0xff)]))).toBe(
      'frame 1, at byte 18 of FILE: says that it has 4294967295 bytes, and the file has 4 more: it was cut or altered',
    )
    expect(await said('planfold-backup 1\n')).toBe('FILE ends after frame 0, at byte 18: it was cut')
    await expect(verifyBackup(folder)).rejects.toThrow('is no file')
    await expect(verifyBackup(join(folder, 'nowhere'))).rejects.toThrow('there is no')
    chmodSync(file, 0o600)
  })

  it('with right checksums and wrong contents restores nothing', async () => {
    const { folder } = await filled()
    const source = await openSqliteSource(at(folder))
    onTestFinished(() => source.close())
    const target = temporaryFolder()
    const forged = async (change: (row: Record<string, unknown>, table: string) => unknown, id?: string) => {
      const file = join(temporaryFolder(), 'forged')
      const altered = {
        ...source,
        name: source.name,
        close: async () => {},
        blob: async (one: Sha256) => (one === id ? Buffer.from('a content') : await source.blob(one)),
        blobIds: async () => [...(await source.blobIds()), ...(id === undefined ? [] : [id as Sha256])],
        rows: async function* (table: Parameters<typeof source.rows>[0], after: null) {
          for await (const rows of source.rows(table, after))
            yield rows.map(row => change({ ...row }, table.name)) as never
        },
      }
      await createBackup(altered, file, options)
      return await restore(file, target).then(
        () => 'restored',
        (error: Error) => error.message.replace(/.*: /, ''),
      )
    }
    const same = (row: object) => row
    // A blob is named by 32 bytes, so no path can be written there.
    expect(await forged(same, '../../etc/passwd')).toMatch(/unexpected end of file/)
    expect(await forged(same, 'ab'.repeat(32))).toMatch(/does not match its hash/)
    expect(await forged((row, table) => (table === 'tasks' ? { ...row, status: 7 } : row))).toMatch(
      /other columns or values/,
    )
    expect(await forged((row, table) => (table === 'tasks' ? { ...row, more: 'x' } : row))).toMatch(
      /other columns or values/,
    )
    expect(await forged((row, table) => (table === 'tasks' ? { ...row, status: 'odd' } : row))).not.toBe('restored')
    expect(existsSync(join(target, 'planfold.db'))).toBe(false)
    expect(await forged(same)).toBe('restored')
  })
})
