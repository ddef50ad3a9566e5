// Following the journal from memory: in the order of the positions, each entry once, as it was committed, whoever wrote it.

import { expect, onTestFinished, test } from 'vitest'
import type { PlanId, TaskName } from '../../domain/id.ts'
import { Recent } from '../journal/changes.ts'
import type { StoredEntry } from '../journal/entry.ts'
import { given, must, two } from '../store.contract.ts'
import type { Entry, Store } from '../store.ts'
import { setup } from './store-sqlite.fixture.ts'

const PLAN = '01990000-0000-7000-8000-000000000000' as PlanId
const entry = (position: number, body = '{}') => ({ position, body }) as StoredEntry
const positions = (recent: Recent, after: number, limit = 100) =>
  recent.since(after, limit)?.map(one => one.entry.position) ?? null

function wrote(recent: Recent, ...written: readonly number[]): void {
  for (const position of written) recent.wrote(PLAN, entry(position), position - 1)
  recent.committed()
}

/** All that a follower hears, until it has heard of this position. */
function follow(store: Store, last: number): { readonly seen: Entry[]; readonly over: Promise<void> } {
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const seen: Entry[] = []
  const over = (async () => {
    for await (const one of store.watch({ after: 0, signal: stop.signal })) {
      // What is told stays as it is, whatever becomes of the plan.
      seen.push(structuredClone(one))
      if (one.position === last) return
    }
  })()
  return { seen, over }
}

test('what is not committed is not there, and what was undone never is', () => {
  const recent = new Recent()
  expect(positions(recent, 0)).toBeNull()
  wrote(recent, 1, 2)
  recent.wrote(PLAN, entry(3), 2)
  expect(positions(recent, 0)).toEqual([1, 2])
  recent.rolledBack()
  recent.committed()
  expect([positions(recent, 1), positions(recent, 2), positions(recent, 9)]).toEqual([[2], [], []])
})

test('where somebody else has written in between, only the store can tell', () => {
  const recent = new Recent()
  wrote(recent, 4, 5)
  wrote(recent, 7, 8, 9)
  expect([4, 5, 6, 7].map(after => positions(recent, after))).toEqual([null, null, [7, 8, 9], [8, 9]])
  expect(positions(recent, 6, 2)).toEqual([7, 8])
  // A number that was left out is nobody's.
  recent.wrote(PLAN, entry(14), 9)
  recent.committed()
  expect([6, 9, 11, 14].map(after => positions(recent, after))).toEqual([[7, 8, 9, 14], [14], [14], []])
})

test('few are kept, and few of what is large; none when nobody follows any more', () => {
  const recent = new Recent()
  const stop = recent.follow()
  for (let position = 1; position <= 5_000; position++) wrote(recent, position)
  expect([positions(recent, 3_000), positions(recent, 4_998)]).toEqual([null, [4_999, 5_000]])
  for (let position = 5_001; position <= 5_010; position++) {
    recent.wrote(PLAN, entry(position, 'x'.repeat(1_000_000)), position - 1)
    recent.committed()
  }
  expect([positions(recent, 5_003), positions(recent, 5_009)]).toEqual([null, [5_010]])
  stop()
  expect([recent.isFollowed, positions(recent, 5_009)]).toEqual([false, null])
})

test('a follower hears what the store holds, from two processes, of drafts that grow and of plans that come meanwhile', async () => {
  const { open } = setup()
  const [left, right] = [await open(), await open()]
  const first = await given(left, two('first'))
  const followers = [follow(left, 122), follow(right, 122)]
  const second = await given(right, two('second'), 2)
  const add = (store: Store, plan: PlanId, name: string) =>
    must(store, plan, { type: 'add', tasks: [{ id: name as TaskName, action: { type: 'external' } }] })
  for (let round = 0; round < 30; round++) {
    await Promise.all([add(left, first, `left-${round}`), add(left, second, `also-${round}`)])
    if (round % 3 === 0) await add(right, first, `right-${round}`)
    else await add(left, first, `right-${round}`)
    await add(right, second, `own-${round}`)
  }
  await Promise.all(followers.map(({ over }) => over))
  const stored = await left.since(0, 1_000)
  expect(stored.map(({ position }) => position)).toEqual(Array.from({ length: 122 }, (_, at) => at + 1))
  for (const { seen } of followers) expect(seen).toEqual(stored)
})

test('what another process pruned is not told from memory, neither to who begins to follow nor to who asks for it', async () => {
  const { open, clock } = setup()
  const [left, right] = [await open(), await open()]
  // Somebody follows all the time, so that what is written is kept in memory.
  const always = follow(left, 6)
  const kept = await given(left, two('kept'))
  const gone = await given(left, two('gone'), 2)
  await must(left, gone, { type: 'cancel', reason: 'x', force: false })
  await must(left, gone, { type: 'archive' })
  const isThere = async () => [await left.state(gone), await left.find(gone), await left.find('gone')].map(Boolean)
  expect(await isThere()).toEqual([true, true, true])
  clock.pass(10)
  await right.prune({ before: clock.now(), dryRun: false })
  const late = follow(left, 6)
  expect((await left.read(gone)).length).toBe(0)
  await new Promise(resolve => setImmediate(resolve))
  expect(await isThere()).toEqual([false, false, false])
  for (const text of ['one', 'two']) await must(left, kept, { type: 'note', text })
  await Promise.all([always.over, late.over])
  expect(always.seen.map(({ position }) => position)).toEqual([1, 2, 3, 4, 5, 6])
  expect(late.seen).toEqual(await right.since(0, 100))
  expect(late.seen.map(({ position }) => position)).toEqual([1, 5, 6])
})
