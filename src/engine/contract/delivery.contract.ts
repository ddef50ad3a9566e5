// What may be asked twice, what may be missed, and what must not: versions, keys, watching, reading one's own writes.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PlanId } from '../../domain/id.ts'
import type { Entry } from '../../stores/store.ts'
import { edit, external, gate, name, plan } from '../../testing/index.ts'
import type { Engine } from '../engine.ts'
import type { Order } from '../orders.ts'
import { type Done, type Harness, names, Person, type Setup } from './harness.contract.ts'

const WRITES = Number(process.env.PLANFOLD_CONTRACT_WRITES ?? 200)

export function deliveryContract(what: string, setup: Setup): void {
  describe(`${what}: delivery`, () => {
    let harness: Harness
    let ana: Person
    beforeAll(async () => {
      harness = await setup()
      ana = new Person(harness, 'ana')
    })
    afterAll(() => harness.close())

    test('an order on a version that has passed is refused', async () => {
      const id = await ana.creates(plan('versioned', external('a')))
      await ana.does(id, { type: 'note', text: 'one' }, { expectedVersion: 1 })
      const stale = await ana.isRefused(id, { type: 'note', text: 'two' }, { expectedVersion: 1 })
      expect(stale.code).toBe('conflict')
    })

    test('the same order under the same key is carried out once and answered as it was, whatever it is', async () => {
      let count = 0
      /** Both times on the plan as the first one left it. */
      const twice = async (at: PlanId | null, order: Order): Promise<Done> => {
        const once = `key-${++count}`
        const first = await ana.does(at, order, { once })
        const before = await harness.local.ask({ type: 'position' })
        const second = await ana.submit(at, order, { once })
        // What a fork began with is told when it is made.
        const { fork: _, ...told } = first
        expect({ [order.type]: second }).toEqual({ [order.type]: { ...told, replayed: true } })
        expect({ [order.type]: await harness.local.ask({ type: 'position' }) }).toEqual({ [order.type]: before })
        return first
      }
      const definition = plan('once', external('a'), external('b'), gate('g'))
      const { plan: id } = await twice(null, { type: 'create', definition })
      await twice(id, { type: 'add', tasks: [external('c')] })
      await twice(id, { type: 'change', task: name('c'), set: { title: 'C' } })
      await twice(id, { type: 'reorder', order: names('c') })
      await twice(id, { type: 'outline', set: { title: 'T' } })
      await twice(id, { type: 'remove', tasks: names('c') })
      await twice(id, { type: 'revise', definition: { ...definition, title: 'T' }, rationale: 'why not' })
      await twice(id, { type: 'annotate', set: { x: 1 } })
      await twice(id, { type: 'evaluate', task: name('a'), score: 1 })
      await twice(id, { type: 'start' })
      await twice(id, { type: 'ask', text: 'well?', form: [{ name: 'x', type: 'text' }] })
      const [question] = (await ana.engine.ask({ type: 'questions', plan: id }))!
      await twice(id, { type: 'answer', id: question!.id, answers: { x: 'y' } })
      await twice(id, { type: 'decide', task: name('g'), verdict: 'approved', rationale: 'ok', unseen: true })
      await twice(id, { type: 'propose', definition: { ...definition, title: 'U' }, rationale: 'better' })
      const proposal = (await ana.engine.ask({ type: 'proposals', plan: id }))!.at(-1)!
      await twice(id, { type: 'judge', id: proposal.id, hash: proposal.hash, verdict: 'declined', rationale: 'no' })
      const { claim } = await twice(id, { type: 'claim', task: name('a') })
      await twice(id, { type: 'report', task: name('a'), token: claim!.token, result: { status: 'succeeded' } })
      await twice(id, { type: 'checkpoint', name: 'named' })
      await twice(id, { type: 'note', text: 'hello' })
      await twice(id, { type: 'fork', from: 'a', name: 'forked', here: true })
      await twice(id, { type: 'pause' })
      await twice(id, { type: 'resume' })
      await twice(id, { type: 'skip', task: name('b'), reason: 'no need' })
      await twice(id, { type: 'archive' })
      const { plan: other } = await twice(null, { type: 'create', definition: plan('once-more', external('a')) })
      await twice(other, { type: 'finish', as: 'failed', reason: 'never mind' })
      await twice(other, { type: 'retry', task: name('a') })
      await twice(other, { type: 'cancel' })
      const { plan: back } = await twice(null, { type: 'create', definition: plan('once-back', edit('e', 'e.txt')) })
      await ana.does(back, { type: 'start' })
      await harness.worker.drive(back, { stop: new AbortController().signal })
      await twice(back, { type: 'rollback' })
      await harness.worker.drive(back, { stop: new AbortController().signal })
      await twice(back, { type: 'undo' })
    })

    test('a key that was used for something else is refused', async () => {
      const id = await ana.creates(plan('keyed', external('a')))
      await ana.does(id, { type: 'note', text: 'one' }, { once: 'k' })
      expect((await ana.isRefused(id, { type: 'note', text: 'two' }, { once: 'k' })).code).toBe('conflict')
      const ben = new Person(harness, 'ben')
      await ben.does(id, { type: 'note', text: 'two' }, { once: 'k' })
    })

    test('what is watched from a position is every entry behind it, once, in order, and then what comes', async () => {
      const after = await ana.engine.ask({ type: 'position' })
      const id = await ana.creates(plan('watched', external('a')))
      const other = await ana.creates(plan('not-watched', external('a')))
      const stop = new AbortController()
      const all = gather(ana.engine, { after, signal: stop.signal }, 6)
      const one = gather(ana.engine, { after, plan: id, signal: stop.signal }, 3)
      await ana.does(id, { type: 'note', text: 'one' })
      await ana.does(other, { type: 'note', text: 'elsewhere' })
      await ana.does(id, { type: 'note', text: 'two' })
      await ana.does(other, { type: 'note', text: 'at last' })
      expect((await all).map(({ plan: at, version }) => [at, version])).toEqual([
        [id, 1],
        [other, 1],
        [id, 2],
        [other, 2],
        [id, 3],
        [other, 3],
      ])
      expect(await one).toEqual(await harness.local.ask({ type: 'entries', plan: id }))
      stop.abort()
    })

    test('whoever has had enough stops watching', async () => {
      const stop = new AbortController()
      const watching = gather(ana.engine, { after: await ana.engine.ask({ type: 'position' }), signal: stop.signal }, 1)
      stop.abort()
      expect(await watching).toEqual([])
    })

    test('P56: after an order is answered, every reader sees it, at the version that was answered', async () => {
      const id = await ana.creates(plan('own-writes', external('a')))
      const readers = [ana, new Person(harness, 'ben'), new Person(harness, 'cleo')]
      for (let count = 0; count < WRITES; count++) {
        const { version } = await ana.does(id, { type: 'annotate', set: { count } })
        const seen = await Promise.all(readers.map(({ engine }) => engine.ask({ type: 'summary', plan: id })))
        for (const summary of seen) expect([summary?.version, summary?.annotations]).toEqual([version, { count }])
      }
    })
  })
}

async function gather(
  engine: Engine,
  options: Parameters<Engine['watch']>[0],
  count: number,
): Promise<readonly Entry[]> {
  const seen: Entry[] = []
  for await (const entry of engine.watch(options)) if (seen.push(entry) === count) break
  return seen
}
