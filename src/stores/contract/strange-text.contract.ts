// Text that SQLite cannot store as it is: a NUL ends it, a lone surrogate is no UTF-8. The rows must equal the fold, and no row may pass
// for another.

import { describe, expect, it } from 'vitest'
import { external, name, numberedPlanId, numberedSha, plan, START, succeeded } from '../../testing/index.ts'
import { ana, given, must, ok, one, type Setup, two } from './harness.contract.ts'

const KEPT = 'x\ufffd'

export function strangeTextContract(what: string, setup: Setup): void {
  describe.each([
    ['a NUL', 'x\0'],
    ['half a character', 'x\ud800'],
  ])(`${what}: %s`, (_, odd) => {
    it('in a plan and its tasks: rows are what the journal says, and are found by that text and no shorter one', async () => {
      const { store } = await one(setup)
      const id = numberedPlanId(1)
      const task = external('a', { title: `${odd}b`, kind: odd, assignee: odd })
      const definition = plan('first', task, external('b'), { title: `${odd}b`, goal: `${odd}b` })
      const create = { type: 'create' as const, plan: id, definition, hash: numberedSha(1) }
      ok(await store.create({ ...create, session: odd, goal: odd, agent: odd }, ana))
      const kept = { title: `${KEPT}b`, goal: `${KEPT}b`, session: KEPT, goalId: KEPT, agent: KEPT }
      expect((await store.plans({ session: odd, goal: odd, agent: odd })).items).toMatchObject([kept])
      for (const key of ['session', 'goal', 'agent']) expect((await store.plans({ [key]: 'x' })).items).toEqual([])
      expect((await store.tasks({ assignee: odd })).items).toMatchObject([{ title: `${KEPT}b`, kind: KEPT }])
      expect((await store.tasks({ assignee: 'x' })).items).toEqual([])
      // The journal has the original text.
      expect((await store.state(id))!.definition.title).toBe(`${odd}b`)
      const revised = { ...definition, title: `${odd}c` }
      await must(store, id, { type: 'revise', definition: revised, hash: numberedSha(2), rationale: 'why' })
      expect((await store.plans({})).items).toMatchObject([{ title: `${KEPT}c` }])
      expect((await store.check()).faults).toEqual([])
    })

    it('in the name of whoever claims', async () => {
      const { store, open } = await one(setup)
      const id = await given(store, plan('first', external('a', { kind: odd })))
      await must(store, id, START)
      await must(store, id, { type: 'claim', task: name('a'), token: 't', by: odd })
      expect((await store.tasks({ assignee: odd })).items).toHaveLength(1)
      expect((await store.tasks({ assignee: 'x' })).items).toEqual([])
      await must(store, id, { type: 'report', task: name('a'), token: 't', by: odd, result: succeeded() })
      expect((await store.steps({ by: 'agent', agent: odd, kind: odd })).items).toMatchObject([{ group: KEPT }])
      expect((await store.steps({ by: 'agent', agent: 'x' })).items).toEqual([])
      expect((await store.check()).faults).toEqual([])
      expect((await (await open()).check()).faults).toEqual([])
    })

    it('in output: what stands behind it is kept', async () => {
      const { store } = await one(setup)
      const id = await given(store, two('first'))
      const chunk = { plan: id, task: name('a'), visit: 1, attempt: 1, stream: 'engine', at: 1 } as const
      await store.logs.append([{ ...chunk, text: `${odd}b` }])
      expect(await store.logs.read({ plan: id })).toMatchObject([{ text: `${KEPT}b` }])
    })

    it('in the id of a session or a goal: there is none of that name, nor can there be', async () => {
      const { store } = await one(setup)
      const opened = [{ type: 'session.opened' as const, title: `${odd}b` }]
      expect(await store.sessions.append('x', opened, { actor: ana })).toMatchObject({ ok: true })
      expect(await store.sessions.append(odd, opened, { actor: ana })).toMatchObject({
        ok: false,
        refusal: { code: 'invalid' },
      })
      expect([await store.sessions.get(odd), await store.sessions.read(odd)]).toEqual([null, []])
      expect(await store.sessions.get('x')).toMatchObject({ version: 1, title: `${odd}b` })
      expect((await store.check()).faults).toEqual([])
    })

    it('in the reference of a plan: it is not the plan whose name stands before it', async () => {
      const { store } = await one(setup)
      await given(store, two('x'))
      expect(await store.find(odd)).toBe(null)
    })
  })
}
