// The same operations of a seed on the store in memory, on SQLite and on PostgreSQL: the same answers, journals and lists.
// Needs the extras: postgres

import fc from 'fast-check'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import type { Command } from '../src/domain/command.ts'
import type { PlanId } from '../src/domain/id.ts'
import { setup as setupPostgres, startServer } from '../src/stores/postgres/postgres.fixture.ts'
import { setup as setupSqlite } from '../src/stores/sqlite/store-sqlite.fixture.ts'
import { ana, engine, FakeClock, fakeHost } from '../src/stores/store.contract.ts'
import type { Entry, Store } from '../src/stores/store.ts'
import { numberedPlanId, numberedSha, START } from '../src/testing/index.ts'
import { MemoryDisk } from './memory-store/memory-disk.ts'
import { StoreMemory } from './memory-store/store-memory.ts'
import { commandOf, moves, plans } from './random-journals.ts'

const SEEDS = process.env.PLANFOLD_TEAMS === '1' ? 300 : 50
const MOVES = 12
const PLANS = [numberedPlanId(1), numberedPlanId(2)] as const

interface Sides {
  readonly stores: readonly Store[]
  readonly clocks: readonly FakeClock[]
}

const server = await startServer()
afterAll(() => server?.stop())

/** Positions and the numbers of chunks are those of each store. */
const bare = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, one) => (key === 'position' || key === 'seq' || key === 'state' ? undefined : one)) ??
      'null',
  )

/** Asks all, and returns what they agree on. */
async function all<T>({ stores }: Sides, what: string, work: (store: Store) => Promise<T>): Promise<T> {
  const answers: T[] = []
  for (const store of stores) answers.push(await work(store))
  const [first, ...others] = answers
  for (const other of others) expect(bare(other), what).toEqual(bare(first))
  return first!
}

const drawn = <T>(arbitrary: fc.Arbitrary<T>, seed: number): T => fc.sample(arbitrary, { seed, numRuns: 1 })[0]!

/** The first samples are short. */
const life = (seed: number) => fc.sample(moves, { seed, numRuns: 30 }).flat().slice(-MOVES)

async function live(sides: Sides, seed: number): Promise<number> {
  const journals = new Map<PlanId, Entry[]>(PLANS.map(id => [id, []]))
  for (const [at, id] of PLANS.entries()) {
    const definition = drawn(plans, seed * 10 + at)
    const once = { key: `made-${at}`, hash: numberedSha(at + 1) }
    const command = { type: 'create', plan: id, definition, hash: numberedSha(1) } as const
    await all(sides, 'create', store => store.create(command, ana, { once }))
  }
  let entries = 0
  for (const [at, move] of life(seed).entries()) {
    const id = PLANS[(move.pick + seed) % 2]!
    for (const clock of sides.clocks) clock.pass(1 + (move.luck % 5_000))
    const state = await sides.stores[0]!.state(id)
    if (state === null) continue
    const now = sides.clocks[0]!.now()
    const command: Command = state.startedAt === null ? START : commandOf(state, move, now, journals.get(id))
    const what = `step ${at}: ${JSON.stringify(command).slice(0, 300)}`
    const key = move.luck % 5 === 0 ? { once: { key: `key-${move.luck % 3}`, hash: numberedSha(move.luck % 2) } } : {}
    const actor = move.pick % 2 === 0 ? ana : engine
    // Some share their commit with others.
    if (move.pick % 3 === 0) {
      const note = { type: 'note', text: `beside ${at}` } as const
      await all(sides, what, store =>
        Promise.all([store.update(id, command, { actor, ...key }), store.update(PLANS[at % 2]!, note, { actor })]),
      )
    } else await all(sides, what, store => store.update(id, command, { actor, ...key }))
    await beside(sides, id, move.luck, at)
    journals.set(id, [...(await sides.stores[0]!.read(id))])
    entries += 1
  }
  return entries
}

/** What stands beside the journal. */
async function beside(sides: Sides, plan: PlanId, luck: number, at: number): Promise<void> {
  const state = (await sides.stores[0]!.state(plan))!
  const task = state.order[luck % state.order.length]!
  const { definition, visit, attempt } = task
  const chunk = {
    plan,
    task: definition.id,
    visit,
    attempt,
    stream: 'stdout',
    at,
    text: `line ${luck} of output`,
  } as const
  if (luck % 4 === 0) await all(sides, 'output', store => store.logs.append([chunk, { ...chunk, text: 'and more' }]))
  const said = { type: 'message.added', role: 'user', text: `said ${at}` } as const
  if (luck % 5 === 1) await all(sides, 'session', store => store.sessions.append('talk', [said], { actor: ana }))
  if (luck % 7 === 2) await all(sides, 'halt', store => store.halts.put({ by: 'ana', at, reason: null }))
  if (luck % 7 === 3) await all(sides, 'lift', store => store.halts.lift())
  if (task.claim !== null) {
    const { token } = task.claim
    await all(sides, 'touch', store => store.claims.touch(plan, definition.id, token, 1_000))
  }
  if (luck % 4 === 1) await all(sides, 'lapsed', store => store.claims.lapsed())
}

async function compare(sides: Sides): Promise<void> {
  const ask = <T>(what: string, work: (store: Store) => Promise<T>) => all(sides, what, work)
  for (const id of PLANS) {
    await ask('journal', store => store.read(id))
    await ask('attempts', store => store.attempts({ plan: id }))
    await ask('metrics', store => store.metrics(id))
    await ask('output', store => store.logs.read({ plan: id }))
    for (const order of [{}, { order: 'sequence' }, { order: 'recent' }] as const)
      await ask('tasks', async store => (await store.tasks({ plan: id, ...order })).items)
  }
  await ask('plans', async store => (await store.plans({})).items.toSorted((a, b) => a.id.localeCompare(b.id)))
  await ask('overview', async store => {
    const { items, total, statuses } = await store.overview({ order: 'cost' })
    return { items: items.toSorted((a, b) => a.id.localeCompare(b.id)), total, statuses }
  })
  await ask('talk', store => store.sessions.read('talk'))
  await ask('halt', store => store.halts.get())
  const { faults } = await ask('check', async store => ({ ...(await store.check()), bytes: 0, blobs: 0 }))
  // Results name blobs that nobody has stored.
  expect(faults.filter(({ what }) => !/^blob 0{40}.* is missing$/.test(what))).toEqual([])
}

it.skipIf(server === null)(
  `${SEEDS} seeds come to the same in memory, on SQLite and on PostgreSQL`,
  { timeout: 1_800_000 },
  async () => {
    const postgres = await setupPostgres(server!)
    let entries = 0
    for (let seed = 1; seed <= SEEDS; seed++) {
      const sqlite = setupSqlite()
      const memory = { clock: new FakeClock(), host: fakeHost(), newId: () => 'id' }
      postgres.clock.wall = memory.clock.wall
      postgres.clock.ticks = memory.clock.ticks
      const stores = [new StoreMemory(new MemoryDisk(), memory), await sqlite.open(), await postgres.open()]
      onTestFinished(async () => void (await Promise.all(stores.map(store => store.close()))))
      const sides = { stores, clocks: [memory.clock, sqlite.clock, postgres.clock] }
      try {
        entries += await live(sides, seed)
        await compare(sides)
      } catch (error) {
        throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error })
      }
      for (const store of stores) await store.close()
      await postgres.empty()
    }
    console.log(`${entries} operations in ${SEEDS} seeds`)
    expect(entries).toBeGreaterThan(SEEDS * 3)
  },
)
