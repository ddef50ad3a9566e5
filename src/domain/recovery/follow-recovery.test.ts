import { describe, expect, it } from 'vitest'
import {
  external,
  failed,
  gate,
  Journal,
  name,
  type PlanOptions,
  plan,
  START,
  succeeded,
  task,
} from '../../testing/index.ts'
import type { Event } from '../event.ts'
import { nextActions } from '../next-actions.ts'
import type { RecoveryRule, TaskDefinition } from '../plan.ts'
import type { Failure } from '../result.ts'
import { meaningOf } from '../rollback/rollback-plan.ts'
import { checkState } from '../state/state.fixture.ts'
import { visibleEvents } from '../views/timeline.ts'

/** Started by this program. */
function begun(...parts: readonly (TaskDefinition | PlanOptions)[]): Journal {
  const journal = new Journal().create(plan('p', ...parts))
  journal.must(START)
  journal.turn()
  return journal
}

const rule = (what: RecoveryRule['do'], more: Omit<RecoveryRule, 'do'> = {}): RecoveryRule => ({ ...more, do: what })
const instead = (by: string, more: Omit<RecoveryRule, 'do'> = {}) => rule({ type: 'alternate', task: name(by) }, more)
const repair = (by: string, more: Omit<RecoveryRule, 'do'> = {}) => rule({ type: 'repair', task: name(by) }, more)
const said = (events: readonly Event[]) =>
  events.flatMap(event => (event.type === 'recovery.chosen' ? [`${event.task}: ${event.choice}: ${event.reason}`] : []))
const types = (events: readonly Event[]) => events.map(({ type }) => type)
const chosen = (journal: Journal) => journal.entries.flatMap(({ events }) => said(events))

const KEEPING = rule({ type: 'abort', with: 'keep' })

const busy: Partial<Failure> = { class: 'transient', code: 'http:429', retryable: true, message: 'busy' }

describe('a failure that nothing is done about', () => {
  /** What the journal says, and what of it is told as it happens. */
  const ended = (events: readonly Event[]) => [said(events), said(visibleEvents(events))]

  it.each([
    [{ class: 'logic', retryable: true }, 'the task has no `retry`', 'untold'],
    [{ class: 'policy', retryable: true }, 'the task has no `retry`', 'untold'],
    [{ class: 'logic', retryable: false }, 'a retry would not help', 'untold'],
    [busy, 'the failure may be temporary, but the task has no `retry`', 'told'],
    [{ class: 'resource', retryable: true }, 'the failure may be temporary, but the task has no `retry`', 'told'],
  ] as const)('of an attempt that ends with %o says: %s', (failure, why, how) => {
    const line = `a: block: not retried: ${why}`
    expect(ended(begun(task('a')).fail('a', failure))).toEqual([[line], how === 'told' ? [line] : []])
  })

  it('by the word of a person says that it was rejected, of a group that a task of it failed; neither is told beside that', () => {
    const journal = begun(gate('ok'))
    journal.ask('ok')
    const no = journal.must({ type: 'decide', task: name('ok'), verdict: 'rejected', rationale: 'no', by: 'ana' })
    expect(ended(no)).toEqual([['ok: block: not retried: it was rejected'], []])
    const group = task('g', {
      action: { type: 'subplan', tasks: [task('a')] },
      recover: [instead('b', { on: ['unknown'] })],
    })
    const grouped = begun(group, task('b'))
    expect(said(grouped.fail('g/a', { retryable: true }))).toEqual([
      'g/a: block: not retried: the task has no `retry`',
      'g: block: not retried: recovery rule 1 is for unknown, this failure is logic',
    ])
  })

  it('after attempts says how many there were', () => {
    const journal = begun(task('a', { retry: { attempts: 2, backoffMs: { min: 1, max: 1 } } }))
    journal.fail('a', busy)
    journal.clock.advance(10)
    journal.turn()
    const line = 'a: block: not retried: 2 of 2 attempts failed'
    expect(ended(journal.fail('a', busy))).toEqual([[line], [line]])
  })

  it('that leads somewhere says where, and by which outcome or failure mode', () => {
    const mode = { name: 'full', detect: { type: 'prose', text: 'x' }, recover: [name('b')] } as const
    const journal = begun(task('a', { failureModes: [mode] }), task('b'))
    const failure = { class: 'logic', message: 'x', retryable: false } as const
    expect(said(journal.settle('a', { status: 'failed', failure, mode: 'full' }))).toEqual([
      "a: route: continues with 'b' (failure mode 'full')",
    ])
    expect(said(begun(task('c', { on: { failure: 'd' } }), task('d')).fail('c'))).toEqual([
      "c: route: continues with 'd' (outcome 'failure')",
    ])
  })
})

describe('trying again', () => {
  it('is told with its reason, and waits as long as it was asked to', () => {
    const journal = begun(task('a', { retry: { attempts: 3, backoffMs: { min: 1_000, max: 1_000 } } }))
    const events = journal.fail('a', { ...busy, retryAfterMs: 30_000 })
    expect(said(events)).toEqual(['a: retry: retrying in 30 s (attempt 2 of 3), as the other side asked'])
    expect(nextActions(journal.state, journal.clock.now()).wakeAt).toBe(journal.clock.now() + 30_000)
  })

  it('keeps its backoff where the other side asked for less, and does not say that it asked', () => {
    const journal = begun(task('a', { retry: { attempts: 3, backoffMs: { min: 5_000, max: 5_000 } } }))
    const events = journal.fail('a', { ...busy, retryAfterMs: 1_000 })
    expect(said(events)).toEqual(['a: retry: retrying in 5 s (attempt 2 of 3)'])
  })

  it('never waits longer than an hour because somebody asked', () => {
    const journal = begun(task('a', { retry: { attempts: 3, backoffMs: { min: 1, max: 1 } } }))
    journal.fail('a', { ...busy, retryAfterMs: 1e15 })
    expect(nextActions(journal.state, journal.clock.now()).wakeAt).toBe(journal.clock.now() + 3_600_000)
  })

  it('goes on by a rule for a class of failures, and the rule is used once in a visit', () => {
    const more = rule({ type: 'retry', retry: { attempts: 3, backoffMs: { min: 1, max: 1 } } }, { on: ['transient'] })
    const journal = begun(task('a', { recover: [more] }))
    for (let at = 0; at < 2; at++) {
      journal.fail('a', busy)
      journal.clock.advance(10)
      journal.turn()
    }
    expect(journal.state.order[0]!.recoveries).toEqual([1])
    journal.fail('a', busy)
    expect(chosen(journal)).toEqual([
      'a: retry: retrying in 0 s (recovery rule 1, on: transient, attempt 2 of 3)',
      'a: retry: retrying in 0 s (recovery rule 1, on: transient, attempt 3 of 3)',
      'a: block: not retried: recovery rule 1 cannot be used: 3 of 3 attempts failed',
    ])
    expect(journal.state).toMatchObject({ status: 'failed', reason: "task 'a' failed: busy" })
  })
})

describe('an alternate', () => {
  const recover = [instead('b')]

  it('sleeps until then, does the work, and whoever needed the task goes on with what it left', () => {
    const journal = begun(task('a', { recover }), task('b'), task('c', { needs: ['a'] }))
    expect(journal.statuses()).toEqual({ a: 'running', b: 'pending', c: 'pending' })
    const events = journal.fail('a')
    expect(said(events)).toEqual(["a: alternate: 'b' runs instead (recovery rule 1)"])
    expect(journal.statuses()).toEqual({ a: 'failed', b: 'running', c: 'blocked' })
    checkState(journal.state)
    journal.succeed('b', { outputs: { x: 1 } })
    expect(journal.statuses()).toEqual({ a: 'completed', b: 'completed', c: 'running' })
    expect(journal.state.order[0]!.result?.outputs).toEqual({ x: 1 })
    journal.succeed('c')
    expect(journal.state.status).toBe('completed')
  })

  it('is skipped when nothing failed', () => {
    const journal = begun(task('a', { recover }), task('b'))
    journal.succeed('a')
    expect(journal.statuses()).toEqual({ a: 'completed', b: 'skipped' })
    expect(journal.state.status).toBe('completed')
  })

  it('that fails for good leads to the next rule, and does not fail the plan when that one helps', () => {
    const journal = begun(task('a', { recover: [instead('b'), instead('c')] }), task('b'), task('c'))
    journal.fail('a')
    expect(said(journal.fail('b', { message: 'no luck' }))).toEqual([
      'b: block: not retried: a retry would not help',
      "a: alternate: 'b' failed: no luck; 'c' runs instead (recovery rule 2)",
    ])
    journal.succeed('c')
    expect(journal.state).toMatchObject({ status: 'completed', reason: 'all required tasks completed' })
  })

  it('that fails, with no rule left, fails the plan', () => {
    const journal = begun(task('a', { recover }), task('b'))
    journal.fail('a', { message: 'first' })
    journal.fail('b')
    expect(chosen(journal).at(-1)).toBe("a: block: not retried: 'b' failed: it said no")
    expect(journal.state).toMatchObject({ status: 'failed', reason: "task 'a' failed: first" })
  })

  it('may be helped itself', () => {
    const journal = begun(task('a', { recover }), task('b', { recover: [instead('c')] }), task('c'))
    journal.fail('a')
    journal.fail('b')
    expect(journal.statuses()).toEqual({ a: 'failed', b: 'failed', c: 'running' })
    journal.succeed('c')
    expect(journal.state.status).toBe('completed')
    expect(journal.statuses()).toEqual({ a: 'completed', b: 'completed', c: 'completed' })
  })

  it('that is skipped, or removed by a revision, leads to the next rule', () => {
    const skipped = begun(
      task('a', { recover: [instead('b'), rule({ type: 'ask' })] }),
      task('b', { needs: ['g'] }),
      {
        concurrency: 1,
      } as PlanOptions,
      task('g'),
    )
    skipped.fail('a')
    skipped.must({ type: 'skip', task: name('b'), reason: 'no' })
    expect(skipped.status('a')).toBe('waiting')
    const removed = begun(
      task('a', { recover: [instead('b'), rule({ type: 'ask' })] }),
      task('b', { needs: ['g'] }),
      task('g'),
    )
    removed.fail('a')
    const definition = plan('p', task('a', { recover: [rule({ type: 'ask' })] }), task('g'))
    removed.must({ type: 'revise', definition, hash: 'f'.repeat(64) as never, rationale: 'without' })
    // Its definition changed, so it has its next visit.
    expect(removed.state.order[0]).toMatchObject({ visit: 2, recovering: null })
  })

  it('may be a group of tasks', () => {
    const many = { type: 'subplan', tasks: [task('x'), task('y', { needs: ['x'] })] } as const
    const journal = begun(task('a', { recover }), task('b', { action: many }), task('c', { needs: ['a'] }))
    expect(journal.statuses()).toEqual({ a: 'running', b: 'pending', 'b/x': 'pending', 'b/y': 'pending', c: 'pending' })
    journal.fail('a')
    journal.succeed('b/x')
    journal.succeed('b/y')
    journal.succeed('b')
    journal.succeed('c')
    expect(journal.state.status).toBe('completed')
  })

  it('may do the work of a whole group whose task failed', () => {
    const many = { type: 'subplan', tasks: [task('x'), task('y', { needs: ['x'] })] } as const
    const journal = begun(task('a', { action: many, recover }), task('b'), task('c', { needs: ['a'] }))
    journal.fail('a/x')
    expect(journal.statuses()).toMatchObject({ a: 'failed', 'a/x': 'failed', 'a/y': 'blocked', b: 'running' })
    journal.succeed('b')
    journal.succeed('c')
    expect(journal.state.status).toBe('completed')
  })

  it('is not tried for a failure of another class', () => {
    const journal = begun(task('a', { recover: [instead('b', { on: ['transient'] })] }), task('b'))
    journal.fail('a')
    expect(chosen(journal)).toEqual([
      'a: block: not retried: a retry would not help; recovery rule 1 is for transient, this failure is logic',
    ])
    expect(journal.statuses()).toEqual({ a: 'failed', b: 'skipped' })
  })

  it('is tried for a known failure mode', () => {
    const recover = [instead('b', { on: ['flaky'] })]
    const failureModes = [{ name: 'flaky', detect: { type: 'prose', text: 'x' } }] as const
    const journal = begun(task('a', { recover, failureModes }), task('b'))
    journal.settle('a', { ...failed(), mode: 'flaky' })
    expect(chosen(journal)).toEqual(["a: alternate: 'b' runs instead (recovery rule 1, on: flaky)"])
  })
})

describe('a repair', () => {
  it('opens the next visit of the task with what it said', () => {
    const journal = begun(
      task('a', { recover: [repair('fix', { times: 2 })] }),
      task('fix'),
      task('c', { needs: ['a'] }),
    )
    journal.fail('a')
    journal.succeed('fix', { outputs: { feedback: 'mind the gap' } })
    const [a] = journal.state.order
    expect(a).toMatchObject({
      visit: 2,
      status: 'running',
      feedback: [{ from: 'fix', by: 'fix', text: 'mind the gap' }],
      recoveries: [1],
    })
    expect(journal.status('c')).toBe('pending')
    journal.fail('a')
    expect(journal.status('fix')).toBe('running')
    journal.succeed('fix')
    journal.succeed('a')
    journal.succeed('c')
    expect(journal.state.status).toBe('completed')
  })

  it('that gives up leads to the next rule', () => {
    const journal = begun(
      task('a', { recover: [repair('critic'), rule({ type: 'abort' })] }),
      task('critic'),
      task('z', { needs: ['a'] }),
    )
    journal.fail('a', { message: 'wrong' })
    const events = journal.succeed('critic', { outcome: 'give-up' })
    expect(said(events)).toEqual(["a: abort: 'critic' gave up; the plan is aborted (recovery rule 2)"])
    expect(types(events)).toContain('plan.aborted')
    expect(journal.state).toMatchObject({ status: 'failed', reason: "task 'a' failed: wrong" })
    expect(journal.status('z')).toBe('cancelled')
  })

  it('is not begun when the task has used all of its visits', () => {
    const journal = begun(task('a', { visits: 2, recover: [repair('fix', { times: 9 })] }), task('fix'))
    journal.fail('a')
    journal.succeed('fix')
    journal.fail('a')
    expect(chosen(journal).at(-1)).toBe(
      "a: block: not retried: a retry would not help; recovery rule 1 cannot be used: 'a' has used all of its 2 runs",
    )
    expect(journal.state.status).toBe('failed')
  })

  it('of a group begins again with the tasks that did not come through', () => {
    const many = { type: 'subplan', tasks: [task('x'), task('y', { needs: ['x'] })] } as const
    const journal = begun(task('a', { action: many, recover: [repair('fix')] }), task('fix'))
    journal.succeed('a/x')
    journal.fail('a/y')
    journal.succeed('fix')
    expect(journal.statuses()).toMatchObject({ 'a/x': 'completed', 'a/y': 'running', a: 'pending' })
    journal.succeed('a/y')
    journal.succeed('a')
    expect(journal.state.status).toBe('completed')
  })

  it('is of no use when somebody has tried the task again by hand', () => {
    const journal = begun(task('a', { recover: [repair('fix')] }), task('fix'))
    journal.fail('a')
    journal.must({ type: 'retry', task: name('a') })
    journal.turn()
    journal.succeed('fix')
    expect(journal.state.order[0]).toMatchObject({ visit: 2, status: 'running' })
    journal.succeed('a')
    expect(journal.state.status).toBe('completed')
  })
})

describe('asking', () => {
  it('opens a gate about the failure; whoever is asked may say again, skip or no', () => {
    for (const verdict of ['again', 'skipped', 'rejected'] as const) {
      const journal = begun(task('a', { recover: [rule({ type: 'ask', to: 'ana' })] }), task('c', { needs: ['a'] }))
      journal.fail('a')
      expect(journal.state.order[0]!.gate?.asks).toMatchObject({
        type: 'recovery',
        to: 'ana',
        failure: { class: 'logic' },
      })
      expect(journal.status('c')).toBe('pending')
      checkState(journal.state)
      journal.must({ type: 'decide', task: name('a'), verdict, rationale: 'so be it', by: 'ana' })
      const then = { again: 'ready', skipped: 'skipped', rejected: 'failed' } as const
      expect(journal.status('a')).toBe(then[verdict])
      if (verdict === 'rejected') expect(journal.state.status).toBe('failed')
    }
  })

  it('for a revision waits for one; a no leads to the next rule', () => {
    const journal = begun(task('a', { recover: [rule({ type: 'replan' }), instead('b')] }), task('b'))
    journal.fail('a')
    expect(journal.state.order[0]!.gate?.asks.type).toBe('replan')
    journal.must({ type: 'decide', task: name('a'), verdict: 'rejected', rationale: 'no time', by: 'ana' })
    journal.turn()
    expect(journal.statuses()).toEqual({ a: 'failed', b: 'running' })
  })

  it('is answered by `retry` too', () => {
    const journal = begun(task('a', { recover: [rule({ type: 'ask' })] }))
    journal.fail('a')
    journal.must({ type: 'retry', task: name('a') })
    expect(journal.state.order[0]).toMatchObject({ visit: 2, status: 'ready' })
  })
})

describe('an abort', () => {
  it('cancels what has not begun, ends what runs, undoes what declared how, and the plan has failed', () => {
    const undo = { type: 'run', command: { argv: ['undo'] } } as const
    const journal = begun(
      task('a', { needs: ['c'], recover: [rule({ type: 'abort' })] }),
      task('b', { effect: 'idempotent' }),
      task('c', { compensate: undo }),
      task('d', { needs: ['b'] }),
    )
    journal.succeed('c')
    journal.fail('a', { message: 'never' })
    expect(journal.statuses()).toEqual({ a: 'failed', b: 'running', c: 'completed', d: 'cancelled' })
    journal.settle('b', { status: 'interrupted', reason: 'stopped' })
    journal.turn({ compensated: [{ task: name('c'), result: succeeded() }] })
    expect(journal.state).toMatchObject({ status: 'failed', reason: "task 'a' failed: never" })
    expect(journal.statuses()).toEqual({ a: 'failed', b: 'cancelled', c: 'completed', d: 'cancelled' })
  })

  it('is taken up again as a whole', () => {
    const journal = begun(task('a', { recover: [KEEPING] }), task('b', { needs: ['a'] }), task('c'), {
      concurrency: 1,
    } as PlanOptions)
    journal.fail('a')
    expect(journal.state.status).toBe('failed')
    journal.must({ type: 'retry', task: name('a') })
    for (const one of ['a', 'b', 'c']) {
      journal.turn()
      journal.succeed(one)
    }
    expect(journal.state.status).toBe('completed')
  })
})

describe('a rollback', () => {
  it('into the middle of a recovery goes on with it', () => {
    const journal = begun(
      task('a', { recover: [instead('b')] }),
      task('b', { effect: 'pure' }),
      task('c', { needs: ['a'] }),
    )
    journal.fail('a')
    const to = journal.entries.length
    journal.succeed('b')
    journal.succeed('c')
    expect(journal.state.status).toBe('completed')
    const { state, entries } = journal
    journal.must({ type: 'rollback', id: 'r', at: 0, kind: 'rollback', to, ...meaningOf(entries, state, to) })
    journal.turn({ rolledBack: { id: 'r', outcome: { changes: null, paths: 0 } } })
    expect(journal.statuses()).toEqual({ a: 'failed', b: 'ready', c: 'blocked' })
    journal.must({ type: 'resume' })
    journal.turn()
    journal.succeed('b')
    journal.succeed('c')
    expect(journal.state.status).toBe('completed')
  })

  it('to before it gives the rules back', () => {
    const journal = begun(task('a', { recover: [instead('b')] }), task('b'))
    journal.fail('a')
    journal.fail('b')
    expect(journal.state.status).toBe('failed')
    const { state, entries } = journal
    journal.must({ type: 'rollback', id: 'r', at: 0, kind: 'rollback', to: 2, ...meaningOf(entries, state, 2) })
    journal.turn({ rolledBack: { id: 'r', outcome: { changes: null, paths: 0 } } })
    journal.must({ type: 'resume' })
    journal.turn()
    journal.fail('a')
    expect(journal.status('b')).toBe('running')
    journal.succeed('b')
    expect(journal.state.status).toBe('completed')
  })
})

it('what a person says did not happen is an unknown failure, and rules can be made for that', () => {
  const journal = begun(task('a', { recover: [instead('b', { on: ['unknown'] })] }), task('b'))
  journal.must({ type: 'recover', reason: 'gone' })
  journal.must({ type: 'decide', task: name('a'), verdict: 'rejected', rationale: 'nobody knows', by: 'ana' })
  expect(chosen(journal)).toEqual(["a: alternate: 'b' runs instead (recovery rule 1, on: unknown)"])
})

describe('an outcome edge', () => {
  it('is taken when no rule is left, and told', () => {
    const journal = begun(task('a', { on: { failure: 'z' }, recover: [instead('b')] }), task('b'), task('z'))
    journal.fail('a')
    journal.fail('b')
    expect(chosen(journal).at(-1)).toBe("a: route: 'b' failed: it said no; continues with 'z' (outcome 'failure')")
    journal.succeed('z')
    expect(journal.state.status).toBe('completed')
  })
})

describe('caps over the whole plan', () => {
  it('on attempts end it with a reason that names them', () => {
    const policy = { limits: { attempts: 3 } }
    const journal = begun(task('a', { retry: { attempts: 9, backoffMs: { min: 0, max: 0 } } }), {
      policy,
    } as PlanOptions)
    for (let at = 0; at < 3; at++) {
      journal.fail('a', busy)
      journal.clock.advance(1)
      journal.turn()
    }
    expect(journal.state).toMatchObject({
      status: 'failed',
      attempts: 3,
      reason: 'the plan has used all of its 3 attempts (policy.limits.attempts)',
    })
    const told = journal.entries.flatMap(({ events }) => events.map(({ type }) => type))
    expect(told.filter(type => type === 'retry.scheduled')).toHaveLength(2)
    expect(journal.status('a')).toBe('failed')
  })

  it('on loops do the same', () => {
    const policy = { limits: { loops: 2 } }
    const journal = begun(task('a', { visits: 9, on: { success: 'a' } }), { policy } as PlanOptions)
    for (let at = 0; at < 3; at++) journal.succeed('a')
    expect(journal.state).toMatchObject({
      status: 'failed',
      loops: 2,
      reason: 'the plan has used all of its 2 loops (policy.limits.loops)',
    })
  })
})

describe('a timebox', () => {
  it('ends the retries of a visit, and somebody is called', () => {
    const journal = begun(
      task('a', {
        timeboxMs: 5_000,
        retry: { attempts: 9, backoffMs: { min: 2_000, max: 2_000 } },
        recover: [instead('b')],
      }),
      task('b'),
      { policy: { escalate: { afterMs: 1, to: 'ana' } } } as PlanOptions,
    )
    journal.fail('a', busy)
    journal.clock.advance(2_000)
    journal.turn()
    journal.clock.advance(1_500)
    const events = journal.fail('a', busy)
    expect(said(events)).toEqual(["a: alternate: its timebox is used up; 'b' runs instead (recovery rule 1)"])
    expect(types(events)).toContain('task.escalated')
  })

  it('ends a visit that was lost meanwhile', () => {
    const journal = begun(task('a', { timeboxMs: 5_000, effect: 'pure' }))
    journal.must({ type: 'recover', reason: 'gone' })
    journal.clock.advance(6_000)
    journal.turn()
    expect(journal.state).toMatchObject({ status: 'failed', reason: "task 'a' failed: its timebox of 5 s is used up" })
  })
})

describe('a circuit breaker', () => {
  const policy = { breaker: { failures: 2, cooldownMs: 10_000 } }
  const net = (id: string) => task(id, { capabilities: ['net'], retry: { attempts: 9, backoffMs: { min: 1, max: 1 } } })

  it('opens after failures in a row, holds back what needs the capability, and lets one try then', () => {
    const journal = begun(net('a'), net('b'), task('c'), { policy, concurrency: 2 } as PlanOptions)
    journal.fail('a', busy)
    expect(types(journal.fail('b', busy))).toContain('breaker.opened')
    journal.clock.advance(10)
    journal.turn()
    // Others go on.
    expect(journal.statuses()).toEqual({ a: 'ready', b: 'ready', c: 'running' })
    const until = journal.state.breakers[0]!.until!
    expect(nextActions(journal.state, journal.clock.now()).wakeAt).toBe(until)
    journal.succeed('c')
    journal.clock.advance(until - journal.clock.now())
    journal.turn()
    expect(journal.statuses()).toEqual({ a: 'running', b: 'ready', c: 'completed' })
    expect(nextActions(journal.state, journal.clock.now()).turn).toBe(false)
    expect(types(journal.fail('a', busy))).toContain('breaker.opened')
    journal.clock.advance(10_000)
    journal.turn()
    expect(journal.statuses()).toEqual({ a: 'running', b: 'ready', c: 'completed' })
    expect(types(journal.succeed('a'))).toContain('breaker.closed')
    expect(journal.status('b')).toBe('running')
    expect(journal.state.breakers).toEqual([])
  })

  it('does not count failures that say nothing about the capability, and forgets after a success', () => {
    const journal = begun(net('a'), { policy } as PlanOptions)
    journal.fail('a', busy)
    journal.clock.advance(1)
    journal.turn()
    journal.fail('a', { class: 'logic', retryable: true })
    expect(journal.state.breakers).toEqual([])
  })
})

describe('an agent that wants to claim', () => {
  it('is not held by a breaker nor by a retry while the clock is set back', () => {
    const policy = { breaker: { failures: 1, cooldownMs: 10_000 } }
    const net = { capabilities: ['net'] }
    const later = { retry: { attempts: 9, backoffMs: { min: 5_000, max: 5_000 } } }
    const journal = begun(external('a', { ...net, ...later }), external('b', net), { policy } as PlanOptions)
    journal.must({ type: 'claim', token: 'k', by: 'ana', task: name('a') })
    journal.must({ type: 'report', task: name('a'), by: 'ana', result: failed(busy) })
    for (const task of [name('a'), name('b')])
      expect(journal.submit({ type: 'claim', token: 'k', by: 'ana', task }).ok).toBe(false)
    journal.must({ type: 'claim', token: 'k', by: 'ana', clockBack: true })
    journal.must({ type: 'claim', token: 'l', by: 'ben', task: name('a'), clockBack: true })
    expect([journal.status('a'), journal.status('b')]).toEqual(['running', 'running'])
  })

  it('is told of an open breaker, and gets another task meanwhile', () => {
    const policy = { breaker: { failures: 1, cooldownMs: 10_000 } }
    const net = { capabilities: ['net'], retry: { attempts: 9, backoffMs: { min: 1, max: 1 } } }
    const journal = begun(external('a', net), external('b', net), external('c'), { policy } as PlanOptions)
    journal.must({ type: 'claim', token: 'k', by: 'ana', task: name('a') })
    journal.must({ type: 'report', task: name('a'), by: 'ana', result: failed(busy) })
    journal.clock.advance(5)
    const refused = journal.submit({ type: 'claim', token: 'k', by: 'ana', task: name('b') })
    expect(refused).toMatchObject({
      ok: false,
      refusal: {
        code: 'not-ready',
        message: "task 'b' needs 'net', which failed too often; it can be used again in 10 s",
      },
    })
    journal.must({ type: 'claim', token: 'k', by: 'ana' })
    expect(journal.status('c')).toBe('running')
    journal.clock.advance(10_000)
    journal.must({ type: 'claim', token: 'l', by: 'ben', task: name('b') })
    journal.must({ type: 'report', task: name('b'), by: 'ben', result: succeeded() })
    expect(journal.state.breakers).toEqual([])
  })

  it('is refused when the plan has used all of its attempts, and the next turn ends it', () => {
    const journal = begun(external('a'), external('b'), { policy: { limits: { attempts: 1 } } } as PlanOptions)
    journal.must({ type: 'claim', token: 'k', by: 'ana', task: name('a') })
    expect(journal.submit({ type: 'claim', token: 'l', by: 'ben', task: name('b') })).toMatchObject({
      ok: false,
      refusal: { code: 'limit' },
    })
    expect(nextActions(journal.state, journal.clock.now()).turn).toBe(true)
    journal.turn()
    expect(journal.state).toMatchObject({ status: 'failed', reason: expect.stringContaining('policy.limits.attempts') })
    expect(journal.statuses()).toEqual({ a: 'abandoned', b: 'cancelled' })
  })
})
