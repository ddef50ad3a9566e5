// Idempotency keys.

import { describe, expect, it } from 'vitest'
import type { Actor } from '../../domain/id.ts'
import { numberedPlanId, numberedSha, plan, START, task } from '../../testing/index.ts'
import type { Once } from '../store.ts'
import { ana, given, must, ok, one, type Setup, two } from './harness.contract.ts'

const HOUR_MS = 60 * 60_000
const key = (name: string, number = 1): Once => ({ key: name, hash: numberedSha(number) })

export function onceContract(what: string, setup: Setup): void {
  describe(`${what}: keys that are used once`, () => {
    it('P55: a plan that is asked for twice with one key is made once; the second answer is the first', async () => {
      const { store, open } = await one(setup)
      const create = (number: number) =>
        ({ type: 'create', plan: numberedPlanId(number), definition: two('first'), hash: numberedSha(1) }) as const
      const first = ok(await store.create(create(1), ana, { once: key('k') }))
      expect(first.replayed).toBeUndefined()
      const other = await open()
      const again = ok(await other.create(create(2), ana, { once: key('k') }))
      expect(again).toMatchObject({ replayed: true, version: 1, position: first.position })
      expect(again.events).toEqual(first.events)
      expect(again.state.id).toBe(numberedPlanId(1))
      expect((await store.plans({})).items).toHaveLength(1)
    })

    it('at the same moment, in one group or from two processes: one is first', async () => {
      const { store, open } = await one(setup)
      const id = await given(store, two('first'))
      const other = await open()
      const answers = await Promise.all(
        [store, store, other, other].map(each =>
          each.update(id, { type: 'note', text: 'x' }, { actor: ana, once: key('k') }),
        ),
      )
      expect(answers.filter(answer => ok(answer).replayed !== true)).toHaveLength(1)
      expect(new Set(answers.map(answer => ok(answer).version))).toEqual(new Set([2]))
      expect(await store.read(id)).toHaveLength(2)
    })

    it('the answer is that of then, the state that of now; neither a version nor what is allowed matters any more', async () => {
      const { store } = await one(setup)
      const id = await given(store, two('first'))
      const start = () => store.update(id, START, { actor: ana, once: key('k'), expectedVersion: 1 })
      const first = ok(await start())
      await must(store, id, { type: 'pause' })
      const again = ok(await start())
      expect(again).toMatchObject({ replayed: true, version: 2 })
      expect(again.events).toEqual(first.events)
      expect(again.state).toMatchObject({ version: 3, status: 'paused' })
      expect((await store.state(id))!.version).toBe(3)
    })

    it('a key that was used for something else is refused, and another actor has keys of their own', async () => {
      const { store } = await one(setup)
      const id = await given(store, two('first'))
      const note = (text: string, once: Once, actor = ana) => store.update(id, { type: 'note', text }, { actor, once })
      ok(await note('a', key('k', 1)))
      expect(await note('b', key('k', 2))).toMatchObject({ ok: false, refusal: { code: 'conflict' } })
      const session = [{ type: 'session.opened', title: 'x' }] as const
      expect(await store.sessions.append('s', session, { actor: ana, once: key('k', 1) })).toMatchObject({
        ok: false,
        refusal: { code: 'conflict' },
      })
      expect(ok(await note('b', key('k', 2), 'bob' as Actor)).replayed).toBeUndefined()
      expect(await store.read(id)).toHaveLength(3)
    })

    it('a refusal is not kept: what was refused may be asked again with the same key', async () => {
      const { store } = await one(setup)
      const id = await given(store, two('first'))
      const resume = () => store.update(id, { type: 'resume' }, { actor: ana, once: key('k') })
      expect((await resume()).ok).toBe(false)
      await must(store, id, START)
      await must(store, id, { type: 'pause' })
      expect(ok(await resume()).replayed).toBeUndefined()
      expect(ok(await resume()).replayed).toBe(true)
    })

    it('what changed nothing the first time changes nothing later', async () => {
      const { store } = await one(setup)
      const id = await given(store, two('first'))
      const turn = () => store.update(id, { type: 'turn' }, { actor: ana, once: key('k') })
      expect(ok(await turn())).toMatchObject({ version: 1, events: [] })
      await must(store, id, START)
      expect(ok(await turn())).toMatchObject({ version: 1, events: [], replayed: true })
      expect((await store.state(id))!.version).toBe(2)
    })

    it('sessions and goals know keys too', async () => {
      const { store } = await one(setup)
      const goal = { type: 'goal.set', title: 'G', parent: null, priority: 5, criteria: [] } as const
      const set = (id: string) => store.goals.append(id, [goal], { actor: ana, once: key('k') })
      expect(await set('g1')).toEqual({ ok: true, id: 'g1', version: 1 })
      expect(await set('g2')).toEqual({ ok: true, id: 'g1', version: 1, replayed: true })
      expect((await store.goals.list({})).items.map(row => row.id)).toEqual(['g1'])
    })

    it('a key is forgotten after 48 hours, swept or not; a plan that was pruned is not made again before', async () => {
      const { store, clock } = await one(setup)
      const definition = plan('first', task('a'))
      const create = (number: number) =>
        store.create({ type: 'create', plan: numberedPlanId(number), definition, hash: numberedSha(1) }, ana, {
          once: key('k'),
        })
      ok(await create(1))
      await must(store, numberedPlanId(1), { type: 'archive' })
      clock.pass(HOUR_MS)
      await store.prune({ before: clock.wall, dryRun: false })
      expect(await create(2)).toMatchObject({ ok: false, refusal: { code: 'not-found' } })
      clock.pass(48 * HOUR_MS)
      expect(ok(await create(2)).replayed).toBeUndefined()
      clock.pass(47 * HOUR_MS)
      await store.tidy()
      expect(ok(await create(3)).replayed).toBe(true)
      clock.pass(2 * HOUR_MS)
      await store.tidy()
      expect((await create(4)).ok).toBe(false)
    })
  })
}
