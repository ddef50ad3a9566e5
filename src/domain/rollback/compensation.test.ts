// A plan that fails undoes what declared how: the saga. Compensations on the way back: going-back.test.ts; on cancel: lifecycle.test.ts.

import { describe, expect, it } from 'vitest'
import { failed, type Journal, name, numberedSha, plan, started, succeeded, task } from '../../testing/index.ts'
import type { Event } from '../event.ts'
import { nextActions } from '../next-actions.ts'
import type { PlanDefinition } from '../plan.ts'

const undo = { type: 'run', command: { argv: ['undo'] } } as const
const types = (events: readonly Event[]) => events.map(({ type }) => type)
const compensated = (task: string, result: ReturnType<typeof succeeded | typeof failed> = succeeded()) => ({
  compensated: [{ task: name(task), result }],
})

const three = [
  task('a', { compensate: undo }),
  task('b', { needs: ['a'], compensate: { type: 'edit', edits: [] } }),
  task('c', { needs: ['b'] }),
]

describe('a plan that fails', () => {
  function failedPlan(definition: PlanDefinition): Journal {
    const journal = started(definition)
    journal.succeed('a')
    journal.succeed('b')
    journal.fail('c')
    return journal
  }

  it('undoes what declared how, last first, and then has failed for the reason it had', () => {
    const journal = failedPlan(plan('p', ...three))
    expect(types(journal.entries.at(-1)!.events)).toEqual(['attempt.failed', 'recovery.chosen', 'plan.compensating'])
    expect(nextActions(journal.state, 0)).toMatchObject({ turn: true, rest: null })
    expect(journal.turn()).toMatchObject([{ type: 'compensation.started', task: 'b' }])
    journal.turn(compensated('b'))
    expect(journal.turn(compensated('a'))).toMatchObject([
      { type: 'compensation.finished', task: 'a' },
      { type: 'plan.finished', status: 'failed', reason: "task 'c' failed: it said no" },
    ])
    expect(journal.state).toMatchObject({ compensated: ['b', 'a'], completedOrder: [], ending: null })
  })

  it('says what could not be undone, and goes on with the rest', () => {
    const journal = failedPlan(plan('p', ...three))
    journal.turn()
    journal.turn(compensated('b', failed({ message: 'gone' })))
    journal.turn(compensated('a'))
    expect(journal.state).toMatchObject({
      status: 'failed',
      reason: "task 'c' failed: it said no; undo step of b failed: gone",
      compensated: ['a'],
      completedOrder: ['b'],
    })
  })

  it('leaves all as it is when its policy says so, and when there is nothing to undo', () => {
    expect(failedPlan(plan('p', ...three, { policy: { onFailure: 'keep' } })).state.status).toBe('failed')
    const bare = failedPlan(plan('p', task('a'), task('b', { needs: ['a'] }), task('c', { needs: ['b'] })))
    expect(bare.state.status).toBe('failed')
  })

  it('is not held up by a task that no longer says how', () => {
    const journal = started(plan('p', ...three))
    journal.succeed('a')
    journal.must({
      type: 'revise',
      definition: plan('p', task('a'), task('b', { needs: ['a'] }), task('c', { needs: ['b'] })),
      hash: numberedSha(2),
      rationale: 'simpler',
    })
    journal.succeed('b')
    journal.fail('c')
    expect(journal.state.status).toBe('failed')
  })

  it('is neither paused, retried nor cancelled meanwhile; by force it ends at once', () => {
    const journal = failedPlan(plan('p', ...three))
    journal.turn()
    expect(journal.submit({ type: 'retry', task: name('c') })).toMatchObject({
      refusal: { message: expect.stringContaining('its undo steps have not ended') },
    })
    expect(journal.submit({ type: 'pause' }).ok).toBe(false)
    expect(journal.must({ type: 'cancel' })).toEqual([])
    journal.must({ type: 'cancel', force: true, reason: 'enough' })
    expect(journal.state).toMatchObject({ status: 'cancelled', reason: 'enough', compensation: null })
  })

  it.each(['retry', 'skip'] as const)('does again what it undid, when its work is taken up by %s', command => {
    const journal = failedPlan(plan('p', ...three))
    journal.turn()
    journal.turn(compensated('b'))
    journal.turn(compensated('a'))
    journal.must({ type: command, task: name('c'), reason: 'mended' })
    expect(journal.status('a')).toBe('ready')
    expect(journal.status('b')).toBe('pending')
    expect(journal.state.compensated).toEqual([])
    journal.turn()
    journal.succeed('a')
    journal.succeed('b')
    // Done again: it would be undone again.
    expect(journal.state.completedOrder).toEqual(['a', 'b'])
  })

  it('after a crash does not make a compensation twice of which nobody knows whether it happened', () => {
    const journal = failedPlan(plan('p', ...three))
    journal.turn()
    journal.turn(compensated('b'))
    expect(types(journal.must({ type: 'recover', reason: 'its owner died' }))).toEqual([
      'compensation.finished',
      'plan.finished',
    ])
    expect(journal.state.reason).toContain('whether the undo step took effect is unknown')
  })
})

it('a compensation by a task of the plan is tried as often as that task, and its failures are not counted for the next', () => {
  const retry = { attempts: 2, backoffMs: { min: 1_000, max: 1_000 } }
  const journal = started(
    plan(
      'p',
      task('a', { compensate: { type: 'task', task: name('undo-a') } }),
      task('b', { needs: ['a'], compensate: { type: 'task', task: name('undo-a') } }),
      task('c', { needs: ['b'] }),
      task('undo-a', { effect: 'idempotent', retry }),
    ),
  )
  for (const one of ['a', 'b']) journal.succeed(one)
  journal.fail('c')
  journal.turn()
  expect(nextActions(journal.state, 0).compensate).toMatchObject({
    task: { definition: { id: 'b' } },
    by: { definition: { id: 'undo-a' } },
  })
  const busy = failed({ class: 'transient', retryable: true })
  for (const one of ['b', 'a']) {
    expect(types(journal.turn(compensated(one, busy)))).toEqual(['compensation.retried'])
    journal.clock.advance(1_000)
    journal.turn()
    journal.turn(compensated(one))
  }
  expect(journal.state).toMatchObject({ status: 'failed', compensated: ['b', 'a'], compensationFailures: 0 })
})

it('a compensation waits before its next attempt as long as the other side asked for', () => {
  const retry = { attempts: 2, backoffMs: { min: 1_000, max: 1_000 } }
  const journal = started(
    plan('p', task('a', { retry, compensate: { type: 'external' } }), task('b', { needs: ['a'] })),
  )
  journal.succeed('a')
  journal.fail('b')
  journal.turn()
  const busy = failed({ class: 'transient', retryable: true, retryAfterMs: 30_000 })
  expect(journal.turn(compensated('a', busy))).toMatchObject([
    { type: 'compensation.retried', at: journal.clock.now() + 30_000 },
  ])
})

describe('what a task wrote', () => {
  const wrote = { wrote: { changes: numberedSha(5), paths: 2 } }
  const committed = { task: name('a'), visit: 1, operations: [] }

  it('is committed before the plan ends, and only where the plan says so', () => {
    const journal = started(plan('p', task('a'), { git: { commits: 'task' } }))
    journal.succeed('a', wrote)
    expect(journal.state).toMatchObject({ status: 'active', uncommitted: [{ task: 'a', visit: 1 }] })
    expect(nextActions(journal.state, 0)).toMatchObject({ commit: { task: 'a', changes: numberedSha(5) }, rest: null })
    expect(types(journal.turn({ committed: [committed] }))).toEqual(['git.committed', 'plan.finished'])
    expect(journal.turn({ committed: [committed] })).toEqual([])
    const bare = started(plan('p', task('a')))
    bare.succeed('a', wrote)
    expect(bare.state).toMatchObject({ status: 'completed', uncommitted: [] })
  })

  it('that cannot be committed does not hold up the plan, and is forgotten when the plan is ended by force', () => {
    const journal = started(plan('p', task('a'), { git: { commits: 'task' } }))
    journal.succeed('a', wrote)
    const { failure } = failed({ message: 'no identity' })
    journal.turn({ committed: [{ ...committed, failure }] })
    expect(journal.state.status).toBe('completed')
    const forced = started(plan('p', task('a'), { git: { commits: 'task' } }))
    forced.succeed('a', wrote)
    forced.must({ type: 'cancel', force: true })
    expect([forced.state.uncommitted, nextActions(forced.state, 0).rest]).toEqual([[], 'ended'])
  })
})
