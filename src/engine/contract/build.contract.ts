// Making and changing plans.

import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { PlanName } from '../../domain/id.ts'
import { checkGraph } from '../../domain/plan-rules/graph-rules.ts'
import { planDefinition as anyDefinition } from '../../format/plan/definition.arbitrary.ts'
import { external, gate, name, plan, task } from '../../testing/index.ts'
import { type Harness, names, Person, type Setup } from './harness.contract.ts'

const RUNS = Number(process.env.PLANFOLD_CONTRACT_RUNS ?? 25)

export function buildingContract(what: string, setup: Setup): void {
  describe(`${what}: plans`, () => {
    let harness: Harness
    let ana: Person
    beforeAll(async () => {
      harness = await setup()
      ana = new Person(harness, 'ana')
    })
    afterAll(() => harness.close())

    test('a plan that was made is found by its name and by its id', async () => {
      const done = await ana.does(null, {
        type: 'create',
        definition: plan('made', external('a')),
        session: 's1',
        agent: 'bot',
      })
      expect(done).toMatchObject({ ok: true, name: 'made', version: 1 })
      expect(done.events.map(({ type }) => type)).toEqual(['plan.created'])
      const found = { plan: done.plan, name: 'made', task: null }
      expect(await ana.engine.ask({ type: 'find', reference: 'made' })).toEqual(found)
      expect(await ana.engine.ask({ type: 'find', reference: done.plan })).toEqual(found)
      expect(await ana.engine.ask({ type: 'summary', plan: 'made' })).toMatchObject({ session: 's1', status: 'draft' })
    })

    test('a name that is taken is refused, or numbered when asked for', async () => {
      await ana.creates(plan('taken', external('a')))
      expect(await ana.isRefused(null, { type: 'create', definition: plan('taken', external('a')) })).toMatchObject({
        code: 'exists',
        hint: expect.any(String),
      })
      const done = await ana.does(null, { type: 'create', definition: plan('taken', external('a')), taken: 'number' })
      expect(done.name).toBe('taken-2')
    })

    test('what is no graph is refused with the code of what is wrong', async () => {
      const circle = plan('circle', external('a', { needs: ['b'] }), external('b', { needs: ['a'] }))
      expect((await ana.isRefused(null, { type: 'create', definition: circle })).code).toBe('cycle')
      const dangling = plan('dangling', external('a', { needs: ['nobody'] }))
      expect((await ana.isRefused(null, { type: 'create', definition: dangling })).code).toBe('unknown-reference')
      const twice = plan('twice', external('a'), external('a'))
      expect((await ana.isRefused(null, { type: 'create', definition: twice })).code).toBe('duplicate')
    })

    test('a definition is the same behind the door as before it', async () => {
      let made = 0
      await fc.assert(
        fc.asyncProperty(anyDefinition, async drawn => {
          const definition = { ...drawn, name: `drawn-${++made}` as PlanName }
          const submitted = await ana.submit(null, { type: 'create', definition })
          // `sandbox: off` is for the person who runs the plan, and a token is none.
          const isTheirs = submitted.ok || !/`sandbox: off`/.test(submitted.refusal.message)
          const isSound = checkGraph(definition).length === 0 && isTheirs
          if (isSound && !submitted.ok) throw new Error(JSON.stringify(submitted.refusal))
          if (!submitted.ok) return
          expect((await ana.engine.ask({ type: 'definition', plan: submitted.plan }))?.definition).toEqual(definition)
        }),
        { numRuns: RUNS },
      )
    })

    test('a draft may begin without tasks, grows one by one, and is started when it has some', async () => {
      const id = await ana.creates(plan('grows'))
      expect((await ana.isRefused(id, { type: 'start' })).code).toBe('invalid')
      await ana.does(id, { type: 'add', tasks: [external('a', { inputs: { n: 1 } })] })
      const added = await ana.does(id, { type: 'add', tasks: [external('b', { needs: ['a'] }), external('c')] })
      expect(added.events.map(({ type }) => type)).toEqual(['task.added'])
      await ana.does(id, { type: 'start' })
      const board = await ana.engine.ask({ type: 'board', plan: id })
      expect(board?.map(({ name, status }) => [name, status])).toEqual([
        ['a', 'ready'],
        ['b', 'pending'],
        ['c', 'ready'],
      ])
      expect((await ana.isRefused(id, { type: 'add', tasks: [external('a')] })).code).toBe('duplicate')
      expect((await ana.isRefused(id, { type: 'add', tasks: [external('d', { needs: ['x'] })] })).code).toBe(
        'unknown-reference',
      )
    })

    test('a revision counts, and one made of an old definition is refused', async () => {
      const id = await ana.creates(plan('revised', external('a')))
      const definition = plan('revised', external('a'), gate('g', { needs: ['a'] }))
      await ana.does(id, { type: 'revise', definition, rationale: 'somebody must look' })
      const now = await ana.engine.ask({ type: 'definition', plan: id })
      expect({ revision: now?.revision, definition: now?.definition }).toEqual({ revision: 2, definition })
      const first = await ana.engine.ask({ type: 'definition', plan: id, revision: 1 })
      expect(first?.definition).toEqual(plan('revised', external('a')))
      const stale = await ana.isRefused(id, { type: 'revise', definition, rationale: 'late', expectedRevision: 1 })
      expect(stale.code).toBe('conflict')
    })

    test('tasks are changed field by field, removed, and put in another order', async () => {
      const id = await ana.creates(
        plan('edited', external('a', { title: 'A', priority: 3 }), external('b', { needs: ['a'] }), external('c')),
      )
      await ana.does(id, {
        type: 'change',
        task: name('a'),
        set: { title: 'Ah', priority: null, timeoutMs: 60_000, extra: { note: 'kept' } },
      })
      await ana.does(id, {
        type: 'change',
        task: name('c'),
        set: { action: { type: 'run', command: { argv: ['true'] } }, needs: names('b'), effect: 'pure' },
      })
      await ana.does(id, { type: 'change', task: name('c'), set: { action: { type: 'external' } } })
      expect((await ana.isRefused(id, { type: 'remove', tasks: names('a') })).code).toBe('not-ready')
      await ana.does(id, { type: 'reorder', order: names('c') })
      await ana.does(id, { type: 'remove', tasks: names('b', 'c') })
      const now = await ana.engine.ask({ type: 'definition', plan: id })
      expect(now?.definition.tasks).toEqual([
        external('a', { title: 'Ah', timeoutMs: 60_000, extra: { note: 'kept', sequence_order: 2 } }),
      ])
      expect((await ana.isRefused(id, { type: 'change', task: name('zz'), set: { title: 'x' } })).code).toBe(
        'not-found',
      )
    })

    test('a plan says other things of itself, and what is kept beside it is merged key by key', async () => {
      const id = await ana.creates({ ...plan('outlined', external('a')), title: 'Old', goal: 'g', extra: { kept: 1 } })
      await ana.does(id, { type: 'outline', set: { title: null, owner: 'bo', labels: ['x'] }, extra: { new: [2] } })
      await ana.does(id, { type: 'change', task: name('a'), set: {}, extra: { one: 1, two: 2 } })
      await ana.does(id, { type: 'change', task: name('a'), set: { title: 'A' }, extra: { one: null } })
      const now = await ana.engine.ask({ type: 'definition', plan: id })
      expect(now?.definition).toEqual({
        ...plan('outlined', external('a', { title: 'A', extra: { two: 2 } })),
        goal: 'g',
        owner: 'bo',
        labels: ['x'],
        extra: { kept: 1, new: [2] },
      })
      const stale = { type: 'outline', set: { title: 'Late' }, expectedRevision: 1 } as const
      expect((await ana.isRefused(id, stale)).code).toBe('conflict')
    })

    test('a field that only makes sense beside another is changed where that stands', async () => {
      const probe = { argv: ['true'] }
      const id = await ana.creates(plan('probed', task('a', { probe })))
      await ana.does(id, { type: 'change', task: name('a'), set: { effect: 'probed' } })
      const now = await ana.engine.ask({ type: 'definition', plan: id })
      expect(now?.definition.tasks).toEqual([task('a', { probe, effect: 'probed' })])
    })

    test('what a client keeps beside plan and task is merged, and never followed', async () => {
      const id = await ana.creates(plan('annotated', external('a')))
      await ana.does(id, { type: 'annotate', set: { current_step: 1, gone: true } })
      await ana.does(id, { type: 'annotate', set: { gone: null, deep: { x: [1, null] } } })
      await ana.does(id, { type: 'annotate', set: { mood: 'good' }, task: name('a') })
      expect((await ana.engine.ask({ type: 'summary', plan: id }))?.annotations).toEqual({
        current_step: 1,
        deep: { x: [1, null] },
      })
      expect((await ana.engine.ask({ type: 'task', plan: id, task: 'a' }))?.annotations).toEqual({ mood: 'good' })
      await ana.does(id, { type: 'evaluate', task: name('a'), score: 0.5, passed: true, data: { why: 'so' } })
      expect(await ana.engine.ask({ type: 'evaluations', plan: id, task: 'a' })).toMatchObject([
        { by: 'ana', score: 0.5, passed: true, data: { why: 'so' } },
      ])
    })

    test('a proposal takes effect when somebody agrees to it as they saw it', async () => {
      const id = await ana.starts(plan('proposed', external('a')))
      const definition = plan('proposed', external('a'), external('b'))
      await ana.does(id, { type: 'propose', definition, rationale: 'more to do' })
      const [card] = (await ana.engine.ask({ type: 'proposals', plan: id }))!
      const judged = { type: 'judge', id: card!.id, verdict: 'accepted', rationale: 'yes' } as const
      expect((await ana.isRefused(id, { ...judged, hash: '0'.repeat(64) as never })).code).toBe('conflict')
      await ana.does(id, { ...judged, hash: card!.hash })
      expect((await ana.engine.ask({ type: 'definition', plan: id }))?.definition).toEqual(definition)
    })
  })
}
