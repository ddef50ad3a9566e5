// The usual calls by noun, with plain text and plain objects: what they send and answer is what the service says it is.

import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from 'vitest'
import type * as claims from '../format/wire/claims.ts'
import type * as forks from '../format/wire/forks.ts'
import type * as gates from '../format/wire/people.ts'
import type * as plans from '../format/wire/plans.ts'
import type * as revisions from '../format/wire/revisions.ts'
import type * as tasks from '../format/wire/tasks.ts'
import type * as views from '../format/wire/views.ts'
import type { ReadBy } from '../format/wire/wire.ts'
import { type Served, served } from '../server/server.fixture.ts'
import type { CreateOptions, ForkWanted, RedraftWanted, ReportSaid, WorkerWanted } from './bodies.ts'
import {
  type Answered,
  type AttemptWanted,
  type CheckpointsWanted,
  type ClaimWanted,
  connect,
  type Decision,
  type PlanDocument,
  type PlansWanted,
  type RemoteEngine,
  type TasksWanted,
} from './client.ts'
import { byName } from './named.fixture.ts'

let service: Served
let client: RemoteEngine
beforeAll(async () => {
  service = await served({ guard: byName() })
  client = connect({ url: service.url, token: 'ana' })
})
afterAll(async () => {
  await client.close()
  await service.close()
})

function must<T>(answered: Answered<T>): T {
  if (!answered.ok) throw new Error(answered.refusal.message)
  return answered.body
}

test('what the client sends is what the service hears', () => {
  expectTypeOf<keyof ClaimWanted>().toEqualTypeOf<keyof ReadBy<typeof claims.claimNextBody>>()
  expectTypeOf<ClaimWanted>().toExtend<Sent<typeof claims.claimNextBody>>()
  expectTypeOf<keyof ReportSaid>().toExtend<keyof ReadBy<typeof claims.reportBody>>()
  // Whatever JSON the outputs are, here they are read only.
  expectTypeOf<Omit<ReportSaid, 'outputs'>>().toExtend<Omit<Sent<typeof claims.reportBody>, 'outputs'>>()
  expectTypeOf<Decision>().toExtend<Sent<typeof gates.decideBody>>()
  expectTypeOf<keyof ForkWanted>().toEqualTypeOf<keyof ReadBy<typeof forks.forkBody>>()
  expectTypeOf<keyof CreateOptions>().toExtend<keyof ReadBy<typeof plans.makeQuery>>()
  expectTypeOf<keyof PlansWanted>().toExtend<keyof ReadBy<typeof plans.listQuery>>()
  expectTypeOf<keyof TasksWanted>().toExtend<keyof ReadBy<typeof tasks.listQuery>>()
  expectTypeOf<AttemptWanted>().toExtend<Sent<typeof views.taskPageQuery>>()
  expectTypeOf<CheckpointsWanted>().toExtend<Sent<typeof forks.diffQuery>>()
  expectTypeOf<WorkerWanted>().toExtend<Sent<typeof claims.workerBody>>()
  expectTypeOf<keyof RedraftWanted>().toEqualTypeOf<keyof ReadBy<typeof revisions.redraftBody>>()
  expectTypeOf<keyof RedraftWanted['comments'][number]>().toEqualTypeOf<
    keyof ReadBy<typeof revisions.redraftBody>['comments'][number]
  >()
})
/** Lists are read only here. */
type Sent<S> = { readonly [K in keyof ReadBy<S>]: ReadBy<S>[K] | ListOf<ReadBy<S>[K]> }
type ListOf<T> = T extends readonly (infer One)[] ? readonly One[] : T

describe('by noun', () => {
  test('a plan is made from a plain object, worked on and approved', async () => {
    const document: PlanDocument = {
      name: 'plain',
      tasks: [
        { id: 'a', title: 'the first', inputs: { n: 1 } },
        { id: 'g', needs: ['a'], gate: { type: 'approval' } },
      ],
    }
    const made = must(await client.plans.create(document, { start: true, agent_id: 'ana' }))
    expect(made).toMatchObject({ name: 'plain', state: 'active', agent_id: 'ana' })
    expect(must(await client.plans.check(document))).toMatchObject({ status: 'dry_run', name_taken: true, tasks: 2 })
    expect(must(await client.plans.list({ waiting: true }))).toMatchObject({ items: [], total: 0 })
    expect(must(await client.plans.get('plain')).id).toBe(made.id)
    expect(must(await client.plans.list({ agent_id: 'ana', limit: 5 })).items.map(({ name }) => name)).toEqual([
      'plain',
    ])

    const claimed = must(await client.tasks.claim({ plan_id: made.id }))!
    expect(claimed).toMatchObject({ task: { name: 'a' }, briefing: { inputs: { n: 1 } } })
    const { token } = claimed
    expect(must(await client.tasks.heartbeat('plain', 'a', { token, lease_seconds: 90 })).expires_in_seconds).toBe(90)
    const done = must(await client.tasks.report('plain', 'a', { status: 'completed', token, outputs: { m: 2 } }))
    expect(done).toMatchObject({ task: { state: 'completed' }, plan_id: made.id })
    expect(must(await client.tasks.get('plain', 'a')).output_data).toEqual({ m: 2 })
    expect(must(await client.tasks.list({ plan_id: 'plain', status: 'completed' })).items).toHaveLength(1)
    // Nothing else is ready.
    expect(must(await client.tasks.claim({ plan_id: made.id }))).toBeNull()

    const shown = must(await client.tasks.show('plain', 'a', { attempt: 1 }))
    expect(shown).toMatchObject({ plan_id: made.id, task: { name: 'a' }, attempts: [{ status: 'succeeded' }] })
    const asked = must(await client.gates.show('plain', 'g'))
    expect(asked).toMatchObject({ gate: 'g', open: true, agree: { count: 1 } })
    const state = must(await client.plans.state('plain'))
    expect([state.plan_id, state.version > 1, state.definition.name]).toEqual([made.id, true, 'plain'])
    expect(must(await client.checkpoints.diff('plain', { from: 'a' }))).toMatchObject({ from: 'a', to: null })
    expect(await client.checkpoints.diff('plain', { from: 'nowhere' })).toMatchObject({ ok: false })

    const [gate] = must(await client.gates.list('plain')).items
    expect(gate).toMatchObject({ gate: 'g', asks: 'approval' })
    expect(must(await client.gates.approve('plain', 'g', { rationale: 'good', hash: gate!.hash! }))).toMatchObject({
      verdict: 'approved',
      by: 'ana',
      state: 'completed',
    })
    expect(must(await client.plans.fork('plain', { from: 'a' }))).toMatchObject({
      name: 'plain-fork',
      origin: made.id,
      fork: { ended: ['a'], open: ['g'] },
    })
    expect(must(await client.plans.budget('plain'))).toMatchObject({
      kept: false,
      blocks: [],
      forecast: { samples: expect.any(Number) },
    })
    expect((await client.plans.addBudget('plain', { cost: '1 USD' })).ok).toBe(false)
    const beside = must(await client.plans.compare('plain', 'plain-fork'))
    expect([beside.a.name, beside.b.name, beside.tasks.map(({ task }) => task)]).toEqual([
      'plain',
      'plain-fork',
      ['a', 'g'],
    ])
  })

  test('a draft is drafted again by what is said about it, and nothing is written', async () => {
    const made = must(
      await client.plans.create('planfold: 1\nname: drafted\ngoal: Write notes.md\ntasks:\n  - id: a\n'),
    )
    const next = must(await client.plans.redraft('drafted', { comments: [{ text: 'keep it short' }] }))
    expect(next).toMatchObject({ plan_id: made.id, revision: 1, rationale: 'drafted again: keep it short' })
    expect(must(await client.plans.get('drafted')).revision).toBe(1)
    expect(await client.plans.redraft('plain', { comments: [{ text: 'else' }] })).toMatchObject({
      ok: false,
      refusal: { message: expect.stringContaining('only a draft') },
    })
  })

  test('text of any format is read as it is, and started later', async () => {
    const made = must(await client.plans.create('planfold: 1\nname: texted\ntasks:\n  - id: a\n', { name: 'said' }))
    expect(made).toMatchObject({ name: 'said', state: 'draft' })
    expect(must(await client.plans.execute('said'))).toMatchObject({ plan_id: made.id })
  })

  test('the same key makes one plan', async () => {
    const make = () => client.plans.create({ name: 'keyed', tasks: [{ id: 'a' }] }, { once: 'k-1' })
    const [first, second] = [must(await make()), must(await make())]
    expect([first.replayed, second.replayed, second.id]).toEqual([undefined, true, first.id])
  })

  test('a no is a value with a hint: of a document, of what is not there, of what cannot be', async () => {
    const wrong = await client.plans.create({ name: 'wrong', tasks: [{ id: 'a', need: ['b'] }] })
    expect(wrong).toMatchObject({ ok: false, refusal: { code: 'invalid', hint: expect.stringContaining('needs') } })
    expect(await client.plans.get('nobody')).toMatchObject({ ok: false, refusal: { code: 'not-found' } })
    expect(await client.gates.approve('plain', 'g')).toMatchObject({ ok: false, refusal: { hint: expect.any(String) } })
  })
})

describe('the door takes plain text where it has names', () => {
  test('orders and definitions as they are written', async () => {
    const definition = { name: 'x', tasks: [{ id: 'a', action: { type: 'external' } }] } as const
    const made = await client.submit(null, { type: 'create', definition })
    if (!made.ok) throw new Error(made.refusal.message)
    expect(await client.submit('x', { type: 'start' })).toMatchObject({ ok: true })
    expect(await client.submit('x', { type: 'skip', task: 'a', reason: 'x' })).toMatchObject({ ok: true })
    const seen: string[] = []
    // Without a signal: whoever stops iterating ends it.
    for await (const { events } of client.watch({ after: 0, plan: made.plan })) {
      seen.push(...events.map(({ type }) => type))
      if (seen.includes('plan.finished')) break
    }
    expect(seen).toContain('task.skipped')
  })

  test('what is no definition is refused, not thrown', async () => {
    const loop: { self?: unknown } = {}
    loop.self = loop
    const malformed = [{ planfold: 1, name: 'x', tasks: [{ id: 'a' }] }, {}, null, { name: 'x', tasks: 'a' }, 7, loop]
    for (const definition of malformed) {
      const answer = await client.submit(null, { type: 'create', definition } as never)
      expect(answer).toMatchObject({ ok: false, refusal: { code: 'invalid', hint: expect.any(String) } })
    }
    expect(await client.submit('x', null as never)).toMatchObject({ ok: false, refusal: { code: 'invalid' } })
    expect(await client.submit('x', { type: 'jump' } as never)).toMatchObject({
      ok: false,
      refusal: { code: 'invalid' },
    })
  })

  test('a refusal tells everything that is wrong, by noun and through the door', async () => {
    const tasks = [
      { id: 'a', needs: 'nobody', timeout: 'soon' },
      { id: 'b', retry: { attempts: 'many' } },
      { run: 'x' },
    ]
    const byNoun = await client.plans.create({ name: 'wrong', tasks } as never)
    if (byNoun.ok) throw new Error('made')
    const paths = (byNoun.refusal.faults ?? []).map(({ path }) => path)
    expect(paths.length).toBeGreaterThanOrEqual(3)
    expect(byNoun.refusal.faults).toContainEqual(expect.objectContaining({ message: expect.any(String) }))
    const through = await client.submit('x', { type: 'skip', task: '', reason: 7 } as never)
    if (through.ok) throw new Error('skipped')
    expect(through.refusal.faults?.map(({ path }) => path).sort()).toEqual(['order.reason', 'order.task'])
    const listed = await client.plans.list({ limit: 0, status: 'unheard' })
    if (listed.ok) throw new Error('listed')
    expect(listed.refusal.faults?.map(({ path }) => path).sort()).toEqual(['limit', 'status'])
  })

  test('a refusal speaks of what a client has, and of the plan that is missing', async () => {
    const unknown = await client.submit('nobody', { type: 'start' })
    expect(unknown).toMatchObject({ refusal: { code: 'not-found', hint: expect.stringContaining('GET /plans') } })
    for (const nobody of [null, ''])
      expect(await client.submit(nobody, { type: 'start' })).toMatchObject({
        ok: false,
        refusal: { code: 'invalid', hint: expect.not.stringContaining('planfold ') },
      })
    const local = await service.composed.engine.submit(null, { type: 'start' })
    expect(local).toMatchObject({ refusal: { message: "'start' is about a plan, and none is named" } })
  })
})
