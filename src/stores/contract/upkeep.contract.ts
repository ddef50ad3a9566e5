// Blobs, stored folds, pruning, closing.

import { describe, expect, it } from 'vitest'
import type { PlanId } from '../../domain/id.ts'
import { RESTORED_KEPT_MS } from '../../domain/limits.ts'
import { restoreNoteName } from '../../domain/restore-notes.ts'
import { evolve } from '../../domain/state/evolve.ts'
import { newState, packFold } from '../../domain/state/fold.ts'
import { numberedSha, plan, START, task } from '../../testing/index.ts'
import type { Store } from '../store.ts'
import { ana, carryOut, given, must, ok, one, type Setup, two } from './harness.contract.ts'

export function upkeepContract(what: string, setup: Setup): void {
  describe(`${what}: blobs and upkeep`, () => {
    it('bytes come back as they were put, under their hash, once', async () => {
      const { store } = await one(setup)
      const id = await store.blobs.put(Buffer.from('hello'))
      expect(id).toBe('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824')
      expect(await store.blobs.put(Buffer.from('hello'))).toBe(id)
      expect(Buffer.from((await store.blobs.get(id))!).toString()).toBe('hello')
      expect(await store.blobs.get(numberedSha(5))).toBeNull()
      const empty = await store.blobs.put(new Uint8Array())
      expect(await store.blobs.get(empty)).toHaveLength(0)
    })

    it('a batch stores what is new, once, and says what it cost; another process reads it', async () => {
      const { store, open } = await one(setup)
      const contents = Array.from({ length: 50 }, (_, at) => Buffer.from(`content ${at % 40}`))
      const batch = store.blobs.batch()
      const buffer = Buffer.alloc(16)
      const ids = contents.map(content => {
        content.copy(buffer)
        return batch.add(buffer.subarray(0, content.length))
      })
      await batch.room()
      await batch.close()
      expect(new Set(ids).size).toBe(40)
      expect(batch.bytes).toBe(contents.slice(0, 40).reduce((sum, { length }) => sum + length, 0))
      const again = store.blobs.batch()
      for (const [at, content] of contents.entries()) expect(again.add(content)).toBe(ids[at])
      await again.close()
      expect(again.bytes).toBe(0)
      const other = await open()
      for (const [at, id] of ids.entries()) expect(Buffer.from((await other.blobs.get(id))!)).toEqual(contents[at])
    })

    it('regression 24: nothing that a journal, a pin or a manifest names is pruned, nor what is in use', async () => {
      const { store, clock, open } = await one(setup)
      const put = (value: string) => store.blobs.put(Buffer.from(value))
      const [named, inside, pinned, below, touched, lonely] = await Promise.all(
        ['named', 'inside', 'pinned', 'below', 'touched', 'lonely'].map(put),
      )
      const manifest = await put(JSON.stringify({ entries: [inside] }))
      const tree = await store.blobs.put(
        Buffer.concat([Buffer.from('PFTREE1\n\0\0\0\0\x01\0\0\0', 'latin1'), Buffer.from(below!, 'hex')]),
      )
      const id = await given(store, two('first'))
      await must(store, id, { type: 'note', text: `relies on ${named} and ${manifest}` })
      const other = await open()
      other.blobs.pin('rollback', JSON.stringify({ pinned, tree }))
      expect(store.blobs.pinned('rollback')).toBe(JSON.stringify({ pinned, tree }))
      clock.pass(10_000)
      expect(other.blobs.touch([touched!, numberedSha(77)])).toEqual([numberedSha(77)])
      const before = clock.wall - 5_000
      expect(await store.prune({ before, dryRun: false })).toMatchObject({ blobs: 1 })
      for (const each of [named, manifest, inside, pinned, tree, below, touched])
        expect(await store.blobs.get(each!)).not.toBeNull()
      expect(await store.blobs.get(lonely!)).toBeNull()
      store.blobs.unpin('rollback')
      expect(other.blobs.pinned('rollback')).toBeNull()
      clock.pass(10_000)
      expect(await store.prune({ before: clock.wall - 1, dryRun: false })).toMatchObject({ blobs: 4 })
      expect(await store.check({ readData: true })).toMatchObject({ ok: true })
    })

    it('a stored fold and the tail behind it are the fold of the whole journal', async () => {
      const { open } = await setup({ foldEvery: 50 })
      const store = await open()
      const count = 60
      const tasks = Array.from({ length: count }, (_, at) => task(`t${at}`, at === 0 ? {} : { needs: [`t${at - 1}`] }))
      const id = await given(store, plan('long', ...tasks))
      await carryOut(store, id, count - 20)
      await store.close()
      const other = await open()
      const opened = await other.state(id)
      expect(opened!.version).toBe(count - 20 + 3)
      const report = await other.check()
      expect(report).toMatchObject({ ok: true, faults: [] })
      const fresh = await fullFold(other, id)
      expect(packFold(opened!)).toEqual(packFold(fresh))
      await must(other, id, { type: 'pause' })
      expect((await other.check()).faults).toEqual([])
    })

    it('archived plans and blobs nobody names are pruned, and nothing else', async () => {
      const { store, clock } = await one(setup)
      const old = await given(store, two('old'))
      await must(store, old, { type: 'note', text: 'x'.repeat(300_000) })
      const keep = await given(store, two('keep'), 2)
      await must(store, keep, { type: 'note', text: 'y'.repeat(300_000) })
      await store.blobs.put(Buffer.from('nobody names me'))
      await must(store, old, { type: 'archive' })
      await must(store, keep, { type: 'note', text: 'last' })
      clock.pass(10_000)
      const before = clock.wall
      const expected = { plans: 1, entries: 3, blobs: 2 }
      expect(await store.prune({ before, dryRun: true })).toMatchObject(expected)
      expect((await store.plans({})).items).toHaveLength(2)
      expect(await store.prune({ before, dryRun: false })).toMatchObject(expected)
      expect((await store.plans({})).items.map(row => row.name)).toEqual(['keep'])
      expect(await store.find('old')).toBeNull()
      expect(await store.state(old)).toBeNull()
      expect(await store.check({ readData: true })).toMatchObject({ ok: true, blobs: 1, entries: 3 })
      const position = await store.position()
      expect(ok(await store.update(keep, { type: 'note', text: 'on' }, { actor: ana })).position).toBeGreaterThan(
        position,
      )
      await given(store, two('old'), 3)
    })

    it('a plan is kept as long when what was set back was saved, and the journal could not tell of it', async () => {
      const { store, clock } = await one(setup)
      const id = await given(store, two('first'))
      await must(store, id, START)
      const saved = await store.blobs.put(Buffer.from('{"saved": 1}'))
      const note = restoreNoteName(id, 1)
      store.blobs.pin(note, JSON.stringify([{ saved, to: saved, made: saved, visit: 1, attempt: 1 }]))
      await must(store, id, { type: 'cancel', force: true })
      await must(store, id, { type: 'archive' })
      const prune = () => store.prune({ before: clock.now(), dryRun: false })
      clock.pass(RESTORED_KEPT_MS - 1_000)
      expect(await prune()).toMatchObject({ plans: 0, held: 1 })
      expect(await store.blobs.get(saved)).not.toBeNull()
      clock.pass(2_000)
      expect(await prune()).toMatchObject({ plans: 1, held: 0 })
      // They are no longer needed.
      expect([store.blobs.pinned(note), await store.blobs.get(saved)]).toEqual([null, null])
    })

    it('a closed store refuses, and closing twice is harmless', async () => {
      const { store } = await one(setup)
      const id = await given(store, two('first'))
      const last = must(store, id, START)
      await Promise.all([store.close(), store.close()])
      expect((await last).version).toBe(2)
      await expect(must(store, id, { type: 'pause' })).rejects.toThrow('closed')
    })
  })
}

async function fullFold(store: Store, id: PlanId) {
  const state = newState()
  for (let after = 0; ; after = state.version) {
    const page = await store.read(id, { after })
    if (page.length === 0) return state
    for (const entry of page) {
      for (const event of entry.events) evolve(state, event, entry.now)
      state.version = entry.version
    }
  }
}
