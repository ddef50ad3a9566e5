// The state of a plan in the tab: in order, once each, and only what changed.

import { expect, test } from 'vitest'
import type { Entry } from '../../src/client/client.ts'
import type { Event } from '../../src/domain/event.ts'
import { packFold } from '../../src/domain/state/fold.ts'
import { PlanFold } from './plan-fold.ts'

const definition = {
  name: 'plan',
  tasks: [
    { id: 'a', action: { type: 'run', command: { argv: ['true'] } } },
    { id: 'b', needs: ['a'], action: { type: 'gate', ask: { type: 'approval' } } },
  ],
} as never
const entry = (version: number, ...events: readonly object[]): Entry =>
  ({
    plan: 'p',
    version,
    position: version,
    actor: 'ana',
    now: 1_000 * version,
    events: events as readonly Event[],
  }) as never

const CREATED = entry(1, { type: 'plan.created', plan: 'p', definition, hash: 'h', seed: 1 })
const STARTED = entry(2, { type: 'plan.started' }, { type: 'task.readied', tasks: ['a'] })

test('entries are read in order, each once, and one behind a gap is not', () => {
  const fold = new PlanFold()
  expect(fold.read(STARTED)).toBe(false)
  expect(fold.version).toBe(0)
  expect([CREATED, CREATED, STARTED].map(one => fold.read(one))).toEqual([true, true, true])
  expect(fold.version).toBe(2)
  expect(fold.whole().tasks.map(({ name, status }) => `${name} ${status}`)).toEqual(['a ready', 'b pending'])
})

test('after the first frame only what changed is sent', () => {
  const fold = new PlanFold()
  fold.read(CREATED)
  expect(fold.changes()).toMatchObject({ whole: true, tasks: [{ name: 'a' }, { name: 'b' }] })
  expect(fold.changes().tasks).toEqual([])
  fold.read(STARTED)
  expect(fold.changes()).toMatchObject({ whole: false, tasks: [{ name: 'a', look: 'ready' }] })
})

test('a packed state is where the journal would have led', () => {
  const read = new PlanFold()
  for (const one of [CREATED, STARTED]) read.read(one)
  const started = new PlanFold()
  expect(started.start(packFold(read.state), read.state.definition)).toBe(true)
  expect(started.whole()).toEqual(read.whole())
})
