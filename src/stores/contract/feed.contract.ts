// The feeds of live streams: entries of all plans by position, output of all tasks by number.

import { describe, expect, it } from 'vitest'
import { external, name, plan } from '../../testing/index.ts'
import { given, must, one, type Setup } from './harness.contract.ts'

export function feedingContract(what: string, setup: Setup): void {
  describe(`${what}: what streams are fed from`, () => {
    it('entries of all plans come page by page in the order of their commits; a pruned plan leaves a gap', async () => {
      const { store, clock } = await one(setup)
      const [a, b] = [await given(store, plan('a', external('x'))), await given(store, plan('b', external('x')), 2)]
      for (const id of [a, b, b]) await must(store, id, { type: 'note', text: 'n' })
      const places = async (after: number, limit: number) =>
        (await store.since(after, limit)).map(({ plan, version }) => `${plan === a ? 'a' : 'b'}${version}`)
      // On a server, an entry is seen when all older transactions have ended, also those of other tests.
      await expect.poll(async () => (await store.since(0, 100)).length).toBe(5)
      const positions = (await store.since(0, 100)).map(({ position }) => position)
      expect(positions).toEqual([...new Set(positions)].sort((left, right) => left - right))
      const [third, last] = [positions[2]!, positions[4]!]
      expect(await places(0, 3)).toEqual(['a1', 'b1', 'a2'])
      expect(await places(third, 100)).toEqual(['b2', 'b3'])
      expect(await places(last, 100)).toEqual([])
      expect(await store.position()).toBe(last)
      expect(await store.since(0, 1)).toEqual(await store.read(a, { limit: 1 }))
      await must(store, b, { type: 'cancel', reason: 'x', force: false })
      await must(store, b, { type: 'archive' })
      clock.pass(10)
      const pruned = await store.pruned()
      await store.prune({ before: clock.now(), dryRun: true })
      expect(await store.pruned()).toBe(pruned)
      await store.prune({ before: clock.now(), dryRun: false })
      expect(await store.pruned()).toBeGreaterThan(pruned)
      expect(await places(0, 100)).toEqual(['a1', 'a2'])
      const end = await store.position()
      expect(end).toBeGreaterThan(last)
      expect([await store.pruned(0), await store.pruned(end - 1), await store.pruned(end)]).toEqual([1, 1, 0])
    })

    it('output of all plans comes in the order it was written, and its last number is never given again', async () => {
      const { store, clock } = await one(setup)
      const [a, b] = [await given(store, plan('a', external('x'))), await given(store, plan('b', external('x')), 2)]
      expect([await store.logs.last(), await store.logs.since(0, 10)]).toEqual([0, []])
      const chunk = { task: name('x'), visit: 1, attempt: 1, stream: 'stdout' as const, at: 1 }
      const texts = [a, b, a].map((id, at) => ({ ...chunk, plan: id, text: `${at}` }))
      await store.logs.append(texts)
      const logs = await store.logs.since(0, 10)
      expect(logs).toEqual(texts.map((text, at) => ({ ...text, seq: at + 1 })))
      expect(await store.logs.since(1, 1)).toEqual([logs[1]])
      await must(store, a, { type: 'cancel', reason: 'x', force: false })
      await must(store, a, { type: 'archive' })
      clock.pass(10)
      await store.prune({ before: clock.now(), dryRun: false })
      expect(await store.logs.since(0, 10)).toEqual([logs[1]])
      expect(await store.logs.last()).toBe(3)
    })
  })
}
