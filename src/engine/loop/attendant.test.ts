// A process that lives long drives what has work and leaves alone what has none: nothing is forgotten, and nothing is driven in vain.

import { afterEach, describe, expect, test } from 'vitest'
import { StoreMemory } from '../../../sim/memory-store/store-memory.ts'
import type { Actor, PlanId, PlanName } from '../../domain/id.ts'
import type { TaskDefinition } from '../../domain/plan.ts'
import { START, succeeded } from '../../testing/index.ts'
import { systemClock } from '../clock.ts'
import type { AttendOptions, Driven, Worker } from '../engine.ts'
import { exited, ME, name, type Script, setup, untilStopped } from '../rooms.fixture.ts'
import { attend } from './attendant.ts'

const EXTERNAL = { type: 'external' } as const
const RUN = { id: name('a'), action: { type: 'run', command: { argv: ['true'] } } } as const
const stops: AbortController[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort()
})

/** A room in which somebody attends; `drives` counts how often each plan was driven. */
function attended(script?: Script, options: Partial<AttendOptions> = {}) {
  const room = setup(script)
  const stop = new AbortController()
  stops.push(stop)
  const drives = new Map<PlanId, number>()
  const driven: { plan: PlanId; driven: Driven }[] = []
  const troubles: unknown[] = []
  let roundsGone = 0
  let live = 0
  let most = 0
  const { leases } = room.rooms.store
  const orphans = leases.orphans.bind(leases)
  leases.orphans = async () => {
    roundsGone++
    return await orphans()
  }
  const hand: Pick<Worker, 'drive' | 'tell'> = {
    tell: (plan, more) => room.worker.tell(plan, more),
    async drive(plan, more) {
      drives.set(plan, (drives.get(plan) ?? 0) + 1)
      most = Math.max(most, ++live)
      try {
        return await room.worker.drive(plan, more)
      } finally {
        live--
      }
    },
  }
  const begin = (more: Partial<AttendOptions> = {}) =>
    attend(hand, room.rooms, {
      stop: stop.signal,
      everyMs: 20,
      onDriven: (plan, result) => driven.push({ plan, driven: result }),
      onTrouble: trouble => troubles.push(trouble),
      ...options,
      ...more,
    })
  const status = async (plan: PlanId) => (await room.statuses(plan)).plan
  /** Another plan beside the first. */
  const another = async (title: string, ...tasks: readonly Partial<TaskDefinition>[]) =>
    await room.define({ name: title as PlanName, tasks: tasks as TaskDefinition[] })
  /** Whoever only looks changes nothing, other than the engine's own summary. */
  const row = async (plan: PlanId) => (await room.rooms.store.plans({})).items.find(({ id }) => id === plan)?.status
  /** The attendant has gone round so often since. */
  const rounds = async (count = 4) => {
    const until = roundsGone + count
    await expect.poll(() => roundsGone, { interval: 5, timeout: 120_000 }).toBeGreaterThanOrEqual(until)
  }
  return { ...room, hand, stop, begin, drives, driven, troubles, status, row, rounds, another, most: () => most }
}

describe('what is driven', () => {
  test('every open plan that has work when it begins, and every one that gets some later', async () => {
    const room = attended()
    const before = await room.another('before', { id: name('a') }, { id: name('b'), needs: [name('a')] })
    const attending = room.begin()
    await expect.poll(() => room.status(before)).toBe('completed')
    const later = await room.another('later', { id: name('a') })
    await expect.poll(() => room.status(later)).toBe('completed')
    room.stop.abort()
    await attending
    expect([room.drives.get(before), room.drives.get(later)]).toEqual([1, 1])
    expect(room.driven.map(({ driven }) => driven)).toEqual([
      { status: 'rested', rest: 'ended' },
      { status: 'rested', rest: 'ended' },
    ])
    expect(room.troubles).toEqual([])
  })

  test('a plan that waits for an agent costs nothing until the agent reports; then it goes on at once', async () => {
    const room = attended()
    const plan = await room.another('p', { id: name('a'), action: EXTERNAL }, { id: name('b'), needs: [name('a')] })
    const attending = room.begin()
    await room.rounds()
    await room.engine.submit(plan, { type: 'note', text: 'hello' })
    await room.engine.submit(plan, { type: 'claim' })
    await room.rounds()
    expect(room.drives.size).toBe(0)
    await room.engine.submit(plan, { type: 'report', task: name('a'), result: succeeded() })
    await expect.poll(() => room.status(plan)).toBe('completed')
    room.stop.abort()
    await attending
    expect(room.drives.get(plan)).toBe(1)
  })

  test('a draft is left alone, and so is one that is paused until it is resumed', async () => {
    const room = attended()
    const made = await room.engine.submit(null, { type: 'create', definition: { name: 'd' as PlanName, tasks: [] } })
    if (!made.ok) throw new Error(made.refusal.message)
    const attending = room.begin()
    await room.engine.submit(made.plan, { type: 'add', tasks: [RUN] })
    await room.rounds()
    expect([room.drives.size, await room.status(made.plan)]).toEqual([0, 'draft'])
    await room.engine.submit(made.plan, { type: 'start' })
    await expect.poll(() => room.status(made.plan)).toBe('completed')
    room.stop.abort()
    await attending
  })

  test('at most so many at once, and all of them in the end', async () => {
    const waiting: (() => void)[] = []
    const room = attended(
      () =>
        new Promise(resolve => {
          waiting.push(() => resolve(exited(0)))
        }),
      { max: 3 },
    )
    const plans: PlanId[] = []
    for (let at = 0; at < 8; at++) plans.push(await room.another(`p${at}`, { id: name('a'), effect: 'pure' }))
    const attending = room.begin()
    await expect.poll(() => waiting.length).toBe(3)
    await room.rounds()
    expect(waiting.length).toBe(3)
    for (let ended = 0; ended < plans.length; ended++) {
      await expect.poll(() => waiting.length).toBeGreaterThan(0)
      waiting.shift()?.()
    }
    for (const plan of plans) await expect.poll(() => room.status(plan)).toBe('completed')
    room.stop.abort()
    await attending
    expect(room.most()).toBe(3)
  })

  test('a retry that is due soon is waited for', async () => {
    let tries = 0
    const room = attended(async () => exited(++tries < 3 ? 1 : 0))
    const retry = { attempts: 3, backoffMs: { min: 10, max: 10 } }
    const plan = await room.another('p', { id: name('a'), effect: 'pure', retry })
    const attending = room.begin()
    await expect.poll(() => room.status(plan)).toBe('completed')
    room.stop.abort()
    await attending
    expect(tries).toBe(3)
  })

  test('whoever must be asked in time is: a gate that nobody answers runs out by itself', async () => {
    const room = attended()
    const gate = { type: 'gate', gate: 'approval', expiresMs: 120 } as const
    const plan = await room.another('p', { id: name('g'), action: gate })
    const attending = room.begin()
    await expect.poll(() => room.row(plan), { timeout: 120_000 }).toBe('failed')
    room.stop.abort()
    await attending
    const entries = (await room.engine.ask({ type: 'entries', plan })) ?? []
    const told = entries.flatMap(({ events }) => events.map(({ type }) => type))
    expect(told.indexOf('gate.opened')).toBeGreaterThan(told.indexOf('plan.started'))
    expect(told.indexOf('plan.finished')).toBeGreaterThan(told.indexOf('gate.opened'))
    // Asked when it was started, it is driven only when its time is over.
    expect(room.drives.get(plan)).toBe(1)
  })
})

describe('who else is there', () => {
  test('what another process sets going is left to it for a moment, and driven when it does not', async () => {
    const room = attended(undefined, { graceMs: 200 })
    const order = { type: 'create', definition: { name: 'p' as PlanName, tasks: [RUN] } } as const
    const made = await room.engine.submit(null, order)
    if (!made.ok) throw new Error(made.refusal.message)
    const attending = room.begin()
    await room.rounds(1)
    const other = new StoreMemory(room.disk, {
      clock: systemClock,
      host: { host: 'here', boot: 'boot', pids: 'pids', pid: 2, startTime: '2', isRunning: () => true },
      newId: () => 'other-owner',
    })
    const began = systemClock.monotonic()
    await other.update(made.plan, START, { actor: ME })
    await expect.poll(() => room.row(made.plan), { timeout: 120_000 }).toBe('completed')
    expect(systemClock.monotonic() - began).toBeGreaterThan(150)
    room.stop.abort()
    await attending
    expect(room.drives.get(made.plan)).toBe(1)
  })

  test('what others hold is left to them, and taken when they let go', async () => {
    const room = attended()
    const plan = await room.another('p', { id: name('a') })
    const other = new StoreMemory(room.disk, {
      clock: systemClock,
      host: { host: 'here', boot: 'boot', pids: 'pids', pid: 2, startTime: '2', isRunning: () => true },
      newId: () => 'other-owner',
    })
    const owner = await other.leases.open({ leaseMs: 60_000 })
    expect(await other.leases.claim(plan, owner)).toMatchObject({ ok: true })
    const attending = room.begin()
    await room.rounds()
    expect([await room.status(plan), room.drives.size]).toEqual(['active', 0])
    await other.leases.release(plan, owner)
    await expect.poll(() => room.status(plan)).toBe('completed')
    room.stop.abort()
    await attending
  })

  test('what a dead owner left open is made again, once', async () => {
    const room = attended()
    const plan = await room.another('p', { id: name('a'), effect: 'pure' })
    const dead = new StoreMemory(room.disk, {
      clock: systemClock,
      host: { host: 'here', boot: 'boot', pids: 'pids', pid: 2, startTime: '2', isRunning: () => true },
      newId: () => 'dead-owner',
    })
    const claimed = await dead.leases.claim(plan, await dead.leases.open({ leaseMs: 60_000 }))
    if (!claimed.ok) throw new Error('not claimed')
    await dead.update(plan, { type: 'turn' }, { actor: 'engine' as Actor, lease: claimed.lease })
    const attending = room.begin()
    await room.rounds()
    expect(room.attempts).toEqual([])
    room.kill(2)
    await expect.poll(() => room.status(plan)).toBe('completed')
    room.stop.abort()
    await attending
    expect(room.attempts.map(({ attempt }) => attempt)).toEqual([2])
  })

  test('claims whose agent fell silent are given back', async () => {
    const room = attended()
    const plan = await room.another('p', { id: name('a'), action: EXTERNAL })
    await room.engine.submit(plan, { type: 'claim', leaseMs: 1 })
    const attending = room.begin()
    await expect.poll(async () => (await room.statuses(plan)).a).toBe('ready')
    room.stop.abort()
    await attending
  })
})

describe('how it ends', () => {
  test('stopped, it begins nothing new and lets what runs come to rest', async () => {
    const { script, begun } = untilStopped()
    const room = attended(script)
    const plan = await room.another('p', { id: name('a'), effect: 'pure' })
    const attending = room.begin()
    await begun
    room.stop.abort()
    await attending
    expect(room.driven).toEqual([{ plan, driven: { status: 'stopped' } }])
    expect(await room.statuses(plan)).toEqual({ plan: 'active', a: 'ready' })
    expect(await room.rooms.store.leases.holder(plan)).toBeNull()
  })

  test('trouble with one plan is told, and tried again later; the others go on', async () => {
    const room = attended()
    const bad = await room.another('bad', { id: name('a') })
    const good = await room.another('good', { id: name('a') })
    let failing = 2
    const attending = attend(
      {
        ...room.hand,
        drive: async (plan, more) => {
          if (plan === bad && failing-- > 0) throw new Error('no luck')
          return await room.hand.drive(plan, more)
        },
      },
      room.rooms,
      { stop: room.stop.signal, everyMs: 10, onTrouble: (trouble, plan) => room.troubles.push([trouble, plan]) },
    )
    await expect.poll(() => room.status(good)).toBe('completed')
    await expect.poll(() => room.status(bad)).toBe('completed')
    room.stop.abort()
    await attending
    expect(room.troubles).toEqual([
      [new Error('no luck'), bad],
      [new Error('no luck'), bad],
    ])
  })

  test('driving that changes nothing is not repeated again and again', async () => {
    const room = attended()
    const plan = await room.another('p', { id: name('a') })
    const began = systemClock.monotonic()
    const driven: number[] = []
    const attending = attend(
      {
        ...room.hand,
        drive: async () => {
          driven.push(systemClock.monotonic() - began)
          return { status: 'rested', rest: 'waiting' }
        },
      },
      room.rooms,
      { stop: room.stop.signal, everyMs: 20 },
    )
    await expect.poll(() => driven.length).toBeGreaterThanOrEqual(5)
    room.stop.abort()
    await attending
    // Each wait is at least twice as long as the one before: 20, 40, 80 and 160 ms, and no less on any machine.
    for (const [at, ms] of driven.entries()) expect(ms).toBeGreaterThanOrEqual(20 * (2 ** at - 1))
    expect(await room.status(plan)).toBe('active')
  })
})

test('a plan in which nothing happens for long gives its place to others', async () => {
  const room = setup(async () => exited(1))
  const retry = { attempts: 3, backoffMs: { min: 60_000, max: 60_000 } }
  const plan = await room.plan({ id: name('a'), effect: 'pure', retry })
  const driven = await room.worker.drive(plan, { stop: new AbortController().signal, patienceMs: 1_000 })
  expect(driven).toEqual({ status: 'rested', rest: 'waiting' })
  expect(await room.rooms.store.leases.holder(plan)).toBeNull()
  expect(await room.statuses(plan)).toEqual({ plan: 'active', a: 'ready' })
})
