// A store with something of everything in it, and what it shows.

import type { PlanId } from '../../domain/id.ts'
import { external, name, numberedPlanId, numberedSha, plan, START, task } from '../../testing/index.ts'
import type { MemoryPlace, StoredMemory } from '../memories.ts'
import { ana, carryOut, engine, type FakeClock, given, must, ok, two } from '../store.contract.ts'
import type { Store } from '../store.ts'

const PROJECT: MemoryPlace = { scope: 'project', owner: '' }

export async function fill(store: Store, clock: FakeClock): Promise<void> {
  const done = await given(store, two('done'), 1)
  await carryOut(store, done)
  await store.logs.append([
    {
      plan: done,
      task: name('a'),
      visit: 1,
      attempt: 1,
      stream: 'stdout',
      at: clock.wall,
      text: 'ümlaut \u0000 and \ud800',
    },
    { plan: done, task: name('b'), visit: 1, attempt: 1, stream: 'engine', at: clock.wall, text: 'more' },
  ])
  const pruned = await given(store, two('pruned'), 2)
  await must(store, pruned, { type: 'archive' })
  // A running plan that somebody drives.
  const driven = await given(store, plan('driven', task('a'), task('b', { needs: ['a'] })), 3)
  await must(store, driven, START)
  const owner = await store.leases.open({ leaseMs: 60_000 })
  const claimed = await store.leases.claim(driven, owner)
  if (!claimed.ok) throw new Error('not claimed')
  ok(await store.update(driven, { type: 'turn' }, { actor: engine, lease: claimed.lease }))
  const outside = await given(store, plan('outside', external('a')), 4)
  await must(store, outside, START)
  await must(store, outside, { type: 'claim', task: name('a'), token: 'token-1', by: 'agent' })
  const [content] = await Promise.all([
    store.blobs.put(Buffer.from('a content')),
    store.blobs.put(Buffer.alloc(2_000_000, 7)),
  ])
  await must(store, done, { type: 'note', text: `${content} ${'long '.repeat(80_000)} \u0000 \ud800` })
  await store.sessions.append('s-1', [{ type: 'session.opened', title: 'Talk' }], { actor: ana })
  await store.sessions.append('s-1', [{ type: 'message.added', role: 'user', text: 'hello' }], { actor: ana })
  await store.goals.append('g-1', [{ type: 'goal.set', title: 'Goal', parent: null, priority: 1, criteria: ['c'] }], {
    actor: ana,
    once: { key: 'goal', hash: numberedSha(3) },
  })
  await store.update(done, { type: 'note', text: 'once' }, { actor: ana, once: { key: 'k', hash: numberedSha(2) } })
  clock.pass(10_000)
  await store.prune({ before: clock.wall - 1, blobsBefore: 0, dryRun: false })
  const memory = { ...PROJECT, key: 'color', at: 7, expiresAt: null, body: '{"value":"blue ümlaut"}' }
  await store.memories.put(memory, 'color blue ümlaut')
  const [{ no }] = (await store.memories.get([PROJECT], ['color'])) as [StoredMemory]
  await store.memories.putVectors([{ no, vector: Float32Array.of(0.5, -1) }], 'm/1')
  await store.halts.put({ by: 'ana', at: 7, reason: 'fire' })
}

/** Everything that a store shows, without where it is. */
export async function shown(store: Store) {
  const plans = (await store.plans({})).items
  const each = await Promise.all(
    plans.map(async ({ id }) => ({
      entries: await store.read(id),
      tasks: (await store.tasks({ plan: id })).items,
      attempts: (await store.attempts({ plan: id })).items,
      logs: await store.logs.read({ plan: id }),
      reserved: await store.reservations.held(id),
      holder: await store.leases.holder(id),
    })),
  )
  return {
    plans,
    each,
    since: await store.since(0, 1_000),
    sessions: [await store.sessions.list({}), await store.sessions.read('s-1')],
    goals: [await store.goals.list({}), await store.goals.read('g-1')],
    once: await store.answered(ana, { key: 'k', hash: numberedSha(2) }),
    halt: await store.halts.get(),
    memories: await store.memories.find({ places: [PROJECT], words: ['umlaut'], now: 7 }),
    vectors: await store.memories.vectors({ place: PROJECT, model: 'm/1', dimension: 2, after: 0, limit: 9 }),
    pruned: await store.pruned(),
    position: await store.position(),
    found: (await store.search({ text: 'more' })).items.map(({ task: found }) => found),
    lapsed: await store.claims.lapsed(),
  }
}

/** Of a copy: the same, but nobody drives its plans. */
export const unheld = (all: Awaited<ReturnType<typeof shown>>) => ({
  ...all,
  each: all.each.map(one => ({ ...one, holder: null })),
})

/** A plan of the copy goes on, and a new one can be made. */
export async function goesOn(store: Store): Promise<void> {
  const driven = numberedPlanId(3) as PlanId
  const before = await store.position()
  await must(store, driven, { type: 'note', text: 'goes on' })
  await given(store, two('new'), 9)
  const owner = await store.leases.open({ leaseMs: 60_000 })
  if (!(await store.leases.claim(driven, owner)).ok) throw new Error('not claimed')
  const behind = await store.since(before, 10)
  if (behind.length !== 2) throw new Error(`${behind.length} entries behind ${before}`)
}
