// Claiming across all plans, now or as soon as there is something.

import { expect, onTestFinished, test, vi } from 'vitest'
import type { Actor } from '../domain/id.ts'
import { setup } from '../engine/rooms.fixture.ts'
import { external, plan, task } from '../testing/index.ts'
import { type ClaimRoom, claimTask, claimWhenReady } from './claim-task.ts'

const ANA = 'ana' as Actor
const BO = 'bo' as Actor

async function scene() {
  const { engine, rooms } = setup()
  const begin = async (definition: ReturnType<typeof plan>) => {
    const made = await engine.as(ANA).submit(null, { type: 'create', definition })
    if (!made.ok) throw new Error(made.refusal.message)
    await engine.as(ANA).submit(made.plan, { type: 'start' })
    return made.plan
  }
  const room = (name: Actor) => ({ engine: engine.as(name), now: () => rooms.clock.now() })
  return { engine, rooms, begin, room, ana: room(ANA), bo: room(BO) }
}
const held = (claimed: Awaited<ReturnType<typeof claimWhenReady>>) =>
  claimed?.ok === true ? `${claimed.name}/${claimed.claim?.task}` : claimed

test('the oldest plan first, each task once, and nothing that has the name of another on it', async () => {
  const { begin, ana, bo } = await scene()
  await begin(plan('first', external('a'), task('engine')))
  await begin(plan('second', external('b', { assignee: 'ana' }), external('c')))
  expect(held(await claimTask(bo, {}))).toBe('first/a')
  expect(held(await claimTask(bo, {}))).toBe('second/c')
  expect(await claimTask(bo, {})).toMatchObject({ ok: false, refusal: { code: 'not-ready' } })
  expect(held(await claimTask(ana, {}))).toBe('second/b')
})

test('in a plan the highest priority goes first, then the order of the document', async () => {
  const { begin, bo } = await scene()
  await begin(plan('first', external('a'), external('b', { priority: 5 }), external('c')))
  expect(held(await claimTask(bo, {}))).toBe('first/b')
  expect(held(await claimTask(bo, {}))).toBe('first/a')
  expect(held(await claimTask(bo, {}))).toBe('first/c')
})

test('of eight who ask at once, five get one of the five tasks each', async () => {
  const { begin, room } = await scene()
  await begin(plan('one', external('a'), external('b')))
  await begin(plan('two', external('c'), external('d'), external('e')))
  const all = await Promise.all(Array.from({ length: 8 }, (_, at) => claimTask(room(`agent-${at}` as Actor), {})))
  const got = all.filter(({ ok }) => ok).map(held)
  expect(got.sort()).toEqual(['one/a', 'one/b', 'two/c', 'two/d', 'two/e'])
})

test('who waits gets what becomes ready, and stops when told to', async () => {
  const { begin, engine, bo } = await scene()
  const stop = new AbortController()
  const waiting = claimWhenReady(bo, {}, stop.signal)
  const id = await begin(plan('later', external('a'), external('b', { needs: ['a'] })))
  expect(held(await waiting)).toBe('later/a')
  const next = claimWhenReady(bo, { plan: id }, stop.signal)
  await engine.as(BO).submit(id, { type: 'report', task: 'a' as never, result: { status: 'succeeded' } })
  expect(held(await next)).toBe('later/b')
  const none = claimWhenReady(bo, {}, stop.signal)
  stop.abort()
  expect(await none).toBeNull()
})

test('who waits for a plan that has ended is told so', async () => {
  const { begin, engine, bo } = await scene()
  const id = await begin(plan('short', external('a')))
  await engine.as(ANA).submit(id, { type: 'cancel' })
  expect(await claimWhenReady(bo, { plan: id }, new AbortController().signal)).toMatchObject({
    ok: false,
    refusal: { code: 'illegal-transition' },
  })
})

test('who waits for all plans passes over one that is paused', async () => {
  const { begin, engine, bo } = await scene()
  const id = await begin(plan('paused', external('a')))
  await engine.as(ANA).submit(id, { type: 'pause' })
  expect(await claimTask(bo, {})).toMatchObject({ ok: false, refusal: { code: 'not-ready' } })
  const waiting = claimWhenReady(bo, {}, new AbortController().signal)
  await begin(plan('later', external('b')))
  expect(held(await waiting)).toBe('later/b')
  const resumed = claimWhenReady(bo, {}, new AbortController().signal)
  await engine.as(ANA).submit(id, { type: 'resume' })
  expect(held(await resumed)).toBe('paused/a')
})

test('who waits for all plans passes over one that has used all of its attempts', async () => {
  const { begin, bo } = await scene()
  const worn = plan('worn', external('a'), external('b'))
  const id = await begin({ ...worn, policy: { limits: { attempts: 1 } } })
  expect(held(await claimTask(bo, {}))).toBe('worn/a')
  expect(await claimTask(bo, {})).toMatchObject({ ok: false, refusal: { code: 'limit' } })
  expect(await claimWhenReady(bo, { plan: id }, new AbortController().signal)).toMatchObject({
    ok: false,
    refusal: { code: 'limit' },
  })
  const waiting = claimWhenReady(bo, {}, new AbortController().signal)
  await begin(plan('later', external('c')))
  expect(held(await waiting)).toBe('later/c')
})

test('who waits looks at once when something is written after a quiet time, and rarely while much is written', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  let looks = 0
  let write = () => {}
  const engine = {
    caller: { actor: BO },
    ask: async ({ type }: { type: string }) => {
      if (type === 'position') looks++
      return type === 'position' ? 0 : { items: [], next: null }
    },
    async *watch() {
      await new Promise<void>(done => {
        write = done
      })
      yield {}
    },
  } as unknown as ClaimRoom['engine']
  const stop = new AbortController()
  const none = claimWhenReady({ engine, now: () => 0 }, {}, stop.signal)
  await vi.advanceTimersByTimeAsync(1_000)
  write()
  await vi.advanceTimersByTimeAsync(0)
  expect(looks).toBe(2)
  for (let ms = 0; ms < 1_000; ms += 10) {
    write()
    await vi.advanceTimersByTimeAsync(10)
  }
  expect(looks).toBe(2 + 5)
  // Told to stop between two looks, it stops, and leaves no timer behind.
  write()
  await vi.advanceTimersByTimeAsync(0)
  expect(vi.getTimerCount()).toBe(1)
  stop.abort()
  expect(await none).toBeNull()
  expect(vi.getTimerCount()).toBe(0)
})
