// People: gates, questions, the kill switch, sessions and goals, and who is said to have acted.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { external, gate, name, plan } from '../../testing/index.ts'
import { type Harness, Person, type Setup } from './harness.contract.ts'

export function peopleContract(what: string, setup: Setup): void {
  describe(`${what}: people`, () => {
    let harness: Harness
    let ana: Person
    let ben: Person
    beforeAll(async () => {
      harness = await setup()
      ana = new Person(harness, 'ana')
      ben = new Person(harness, 'ben')
    })
    afterAll(() => harness.close())

    test('every entry says who acted', async () => {
      const id = await ana.starts(plan('acted', external('a')))
      await ben.does(id, { type: 'note', text: 'seen' })
      const entries = await ana.engine.ask({ type: 'entries', plan: id })
      expect(entries?.map(({ actor }) => actor)).toEqual(['ana', 'ana', 'ben'])
    })

    test('a gate waits in the inbox, and is answered as it was seen', async () => {
      const id = await ana.starts(plan('gated', gate('ok'), external('after', { needs: ['ok'] })))
      const waiting = (await ben.engine.ask({ type: 'inbox' })).items.filter(({ plan: each }) => each === id)
      expect(waiting).toHaveLength(1)
      const decide = { type: 'decide', task: name('ok'), verdict: 'approved', rationale: 'fine', unseen: true } as const
      expect((await ben.isRefused(id, { ...decide, hash: '0'.repeat(64) as never })).code).toBe('conflict')
      await ben.does(id, decide)
      expect((await ben.engine.ask({ type: 'next', plan: id }))?.ready.map(({ name }) => name)).toEqual(['after'])
      expect((await ben.isRefused(id, decide)).code).toBe('not-ready')
    })

    test('an approval may come with edits, which become a revision', async () => {
      const id = await ana.starts(plan('edited-gate', gate('ok'), external('after', { needs: ['ok'] })))
      const definition = plan('edited-gate', gate('ok'), external('after', { needs: ['ok'], title: 'as agreed' }))
      await ben.does(id, {
        type: 'decide',
        task: name('ok'),
        verdict: 'approved',
        rationale: 'so',
        unseen: true,
        edits: { definition },
      })
      const revised = await ana.engine.ask({ type: 'definition', plan: id })
      expect(revised?.revision).toBe(2)
      expect(revised?.definition).toEqual(definition)
    })

    test('a question in the middle of work is asked and answered', async () => {
      const id = await ana.starts(plan('asked', external('a')))
      await ana.does(id, {
        type: 'ask',
        text: 'which?',
        form: [{ name: 'which', type: 'choice', choices: ['x', 'y'] }],
      })
      const [question] = (await ben.engine.ask({ type: 'questions', plan: id }))!
      const bad = await ben.isRefused(id, { type: 'answer', id: question!.id, answers: { which: 'z' } })
      expect(bad).toMatchObject({ code: 'invalid', hint: expect.any(String) })
      await ben.does(id, { type: 'answer', id: question!.id, answers: { which: 'y' } })
      const [answered] = (await ana.engine.ask({ type: 'questions', plan: id, id: question!.id }))!
      expect(answered).toMatchObject({ answer: { by: 'ben', answers: { which: 'y' } } })
    })

    test('the kill switch stops everything until it is lifted', async () => {
      const id = await ana.starts(plan('halted', external('a')))
      expect(await ana.engine.killSwitch.halted()).toBeNull()
      const halted = await ben.engine.killSwitch.halt('fire')
      expect(halted).toMatchObject({ by: 'ben', reason: 'fire', paused: expect.arrayContaining(['halted']) })
      expect(await ana.engine.killSwitch.halted()).toMatchObject({ by: 'ben', reason: 'fire' })
      expect((await ana.isRefused(id, { type: 'resume' })).code).toBe('not-ready')
      // Whoever asks for work is told to stop, not how to go on over the heads of those who stopped it.
      const refused = await ana.isRefused(id, { type: 'claim' })
      expect([refused.code, refused.hint]).toEqual(['not-ready', expect.stringMatching(/^stop working/)])
      expect(refused.hint).not.toMatch(/lift\b.*(?:planfold|DELETE)|DELETE|--lift/)
      expect(await ana.engine.killSwitch.lift()).toMatchObject({ by: 'ben' })
      expect(await ana.engine.killSwitch.lift()).toBeNull()
      await ana.does(id, { type: 'resume' })
      // Without a reason, nothing is said about one.
      expect(await ben.engine.killSwitch.halt(null)).toMatchObject({ by: 'ben', reason: null })
      expect((await ana.isRefused(id, { type: 'claim' })).message).toBe('everything was halted by ben')
      expect(await ana.engine.ask({ type: 'summary', plan: id })).toMatchObject({ reason: 'halted by ben' })
      expect(await ben.engine.killSwitch.lift()).toMatchObject({ reason: null })
    })

    test('sessions and goals are small streams of their own', async () => {
      const { sessions, goals } = ana.engine
      const opened = await sessions.append('s', [{ type: 'session.opened', title: 'Talk' }])
      expect(opened).toEqual({ ok: true, id: 's', version: 1 })
      await sessions.append('s', [{ type: 'message.added', role: 'user', text: 'hi', data: { x: 1 } }])
      const stale = await sessions.append('s', [{ type: 'session.closed' }], { expectedVersion: 1 })
      expect(stale).toMatchObject({ ok: false, refusal: { code: 'conflict' } })
      expect(await sessions.get('s')).toMatchObject({ title: 'Talk', status: 'open', messages: 1, version: 2 })
      expect((await sessions.read('s', { after: 1 })).map(({ event, actor }) => [event.type, actor])).toEqual([
        ['message.added', 'ana'],
      ])
      expect(await sessions.get('nobody')).toBeNull()
      for (const id of ['g1', 'g2', 'g3'])
        await goals.append(id, [
          { type: 'goal.set', title: id, parent: id === 'g1' ? null : 'g1', priority: 5, criteria: ['c'] },
        ])
      const page = await goals.list({ where: { parent: 'g1' }, limit: 1 })
      const rest = await goals.list({ where: { parent: 'g1' }, limit: 1, cursor: page.next! })
      expect([...page.items, ...rest.items].map(({ id }) => id)).toEqual(['g3', 'g2'])
    })
  })
}
