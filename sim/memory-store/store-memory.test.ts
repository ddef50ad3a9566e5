import { describe, expect, it, onTestFinished } from 'vitest'
import { ana, FakeClock, fakeHost, given, must, storeContract } from '../../src/stores/store.contract.ts'
import { CommitUnknown, StoreDamaged } from '../../src/stores/store.ts'
import { plan, START, task } from '../../src/testing/index.ts'
import { MemoryDisk } from './memory-disk.ts'
import { type Faults, StoreMemory } from './store-memory.ts'

function setup(faults: Faults = {}, options = {}) {
  const disk = new MemoryDisk()
  const clock = new FakeClock()
  let next = 0
  let commits = 0
  const open = async (host = {}) => {
    const beforeCommit = () => {
      commits++
      return faults.beforeCommit?.() ?? 'ok'
    }
    const store = new StoreMemory(disk, {
      clock,
      host: fakeHost(host),
      newId: () => `owner-${++next}`,
      faults: { beforeCommit },
      ...options,
    })
    onTestFinished(() => store.close())
    return store
  }
  return { disk, clock, open, commits: () => commits }
}

storeContract('memory', async options => setup({}, options))

describe('memory: faults', () => {
  it('a commit that failed left nothing behind, and the state is read anew', async () => {
    let fate: 'ok' | 'fail' | 'lose-reply' = 'ok'
    const { open } = setup({ beforeCommit: () => fate })
    const store = await open()
    const id = await given(store, plan('first', task('a')))
    fate = 'fail'
    await expect(store.update(id, START, { actor: ana })).rejects.toThrow('failed')
    fate = 'ok'
    expect(await store.state(id)).toMatchObject({ status: 'draft', version: 1 })
    expect((await store.check()).faults).toEqual([])
    await must(store, id, START)
    expect((await store.state(id))!.version).toBe(2)
  })

  it('a reply that was lost: the commit is there, the caller must look', async () => {
    let fate: 'ok' | 'fail' | 'lose-reply' = 'ok'
    const { open } = setup({ beforeCommit: () => fate })
    const store = await open()
    const id = await given(store, plan('first', task('a')))
    fate = 'lose-reply'
    await expect(store.update(id, START, { actor: ana })).rejects.toThrow(CommitUnknown)
    expect(await store.state(id)).toMatchObject({ status: 'active', version: 2 })
  })

  it('a damaged blob is detected, never returned', async () => {
    const { open, disk } = setup()
    const store = await open()
    const id = await store.blobs.put(Buffer.from('hello'))
    disk.blobs.get(id)!.bytes[0]! ^= 1
    await expect(store.blobs.get(id)).rejects.toThrow(StoreDamaged)
    expect((await store.check({ readData: true })).ok).toBe(false)
  })
})
