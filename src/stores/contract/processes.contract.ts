// Several processes on one storage: they see each other, lose nothing, and can be watched.

import { describe, expect, it, onTestFinished } from 'vitest'
import { packFold } from '../../domain/state/fold.ts'
import { START } from '../../testing/index.ts'
import type { Entry } from '../store.ts'
import { ana, carryOut, given, must, ok, one, type Setup, two } from './harness.contract.ts'

export function processesContract(what: string, setup: Setup): void {
  describe(`${what}: two processes`, () => {
    it('regression 9: each sees what the other committed, and no update is lost', async () => {
      const { open } = await setup()
      const [left, right] = [await open(), await open()]
      const id = await given(left, two('first'))
      const versions: number[] = []
      for (let round = 0; round < 10; round++) {
        const both = await Promise.all(
          [left, right].map(store => store.update(id, { type: 'note', text: `round ${round}` }, { actor: ana })),
        )
        versions.push(...both.map(updated => ok(updated).version))
      }
      expect(versions.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, at) => at + 2))
      expect((await left.state(id))!.version).toBe(21)
      expect(packFold((await left.state(id))!)).toEqual(packFold((await right.state(id))!))
      expect((await right.check()).faults).toEqual([])
    })

    it('a state at hand catches up with the other process', async () => {
      const { open } = await setup()
      const [left, right] = [await open(), await open()]
      const id = await given(left, two('first'))
      expect((await right.state(id))!.status).toBe('draft')
      await carryOut(left, id)
      expect((await right.state(id))!.status).toBe('completed')
    })
  })

  describe(`${what}: watching`, () => {
    it('gives every entry of all plans once and in order, across processes, live', async () => {
      const { open } = await setup()
      const [left, right] = [await open(), await open()]
      const first = await given(left, two('first'))
      const stop = new AbortController()
      onTestFinished(() => stop.abort())
      const seen: Entry[] = []
      const watching = (async () => {
        for await (const entry of right.watch({ after: 0, signal: stop.signal })) {
          seen.push(entry)
          if (seen.length === 42) return
        }
      })()
      const second = await given(right, two('second'), 2)
      for (let round = 0; round < 20; round++) {
        await Promise.all([
          must(left, first, { type: 'note', text: `${round}` }),
          must(right, second, { type: 'note', text: `${round}` }),
        ])
      }
      await watching
      expect(seen.map(entry => entry.position)).toEqual((await left.since(0, 100)).map(entry => entry.position))
      expect(seen.filter(entry => entry.plan === first).map(entry => entry.version)).toEqual(
        Array.from({ length: 21 }, (_, at) => at + 1),
      )
      expect(await left.position()).toBe(seen.at(-1)!.position)
    })

    it('can follow one plan, from where one stands, and ends when told', async () => {
      const { store } = await one(setup)
      const first = await given(store, two('first'))
      const after = await store.position()
      const second = await given(store, two('second'), 2)
      await must(store, first, { type: 'note', text: 'seen' })
      await must(store, second, { type: 'note', text: 'not mine' })
      const stop = new AbortController()
      const seen: Entry[] = []
      const watching = (async () => {
        for await (const entry of store.watch({ after, plan: first, signal: stop.signal })) {
          seen.push(entry)
          if (seen.length === 2) stop.abort()
        }
      })()
      await must(store, first, { type: 'note', text: 'live' })
      await watching
      expect(seen.map(entry => entry.version)).toEqual([2, 3])
    })

    it('tells listeners after a commit of another process, until they stop listening', async () => {
      const { open } = await setup()
      const [left, right] = [await open(), await open()]
      const id = await given(left, two('first'))
      let calls = 0
      let called = () => {}
      const once = new Promise<void>(resolve => {
        called = resolve
      })
      const stop = right.onChange(() => {
        calls++
        called()
      })
      await must(left, id, START)
      await once
      stop()
      const before = calls
      await must(right, id, { type: 'note', text: 'nobody listens' })
      await new Promise(resolve => setImmediate(resolve))
      expect(calls).toBe(before)
    })
  })
}
