import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { create, gate, given, name, plan, START, started, task } from '../../testing/index.ts'

describe('readiness', () => {
  it('a task is ready when all it needs is completed or skipped, and not before', () => {
    const journal = started(plan('p', task('a'), task('b'), task('c', { needs: ['a', 'b'] })))
    expect(journal.statuses()).toEqual({ a: 'running', b: 'running', c: 'pending' })
    journal.succeed('a')
    expect(journal.status('c')).toBe('pending')
    journal.succeed('b')
    expect(journal.status('c')).toBe('running')
  })

  it('starting a plan readies what needs nothing, in one event; a gate waits for its question', () => {
    given(create(plan('p', task('a'), gate('g'), task('b', { needs: ['a', 'a'] }), task('c'))))
      .when(START)
      .then(
        { type: 'plan.started', rules: START.rules },
        { type: 'task.readied', tasks: [name('a'), name('g'), name('c')] },
      )
  })

  it('a skipped task satisfies those that need it', () => {
    const journal = started(plan('p', gate('a'), task('b', { needs: ['a'] })))
    expect(journal.must({ type: 'skip', task: name('a'), reason: 'not now' })).toEqual([
      { type: 'task.skipped', task: 'a', reason: 'not now' },
      { type: 'task.readied', tasks: ['b'] },
    ])
  })
})

describe('blocking', () => {
  it('regression 16: failure blocks all transitive dependants and only those; independent branches finish', () => {
    const journal = started(
      plan(
        'p',
        task('a'),
        task('b', { needs: ['a'] }),
        task('c', { needs: ['b'] }),
        task('x'),
        task('y', { needs: ['x'] }),
        task('both', { needs: ['y', 'c'] }),
      ),
    )
    expect(journal.fail('a')).toEqual([
      {
        type: 'attempt.failed',
        task: 'a',
        visit: 1,
        attempt: 1,
        result: { status: 'failed', failure: { class: 'logic', message: 'it said no', retryable: false } },
      },
      {
        type: 'recovery.chosen',
        task: 'a',
        visit: 1,
        choice: 'block',
        reason: 'not retried: a retry would not help',
      },
      { type: 'task.blocked', tasks: ['b', 'c', 'both'], by: 'a' },
    ])
    journal.succeed('x')
    journal.succeed('y')
    expect(journal.statuses()).toEqual({
      a: 'failed',
      b: 'blocked',
      c: 'blocked',
      x: 'completed',
      y: 'completed',
      both: 'blocked',
    })
    expect(journal.state.status).toBe('failed')
  })

  it('regression 16: in any graph, the blocked are those that can reach a failure', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.nat(11), { maxLength: 3 }), { minLength: 1, maxLength: 12 }),
        fc.uniqueArray(fc.nat(11), { maxLength: 3 }),
        (list, bad) => {
          const needs = list.map((some, at) => (at === 0 ? [] : [...new Set(some.map(need => need % at))]))
          const journal = started(
            plan('p', ...needs.map((some, at) => task(`t${at}`, { needs: some.map(need => `t${need}`) })), {
              concurrency: 12,
            }),
          )
          for (let at = 0; at < needs.length; at++) {
            if (journal.status(`t${at}`) !== 'running') continue
            if (bad.includes(at)) journal.fail(`t${at}`)
            else journal.succeed(`t${at}`)
          }
          const hurt: boolean[] = []
          const expected = needs.map((some, at) => {
            const blocked = some.some(need => hurt[need] || (bad.includes(need) && !hurt[need]))
            hurt[at] = blocked
            return blocked ? 'blocked' : bad.includes(at) ? 'failed' : 'completed'
          })
          expect(Object.values(journal.statuses())).toEqual(expected)
          expect(journal.state.status).toBe(expected.every(status => status === 'completed') ? 'completed' : 'failed')
          // Whoever skips the failures frees exactly what they held.
          for (const at of bad)
            if (expected[at] === 'failed') journal.must({ type: 'skip', task: name(`t${at}`), reason: 'enough' })
          expect(Object.values(journal.statuses()).includes('blocked')).toBe(false)
        },
      ),
    )
  })

  it('a task blocked twice is free only when both are gone, by retry or by skip', () => {
    const journal = started(
      plan('p', task('a'), task('b'), task('c', { needs: ['a', 'b'] }), task('d', { needs: ['c'] })),
    )
    journal.fail('a')
    journal.fail('b')
    expect(journal.must({ type: 'skip', task: name('a'), reason: 'enough' })).toEqual([
      { type: 'plan.reopened', reason: "'a' was skipped" },
      { type: 'task.skipped', task: 'a', reason: 'enough' },
      { type: 'plan.finished', status: 'failed', reason: "task 'b' failed: it said no" },
    ])
    expect(journal.must({ type: 'retry', task: name('b') })).toEqual([
      { type: 'plan.reopened', reason: "retry of 'b'" },
      { type: 'task.reopened', tasks: ['b'], reason: 'manual retry' },
      { type: 'task.unblocked', tasks: ['c', 'd'] },
      { type: 'task.readied', tasks: ['b'] },
    ])
    journal.turn()
    journal.succeed('b')
    expect(journal.statuses()).toEqual({ a: 'skipped', b: 'completed', c: 'running', d: 'pending' })
  })

  it('a task that comes back to a need which still blocks it is blocked again, not forgotten', () => {
    const journal = started(plan('p', task('a'), task('f', { optional: true }), task('d', { needs: ['a', 'f'] })))
    journal.succeed('a')
    journal.fail('f')
    journal.must({ type: 'skip', task: name('d'), reason: 'enough' })
    expect(journal.state.status).toBe('completed')
    journal.must({ type: 'retry', task: name('a'), repeat: true })
    expect(journal.statuses()).toEqual({ a: 'ready', f: 'failed', d: 'blocked' })
  })
})

describe('optional', () => {
  it('an optional task may fail and the plan is completed', () => {
    const journal = started(plan('p', task('a'), task('b', { optional: true })))
    journal.fail('b')
    journal.succeed('a')
    expect([journal.state.status, journal.statuses()]).toEqual(['completed', { a: 'completed', b: 'failed' }])
  })

  it('but what is required and needs it is blocked, and the plan has failed', () => {
    const journal = started(plan('p', task('b', { optional: true }), task('c', { needs: ['b'] })))
    expect(journal.fail('b').at(-1)).toEqual({
      type: 'plan.finished',
      status: 'failed',
      reason: "task 'c' is blocked by b",
    })
  })
})
