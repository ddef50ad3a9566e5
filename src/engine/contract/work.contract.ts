// Carrying plans out: claims, reports, the life of a plan, going back.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { heldTest } from '../../safety/sandbox/needs-sandbox.fixture.ts'
import { edit, external, name, plan, task } from '../../testing/index.ts'
import { type Harness, Person, type Setup } from './harness.contract.ts'

export function workContract(what: string, setup: Setup): void {
  describe(`${what}: work`, () => {
    let harness: Harness
    let ana: Person
    beforeAll(async () => {
      harness = await setup()
      ana = new Person(harness, 'ana')
    })
    afterAll(() => harness.close())

    test('whoever claims a task reports it with their token, and what needs it becomes ready', async () => {
      const id = await ana.starts(plan('claimed', external('a'), external('b', { needs: ['a'] })))
      const { claim } = await ana.does(id, { type: 'claim' })
      expect(claim).toEqual({ task: 'a', token: expect.any(String), expiresInMs: expect.any(Number) })
      const beat = await ana.does(id, { type: 'heartbeat', task: name('a'), token: claim!.token, leaseMs: 5_000 })
      expect(beat.claim?.expiresInMs).toBe(5_000)
      const wrong = { type: 'report', task: name('a'), token: 'wrong', result: { status: 'succeeded' } } as const
      expect((await ana.isRefused(id, wrong)).code).toBe('conflict')
      await ana.does(id, {
        ...wrong,
        token: claim!.token,
        result: { status: 'succeeded', outputs: { found: [1, 'x'] } },
      })
      const next = await ana.engine.ask({ type: 'next', plan: id, explain: true })
      expect(next?.ready.map(card => card.name)).toEqual(['b'])
      expect((await ana.engine.ask({ type: 'task', plan: id, task: 'a' }))?.outputs).toEqual({ found: [1, 'x'] })
    })

    test('a claim that must be alone is refused while another task runs', async () => {
      const id = await ana.starts(plan('alone', external('a'), external('b')))
      await ana.does(id, { type: 'claim', task: name('a') })
      expect((await ana.isRefused(id, { type: 'claim', task: name('b'), alone: true })).code).toBe('not-ready')
      await ana.does(id, { type: 'claim', task: name('b') })
    })

    test('a failure fails the plan; a retry takes it up again', async () => {
      const id = await ana.starts(plan('failing', external('a')))
      const { claim } = await ana.does(id, { type: 'claim' })
      const failure = { class: 'logic', message: 'it is broken', retryable: false } as const
      await ana.does(id, {
        type: 'report',
        task: name('a'),
        token: claim!.token,
        result: { status: 'failed', failure },
      })
      expect((await ana.engine.ask({ type: 'summary', plan: id }))?.status).toBe('failed')
      await ana.does(id, { type: 'retry', task: name('a'), reason: 'mended' })
      await ana.carriesOut(id, 'a')
      expect((await ana.engine.ask({ type: 'summary', plan: id }))?.status).toBe('completed')
    })

    test('what cannot be done as things stand is refused with what can', async () => {
      const id = await ana.creates(plan('life', external('a')))
      const refusal = await ana.isRefused(id, { type: 'pause' })
      expect(refusal).toMatchObject({ code: 'illegal-transition', allowed: expect.any(Array) })
      await ana.does(id, { type: 'start' })
      await ana.does(id, { type: 'pause', reason: 'lunch' })
      expect((await ana.isRefused(id, { type: 'claim' })).code).not.toBe('invalid')
      await ana.does(id, { type: 'resume' })
      await ana.does(id, { type: 'note', text: 'hello' })
      await ana.does(id, { type: 'skip', task: name('a'), reason: 'not needed' })
      expect((await ana.isRefused(id, { type: 'cancel' })).code).toBe('illegal-transition')
      await ana.does(id, { type: 'archive' })
    })

    test('a client has the last word about a plan, unless a required task failed', async () => {
      const id = await ana.starts(plan('finished', external('a'), external('b')))
      await ana.carriesOut(id, 'a')
      await ana.does(id, { type: 'finish', as: 'completed', reason: 'good enough' })
      const board = await ana.engine.ask({ type: 'board', plan: id })
      expect(board?.map(({ status }) => status)).toEqual(['completed', 'skipped'])
      expect((await ana.engine.ask({ type: 'summary', plan: id }))?.status).toBe('completed')
    })

    heldTest(
      'what the engine carries out is seen through every door: output, attempts, checkpoints, stored bytes',
      async () => {
        const speak = task('speak', {
          action: { type: 'run', command: { argv: ['echo', 'hello'] } },
          needs: ['write'],
          effect: 'pure',
        })
        const id = await ana.starts(plan('driven', edit('write', 'out.txt', { write: ['out.txt'] }), speak))
        const driven = await harness.worker.drive(id, { stop: new AbortController().signal })
        expect(driven).toEqual({ status: 'rested', rest: 'ended' })
        expect((await ana.engine.ask({ type: 'summary', plan: id }))?.status).toBe('completed')
        expect((await ana.engine.ask({ type: 'logs', plan: id }))?.map(({ text }) => text).join('')).toContain('hello')
        const printed = { type: 'linesBefore', plan: id, task: 'speak' } as const
        const lines = await Promise.all(
          [0, Number.MAX_SAFE_INTEGER].map(before => ana.engine.ask({ ...printed, before })),
        )
        expect(lines[0]).toBe(0)
        expect(lines[1]).toBeGreaterThan(0)
        const attempts = await ana.engine.ask({ type: 'attempts', plan: id })
        expect(attempts.items.map(row => [row.task, row.status]).sort()).toEqual([
          ['speak', 'succeeded'],
          ['write', 'succeeded'],
        ])
        const [entry] = (await ana.engine.ask({ type: 'entries', plan: id }))!.filter(({ events }) =>
          events.some(({ type }) => type === 'attempt.succeeded'),
        )
        const ended = entry?.events.find(event => event.type === 'attempt.succeeded')
        const changes = ended?.type === 'attempt.succeeded' ? (ended.result.wrote?.changes ?? null) : null
        const bytes = await ana.engine.ask({ type: 'blob', sha256: changes! })
        expect(bytes).toBeInstanceOf(Uint8Array)
        const stored = await harness.local.ask({ type: 'blob', sha256: changes! })
        expect(Array.from(bytes!)).toEqual(Array.from(stored!))
        expect(await ana.engine.ask({ type: 'blob', sha256: 'f'.repeat(64) as never })).toBeNull()
      },
    )

    test('a plan goes back to where it stood, and forward again', async () => {
      const id = await ana.starts(plan('back', edit('one', 'one.txt', { write: ['one.txt'] })))
      await harness.worker.drive(id, { stop: new AbortController().signal })
      await ana.does(id, { type: 'checkpoint', name: 'here' })
      const preview = await ana.engine.ask({ type: 'rollbackPreview', plan: id })
      expect(preview).toMatchObject({ ok: true, files: [{ path: 'one.txt', will: 'delete' }] })
      await ana.does(id, { type: 'rollback' })
      await harness.worker.drive(id, { stop: new AbortController().signal })
      expect((await ana.engine.ask({ type: 'task', plan: id, task: 'one' }))?.status).toBe('ready')
      await ana.does(id, { type: 'undo' })
      await harness.worker.drive(id, { stop: new AbortController().signal })
      expect((await ana.engine.ask({ type: 'task', plan: id, task: 'one' }))?.status).toBe('completed')
      const forked = await ana.does(id, { type: 'fork', from: 'one', name: 'other' })
      expect(forked.fork).toMatchObject({ ended: ['one'] })
      expect(await ana.engine.ask({ type: 'compare', plan: id, with: 'other' })).not.toBeNull()
    })
  })
}
