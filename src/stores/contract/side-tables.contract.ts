// Tables beside the journal: claims, task output, sessions and goals.

import { describe, expect, it } from 'vitest'
import { refuse } from '../../domain/refusal.ts'
import { external, name, numberedPlanId, numberedSha, plan, START, succeeded } from '../../testing/index.ts'
import { BadCursor, type LogChunk } from '../store.ts'
import { ana, given, must, ok, one, type Setup, two } from './harness.contract.ts'

export function besideContract(what: string, setup: Setup): void {
  describe(`${what}: claims, output, streams`, () => {
    const token = 'token-1'
    async function claimed() {
      const harness = await one(setup)
      const id = await given(harness.store, plan('first', external('a')))
      await must(harness.store, id, START)
      await must(harness.store, id, { type: 'claim', task: name('a'), token, by: 'agent' })
      return { ...harness, id, a: name('a') }
    }

    it('a claim lapses when its holder falls silent, and not before', async () => {
      const { store, clock, id, a } = await claimed()
      expect(await store.claims.touch(id, a, token, 1_000)).toBe(1_000)
      clock.pass(999)
      expect(await store.claims.lapsed()).toEqual([])
      // An omitted duration stays as it was.
      expect(await store.claims.touch(id, a, token)).toBe(1_000)
      clock.pass(999)
      expect(await store.claims.lapsed(id)).toEqual([])
      clock.pass(1)
      expect(await store.claims.lapsed()).toEqual([{ plan: id, task: 'a', token }])
      expect(await store.claims.lapsed(numberedPlanId(9))).toEqual([])
      expect((await store.read(id)).length).toBe(3)
    })

    it('a halt stays until it is lifted, for all processes; the first one counts', async () => {
      const { store, open } = await one(setup)
      const id = await given(store, plan('first', external('a')))
      const other = await open()
      const halt = { by: 'ana', at: 7, reason: 'fire' }
      expect(await store.halts.get()).toBeNull()
      expect(await store.halts.put(halt)).toEqual(halt)
      expect(await other.halts.put({ by: 'ben', at: 8, reason: null })).toEqual(halt)
      const refusal = refuse('not-ready', 'halted')
      const whenHalted = () => refusal
      expect(await other.update(id, START, { actor: ana, whenHalted })).toEqual({ ok: false, refusal })
      expect(await other.halts.lift()).toEqual(halt)
      expect([await store.halts.get(), await store.halts.lift()]).toEqual([null, null])
      expect(await store.halts.put({ by: 'ben', at: 8, reason: null })).toMatchObject({ reason: null })
      expect(await other.update(id, START, { actor: ana })).toMatchObject({ ok: true })
    })

    it('a claim nobody ever touched lapses too', async () => {
      const { store, clock, id } = await claimed()
      clock.pass(24 * 3_600_000)
      expect(await store.claims.lapsed()).toEqual([{ plan: id, task: 'a', token }])
    })

    it('a wrong token does not hold anything; a claim that ended does not lapse', async () => {
      const { store, clock, id, a } = await claimed()
      expect(await store.claims.touch(id, a, 'other', 1_000)).toBe(null)
      expect(await store.claims.touch(numberedPlanId(9), a, token, 1_000)).toBe(null)
      expect((await store.tasks({ assignee: 'agent' })).items).toHaveLength(1)
      await must(store, id, { type: 'report', task: a, token, by: 'agent', result: succeeded() })
      expect(await store.claims.touch(id, a, token, 1_000)).toBe(null)
      clock.pass(24 * 3_600_000)
      expect(await store.claims.lapsed()).toEqual([])
      expect((await store.tasks({ assignee: 'agent' })).items).toEqual([])
      expect((await store.check()).faults).toEqual([])
    })

    it('a lapse ends the hold, unless a sign of life has come since it was found, and never that of whoever claims next', async () => {
      const { store, clock, id, a } = await claimed()
      await store.claims.touch(id, a, token, 1_000)
      clock.pass(1_000)
      const lapse = { type: 'lapse', task: a, token, reason: 'silence' } as const
      expect(await store.claims.lapsed()).toHaveLength(1)
      await store.claims.touch(id, a, token)
      expect(await store.update(id, lapse, { actor: ana })).toMatchObject({
        ok: false,
        refusal: { code: 'conflict' },
      })
      clock.pass(1_000)
      await must(store, id, lapse)
      expect(await store.claims.lapsed()).toEqual([])
      await must(store, id, { type: 'claim', task: a, token: 'token-2', by: 'other' })
      await must(store, id, lapse)
      clock.pass(24 * 3_600_000)
      expect(await store.claims.lapsed()).toEqual([{ plan: id, task: 'a', token: 'token-2' }])
    })

    it('a claim is given back before its time is over', async () => {
      const { store, id, a } = await claimed()
      await must(store, id, { type: 'lapse', task: a, token, reason: 'given back', released: true })
      expect(await store.claims.touch(id, a, token)).toBe(null)
    })

    it('output is kept in order and read by plan, by task and from where one stands', async () => {
      const { store } = await one(setup)
      const id = await given(store, two('first'))
      const chunk = (task: string, text: string): LogChunk => ({
        plan: id,
        task: name(task),
        visit: 1,
        attempt: 1,
        stream: 'stdout',
        at: 5,
        text,
      })
      await store.logs.append([chunk('a', 'one\n'), chunk('b', 'two\n')])
      await store.logs.append([chunk('a', 'three\n')])
      const all = await store.logs.read({ plan: id })
      expect(all.map(({ seq: _, ...log }) => log)).toEqual([
        chunk('a', 'one\n'),
        chunk('b', 'two\n'),
        chunk('a', 'three\n'),
      ])
      expect((await store.logs.read({ plan: id, task: name('a') })).map(log => log.text)).toEqual(['one\n', 'three\n'])
      expect(await store.logs.read({ plan: id, after: all[0]!.seq, limit: 1 })).toEqual([all[1]])
      // The last ones, still in ascending order.
      const texts = async (query: object) => (await store.logs.read({ plan: id, ...query })).map(log => log.text)
      expect(await texts({ before: Number.POSITIVE_INFINITY, limit: 2 })).toEqual(['two\n', 'three\n'])
      expect(await texts({ before: all[2]!.seq, limit: 1 })).toEqual(['two\n'])
      expect(await texts({ before: all[2]!.seq, task: name('a') })).toEqual(['one\n'])
      expect(await texts({ before: all[2]!.seq, after: all[0]!.seq })).toEqual(['two\n'])
      expect(await texts({ before: all[0]!.seq })).toEqual([])
      expect(await store.logs.read({ plan: numberedPlanId(9) })).toEqual([])
      await expect(store.logs.append([chunk('a', 'lost'), chunk('nobody', 'lost')])).rejects.toThrow('nobody')
      expect(await store.logs.read({ plan: id })).toHaveLength(3)
    })

    it('a session holds its messages; a stale writer is refused', async () => {
      const { store, clock } = await one(setup)
      const opened = clock.wall
      expect(await store.sessions.append('s1', [{ type: 'session.opened', title: 'Talk' }], { actor: ana })).toEqual({
        ok: true,
        id: 's1',
        version: 1,
      })
      clock.pass(5)
      const message = { type: 'message.added', role: 'user', text: 'hi' } as const
      expect(await store.sessions.append('s1', [message, message], { actor: ana, expectedVersion: 1 })).toEqual({
        ok: true,
        id: 's1',
        version: 3,
      })
      expect(await store.sessions.append('s1', [message], { actor: ana, expectedVersion: 1 })).toMatchObject({
        refusal: { code: 'conflict' },
      })
      expect(await store.sessions.get('s1')).toEqual({
        id: 's1',
        title: 'Talk',
        status: 'open',
        messages: 2,
        version: 3,
        createdAt: opened,
        updatedAt: clock.wall,
      })
      expect(await store.sessions.read('s1', { after: 2 })).toEqual([
        { version: 3, at: clock.wall, actor: 'ana', event: message },
      ])
      expect(await store.sessions.get('s2')).toBeNull()
      expect((await store.check()).faults).toEqual([])
    })

    it('a plan and what is said with it are one write: both are there, or neither', async () => {
      const { store } = await one(setup)
      const message = { role: 'agent', text: 'here is the plan' } as const
      const make = (number: number, called: string, session = 's1') =>
        store.create(
          { type: 'create', plan: numberedPlanId(number), definition: two(called), hash: numberedSha(1), session },
          ana,
          { once: { key: `k${number}`, hash: numberedSha(number) }, conversation: { title: 'Talk', message } },
        )
      const made = ok(await make(1, 'first'))
      expect(await store.sessions.get('s1')).toMatchObject({ title: 'Talk', messages: 1, version: 2 })
      expect((await store.sessions.read('s1')).map(({ event }) => event)).toEqual([
        { type: 'session.opened', title: 'Talk' },
        { type: 'message.added', ...message, plan: made.state.id },
      ])
      // A repeated request adds no second message.
      expect(await make(1, 'first')).toMatchObject({ ok: true, replayed: true })
      // A refused plan leaves no message and no session.
      expect(await make(2, 'first', 's2')).toMatchObject({ ok: false, refusal: { code: 'exists' } })
      expect(await store.sessions.get('s2')).toBeNull()
      expect(await store.sessions.get('s1')).toMatchObject({ messages: 1 })
      // With a closed session no plan is created.
      await store.sessions.append('s1', [{ type: 'session.closed' }], { actor: ana })
      expect(await make(3, 'third')).toMatchObject({ ok: false, refusal: { code: 'illegal-transition' } })
      expect(await store.find('third')).toBeNull()
      expect((await store.check()).faults).toEqual([])
    })

    it('goals are set, changed and closed, and listed newest first', async () => {
      const { store } = await one(setup)
      const goal = (title: string) => ({ type: 'goal.set', title, parent: null, priority: 1, criteria: ['c'] }) as const
      for (const id of ['g1', 'g2', 'g3']) await store.goals.append(id, [goal(id)], { actor: ana })
      const changed = { type: 'goal.changed', changes: { title: 'New', priority: 'no number' } } as const
      await store.goals.append('g1', [changed, { type: 'goal.closed', status: 'achieved', reason: 'done' }], {
        actor: ana,
      })
      expect(await store.goals.get('g1')).toMatchObject({ title: 'New', priority: 1, status: 'achieved', version: 3 })
      expect(await store.goals.append('g9', [changed], { actor: ana })).toMatchObject({
        refusal: { code: 'not-found' },
      })
      const page = await store.goals.list({ limit: 2 })
      expect(page.items.map(row => row.id)).toEqual(['g3', 'g2'])
      expect((await store.goals.list({ limit: 2, cursor: page.next! })).items.map(row => row.id)).toEqual(['g1'])
      await expect(store.sessions.list({ cursor: page.next! })).rejects.toThrow(BadCursor)
      expect((await store.check()).faults).toEqual([])
    })
  })
}
