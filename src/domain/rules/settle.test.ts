import { describe, expect, it } from 'vitest'
import {
  edit,
  external,
  failed,
  interrupted,
  name,
  numberedSha,
  plan,
  started,
  succeeded,
  type TaskOptions,
  task,
} from '../../testing/index.ts'
import { advise, quoted } from '../hint.ts'
import { LOST_MAX } from '../limits.ts'
import { nextActions } from '../next-actions.ts'
import type { EffectClass } from '../plan.ts'
import { backoffMs } from '../recovery/retry.ts'

const retry = { attempts: 3, backoffMs: { min: 1_000, max: 3_000 } }

describe('retries', () => {
  it('regression 17: a retry really occurs, after its back-off, and stops at the cap', () => {
    const journal = started(plan('p', task('a', { retry }), task('b', { needs: ['a'] })))
    const seed = `${journal.state.id}/a/1`
    for (const failures of [1, 2]) {
      const wait = backoffMs(retry, failures, seed)
      const at = journal.clock.now() + wait
      expect(journal.fail('a', { retryable: true }).slice(2)).toEqual([{ type: 'retry.scheduled', task: 'a', at }])
      expect(nextActions(journal.state, journal.clock.now())).toMatchObject({ turn: false, wakeAt: at, rest: null })
      journal.clock.advance(wait - 1)
      expect(journal.turn()).toEqual([])
      journal.clock.advance(1)
      expect(nextActions(journal.state, journal.clock.now()).turn).toBe(true)
      expect(journal.turn()).toEqual([
        { type: 'task.readied', tasks: ['a'] },
        { type: 'attempt.started', task: 'a', visit: 1, attempt: failures + 1 },
      ])
    }
    expect(journal.fail('a', { retryable: true }).slice(2)).toEqual([
      { type: 'task.blocked', tasks: ['b'], by: 'a' },
      { type: 'plan.finished', status: 'failed', reason: "task 'a' failed: it said no" },
    ])
  })

  it('what is not retryable is not tried again', () => {
    const journal = started(plan('p', task('a', { retry })))
    journal.fail('a', { retryable: false })
    expect(journal.status('a')).toBe('failed')
  })

  it('regression 11: without a retry policy, or with one of zero attempts, there is one attempt', () => {
    for (const options of [{}, { retry: { attempts: 0, backoffMs: { min: 0, max: 0 } } }] satisfies TaskOptions[]) {
      const journal = started(plan('p', task('a', options)))
      journal.fail('a', { retryable: true })
      expect(journal.status('a')).toBe('failed')
    }
  })

  it('the soonest of several timers wakes the plan, also after one of them was overtaken by hand', () => {
    const journal = started(
      plan(
        'p',
        task('a', { retry: { attempts: 9, backoffMs: { min: 100, max: 100 } } }),
        task('b', { retry: { attempts: 9, backoffMs: { min: 200, max: 200 } } }),
        task('c', { retry: { attempts: 9, backoffMs: { min: 900, max: 900 } } }),
      ),
    )
    const start = journal.clock.now()
    const wakeAt = () => nextActions(journal.state, journal.clock.now()).wakeAt! - start
    for (const one of ['c', 'b', 'a']) journal.fail(one, { retryable: true })
    expect(wakeAt()).toBe(100)
    journal.must({ type: 'retry', task: name('a') })
    expect(wakeAt()).toBe(200)
    journal.turn()
    journal.clock.advance(150)
    journal.fail('a', { retryable: true })
    expect(wakeAt()).toBe(200)
    journal.clock.advance(50)
    journal.turn()
    expect(wakeAt()).toBe(250)
  })

  it('a timer that was overtaken by hand never fires for the retry that came after', () => {
    const retryIn = (ms: number) => ({ retry: { attempts: 9, backoffMs: { min: ms, max: ms } } })
    const journal = started(plan('p', task('a', retryIn(100)), task('c', retryIn(900))))
    const start = journal.clock.now()
    journal.fail('a', { retryable: true })
    journal.fail('c', { retryable: true })
    journal.must({ type: 'retry', task: name('c') })
    journal.turn()
    journal.clock.advance(850)
    journal.fail('c', { retryable: true })
    expect(nextActions(journal.state, journal.clock.now()).wakeAt).toBe(start + 850 + 900)
  })

  it('timers that are due at the same time fire in the order of the plan, whatever the order of failing', () => {
    const options = { retry: { attempts: 9, backoffMs: { min: 100, max: 100 } } }
    const journal = started(plan('p', task('a', options), task('b', options), task('c', options)))
    for (const one of ['c', 'a', 'b']) journal.fail(one, { retryable: true })
    journal.clock.advance(100)
    expect(journal.turn()[0]).toEqual({ type: 'task.readied', tasks: ['a', 'b', 'c'] })
  })
})

describe('an unknown outcome', () => {
  const recover = { type: 'recover', reason: 'its owner died' } as const
  const lost = { type: 'attempt.lost', task: 'a', visit: 1, attempt: 1, reason: 'its owner died' }

  it.each<EffectClass>(['pure', 'idempotent', 'probed', 'model'])('of a %s task: it runs again', effect => {
    const journal = started(plan('p', task('a', { effect })))
    expect(journal.must(recover)).toEqual([lost])
    expect(journal.turn()).toEqual([{ type: 'attempt.started', task: 'a', visit: 1, attempt: 2 }])
  })

  it('of a workspace task: it is prepared again, which sets its files back, and runs again', () => {
    const journal = started(plan('p', edit('a', 'f')))
    journal.prepare('a', { preimage: numberedSha(5) })
    expect(journal.must(recover)).toEqual([lost])
    expect(journal.turn()).toEqual([])
    const restored = [{ task: name('a'), to: numberedSha(5), saved: numberedSha(6) }]
    const prepared = [{ task: name('a'), visit: 1, prepared: { preimage: numberedSha(5) } }]
    expect(journal.turn({ restored, prepared })).toEqual([
      { type: 'workspace.restored', task: 'a', to: numberedSha(5), saved: numberedSha(6) },
      { type: 'attempt.started', task: 'a', visit: 1, attempt: 2, preimage: numberedSha(5) },
    ])
  })

  it('of an unsafe task: it is parked with the evidence, and blocks only what needs it', () => {
    const journal = started(plan('p', task('a'), task('b', { needs: ['a'] }), task('c', { effect: 'pure' })))
    const startedAt = journal.clock.now()
    journal.clock.advance(5_000)
    expect(journal.must(recover)).toEqual([
      lost,
      { type: 'attempt.parked', task: 'a', evidence: { reason: 'its owner died', effect: 'unsafe', startedAt } },
      { ...lost, task: 'c' },
    ])
    journal.turn()
    journal.succeed('c')
    expect(journal.statuses()).toEqual({ a: 'waiting', b: 'pending', c: 'completed' })
    expect(nextActions(journal.state, journal.clock.now()).rest).toBe('waiting')
  })

  it.each([
    ['done', { a: 'completed', b: 'running' }],
    ['again', { a: 'running', b: 'pending' }],
    ['rejected', { a: 'failed', b: 'blocked' }],
  ] as const)("a person decides '%s' about what was parked", (verdict, statuses) => {
    const journal = started(plan('p', task('a'), task('b', { needs: ['a'] })))
    journal.must(recover)
    journal.must({ type: 'decide', task: name('a'), verdict, rationale: 'I looked' })
    journal.turn()
    expect(journal.statuses()).toEqual(statuses)
  })

  it('a person cannot approve what was parked; retry means again', () => {
    const journal = started(plan('p', task('a')))
    journal.must(recover)
    expect(journal.submit({ type: 'decide', task: name('a'), verdict: 'approved', rationale: '' })).toEqual({
      ok: false,
      refusal: {
        code: 'illegal-transition',
        message: "this does not answer 'a', which was interrupted, and its outcome is unknown",
        hint: advise`${quoted('approve', { plan: 'p', task: 'a' })} (it happened), ${quoted('retry', { plan: 'p', task: 'a' })} (run it again) or ${quoted('reject', { plan: 'p', task: 'a', reason: 'why' })} (it failed)`,
        allowed: ['done', 'again', 'rejected'],
      },
    })
    expect(journal.must({ type: 'retry', task: name('a') })).toEqual([
      { type: 'gate.decided', task: 'a', verdict: 'again', rationale: '' },
      { type: 'task.readied', tasks: ['a'] },
    ])
  })

  it('a task that is lost too often is parked, because something about it kills its owner', () => {
    const journal = started(plan('p', task('a', { effect: 'pure' })))
    for (let at = 1; at < LOST_MAX; at++) {
      journal.must(recover)
      journal.turn()
      expect(journal.status('a')).toBe('running')
    }
    expect(journal.must(recover).at(-1)).toMatchObject({
      type: 'attempt.parked',
      evidence: { reason: `its owner died; this happened ${LOST_MAX} times in this run` },
    })
  })

  it('what we interrupted ourselves does not count as lost', () => {
    const journal = started(plan('p', task('a', { effect: 'pure' })))
    for (let at = 0; at < LOST_MAX + 5; at++) {
      expect(journal.settle('a', interrupted())[0]).toMatchObject({ type: 'attempt.lost', byUs: true })
      journal.turn()
    }
    expect([journal.status('a'), journal.state.order[0]!.lost, journal.state.order[0]!.failures]).toEqual([
      'running',
      0,
      0,
    ])
  })

  it('what we interrupted and is unsafe is parked all the same', () => {
    const journal = started(plan('p', task('a')))
    journal.settle('a', interrupted())
    expect(journal.status('a')).toBe('waiting')
  })

  it('attempts that a crash left open are lost in the same order, whether the fold is live or was stored', () => {
    const journal = started(plan('p', task('a', { effect: 'pure' }), task('b', { effect: 'pure', priority: 1 })))
    expect(journal.must(recover).map(event => 'task' in event && event.task)).toEqual(['a', 'b'])
  })
})

describe('a settlement that is stale', () => {
  it('late, duplicate or for a visit long gone changes nothing', () => {
    const journal = started(plan('p', task('a', { effect: 'pure' }), external('e')))
    journal.must({ type: 'claim', task: name('e'), token: 'k', by: 'ana' })
    const settled = (one: string, visit: number, attempt: number) =>
      journal.turn({ settled: [{ task: name(one), visit, attempt, result: succeeded() }] })
    expect([
      settled('a', 1, 2),
      settled('a', 2, 1),
      settled('a', 1, 0),
      settled('e', 1, 1),
      settled('ghost', 1, 1),
    ]).toEqual([[], [], [], [], []])
    journal.must({ type: 'recover', reason: 'died' })
    expect(settled('a', 1, 1)).toEqual([{ type: 'attempt.started', task: 'a', visit: 1, attempt: 2 }])
    const twice = { task: name('a'), visit: 1, attempt: 2, result: succeeded() }
    expect(journal.turn({ settled: [twice, twice, { ...twice, result: failed() }] })).toHaveLength(1)
    expect([settled('a', 1, 2), journal.status('a')]).toEqual([[], 'completed'])
  })
})
