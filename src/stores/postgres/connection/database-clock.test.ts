import { expect, it } from 'vitest'
import { FakeClock } from '../../store.contract.ts'
import { DatabaseClock } from './database-clock.ts'

function scene() {
  const own = new FakeClock()
  return { own, clock: new DatabaseClock(own) }
}

it('shows the time of this machine until the database has answered, and then its time, whatever becomes of the other', () => {
  const { own, clock } = scene()
  expect(clock.now()).toBe(own.wall)
  clock.learn(5_000, own.ticks - 20, own.ticks)
  expect(clock.now()).toBe(5_010)
  own.wall += 3_600_000
  expect(clock.now()).toBe(5_010)
  own.pass(7)
  expect([clock.now(), clock.monotonic()]).toEqual([5_017, own.ticks])
})

it('believes quick answers more than slow ones, until they are old', () => {
  const { own, clock } = scene()
  clock.learn(5_000, own.ticks - 2, own.ticks)
  clock.learn(9_000, own.ticks - 400, own.ticks)
  expect(clock.now()).toBe(5_001)
  own.pass(3_600_000)
  clock.learn(4_000_000, own.ticks - 400, own.ticks)
  expect(clock.now()).toBe(4_000_200)
})

it('never goes back', () => {
  const { own, clock } = scene()
  clock.learn(5_000, own.ticks, own.ticks)
  expect(clock.now()).toBe(5_000)
  clock.learn(4_990, own.ticks, own.ticks)
  expect(clock.now()).toBe(5_000)
  own.pass(15)
  expect(clock.now()).toBe(5_005)
})
