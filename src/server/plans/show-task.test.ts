// Names the service makes itself: one that is taken is made again, and nobody who asked is blamed for it.

import { randomBytes } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import type { Actor } from '../../domain/id.ts'
import { type Served, served } from '../server.fixture.ts'
import { DRAWS_MAX, markOf } from './show-task.ts'

const open: Served[] = []
afterEach(async () => {
  for (const service of open.splice(0)) await service.close()
})

/** A service whose lots fall as they are told to, and then by chance. */
async function drawing(lots: readonly number[] = []) {
  const left: number[] = []
  const service = await served({
    random: bytes => {
      const lot = bytes === 6 ? left.shift() : undefined
      return lot === undefined ? randomBytes(bytes) : new Uint8Array(bytes).fill(lot)
    },
  })
  open.push(service)
  await service.ask('POST', '/plans', { goal_id: 'g', name: 'p' })
  left.push(...lots)
  const add = async (body: unknown, key?: string) => {
    const made = await service.ask('POST', '/tasks', body, key === undefined ? {} : { 'idempotency-key': key })
    const told = made.status === 201 ? [made.body].flat().map(one => one.name as string) : made.body.detail
    return { status: made.status, told }
  }
  const names = async (): Promise<string[]> =>
    (await service.ask('GET', '/tasks?plan_id=p')).body.items.map((one: { name: string }) => one.name)
  return { service, add, names, left }
}
const x = { plan_id: 'p', description: 'x' }

describe('a name that was drawn', () => {
  test('and is taken in the request is drawn again', async () => {
    const { add, left } = await drawing([0, 0, 0, 1])
    const { status, told } = await add([x, x, { ...x, name: 'x-bbbbbb' }])
    expect({ status, told }).toEqual({
      status: 201,
      told: ['x-aaaaaa', expect.stringMatching(/^x-.{6}$/), 'x-bbbbbb'],
    })
    expect({ distinct: new Set(told).size, left }).toEqual({ distinct: 3, left: [] })
  })

  test.each(['draft', 'active'])('and is taken in the plan, which is %s, is drawn again', async status => {
    const { service, add, names } = await drawing([0, 0, 1, 0, 1, 2, 3])
    expect(await add(x)).toEqual({ status: 201, told: ['x-aaaaaa'] })
    if (status === 'active') await service.ask('POST', '/plans/p/execute', {})
    expect((await service.ask('GET', '/plans/p')).body.state).toBe(status)
    // The first two are drawn as a and b, and a is taken; then as a and b again; then as c and d.
    expect(await add([x, x])).toEqual({ status: 201, told: ['x-cccccc', 'x-dddddd'] })
    expect(await names()).toHaveLength(3)
  })

  test('is told when the lot always falls the same; one that was said is told at once', async () => {
    const same = await drawing(Array.from({ length: 100 }, () => 0))
    expect((await same.add(x)).status).toBe(201)
    expect(await same.add(x)).toEqual({ status: 422, told: "two tasks are called 'x-aaaaaa'" })
    const { add, left } = await drawing([0, 1, 2, 3])
    await add({ ...x, name: 'said' })
    expect(await add([{ ...x, name: 'said' }, x])).toEqual({ status: 422, told: "two tasks are called 'said'" })
    expect(left).toEqual([1, 2, 3])
  })

  test('under a key is made again the same way: a repetition gives the same names', async () => {
    const { service, add, names } = await drawing()
    const mark = (part: number, again: number) =>
      `x-${markOf({ rooms: service.rooms, who: { actor: 'anyone' as Actor } as never, once: 'k' }, part, again)}`
    // In the plan the first of them is taken, and in the request the second of the second round.
    await add({ ...x, name: mark(0, 0) })
    const sent = [x, x, { ...x, name: mark(1, 1) }]
    const first = await add(sent, 'k')
    expect(first).toEqual({ status: 201, told: [mark(0, 1), mark(1, 1 + DRAWS_MAX), mark(1, 1)] })
    expect(await add(sent, 'k')).toEqual(first)
    expect(await Promise.all([add(sent, 'k'), add(sent, 'k')])).toEqual([first, first])
    // Also when what stood in the way has gone.
    const { body } = await service.ask('GET', `/tasks/p:${mark(0, 0)}`)
    expect((await service.ask('DELETE', `/tasks/${body.id}`)).status).toBe(204)
    expect(await add(sent, 'k')).toEqual(first)
    expect(await names()).toHaveLength(3)
    expect(await add([...sent, x], 'k')).toEqual({
      status: 409,
      told: 'this Idempotency-Key was used for something else',
    })
    expect(await names()).toHaveLength(3)
  })

  test('of a plan, and is taken, is numbered: the same under a key', async () => {
    const { service } = await drawing([0, 0])
    const make = async (key?: string) => {
      const headers: { [name: string]: string } = key === undefined ? {} : { 'idempotency-key': key }
      const { status, body } = await service.ask('POST', '/plans', { goal_id: 'g', description: 'x' }, headers)
      return [status, body.name]
    }
    expect([await make(), await make()]).toEqual([
      [201, 'x-aaaaaa'],
      [201, 'x-aaaaaa-2'],
    ])
    const mark = markOf({ rooms: service.rooms, who: { actor: 'anyone' as Actor } as never, once: 'k' })
    await service.ask('POST', '/plans', { goal_id: 'g', name: `x-${mark}` })
    expect([await make('k'), await make('k')]).toEqual([
      [201, `x-${mark}-2`],
      [201, `x-${mark}-2`],
    ])
  })
})
