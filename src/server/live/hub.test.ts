// Any number of listeners over any journal: whatever is written, pruned, cut and taken up again, in whatever order, each hears its
// events once and in order, or is told that it cannot. Checked against the journal itself, over random stories.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EventText, type StreamEvent } from '../../client/event-stream.ts'
import type { Event } from '../../domain/event.ts'
import type { Actor, PlanId } from '../../domain/id.ts'
import type { Feed } from '../../engine/engine.ts'
import { trusted } from '../../engine/roles.ts'
import type { Entry } from '../../stores/store.ts'

import { LIMITS } from '../limits.ts'
import { Live } from './hub.ts'
import { DOTTED, parseCursor } from './sse.ts'
import type { Subscriber } from './subscriber.ts'

const PLANS = ['a', 'b', 'c'].map(name => `0197f000-0000-7000-8000-${name.repeat(4)}00000000` as PlanId)
const RUNS = Number(process.env.PLANFOLD_LIVE_RUNS ?? 80)

/** A journal in memory, with a word to whoever listens when somebody says so. */
class Store implements Feed {
  entriesOfAll: Entry[] = []
  end = 0
  /** Positions only grow; every third entry of a plan leaves so many out. */
  readonly #left: number
  readonly #prunings: number[] = []
  readonly #listeners = new Set<Parameters<Feed['onChange']>[0]>()
  readonly #versions = new Map<PlanId, number>()
  constructor(left = 0) {
    this.#left = left
  }
  output = { last: async () => 0, since: async () => [] }

  write(plan: PlanId, events: number, size: number): void {
    const version = (this.#versions.get(plan) ?? 0) + 1
    this.#versions.set(plan, version)
    this.end += 1 + (version % 3 === 0 ? this.#left : 0)
    const position = this.end
    const text = (index: number): Event => ({ type: 'note.added', text: `${position}.${index} ${'x'.repeat(size)}` })
    this.entriesOfAll.push({
      position,
      plan,
      version,
      actor: 'ana' as Actor,
      now: 0,
      fence: null,
      command: { type: 'note', text: '' },
      events: Array.from({ length: events }, (_, index) => text(index)),
      hash: '' as Entry['hash'],
    })
  }
  prune(plan: PlanId): void {
    const last = this.entriesOfAll.findLast(entry => entry.plan === plan)
    if (last === undefined) return
    this.#prunings.push(last.position)
    this.entriesOfAll = this.entriesOfAll.filter(entry => entry.plan !== plan)
    this.#versions.delete(plan)
  }
  announce(): void {
    for (const listener of [...this.#listeners]) listener('elsewhere')
  }
  /** What was read is true for then; meanwhile others write. */
  async #read(test: (entry: Entry) => boolean, limit: number): Promise<readonly Entry[]> {
    const found = this.entriesOfAll.filter(test).slice(0, limit)
    if (++this.#reads % 3 === 0) await new Promise(resolve => setImmediate(resolve))
    return found
  }
  #reads = 0
  position = async () => this.end
  pruned = async (after = -1) => this.#prunings.filter(last => last > after).length
  since = (after: number, limit: number) => this.#read(entry => entry.position > after, limit)
  onChange: Feed['onChange'] = listener => {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }
  entries = (plan: PlanId, after: number, limit: number) =>
    this.#read(entry => entry.plan === plan && entry.version > after, limit)
  facts = async (plan: PlanId) => ({ name: plan, session: null })
  progress: Feed['progress'] = async () => null
}

/** Reads as a client does: cut anywhere, it comes back with its last id. */
class Client {
  readonly heard: StreamEvent[] = []
  readonly of: PlanId | null
  #id: string
  #text: EventText
  #subscriber: Subscriber | null = null
  readonly #live: Live

  constructor(live: Live, of: PlanId | null) {
    this.#live = live
    this.of = of
    this.#id = '0'
    this.#text = new EventText()
  }

  /** Takes up to so many entries, of the last only so many characters; then it may be cut. */
  async read(entries: number, chars: number | null): Promise<void> {
    const { of } = this
    this.#subscriber ??= await this.#live.subscribe(trusted('listener'), {
      naming: DOTTED,
      plan: of,
      wants: plan => of === null || plan === of,
      from: parseCursor(this.#id)!,
      ticks: false,
    })
    for (let count = 1; count <= entries; count++) {
      const frames = await this.#subscriber.next()
      if (frames === null) return
      const text = frames.join('')
      const isCut = chars !== null && count === entries
      this.heard.push(...this.#text.read(isCut ? text.slice(0, chars % text.length) : text))
      if (this.#text.id !== '') this.#id = this.#text.id
      if (isCut) return this.cut()
    }
  }
  cut(): void {
    if (this.#subscriber !== null) this.#live.leave(this.#subscriber)
    this.#subscriber = null
    this.#text = new EventText()
  }
}

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      plan: fc.nat(2),
      events: fc.integer({ min: 1, max: 4 }),
      size: fc.constantFrom(0, 0, 0, 3_000, 150_000),
      times: fc.constantFrom(1, 1, 1, 5, 90),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('read' as const),
      client: fc.nat(3),
      entries: fc.constantFrom(1, 2, 5, 1_000),
      chars: fc.option(fc.nat(500)),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('announce' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cut' as const), client: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('prune' as const), plan: fc.nat(2) }) },
)

/** Until the hub has nothing under way. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
}

function liveOn(feed: Feed, kept: number): { readonly live: Live; readonly errors: readonly object[] } {
  const quiet = () => {}
  const errors: object[] = []
  const log = { debug: quiet, info: quiet, warn: quiet, error: (fields: object) => void errors.push(fields) }
  return { live: new Live({ feed, log, limits: LIMITS, now: () => 0, monotonic: () => 0, kept }), errors }
}

test('P53: whatever happens, each hears the journal once and in order, or one resync where it was pruned', async () => {
  const seen = { events: 0, resyncs: 0 }
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 40 }),
      fc.constantFrom(3, 10, 1_000),
      fc.constantFrom(0, 5),
      async (steps, kept, left) => {
        const store = new Store(left)
        const { live, errors } = liveOn(store, kept)
        const clients = [null, null, ...PLANS.slice(0, 2)].map(of => new Client(live, of))
        const written: Entry[] = []
        const pruned: { readonly plan: PlanId; readonly at: number }[] = []
        for (const each of steps) {
          if (each.do === 'write')
            for (let count = 0; count < (each.size === 0 ? each.times : 2); count++) {
              store.write(PLANS[each.plan]!, each.events, each.size)
              written.push(store.entriesOfAll.at(-1)!)
            }
          else if (each.do === 'read') await clients[each.client]!.read(each.entries, each.chars)
          else if (each.do === 'cut') clients[each.client]!.cut()
          else if (each.do === 'announce') store.announce()
          else {
            store.prune(PLANS[each.plan]!)
            pruned.push({ plan: PLANS[each.plan]!, at: store.end })
          }
          if (each.do !== 'write') await settled()
        }
        store.announce()
        await settled()
        for (const client of clients) {
          // Pages of the store are read one by one; a client that is behind needs a few turns.
          for (let turn = 0; turn < 5; turn++) {
            await client.read(100_000, null)
            await settled()
          }
          const expected = written
            .filter(({ plan }) => client.of === null || plan === client.of)
            .flatMap(({ position, events }) =>
              events.map((_, index) => (index === events.length - 1 ? `${position}` : `${position}.${index}`)),
            )
          const ids = client.heard.map(({ id, name }) => (name === 'resync' ? `resync ${id}` : (id ?? '')))
          const gaps = client.heard.filter(({ name }) => name === 'resync').length
          seen.resyncs += gaps
          seen.events += ids.length - gaps
          if (client.of !== null) {
            // A journal of one plan has no gaps; one that was pruned is no longer told.
            const left = new Set(ids)
            const isPruned = pruned.some(({ plan }) => plan === client.of)
            expect(ids.filter(id => id.startsWith('resync'))).toEqual([])
            expect(ids).toEqual(expected.filter(id => left.has(id)))
            if (!isPruned) expect(ids).toEqual(expected)
            continue
          }
          if (pruned.length === 0) expect(gaps).toBe(0)
          // Between two resyncs, and before the first and behind the last, nothing is missing and nothing twice.
          let next = 0
          for (const id of ids) {
            if (id.startsWith('resync ')) {
              const position = Number(id.slice('resync '.length))
              next = expected.findIndex(other => Number(other.split('.')[0]) > position)
              if (next === -1) next = expected.length
            } else {
              expect(id).toBe(expected[next])
              next++
            }
          }
          expect(next).toBe(expected.length)
        }
        for (const client of clients) client.cut()
        expect(live.count).toBe(0)
        expect(errors).toEqual([])
      },
    ),
    { numRuns: RUNS },
  )
  expect(seen.events).toBeGreaterThan(1_000)
  expect(seen.resyncs).toBeGreaterThan(0)
})

const ofPlan = (plan: PlanId, from: string) => ({
  naming: DOTTED,
  plan,
  wants: (of: PlanId) => of === plan,
  from: parseCursor(from)!,
  ticks: false,
})

async function idsOf(subscriber: Subscriber): Promise<readonly string[]> {
  const text = new EventText()
  const ids: string[] = []
  for (let frames = await subscriber.next(); frames !== null; frames = await subscriber.next())
    for (const { id } of text.read(frames.join(''))) ids.push(id ?? '')
  return ids
}

const rank = (id: string): number => 2 * Number(id.split('.')[0]) + (id.endsWith('.0') ? 0 : 1)

test('of one plan, from any place far behind, exactly the rest is read', async () => {
  const store = new Store()
  for (let count = 0; count < 60; count++) store.write(PLANS[count % 7 < 3 ? 0 : 1]!, 2, 0)
  const { live } = liveOn(store, 3)
  const all = store.entriesOfAll
    .filter(({ plan }) => plan === PLANS[0])
    .flatMap(({ position }) => [`${position}.0`, `${position}`])
  for (let position = 0; position <= 60; position++)
    for (const from of position === 0 ? ['0'] : [`${position}.0`, `${position}`]) {
      const subscriber = await live.subscribe(trusted('listener'), ofPlan(PLANS[0]!, from))
      expect([from, await idsOf(subscriber)]).toEqual([from, all.filter(id => rank(id) > rank(from))])
      live.leave(subscriber)
    }
})

test('what is written while a client that was behind reads its last page is not passed over', async () => {
  const store = new Store()
  store.write(PLANS[0]!, 1, 0)
  for (let count = 0; count < 10; count++) store.write(PLANS[1]!, 1, 0)
  const read = store.entries
  let isWritten = false
  store.entries = async (plan, after, limit) => {
    const page = await read(plan, after, limit)
    if (page.length > 0 || isWritten) return page
    isWritten = true
    store.write(PLANS[0]!, 1, 0)
    store.announce()
    await settled()
    return page
  }
  const { live } = liveOn(store, 3)
  const subscriber = await live.subscribe(trusted('listener'), ofPlan(PLANS[0]!, '0'))
  expect(await idsOf(subscriber)).toEqual(['1', '12'])
  live.leave(subscriber)
})

test('what was pruned before anybody heard of it is told as a gap, also when nothing comes behind it', async () => {
  for (const written of [[0], [1, 0], [0, 1, 0]]) {
    const store = new Store()
    const { live } = liveOn(store, 10)
    const client = new Client(live, null)
    await client.read(1, null)
    for (const plan of written) store.write(PLANS[plan]!, 1, 0)
    store.prune(PLANS[0]!)
    store.announce()
    for (let turn = 0; turn < 3; turn++) {
      await settled()
      await client.read(10, null)
    }
    expect(client.heard.at(-1)).toMatchObject({ name: 'resync', id: String(written.length) })
    client.cut()
  }
})

test('what was pruned is not told from memory, neither to who comes nor to who is behind', async () => {
  for (const isNoticed of [true, false]) {
    const store = new Store()
    const { live } = liveOn(store, 1_000)
    const first = new Client(live, null)
    await first.read(1, null)
    for (const plan of [1, 0, 0]) store.write(PLANS[plan]!, 1, 0)
    store.announce()
    await settled()
    const behind = new Client(live, null)
    await behind.read(1, null)
    await first.read(10, null)
    store.prune(PLANS[0]!)
    if (isNoticed) {
      store.announce()
      await settled()
    }
    const late = new Client(live, null)
    await late.read(10, null)
    await behind.read(10, null)
    const ids = ({ heard }: Client) => heard.map(({ name, id }) => `${name} ${id}`)
    expect(ids(first)).toEqual(['note.added 1', 'note.added 2', 'note.added 3'])
    expect([ids(late), ids(behind)]).toEqual([['resync 3'], ['note.added 1', 'resync 3']])
    for (const client of [first, behind, late]) client.cut()
  }
})

test('what was read ahead for a client that is behind is read again after a prune', async () => {
  const store = new Store()
  for (let count = 0; count < 40; count++) store.write(PLANS[count < 20 ? 1 : 0]!, 1, 0)
  const { live } = liveOn(store, 3)
  const client = new Client(live, null)
  // The fifth page holds those from 16 on.
  await client.read(18, null)
  store.prune(PLANS[0]!)
  store.announce()
  await settled()
  await client.read(100, null)
  expect(client.heard.map(({ id }) => Number(id))).toEqual([...Array.from({ length: 18 }, (_, at) => at + 1), 40])
  expect(client.heard.at(-1)?.name).toBe('resync')
  client.cut()
})

test('regression 10: how far a plan has come is not told before the entries that brought it there', async () => {
  const store = new Store()
  store.write(PLANS[0]!, 1, 0)
  const versions: number[] = []
  let release = () => {}
  const released = new Promise<void>(resolve => {
    release = resolve
  })
  const counts = { total: 1, done: 0, ended: 0, ratio: 0, successRate: null, counts: {} as never }
  store.progress = async () => {
    await released
    const { version } = store.entriesOfAll.at(-1)!
    return { version, revision: version, status: 'active', progress: counts, running: [], waiting: [] }
  }
  const { live } = liveOn(store, 10)
  const subscriber = await live.subscribe(trusted('listener'), { ...ofPlan(PLANS[0]!, '1'), ticks: true })
  const take = () => {
    const text = subscriber.ticks!.takeProgress(DOTTED, subscriber.cursor.position)
    if (text !== null) versions.push(JSON.parse(/data: (.*)/.exec(text)![1]!).version)
  }
  store.write(PLANS[0]!, 1, 0)
  store.announce()
  await settled()
  // Committed, and nobody has heard of it yet.
  store.write(PLANS[0]!, 1, 0)
  release()
  await settled()
  expect(await idsOf(subscriber)).toEqual(['2'])
  take()
  expect(versions).toEqual([])
  store.announce()
  await settled()
  expect(await idsOf(subscriber)).toEqual(['3'])
  const taken = () => {
    take()
    return versions
  }
  await expect.poll(taken).toEqual([3])
  live.leave(subscriber)
})
