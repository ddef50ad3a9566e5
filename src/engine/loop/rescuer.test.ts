import { expect, test } from 'vitest'
import { MemoryDisk } from '../../../sim/memory-store/memory-disk.ts'
import { StoreMemory } from '../../../sim/memory-store/store-memory.ts'
import type { PlanId } from '../../domain/id.ts'
import { systemClock } from '../clock.ts'
import { exited, name, setup } from '../rooms.fixture.ts'

test('a plan whose owner died is taken over at once, and only its open attempt is made again', async () => {
  const room = setup(async () => exited(0))
  const plan = await room.plan({ id: name('a'), effect: 'pure' }, { id: name('b'), needs: [name('a')] })
  // Another process: same disk, its own pid, which then dies with task a under way.
  const dead = new StoreMemory(room.disk, {
    clock: systemClock,
    host: { host: 'here', boot: 'boot', pids: 'pids', pid: 2, startTime: '2', isRunning: () => true },
    newId: () => 'dead-owner',
  })
  const owner = await dead.leases.open({ leaseMs: 60_000 })
  const claimed = await dead.leases.claim(plan, owner)
  if (!claimed.ok) throw new Error('not claimed')
  await dead.update(plan, { type: 'turn' }, { actor: 'engine' as never, lease: claimed.lease })
  room.kill(2)
  // A command of it lives on.
  Object.assign(room.rooms.processes, { endOwner: async () => ({ ended: 2, left: 0 }) })

  const stop = new AbortController()
  const rescued: PlanId[] = []
  await room.worker.rescue({
    everyMs: 60_000,
    stop: stop.signal,
    onRescued: taken => rescued.push(taken),
    onDriven: () => stop.abort(),
  })
  expect(rescued).toEqual([plan])
  expect(await room.statuses(plan)).toEqual({ plan: 'completed', a: 'completed', b: 'completed' })
  expect(room.attempts.map(({ task, attempt }) => `${task} ${attempt}`)).toEqual(['a 2', 'b 1'])
  expect(room.disk).toBeInstanceOf(MemoryDisk)
  const entries = (await room.engine.ask({ type: 'entries', plan, after: 0, limit: 50 })) ?? []
  expect(entries.flatMap(({ events }) => events).filter(({ type }) => type === 'attempt.lost')).toMatchObject([
    { task: 'a', reason: 'the process running it died; what was still running of it has been ended' },
  ])
})

test('a claim without heartbeats is given back', async () => {
  const room = setup()
  const plan = await room.plan({ id: name('a'), action: { type: 'external' } })
  const first = await room.engine.as('one' as never).submit(plan, { type: 'claim', leaseMs: 1 })
  expect(first.ok).toBe(true)
  const stop = new AbortController()
  const sweeping = room.worker.rescue({ everyMs: 5, stop: stop.signal })
  await expect.poll(() => room.statuses(plan)).toEqual({ plan: 'active', a: 'ready' })
  stop.abort()
  await sweeping
  expect(await room.engine.as('two' as never).submit(plan, { type: 'claim' })).toMatchObject({
    ok: true,
    claim: { task: 'a' },
  })
})
