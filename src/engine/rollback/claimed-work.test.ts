// A rollback of a task that somebody has in hand: nobody can say yet who wrote what, so whoever orders it chooses, gets what was chosen,
// and can undo it. With real files, in a task that declares what it writes and in one that does not.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Actor } from '../../domain/id.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { external, name } from '../../testing/index.ts'
import type { Order } from '../orders.ts'
import { realRooms } from './perform-rollback.fixture.ts'

const BOT = 'bot' as Actor

let place: Awaited<ReturnType<typeof realRooms>>
beforeEach(async () => {
  place = await realRooms()
  put('a.txt', 'before\n')
})
afterEach(() => place.close())

const put = (file: string, text: string) => writeFileSync(join(place.root, file), text)
const texts = () =>
  ['a.txt', 'new.txt'].map(file => {
    const path = join(place.root, file)
    return existsSync(path) ? readFileSync(path, 'utf8') : null
  })

const BEFORE = ['before\n', null]
const HALF = ['half\n', 'new\n']
const ONE = ['half\n', null]

async function inHand(task: Partial<TaskDefinition>, leaseMs = 60_000) {
  await place.run([{ ...external('t'), ...task } as TaskDefinition])
  const claimed = await place.engine.as(BOT).submit('plan', { type: 'claim', leaseMs })
  if (!claimed.ok) throw new Error(claimed.refusal.message)
  put('a.txt', 'half\n')
  put('new.txt', 'new\n')
  return claimed.plan
}

async function carryOut(order: Order) {
  const ordered = await place.submit(order)
  if (!ordered.ok) throw new Error(ordered.refusal.message)
  await place.drive()
  expect(await place.statuses()).toMatchObject({ plan: 'paused' })
}

const rollback = { type: 'rollback', tasks: [name('t')] } as const
type Choices = Pick<Extract<Order, { readonly type: 'rollback' }>, 'choices' | 'every'>
const SCOPE = { write: ['*.txt'] }

test.each<[string, Partial<TaskDefinition>, Choices, readonly (string | null)[]]>([
  ['keeps what is to be kept', SCOPE, { choices: { 'a.txt': 'keep', 'new.txt': 'keep' } }, HALF],
  ['merges', SCOPE, { every: 'merge' }, HALF],
  ['takes all away', SCOPE, { every: 'take' }, BEFORE],
  ['without a scope, keeps one and takes the other away', {}, { choices: { 'a.txt': 'keep' }, every: 'take' }, ONE],
])('%s, and can be undone', async (_what, task, choices, then) => {
  await inHand(task)
  expect(await place.submit(rollback)).toMatchObject({ ok: false, refusal: { code: 'conflict' } })
  expect(texts()).toEqual(HALF)
  expect(await place.statuses()).toMatchObject({ t: 'running' })
  await carryOut({ ...rollback, ...choices })
  expect(texts()).toEqual(then)
  await carryOut({ type: 'undo' })
  expect(texts()).toEqual(HALF)
  await carryOut({ type: 'undo' })
  expect(texts()).toEqual(then)
  expect((await place.rooms.store.check({ readData: true })).faults).toEqual([])
})

test('keeps what is named, also when the claim has run out and nobody has noticed', async () => {
  const plan = await inHand(SCOPE, 1)
  await expect.poll(() => place.rooms.store.claims.lapsed(plan), { interval: 1, timeout: 120_000 }).toHaveLength(1)
  await carryOut({ ...rollback, choices: { 'a.txt': 'keep' } })
  expect(texts()).toEqual(ONE)
  await carryOut({ type: 'undo' })
  expect(texts()).toEqual(HALF)
})
