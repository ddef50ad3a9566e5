import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Sha256 } from '../../domain/id.ts'
import { plan, START, task } from '../../testing/index.ts'
import { thisHost } from '../leases/host.ts'
import { ana, engine, given, must, ok, storeContract } from '../store.contract.ts'
import { LeaseLost, StoreBusy } from '../store.ts'
import { Connection } from './driver.ts'
import { setup } from './store-sqlite.fixture.ts'
import type { StoreSqliteOptions } from './store-sqlite.ts'

storeContract('sqlite', async options => setup(options))

const real: Pick<StoreSqliteOptions, 'clock' | 'host' | 'heartbeat'> = {
  clock: { now: () => Date.now(), monotonic: () => Number(process.hrtime.bigint() / 1_000_000n) },
  host: thisHost(process.pid),
  heartbeat: 'thread',
}

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

describe('sqlite: a busy writer', () => {
  it('is waited for without blocking the event loop, while reads go on', async () => {
    const { path, open, clock } = setup()
    const store = await open()
    const id = await given(store, plan('first', task('a')))
    const holder = new Connection(path, { readOnly: false, busyMs: 0 })
    onTestFinished(() => holder.close())
    holder.exec('BEGIN IMMEDIATE')
    let done = false
    const update = must(store, id, START).then(updated => {
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
    let isOver = false
    const update = must(store, id, START).finally(() => {
      isOver = true
    })
    update.catch(() => {})
    for (; !isOver; clock.pass(30_000)) await new Promise(resolve => setImmediate(resolve))
    await expect(update).rejects.toThrow(StoreBusy)
    holder.exec('COMMIT')
    expect((await must(store, id, START)).version).toBe(2)
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
    const group = await Promise.allSettled([must(store, id, START), store.logs.append([chunk])])
    expect(group.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect((await store.state(id))!.version).toBe(1)
    expect((await must(store, id, START)).version).toBe(2)
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
  it('outlives an event loop that is busy for longer than the lease', async () => {
    const { open, path } = setup(real)
    const store = await open(real.host)
    const id = await given(store, plan('first', task('a')))
    await must(store, id, START)
    // Renewed three times in its length: on a machine that stands still for two seconds it is kept.
    const owner = await store.leases.open({ leaseMs: 3_000 })
    const claimed = await store.leases.claim(id, owner)
    if (!claimed.ok) throw new Error('not claimed')
    // The thread needs the event loop once, to start: its first renewal shows that it has.
    const look = new Connection(path, { readOnly: true, busyMs: 1_000 })
    const expires = () => look.prepare('SELECT expires FROM owners').get()!.expires as number
    const first = expires()
    await expect.poll(expires, { timeout: 120_000, interval: 5 }).toBeGreaterThan(first)
    // Not one turn of the event loop until what was renewed last would have lapsed.
    const renewed = expires()
    look.close()
    while (real.clock.monotonic() <= renewed);
    ok(await store.update(id, { type: 'turn' }, { actor: engine, lease: claimed.lease }))
    expect(owner.lost.aborted).toBe(false)
    await owner.stop()
    expect(await store.leases.holder(id)).toBeNull()
  })

  it('tells when the lease is gone', async () => {
    const { open, raw } = setup(real)
    const store = await open(real.host)
    const id = await given(store, plan('first', task('a')))
    const owner = await store.leases.open({ leaseMs: 3_000 })
    const claimed = await store.leases.claim(id, owner)
    if (!claimed.ok) throw new Error('not claimed')
    const lost = new Promise(resolve => owner.lost.addEventListener('abort', resolve))
    raw('UPDATE owners SET expires = 0')
    await lost
    await expect(store.update(id, START, { actor: engine, lease: claimed.lease })).rejects.toThrow(LeaseLost)
  })
})

describe('the quota', () => {
  it('stops snapshots and scopes with a failure that says so, and never the journal', async () => {
    const { open } = setup({ quotaBytes: 20_000 })
    const store = await open()
    const batch = store.blobs.batch()
    batch.add(Buffer.alloc(15_000, 1))
    expect(() => batch.add(Buffer.alloc(15_000, 2))).toThrow(/no room for this snapshot/)
    await batch.close()
    const id = await given(store, plan('first', task('a')))
    await must(store, id, { type: 'note', text: 'z'.repeat(300_000) })
    expect(await store.blobs.get(await store.blobs.put(Buffer.alloc(30_000, 3)))).toHaveLength(30_000)
    expect(await store.check({ readData: true })).toMatchObject({ ok: true })
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
