// A shortage pauses a plan that moves, and only that: no task fails, nothing is compensated, and a person's pause outlives it.

import { describe, expect, test } from 'vitest'
import { name, plan, started, task } from '../testing/index.ts'
import { type Shortage, shortageIn, shortageKindOf } from './shortage.ts'
import { packFold, unpackFold } from './state/fold.ts'
import { summary } from './views/summary.ts'

const FULL: Shortage = {
  kind: 'disk-full',
  code: 'ENOSPC',
  message: 'Capturing the write scope: the disk is full.',
  hint: 'Free some space.',
}
const PAUSED = { type: 'plan.paused', reason: 'Capturing the write scope: the disk is full', cause: FULL }
const two = () => started(plan('p', task('a', { effect: 'unsafe' }), task('b', { needs: ['a'] })))
const notBegun = { task: name('a'), visit: 1, attempt: 1, result: { status: 'interrupted', reason: 'x', begun: false } }

describe('a turn that tells of a shortage', () => {
  test('pauses the plan with the cause and starts nothing; a resume takes it away', () => {
    const journal = two()
    expect(journal.must({ type: 'turn', shortage: FULL })).toEqual([PAUSED])
    expect(summary(journal.state)).toMatchObject({ status: 'paused', shortage: FULL })
    expect(unpackFold(packFold(journal.state), journal.state.definition).shortage).toEqual(FULL)
    expect(journal.must({ type: 'resume' })).toEqual([{ type: 'plan.resumed' }])
    expect(summary(journal.state)).not.toHaveProperty('shortage')
  })

  test('changes nothing in a plan that is paused already, or is being undone', () => {
    const paused = two()
    paused.must({ type: 'pause' })
    expect(paused.must({ type: 'turn', shortage: FULL })).toEqual([])
    const cancelled = two()
    cancelled.must({ type: 'cancel' })
    expect(cancelled.must({ type: 'turn', shortage: FULL })).toEqual([])
    expect(cancelled.state.status).toBe('active')
  })

  test('is told with an attempt that did not begin: whatever its class it is ready again', () => {
    const journal = two()
    expect(journal.must({ type: 'turn', settled: [notBegun as never], shortage: FULL })).toEqual([
      { type: 'attempt.lost', task: 'a', visit: 1, attempt: 1, reason: 'x', byUs: true, begun: false },
      PAUSED,
    ])
    expect(journal.status('a')).toBe('ready')
  })
})

test("a person's pause of a plan that lacks something makes it stay, once", () => {
  const journal = two()
  journal.must({ type: 'turn', shortage: FULL })
  expect(journal.must({ type: 'pause', reason: 'not today' })).toEqual([{ type: 'plan.paused', reason: 'not today' }])
  expect(journal.state.shortage).toBeNull()
  expect(journal.must({ type: 'pause' })).toEqual([])
})

test('only what our own work met is a shortage', () => {
  const failure = { class: 'resource', message: 'exit 1', retryable: true, code: 'errno:ENOSPC' } as const
  expect(shortageIn(failure)).toBeNull()
  expect(shortageIn({ ...failure, shortage: 'disk-full' })).toEqual({
    kind: 'disk-full',
    code: 'ENOSPC',
    message: 'exit 1',
    hint: 'Free some space.',
  })
  expect(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'ESTALE', 'ENOENT', 'EACCES'].map(shortageKindOf)).toEqual([
    'disk-full',
    'disk-full',
    'open-files',
    'open-files',
    'unavailable',
    null,
    null,
  ])
})
