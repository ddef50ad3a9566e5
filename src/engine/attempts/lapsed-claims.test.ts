// What an agent that gives no sign of life leaves behind: found when its claim is ended, told to whoever claims the task next, undone with
// the task. With real files, in a task that declares what it writes and in one that does not.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Actor } from '../../domain/id.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { external, name } from '../../testing/index.ts'
import { realRooms } from '../rollback/perform-rollback.fixture.ts'

const BOT = 'bot' as Actor
const BO = 'bo' as Actor

let place: Awaited<ReturnType<typeof realRooms>>
beforeEach(async () => {
  place = await realRooms()
  put('a.txt', 'before\n')
  put('b.txt', 'before\n')
})
afterEach(() => place.close())

const put = (file: string, text: string) => writeFileSync(join(place.root, file), text)
const texts = () => ['a.txt', 'b.txt'].map(file => readFileSync(join(place.root, file), 'utf8'))

/** Claimed by an agent that changes a file and is never heard of again. */
async function lapsed(task: Partial<TaskDefinition>) {
  await place.run([{ ...external('t'), ...task } as TaskDefinition])
  const claimed = await place.engine.as(BOT).submit('plan', { type: 'claim', leaseMs: 1 })
  if (!claimed.ok) throw new Error(claimed.refusal.message)
  put('a.txt', 'half')
  const { claims } = place.rooms.store
  await expect.poll(() => claims.lapsed(claimed.plan), { interval: 1, timeout: 120_000 }).toHaveLength(1)
}

const reason = 'its claim expired (no heartbeat); changed since the claim: a.txt'

describe.each<[string, Partial<TaskDefinition>]>([
  ['with a scope', { write: ['*.txt'] }],
  ['without a scope', {}],
])('in a task %s', (_, task) => {
  test('is told to whoever claims it next, and is undone with the task', async () => {
    await lapsed(task)
    const next = await place.engine.ask({ type: 'next', plan: 'plan' })
    expect(next?.ready).toMatchObject([{ name: 't', status: 'ready', reason }])
    const bo = place.engine.as(BO)
    await bo.submit('plan', { type: 'claim' })
    const told = await bo.ask({ type: 'briefing', plan: 'plan', task: 't' })
    expect(told?.earlier).toMatchObject([{ by: 'bot', how: 'lost', why: reason, left: { paths: ['a.txt'], more: 0 } }])
    put('b.txt', 'whole\n')
    await bo.submit('plan', { type: 'report', task: name('t'), result: { status: 'succeeded' } })

    const rolled = await place.submit({ type: 'rollback', tasks: [name('t')] })
    expect(rolled).toMatchObject({ ok: true })
    await place.drive()
    expect(texts()).toEqual(['before\n', 'before\n'])
    expect((await place.rooms.store.check({ readData: true })).faults).toEqual([])
  })

  test('is undone alone, when nobody has noticed before', async () => {
    await lapsed(task)
    const preview = await place.engine.ask({
      type: 'rollbackPreview',
      includeUnclaimed: true,
      plan: 'plan',
      tasks: [name('t')],
    })
    expect(preview).toMatchObject({ ok: true, files: [{ path: 'a.txt', will: 'restore' }] })
    expect(JSON.stringify(preview)).not.toContain('edited since')
    expect(await place.submit({ type: 'rollback', tasks: [name('t')] })).toMatchObject({ ok: true })
    await place.drive()
    expect(texts()).toEqual(['before\n', 'before\n'])
  })

  test('is not undone over what somebody has written there since', async () => {
    await lapsed(task)
    await place.engine.ask({ type: 'next', plan: 'plan' })
    put('a.txt', 'mine\n')
    expect(await place.submit({ type: 'rollback', tasks: [name('t')] })).toMatchObject({
      ok: false,
      refusal: { code: 'conflict' },
    })
    expect(texts()).toEqual(['mine\n', 'before\n'])
  })
})

test('a claim is given back by anybody, with what was changed since, and no second time', async () => {
  await place.run([{ ...external('t'), write: ['*.txt'] } as TaskDefinition])
  await place.engine.as(BOT).submit('plan', { type: 'claim' })
  put('a.txt', 'half')
  const skip = { type: 'skip', task: name('t'), reason: 'no' } as const
  expect(await place.submit(skip)).toMatchObject({ ok: false, refusal: { message: "task 't' is claimed by bot" } })
  const release = { type: 'release', task: name('t'), reason: 'it died' } as const
  const why = 'released by ana@example.com: it died; changed since the claim: a.txt'
  expect(await place.submit(release)).toMatchObject({ ok: true, events: [{ type: 'attempt.lost', reason: why }] })
  expect(await place.submit(release)).toMatchObject({ ok: false, refusal: { code: 'not-ready' } })
  const told = await place.engine.ask({ type: 'briefing', plan: 'plan', task: 't' })
  expect(told?.earlier).toMatchObject([{ by: 'bot', how: 'lost', why, left: { paths: ['a.txt'], more: 0 } }])
  expect(await place.submit(skip)).toMatchObject({ ok: true })
})
