import { createHash, randomUUID } from 'node:crypto'
import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Actor, type PlanId, planId } from '../../domain/id.ts'

import { numberedSha, plan, START, task } from '../../testing/index.ts'
import { thisHost } from '../leases/host.ts'
import { StoreBusy, StoreRefused } from '../store.ts'
import { Connection } from './driver.ts'
import { StoreSqlite } from './store-sqlite.ts'
import { StoreReading } from './store-sqlite-readonly.ts'

const ME = 'me' as Actor
let folder: string
let options: Parameters<typeof StoreReading.open>[0]
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'planfold-reading-test-'))
  const clock = { now: () => Date.now(), monotonic: () => performance.now() }
  options = { folder, clock, host: thisHost(process.pid), newId: randomUUID, heartbeat: 'manual' }
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

let number = 0
async function make(store: StoreSqlite, name: string): Promise<PlanId> {
  const id = planId(Date.now(), new Uint8Array(10).fill(++number))
  const made = await store.create(
    { type: 'create', plan: id, definition: plan(name, task('a')), hash: numberedSha(1) },
    ME,
  )
  if (!made.ok) throw new Error(made.refusal.message)
  return id
}

/** Names, modes, times and bytes of everything. */
function hash(of = folder): string {
  const sum = createHash('sha256')
  for (const name of (readdirSync(of, { recursive: true }) as string[]).sort()) {
    const { mode, mtimeMs } = statSync(join(of, name))
    sum.update(`${name} ${mode} ${mtimeMs}\0`)
    if (statSync(join(of, name)).isFile()) sum.update(readFileSync(join(of, name)))
  }
  return sum.digest('hex')
}

async function reads(name: string, from = options): Promise<void> {
  const store = StoreReading.open(from)
  const found = await store.find(name)
  expect(found?.name).toBe(name)
  expect((await store.state(found!.plan))?.definition.name).toBe(name)
  expect(await store.read(found!.plan)).toHaveLength(1)
  await store.close()
}

describe('a store that is only read', () => {
  it('that was closed in good order is as it was afterwards, and so is one whose log is left', async () => {
    const store = await StoreSqlite.open(options)
    await make(store, 'one')
    const crashed = mkdtempSync(join(tmpdir(), 'planfold-reading-test-'))
    cpSync(folder, crashed, { recursive: true })
    await store.close()
    for (const each of [folder, crashed]) {
      const before = hash(each)
      await reads('one', { ...options, folder: each })
      expect(hash(each)).toBe(before)
    }
    // Alone, without its log and index.
    for (const name of ['planfold.db-wal', 'planfold.db-shm']) rmSync(join(folder, name), { force: true })
    const before = hash()
    await reads('one')
    expect(hash()).toBe(before)
    // With a log, but without the index that belongs to it.
    rmSync(join(crashed, 'planfold.db-shm'))
    chmodSync(crashed, 0o500)
    await reads('one', { ...options, folder: crashed })
    chmodSync(crashed, 0o700)
    rmSync(crashed, { recursive: true })
  })

  it('sees what another process wrote, while that one goes on writing', async () => {
    const store = await StoreSqlite.open(options)
    await make(store, 'one')
    const reading = StoreReading.open(options)
    expect((await reading.find('one'))?.name).toBe('one')
    await make(store, 'two')
    expect((await reading.find('two'))?.name).toBe('two')
    await reading.close()
    await make(store, 'three')
    await store.close()
  })

  it('refuses to be written, and to be made', async () => {
    const store = await StoreSqlite.open(options)
    const id = await make(store, 'one')
    await store.close()
    const reading = StoreReading.open(options)
    await expect(reading.update(id, START, { actor: ME })).rejects.toBeInstanceOf(StoreRefused)
    await expect(reading.leases.open({ leaseMs: 1_000 })).rejects.toBeInstanceOf(StoreRefused)
    await reading.close()
    expect(() => StoreReading.open({ ...options, folder: join(folder, 'none') })).toThrow()
    expect(readdirSync(folder)).not.toContain('none')
  })

  it('says when its search is not up to date, and finds what is', async () => {
    const store = await StoreSqlite.open(options)
    await make(store, 'one')
    const found = async () => {
      const reading = StoreReading.open(options)
      const { items, complete } = await reading.search({ text: 'one two' })
      const sums = await reading.steps({ by: 'kind' })
      const names = (await reading.plans({ text: 'two' })).items.map(row => row.name)
      await reading.close()
      expect(sums.complete).toBe(complete)
      return { found: items.map(hit => hit.name), complete, names }
    }
    expect(await found()).toEqual({ found: [], complete: false, names: [] })
    await make(store, 'one-two')
    await store.tidy()
    expect(await found()).toEqual({ found: ['one-two'], complete: true, names: ['one-two'] })
    await make(store, 'two-one')
    // The list is right all the same: where words were not caught up, rows are looked through.
    expect(await found()).toEqual({ found: ['one-two'], complete: false, names: ['two-one', 'one-two'] })
    await store.close()
  })

  it('of a newer schema is left alone', async () => {
    const store = await StoreSqlite.open(options)
    await make(store, 'one')
    await store.close()
    const writer = new Connection(join(folder, 'planfold.db'), { readOnly: false, busyMs: 0 })
    const version = writer.pragma('user_version') as number
    writer.exec(`PRAGMA user_version = ${version + 1}`)
    writer.close()
    expect(() => StoreReading.open(options)).toThrow(StoreRefused)
  })

  it('says that it is busy instead of damaged when it is written where no lock keeps it apart', async () => {
    const store = await StoreSqlite.open(options)
    await make(store, 'one')
    await store.close()
    for (const name of ['planfold.db-wal', 'planfold.db-shm']) rmSync(join(folder, name), { force: true })
    const reading = StoreReading.open(options)
    const other = await StoreSqlite.open(options)
    await make(other, 'two')
    await other.close()
    await expect(reading.find('one')).rejects.toBeInstanceOf(StoreBusy)
    await reading.close()
  })
})
