// The connection of a writer is cut at any byte. Whatever was lost, the request or its answer, it happens once.

import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import type { PlanId } from '../../domain/id.ts'
import { external, name, numberedPlanId, numberedSha, plan, START, succeeded, task } from '../../testing/index.ts'
import { ana, engine, given, ok } from '../store.contract.ts'
import { CommitUnknown, type Owner, type Store, StoreBusy } from '../store.ts'
import { startProxy } from './connection/cutting-proxy.fixture.ts'
import { setup, startServer } from './postgres.fixture.ts'

const ALL = process.env.PLANFOLD_TEAMS === '1'
const RUNS = 5
const SEED = 41

const P = numberedPlanId(1)
const Q = numberedPlanId(2)
const once = (key: string) => ({ key, hash: numberedSha(key.length) })
const long = 'what happened, at length; '.repeat(8)

interface Scene {
  owner: Owner | null
  fence: number
}

type Step = (store: Store, scene: Scene) => Promise<unknown>

const create = (store: Store, id: PlanId, title: string, more: Parameters<Store['create']>[2]) =>
  store.create(
    {
      type: 'create',
      plan: id,
      definition: plan(title, task('a', { write: ['sc/**'], effect: 'workspace' }), task('b'), external('x')),
      hash: numberedSha(1),
    },
    ana,
    more,
  )
const note = (store: Store, id: PlanId, text: string) => store.update(id, { type: 'note', text }, { actor: ana })

/** Appends of every kind, each of which finds what the ones before it left. */
const STEPS: readonly Step[] = [
  store => create(store, P, 'first', undefined),
  store => create(store, Q, 'second', { once: once('made'), conversation: { title: 'talk', message: said('please') } }),
  store => store.update(P, START, { actor: ana }),
  async store => {
    const wanted = { root: '..', paths: ['sc/**'] }
    const { seen } = await store.reservations.holders(P, wanted)
    const prepared = { preimage: await store.blobs.put(Buffer.from('{}')), reserves: { ...wanted, seen } }
    const turn = { type: 'turn', prepared: [{ task: name('a'), visit: 1, prepared }] } as const
    return await store.update(P, turn, { actor: engine })
  },
  store => store.update(P, { type: 'note', text: 'with a key' }, { actor: ana, once: once('noted') }),
  store => store.logs.append([chunk('one line'), chunk('and another')]),
  async (store, scene) => {
    scene.owner = await store.leases.open({ leaseMs: 60_000 })
  },
  async (store, scene) => {
    const claimed = await store.leases.claim(P, scene.owner!)
    scene.fence = claimed.ok ? claimed.lease.fence : -1
    return { ...claimed, lease: null }
  },
  (store, scene) =>
    store.update(
      P,
      { type: 'turn', settled: [{ task: name('a'), visit: 1, attempt: 1, result: succeeded() }] },
      { actor: engine, lease: { owner: scene.owner!.id, fence: scene.fence } },
    ),
  store => Promise.all([note(store, P, 'at once'), note(store, Q, 'at once')]),
  store => Promise.all([note(store, P, '1'), note(store, P, '2'), note(store, P, '3')]),
  store => store.halts.put({ by: 'ana', at: 7, reason: 'fire' }),
  store => store.halts.lift(),
  store =>
    store.sessions.append('talk', [{ type: 'message.added', ...said('more') }], { actor: ana, once: once('talked') }),
  store =>
    store.goals.append('goal', [{ type: 'goal.set', title: 'better', parent: null, priority: 1, criteria: [] }], {
      actor: ana,
    }),
  store => store.update(Q, START, { actor: ana }),
  store => store.update(Q, { type: 'claim', task: name('x'), token: 'token', by: 'agent' }, { actor: ana }),
  store => store.claims.touch(Q, name('x'), 'token', 5_000),
  store =>
    store.update(
      Q,
      { type: 'report', task: name('x'), token: 'token', by: 'agent', result: succeeded() },
      { actor: ana },
    ),
  store => note(store, P, long),
  (store, scene) => store.leases.release(P, scene.owner!),
  store => store.tidy(),
  store => store.update(P, { type: 'cancel' }, { actor: ana }),
]

const said = (text: string) => ({ role: 'user', text }) as const
const chunk = (text: string) =>
  ({ plan: P, task: name('a'), visit: 1, attempt: 1, stream: 'stdout', at: 5, text }) as const

/** All that anybody can read, without the numbers that the database gives. */
async function picture(store: Store) {
  const entries = async (id: PlanId) => bare(await store.read(id))
  const { faults, entries: count } = await store.check()
  return {
    faults,
    count,
    entries: [await entries(P), await entries(Q)],
    plans: (await store.plans({})).items,
    tasks: (await store.tasks({})).items,
    attempts: (await store.attempts({ plan: P })).items,
    logs: (await store.logs.read({ plan: P })).map(({ text }) => text),
    talk: [await store.sessions.read('talk'), await store.sessions.get('talk')],
    goals: await store.goals.list({}),
    halted: await store.halts.get(),
    keys: [await store.answered(ana, once('made')), await store.answered(ana, once('noted'))].map(found => found?.ok),
    found: (await store.search({ text: 'length' })).items.length,
  }
}

/** Positions are given by the database; one of them is in the journal, so hashes differ with it. `read` and `check` have verified them. */
const GIVEN = ['position', 'state', 'seen', 'hash']
const bare = (answer: unknown): unknown =>
  JSON.parse(JSON.stringify(answer, (key, value) => (GIVEN.includes(key) ? undefined : value)) ?? 'null')

const server = await startServer()
afterAll(() => server?.stop())

describe.skipIf(server === null)('postgres: the connection of a writer', () => {
  async function scene() {
    const proxy = await startProxy(server!.address)
    onTestFinished(() => proxy.stop())
    const database = await setup(server!)
    const appendUrl = server!.through(proxy.port, database.roles.appendUrl ?? database.url)
    return { ...database, proxy, open: () => database.open({}, { appendUrl, patienceMs: 200 }) }
  }

  it('is cut at any byte of any append: each happens once, and is answered', {
    timeout: ALL ? 7_200_000 : 600_000,
  }, async () => {
    const { open, proxy, empty } = await scene()
    const run = async (before: (step: number) => void, after: (step: number) => Promise<void>) => {
      const store = await open()
      const its: Scene = { owner: null, fence: 0 }
      const answers: unknown[] = []
      for (const [at, step] of STEPS.entries()) {
        before(at)
        answers.push(bare(await step(store, its)))
        await after(at)
      }
      const seen = await picture(store)
      await store.close()
      await empty()
      return { answers, ...seen }
    }
    const sizes: { server: number; store: number }[] = []
    const model = await run(
      () => proxy.cut(null),
      async () => void sizes.push({ ...proxy.passed }),
    )
    expect(model.faults).toEqual([])
    expect(sizes.every(({ server, store }) => server > 0 && store > 0)).toBe(true)

    const placesOf = ({ server, store }: (typeof sizes)[number]) => server + store + 2
    const runs = ALL ? Math.max(...sizes.map(placesOf)) : RUNS
    if (ALL) console.log(`${runs} runs`)
    let cuts = 0
    let seed = SEED
    const chance = () => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed / 2_147_483_647
    }
    for (let at = 0; at < runs; at++) {
      const before = (step: number) => {
        const size = sizes[step]!
        const place = ALL ? at : Math.floor(((at + chance()) / RUNS) * placesOf(size))
        const isRequest = place <= size.server
        if (place >= placesOf(size)) return proxy.cut(null)
        cuts++
        proxy.cut(
          isRequest ? { towards: 'server', after: place } : { towards: 'store', after: place - size.server - 1 },
        )
      }
      const found = await run(before, async () => {})
      expect(found, `run ${at}`).toEqual(model)
    }
    console.log(`${cuts} cuts in ${STEPS.length} appends`)
    expect(cuts).toBeGreaterThanOrEqual(100)
  })

  it('stays away: after a while the caller is told whether something may have been written', async () => {
    const { open, proxy } = await scene()
    const store = await open()
    const id = await given(store, plan('first', task('a')))
    proxy.cut({ towards: 'store', after: 0, stays: true })
    await expect(note(store, id, 'its answer is lost')).rejects.toThrow(CommitUnknown)
    await expect(note(store, id, 'never sent')).rejects.toThrow(StoreBusy)
    expect((await store.read(id)).length).toBe(2)
    proxy.open()
    expect(ok(await note(store, id, 'again')).version).toBe(3)
    expect((await store.check()).faults).toEqual([])
  })
})
