import { expect, test } from 'vitest'
import type { Event } from '../event.ts'
import { DecisionReader } from './decisions.ts'

const read = (events: readonly object[], actor = 'ana') =>
  new DecisionReader().read({ version: 4, now: 7, actor, events: events as Event[] } as never)

test('a person who skips a task that waited for them has decided; what is skipped as a consequence has not', () => {
  const opened = { type: 'gate.opened', task: 'build', asks: { type: 'question', question: 'Good enough?' } }
  const skipped = { type: 'task.skipped', task: 'build', reason: 'fine for now' }
  expect(read([opened, skipped, { ...skipped, task: 'test', reason: 'its condition is false' }])).toEqual([
    { task: 'build', asked: 'Good enough?', answer: 'skipped', why: 'fine for now', by: 'ana', at: 7, entry: 4 },
  ])
  expect(read([opened, skipped], 'engine')).toEqual([])
})
