// Steps: sums over attempts.

import { describe, expect, it } from 'vitest'
import type { PlanId } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { Result } from '../../domain/result.ts'
import { external, name, numberedSha, plan, START, task } from '../../testing/index.ts'
import { BadCursor, type StepsQuery, type StepsRow, type Store } from '../store.ts'
import { ana, given, must, ok, one, type Setup } from './harness.contract.ts'

const HOUR_MS = 60 * 60_000

/** Starts the next task and settles it. */
async function settle(store: Store, id: PlanId, result: Result | null): Promise<void> {
  const { state } = await must(store, id, { type: 'turn' })
  const [running] = state.running
  if (running === undefined) throw new Error('nothing runs')
  const { visit, attempt, definition } = running
  if (result === null) await must(store, id, { type: 'recover', reason: 'its owner died' })
  else await must(store, id, { type: 'turn', settled: [{ task: definition.id, visit, attempt, result }] })
}

const worked = (durationMs: number, more: Partial<Result> = {}): Result =>
  ({ status: 'succeeded', durationMs, ...more }) as Result
const broke = (durationMs: number): Result => ({
  status: 'failed',
  durationMs,
  failure: { class: 'transient', message: 'no', retryable: true },
})

async function reported(store: Store, id: PlanId, to: string, by: string, outputs: JsonObject): Promise<void> {
  const token = `${to}-${by}`
  await must(store, id, { type: 'claim', task: name(to), token, by })
  await must(store, id, { type: 'report', task: name(to), token, by, result: { status: 'succeeded', outputs } })
}

const sums = async (store: Store, query: StepsQuery): Promise<readonly StepsRow[]> => {
  const { items, complete } = await store.steps(query)
  expect(complete).toBe(true)
  return items
}

export function stepsContract(what: string, setup: Setup): void {
  describe(`${what}: steps`, () => {
    it('regression 29: succeeded, failed and lost are counted in one vocabulary, and so is the rate of success', async () => {
      const { store, clock } = await one(setup)
      const retry = { attempts: 5, backoffMs: { min: 1, max: 1 } } as never
      const id = await given(store, plan('first', task('a', { kind: 'build', effect: 'pure', retry })))
      await must(store, id, START)
      await settle(store, id, broke(10))
      clock.pass(60_000)
      await settle(store, id, null)
      clock.pass(60_000)
      await settle(
        store,
        id,
        worked(30, { log: { sha256: numberedSha(1), bytes: 123 }, wrote: { changes: null, paths: 4 } }),
      )
      const row = {
        attempts: 3,
        succeeded: 1,
        failed: 1,
        lost: 1,
        retries: 2,
        successRate: 1 / 3,
        durationMs: { sum: 40, p50: 10, p95: 30, max: 30 },
        files: 4,
        bytes: 123,
        tokens: null,
        cost: null,
        tools: [],
      }
      expect(await sums(store, { by: 'plan' })).toEqual([{ group: id, ...row }])
      expect(await sums(store, { by: 'kind' })).toEqual([{ group: 'build', ...row }])
      expect(await sums(store, { by: 'capability' })).toEqual([{ group: 'run', ...row }])
      expect(await sums(store, { by: 'agent' })).toEqual([{ group: 'engine', ...row }])
      expect(await sums(store, { by: 'day' })).toEqual([{ group: '2026-01-01T00:00:00.000Z', ...row }])
      // The independent sums over attempt rows agree.
      const [metric] = await store.metrics(id)
      expect(metric).toMatchObject({ attempts: 3, succeeded: 1, failed: 1, lost: 1, retries: 2 })
      expect((await store.check()).faults).toEqual([])
    })

    it('what agents report is summed by agent and capability, when it is what it says', async () => {
      const { store } = await one(setup)
      const tasks = ['a', 'b', 'c', 'd'].map(id =>
        external(id, { capabilities: id === 'd' ? ['search'] : ['search', 'write'] }),
      )
      const id = await given(store, plan('first', ...tasks))
      await must(store, id, START)
      await reported(store, id, 'a', 'ann', {
        usage: { input_tokens: 100, output_tokens: 20, cost_usd: 0.5 },
        tools: ['grep', 'edit', 'grep'],
      })
      await reported(store, id, 'b', 'ann', {
        metrics: { tokens: 50, cost: 0.25 },
        tools_used: [{ name: 'grep' }, 7, null, ''],
      })
      await reported(store, id, 'c', 'ben', {
        usage: { tokens: 'many', input_tokens: -1, cost: null, output_tokens: Number.POSITIVE_INFINITY },
        tools: 'hammer',
      })
      await reported(store, id, 'd', 'ben', {
        usage: [1],
        metrics: 7,
        tools: Array.from({ length: 80 }, (_, at) => `${at} ${'x'.repeat(200)}`),
      })
      const [ann, ben] = await sums(store, { by: 'agent' })
      expect(ann).toMatchObject({
        group: 'ann',
        attempts: 2,
        successRate: 1,
        tokens: { input: 100, output: 20, total: 170 },
        cost: 0.75,
        tools: [
          { name: 'grep', steps: 2 },
          { name: 'edit', steps: 1 },
        ],
      })
      expect(ben).toMatchObject({ group: 'ben', attempts: 2, tokens: null, cost: null })
      expect(ben!.tools).toHaveLength(50)
      expect(Math.max(...ben!.tools.map(tool => tool.name.length))).toBe(100)
      const capabilities = await sums(store, { by: 'capability' })
      expect(capabilities.map(row => [row.group, row.attempts])).toEqual([
        ['search', 4],
        ['write', 3],
      ])
      expect(await sums(store, { by: 'agent', capability: 'write' })).toMatchObject([
        { group: 'ann', attempts: 2 },
        { group: 'ben', attempts: 1 },
      ])
      expect(await sums(store, { by: 'capability', capability: 'write' })).toMatchObject([
        { group: 'write', attempts: 3 },
      ])
      expect(await sums(store, { by: 'kind', agent: 'ben' })).toMatchObject([{ group: null, attempts: 2 }])
    })

    it('are asked for by plan, kind and time, and paged by group', async () => {
      const { store, clock } = await one(setup)
      const start = Math.floor(clock.wall / HOUR_MS) * HOUR_MS
      const ids: PlanId[] = []
      for (let number = 1; number <= 5; number++) {
        const id = await given(
          store,
          plan(`plan-${number}`, task('a', { kind: number % 2 === 0 ? 'even' : 'odd' })),
          number,
        )
        ids.push(id)
        await must(store, id, START)
        clock.wall = start + number * HOUR_MS
        await settle(store, id, worked(number))
      }
      const hours = await sums(store, { by: 'hour' })
      expect(hours.map(row => Date.parse(row.group!))).toEqual([1, 2, 3, 4, 5].map(each => start + each * HOUR_MS))
      expect(await sums(store, { by: 'kind' })).toMatchObject([
        { group: 'even', attempts: 2, durationMs: { sum: 6 } },
        { group: 'odd', attempts: 3, durationMs: { sum: 9 } },
      ])
      const from = { since: start + 2 * HOUR_MS, until: start + 4 * HOUR_MS }
      expect(await sums(store, { by: 'kind', ...from })).toMatchObject([
        { group: 'even', durationMs: { sum: 2 } },
        { group: 'odd', durationMs: { sum: 3 } },
      ])
      expect(await sums(store, { by: 'plan', plan: ids[2]!, kind: 'odd' })).toMatchObject([{ group: ids[2] }])
      expect(await sums(store, { by: 'plan', plan: ids[2]!, kind: 'even' })).toEqual([])
      expect(await sums(store, { by: 'plan', plan: 'nobody' as PlanId })).toEqual([])
      const first = await store.steps({ by: 'hour', limit: 2 })
      const second = await store.steps({ by: 'hour', limit: 2, cursor: first.next! })
      const third = await store.steps({ by: 'hour', limit: 2, cursor: second.next! })
      expect([...first.items, ...second.items, ...third.items]).toEqual(hours)
      expect(third.next).toBeNull()
      await expect(store.steps({ by: 'hour', cursor: 'x' })).rejects.toThrow(BadCursor)
    })

    it('caught up in pieces or all at once, they are the same', async () => {
      const pieces = await one(setup)
      const whole = await one(setup)
      for (const { store } of [pieces, whole]) {
        const id = await given(
          store,
          plan('first', ...Array.from({ length: 6 }, (_, at) => task(`t${at}`, { kind: `k${at % 2}` }))),
        )
        await must(store, id, START)
        let { state } = await must(store, id, { type: 'turn' })
        while (state.running.size > 0) {
          if (store === pieces.store) await store.steps({ by: 'kind' })
          const [running] = state.running
          const { visit, attempt, definition } = running!
          const settled = [{ task: definition.id, visit, attempt, result: worked(attempt) }]
          state = ok(await store.update(id, { type: 'turn', settled }, { actor: ana })).state
        }
      }
      expect(await sums(pieces.store, { by: 'kind' })).toEqual(await sums(whole.store, { by: 'kind' }))
      expect((await pieces.store.check()).faults).toEqual([])
    })
  })
}
