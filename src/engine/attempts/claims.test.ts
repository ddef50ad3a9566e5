// A claim whose lease has run out: it is its holder's until somebody notices, since nobody else can have the task meanwhile, and work
// that was done a little late is work that was done.

import { expect, test } from 'vitest'
import type { Actor, PlanId } from '../../domain/id.ts'
import { external, name } from '../../testing/index.ts'
import { setup } from '../rooms.fixture.ts'
import type { Rooms } from '../rooms.ts'
import { sweepClaims } from './lapsed-claims.ts'

const BO = 'bo' as Actor

/** Claimed, and run out; nobody has looked yet. */
async function lapsed() {
  const made = setup()
  const id = await made.plan(external('a'))
  const claimed = await made.engine.submit(id, { type: 'claim', leaseMs: 1 })
  const { token } = (claimed as { readonly claim: { readonly token: string } }).claim
  const { claims } = made.rooms.store
  await expect.poll(() => claims.lapsed(id), { interval: 1, timeout: 120_000 }).toHaveLength(1)
  const report = (of: PlanId) =>
    made.engine.submit(of, { type: 'report', task: name('a'), token, result: { status: 'succeeded' } })
  return { ...made, id, token, claims, report }
}

test('before anybody noticed, a report counts', async () => {
  const { id, report } = await lapsed()
  expect(await report(id)).toMatchObject({ ok: true })
})

test('before anybody noticed, a heartbeat keeps it', async () => {
  const { engine, id, token, claims, report } = await lapsed()
  const beat = await engine.submit(id, { type: 'heartbeat', task: name('a'), token, leaseMs: 60_000 })
  expect(beat).toMatchObject({ ok: true, claim: { expiresInMs: 60_000 } })
  expect(await claims.lapsed(id)).toEqual([])
  expect(await engine.as(BO).submit(id, { type: 'claim' })).toMatchObject({ ok: false })
  expect(await report(id)).toMatchObject({ ok: true })
})

test('once somebody has looked, its token is worth nothing, whether another has claimed it or not', async () => {
  for (const look of ['next', 'claim'] as const) {
    const { engine, id, token, report } = await lapsed()
    if (look === 'next') await engine.ask({ type: 'next', plan: id })
    else expect(await engine.as(BO).submit(id, { type: 'claim' })).toMatchObject({ ok: true })
    expect(await report(id)).toMatchObject({ ok: false, refusal: { code: 'conflict' } })
    const beat = await engine.submit(id, { type: 'heartbeat', task: name('a'), token })
    expect(beat).toMatchObject({ ok: false, refusal: { code: 'conflict' } })
  }
})

test('of sixty who claim at once without naming a task, each gets one of its own', async () => {
  const made = setup()
  const all = Array.from({ length: 60 }, (_, at) => `t${at}`)
  // Files are looked at for one task, so that a claim is bound to it.
  const id = await made.plan(...all.map(task => ({ ...external(task), write: [`${task}/**`] })))
  const claims = await Promise.all(all.map(who => made.engine.as(who as Actor).submit(id, { type: 'claim' })))
  const tasks = claims.map(claimed => (claimed.ok ? claimed.claim?.task : claimed.refusal.message))
  expect(tasks.toSorted()).toEqual(all.toSorted())
})

/** What somebody else does right before or right after the next entry is written. */
function meanwhile(
  rooms: Rooms,
  { before, after }: { before?: () => Promise<unknown>; after?: () => Promise<unknown> },
) {
  const update: Rooms['store']['update'] = async (...given) => {
    await before?.()
    const updated = await rooms.store.update(...given)
    await after?.()
    return updated
  }
  return { ...rooms, store: Object.assign(Object.create(rooms.store), { update }) as Rooms['store'] }
}

test('a sign of life that comes while a lapse is looked at keeps the claim', async () => {
  const { engine, rooms, id, token, report } = await lapsed()
  const beat = { type: 'heartbeat', task: name('a'), token, leaseMs: 60_000 } as const
  expect(await sweepClaims(meanwhile(rooms, { before: () => engine.submit(id, beat) }), id)).toBe(0)
  expect(await report(id)).toMatchObject({ ok: true })
})

test('who claims a task right after its lapse keeps a claim that lapses in its turn', async () => {
  const { engine, rooms, id, claims } = await lapsed()
  const next = () => engine.as(BO).submit(id, { type: 'claim', leaseMs: 1 })
  expect(await sweepClaims(meanwhile(rooms, { after: next }), id)).toBe(1)
  await expect.poll(() => claims.lapsed(id), { interval: 1, timeout: 120_000 }).toHaveLength(1)
})
