// Memory by key: one item a key and place, found by words, with vectors, gone when it is removed.

import { describe, expect, it } from 'vitest'
import type { PlanId } from '../../domain/id.ts'
import { refuse } from '../../domain/refusal.ts'
import { numberedPlanId } from '../../testing/index.ts'
import type { MemoryPlace, MemoryQuery, MemoryRecord } from '../memories.ts'
import type { Store } from '../store.ts'
import { given, must, one, type Setup, two } from './harness.contract.ts'

const PROJECT: MemoryPlace = { scope: 'project', owner: '' }
const ANA: MemoryPlace = { scope: 'user', owner: 'ana' }

const record = (place: MemoryPlace, key: string, value: string, more: Partial<MemoryRecord> = {}): MemoryRecord => ({
  ...{ ...place, key, at: 7, expiresAt: null, body: JSON.stringify({ value }) },
  ...more,
})

async function found(store: Store, query: Partial<MemoryQuery>): Promise<readonly string[]> {
  return (await store.memories.find({ places: [PROJECT], now: 7, ...query })).map(({ key }) => key)
}

export function memoriesContract(what: string, setup: Setup): void {
  describe(`${what}: memory`, () => {
    it('keeps the newest item of a key and place, found by the beginnings of its words and no longer by older ones', async () => {
      const { store, open } = await one(setup)
      const put = (place: MemoryPlace, key: string, text: string) =>
        store.memories.put(record(place, key, text), `${key} ${text}`)
      expect(await put(PROJECT, 'schlüssel 🔑', 'the café closes')).toBeNull()
      await put(ANA, 'schlüssel 🔑', 'mine alone')
      await put(PROJECT, 'schlüssel 🔑', 'it\'s "open" again')
      await put(PROJECT, 'other', 'opening hours')
      const elsewhere = await open()
      expect(await elsewhere.memories.get([ANA, PROJECT], ['schlüssel 🔑', 'none'])).toMatchObject([
        { scope: 'user', owner: 'ana', body: '{"value":"mine alone"}' },
        { scope: 'project', key: 'schlüssel 🔑', at: 7, expiresAt: null },
      ])
      expect(await found(store, { words: ['ope'] })).toEqual(['other', 'schlüssel 🔑'])
      expect(await found(store, { words: ['open', 'again'] })).toEqual(['schlüssel 🔑'])
      expect(await found(store, { words: ['cafe'] })).toEqual([])
      expect(await found(store, { words: ['schlussel'], places: [ANA] })).toEqual(['schlüssel 🔑'])
      expect(await found(store, { words: ['mine'] })).toEqual([])
      expect(await found(store, { limit: 1 })).toEqual(['other'])
      const [last] = await store.memories.find({ places: [PROJECT], now: 7, limit: 1 })
      expect(await found(store, { before: last!.no })).toEqual(['schlüssel 🔑'])
      expect(await found(store, { among: [last!.no, 99_999] })).toEqual(['other'])
      expect(await found(store, { places: [] })).toEqual([])
    })

    it('what is removed is gone, with its words and vectors; and so is the memory of a pruned plan', async () => {
      const { store, clock } = await one(setup)
      const plan = await given(store, two('p'))
      const place: MemoryPlace = { scope: 'plan', owner: plan }
      await store.memories.put(record(place, 'k', 'alpha'), 'alpha')
      await store.memories.put(record(PROJECT, 'k', 'alpha'), 'alpha')
      const [{ no } = { no: 0 }] = await store.memories.get([PROJECT], ['k'])
      await store.memories.putVectors([{ no, vector: Float32Array.of(1, 0) }], 'm/1')
      expect(await store.memories.remove(PROJECT, 'k', item => item.at === 8)).toBe(false)
      expect(await store.memories.remove(PROJECT, 'k')).toBe(true)
      expect(await store.memories.remove(PROJECT, 'k')).toBe(false)
      const vectors = { place: PROJECT, model: 'm/1', dimension: 2, after: 0, limit: 9 }
      expect(await store.memories.vectors(vectors)).toEqual([])
      // A vector that comes too late is dropped.
      await store.memories.putVectors([{ no, vector: Float32Array.of(1, 0) }], 'm/1')
      expect(await store.memories.vectors(vectors)).toEqual([])
      expect(await found(store, { words: ['alpha'], places: [PROJECT, place] })).toEqual(['k'])
      await must(store, plan, { type: 'cancel', reason: 'over' })
      await must(store, plan, { type: 'archive' })
      clock.pass(1_000)
      await store.prune({ before: clock.wall, dryRun: false })
      expect(await store.state(numberedPlanId(1) as PlanId)).toBeNull()
      expect(await found(store, { words: ['alpha'], places: [PROJECT, place] })).toEqual([])
    })

    it('an expired item is not there, and is removed by the next write', async () => {
      const { store, clock } = await one(setup)
      const expiresAt = clock.wall + 1_000
      await store.memories.put(record(PROJECT, 'short', 'x', { expiresAt }), 'x')
      expect(await found(store, { now: expiresAt - 1 })).toEqual(['short'])
      expect(await found(store, { now: expiresAt })).toEqual([])
      expect(await found(store, { now: expiresAt, words: ['x'] })).toEqual([])
      clock.pass(1_000)
      await store.memories.put(record(PROJECT, 'next', 'x'), 'x')
      expect(await store.memories.get([PROJECT], ['short'])).toEqual([])
    })

    it('a check sees the item that would be replaced; of two writers at once one replaces the other, whole', async () => {
      const { store, open } = await one(setup)
      const other = await open()
      const refusal = refuse('not-allowed', 'no')
      await store.memories.put(record(PROJECT, 'k', 'first'), 'first')
      expect(
        await other.memories.put(record(PROJECT, 'k', 'bad'), 'bad', before => (before === null ? null : refusal)),
      ).toEqual(refusal)
      const values = Array.from({ length: 20 }, (_, at) => `word${at + 10} of`)
      await Promise.all(
        values.map((value, at) => (at % 2 === 0 ? store : other).memories.put(record(PROJECT, 'k', value), value)),
      )
      const [item] = await store.memories.get([PROJECT], ['k'])
      const { value } = JSON.parse(item!.body)
      expect(values).toContain(value)
      expect(await other.memories.get([PROJECT], ['k'])).toEqual([item])
      for (const one of ['first', 'bad', ...values])
        expect(await found(store, { words: one.split(' ') })).toEqual(one === value ? ['k'] : [])
    })

    it('gives vectors of one place, model and dimension, in the order in which they were stored', async () => {
      const { store } = await one(setup)
      for (const key of ['a', 'b', 'c']) await store.memories.put(record(PROJECT, key, key), key)
      await store.memories.put(record(ANA, 'a', 'a'), 'a')
      const items = await store.memories.find({ places: [PROJECT, ANA], now: 7 })
      const no = (key: string, scope = 'project') => items.find(one => one.key === key && one.scope === scope)!.no
      const of = (key: string, ...numbers: readonly number[]) => ({ no: no(key), vector: Float32Array.from(numbers) })
      await store.memories.putVectors([of('b', 0.25, -1), of('a', 1, 2)], 'm/1')
      await store.memories.putVectors([of('c', 1, 2, 3), { ...of('a', 5, 6), no: no('a', 'user') }], 'm/1')
      await store.memories.putVectors([of('c', 3, 4)], 'm/2')
      const query = { place: PROJECT, model: 'm/1', dimension: 2, after: 0, limit: 9 }
      const vectors = await store.memories.vectors(query)
      expect(vectors.map(one => [one.no, [...one.vector]])).toEqual([
        [no('b'), [0.25, -1]],
        [no('a'), [1, 2]],
      ])
      expect(await store.memories.vectors({ ...query, after: vectors[0]!.vectorNo })).toEqual([vectors[1]])
      expect(await store.memories.vectors({ ...query, limit: 1 })).toEqual([vectors[0]])
      expect(await store.memories.vectors({ ...query, dimension: 3 })).toHaveLength(1)
      expect(await found(store, { lacks: 'm/2' })).toEqual(['b', 'a'])
    })
  })
}
