// Many writers change one plan that has begun: nobody is refused because another was quicker, and those who wait share one look at
// the workspace and one commit.

import { describe, expect, it, vi } from 'vitest'
import type { PlanId, TaskName } from '../../domain/id.ts'
import { refuse } from '../../domain/refusal.ts'
import { external } from '../../testing/index.ts'

import type { Order, Submitted } from '../orders.ts'
import { ME, name, setup } from '../rooms.fixture.ts'
import { edit } from './edit-tasks.ts'

/** A plan that has begun, in a workspace whose looks are counted and answered when the test says so. */
async function begun(...tasks: readonly string[]) {
  const room = setup()
  const looks: (() => void)[] = []
  let looked = 0
  const id = await room.plan(...tasks.map(task => external(task)))
  const standing = async () => {
    looked++
    await new Promise<void>(resolve => looks.push(resolve))
    return { ok: true, value: { head: 'f'.repeat(40), branch: 'main' } }
  }
  Object.assign(room.rooms, { git: { standing } })
  const submit = (order: Order, options = {}) => room.engine.submit(id, order, options)
  return { ...room, id, submit, looks, looked: () => looked }
}

type Begun = Awaited<ReturnType<typeof begun>>

const codeOf = (done: Submitted): string => (done.ok ? 'ok' : done.refusal.code)
const add = (task: string): Order => ({ type: 'add', tasks: [external(task)] })

const lookedAt = ({ looks }: Begun, times: number) =>
  vi.waitFor(() => expect(looks).toHaveLength(times), { timeout: 120_000 })

/** Lets everything go on that can without an answer of the workspace. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
}

async function isWhole({ engine, id }: { engine: Begun['engine']; id: PlanId }): Promise<void> {
  expect(await engine.ask({ type: 'check' })).toMatchObject({ ok: true, faults: [] })
  expect(await engine.ask({ type: 'replay', plan: id })).toMatchObject({ fault: null })
}

describe('changes of a plan that has begun', () => {
  it('queue: whoever comes while one is looked after shares the next look and the next commit', async () => {
    const room = await begun('a')
    const { looks, disk } = room
    const first = room.submit(add('first'))
    await lookedAt(room, 1)
    const orders: readonly Order[] = [
      ...Array.from({ length: 17 }, (_, at) => add(`t${at}`)),
      { type: 'change', task: name('a'), set: { title: 'A' } },
      { type: 'outline', set: { title: 'Plan' }, extra: { colour: 'red' } },
    ]
    const others = orders.map(order => room.submit(order))
    await settled()
    const before = disk.commits
    expect({ looks: looks.length, looked: room.looked() }).toEqual({ looks: 1, looked: 1 })
    looks[0]!()
    await first
    await lookedAt(room, 2)
    expect({ looks: looks.length, commits: disk.commits - before }).toEqual({ looks: 2, commits: 1 })
    looks[1]!()
    const done = await Promise.all(others)
    expect(done.map(codeOf)).toEqual(orders.map(() => 'ok'))
    expect({ looked: room.looked(), commits: disk.commits - before }).toEqual({ looked: 2, commits: 2 })
    // Each is an entry of its own all the same.
    const versions = done.map(one => (one.ok ? one.version : 0))
    expect(new Set(versions).size).toBe(orders.length)
    const { definition } = (await room.engine.ask({ type: 'definition', plan: room.id }))!
    expect(definition).toMatchObject({ title: 'Plan', extra: { colour: 'red' } })
    expect(definition.tasks).toHaveLength(19)
    expect(definition.tasks[0]).toMatchObject({ id: 'a', title: 'A' })
    await isWhole(room)
  })

  it('of 20 writers with 15 changes each, all 300 are made, and every key of everybody is kept', async () => {
    const room = await begun('a')
    Object.assign(room.rooms, { git: { standing: async () => ({ ok: false }) } })
    const before = room.disk.commits
    const writers = Array.from({ length: 20 }, async (_, writer) => {
      const codes: string[] = []
      for (let at = 0; at < 15; at++) {
        const order: Order =
          at % 3 === 0
            ? add(`w${writer}-${at}`)
            : at % 3 === 1
              ? { type: 'change', task: name('a'), set: {}, extra: { [`w${writer}-${at}`]: at } }
              : { type: 'outline', set: {}, extra: { [`w${writer}-${at}`]: at } }
        codes.push(codeOf(await room.submit(order)))
      }
      return codes
    })
    expect((await Promise.all(writers)).flat()).toEqual(Array(300).fill('ok'))
    const { definition } = (await room.engine.ask({ type: 'definition', plan: room.id }))!
    expect({
      tasks: definition.tasks.length,
      ofTask: Object.keys(definition.tasks[0]!.extra ?? {}).length,
      ofPlan: Object.keys(definition.extra ?? {}).length,
    }).toEqual({ tasks: 101, ofTask: 100, ofPlan: 100 })
    // The first is alone; then those who waited for it go together.
    expect(room.disk.commits - before).toBeLessThanOrEqual(40)
    await isWhole(room)
  })

  it('what is refused of a batch is refused alone', async () => {
    const room = await begun('a')
    const first = room.submit(add('b'))
    await lookedAt(room, 1)
    const orders: readonly Order[] = [
      { type: 'remove', tasks: [name('b')] },
      { type: 'remove', tasks: [name('b')] },
      { type: 'change', task: 'b' as TaskName, set: { title: 'late' } },
      add('c'),
      add('c'),
    ]
    const others = orders.map(order => room.submit(order))
    await settled()
    room.looks[0]!()
    await first
    await lookedAt(room, 2)
    room.looks[1]!()
    expect((await Promise.all(others)).map(codeOf)).toEqual(['ok', 'not-found', 'not-found', 'ok', 'duplicate'])
    await isWhole(room)
  })

  it('whoever names a version is refused when another wrote first', async () => {
    const room = await begun('a')
    Object.assign(room.rooms, { git: { standing: async () => ({ ok: false }) } })
    const { version } = (await room.engine.ask({ type: 'summary', plan: room.id }))!
    const done = await Promise.all([
      room.submit(add('b'), { expectedVersion: version }),
      room.submit(add('c'), { expectedVersion: version }),
      room.submit({ type: 'add', tasks: [external('d')], expectedRevision: 1 }),
      room.submit(add('e')),
    ])
    expect(done.map(codeOf)).toEqual(['ok', 'conflict', 'conflict', 'ok'])
  })

  it('a look that goes wrong fails those who waited for it, and nobody after them', async () => {
    const room = await begun('a')
    let isBroken = true
    const standing = async () => {
      if (isBroken) throw new Error('the disk is gone')
      return { ok: false }
    }
    Object.assign(room.rooms, { git: { standing } })
    await expect(room.submit(add('b'))).rejects.toThrow('the disk is gone')
    isBroken = false
    expect(codeOf(await room.submit(add('b')))).toBe('ok')
  })

  it('an objection is asked of the plan as it stands when it is written', async () => {
    const room = await begun('a')
    const first = room.submit(add('b'))
    await lookedAt(room, 1)
    const seen: number[] = []
    const objection = ({ order }: { readonly order: readonly unknown[] }) => {
      seen.push(order.length)
      return refuse('not-allowed', 'no')
    }
    const second = edit(room.rooms, room.id, add('c') as never, { actor: ME, objection })
    await settled()
    room.looks[0]!()
    await first
    await lookedAt(room, 2)
    room.looks[1]!()
    expect([codeOf(await second), seen]).toEqual(['not-allowed', [2]])
  })

  it('a draft takes changes without a look, also while it is started', async () => {
    const room = setup()
    let looked = 0
    Object.assign(room.rooms, {
      git: {
        standing: async () => {
          looked++
          return { ok: false }
        },
      },
    })
    const made = await room.engine.submit(null, {
      type: 'create',
      definition: { name: 'draft' as never, tasks: [external('a')] },
    })
    if (!made.ok) throw new Error(made.refusal.message)
    const submit = (order: Order) => room.engine.submit(made.plan, order)
    expect(codeOf(await submit({ type: 'change', task: name('a'), set: { title: 'A' } }))).toBe('ok')
    expect(looked).toBe(0)
    const done = await Promise.all([
      submit({ type: 'start' }),
      ...Array.from({ length: 8 }, (_, at) => submit(add(`t${at}`))),
      ...Array.from({ length: 8 }, (_, at) => submit({ type: 'outline', set: {}, extra: { [`k${at}`]: at } })),
    ])
    expect(done.map(codeOf)).toEqual(Array(17).fill('ok'))
    const { definition } = (await room.engine.ask({ type: 'definition', plan: made.plan }))!
    expect([definition.tasks.length, Object.keys(definition.extra ?? {}).length]).toEqual([9, 8])
    await isWhole({ engine: room.engine, id: made.plan })
  })
})
