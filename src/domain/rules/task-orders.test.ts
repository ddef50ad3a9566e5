import { describe, expect, it } from 'vitest'
import {
  create,
  edit,
  external,
  failed,
  given,
  type Journal,
  name,
  numberedSha,
  plan,
  START,
  started,
  succeeded,
  task,
} from '../../testing/index.ts'

const claim = (one?: string, by = 'ana') =>
  ({ type: 'claim', token: `token-of-${by}`, by, ...(one === undefined ? {} : { task: name(one) }) }) as const
const report = (one: string, by = 'ana', result = succeeded()) =>
  ({ type: 'report', task: name(one), by, result }) as const
const code = (journal: Journal, command: Parameters<Journal['submit']>[0]): string => {
  const decided = journal.submit(command)
  return decided.ok ? 'ok' : decided.refusal.code
}

describe('an external task', () => {
  it('is claimed, reported, and lets others go on without any engine', () => {
    const journal = started(plan('p', external('a'), external('b', { needs: ['a'] })))
    expect(journal.must(claim('a'))).toEqual([
      { type: 'attempt.started', task: 'a', visit: 1, attempt: 1, claim: { token: 'token-of-ana', by: 'ana' } },
    ])
    expect(journal.must(report('a'))).toEqual([
      { type: 'attempt.succeeded', task: 'a', visit: 1, attempt: 1, result: { status: 'succeeded' } },
      { type: 'task.readied', tasks: ['b'] },
    ])
    expect(journal.must(report('b')).at(-1)).toEqual({
      type: 'plan.finished',
      status: 'completed',
      reason: 'all required tasks completed',
    })
  })

  it('is chosen by priority when none is named', () => {
    const journal = started(plan('p', external('a'), external('b', { priority: 1 })))
    expect([journal.must(claim())[0], journal.must(claim(undefined, 'bo'))[0]]).toMatchObject([
      { task: 'b' },
      { task: 'a' },
    ])
    expect(code(journal, claim(undefined, 'cy'))).toBe('not-ready')
  })

  it('is held by one: others are told by whom, with a token or without', () => {
    const journal = started(plan('p', external('a'), external('b')))
    journal.must(claim('a'))
    expect(journal.submit(claim('a', 'bo'))).toEqual({
      ok: false,
      refusal: {
        code: 'conflict',
        message: "task 'a' is claimed by ana",
        hint: expect.arrayContaining([
          expect.stringContaining('wait until it is reported or the claim expires, or claim another task'),
        ]),
      },
    })
    expect(code(journal, report('a', 'bo'))).toBe('conflict')
    expect(code(journal, { ...report('a', 'ana'), token: 'forged' })).toBe('conflict')
    expect(code(journal, { ...report('a', 'bo'), token: 'token-of-ana' })).toBe('ok')
    expect(code(journal, report('a'))).toBe('not-ready')
  })

  it('whose claim lapses can be claimed by another, and a lapse that comes late changes nothing', () => {
    const journal = started(plan('p', external('a')))
    journal.must(claim('a'))
    expect(journal.must({ type: 'lapse', task: name('a'), token: 'another', reason: 'silence' })).toEqual([])
    const lapse = { type: 'lapse', task: name('a'), token: 'token-of-ana', reason: 'silence' } as const
    expect(journal.must(lapse)).toEqual([
      { type: 'attempt.lost', task: 'a', visit: 1, attempt: 1, reason: 'silence' },
      { type: 'task.escalated', task: 'a', why: 'heartbeat' },
    ])
    expect([journal.must(lapse), journal.must({ ...lapse, task: name('ghost') })]).toEqual([[], []])
    journal.must(claim('a', 'bo'))
    expect([journal.must(lapse), code(journal, report('a', 'ana'))]).toEqual([[], 'conflict'])
    expect(journal.state.order[0]).toMatchObject({ attempt: 2, claim: { by: 'bo' } })
  })

  it('is not lost when the engine is: its claim lives on', () => {
    const journal = started(plan('p', external('a'), task('b', { effect: 'pure' })))
    journal.must(claim('a'))
    journal.must({ type: 'recover', reason: 'died' })
    expect(journal.statuses()).toEqual({ a: 'running', b: 'ready' })
  })

  it('that failed and may be tried again waits for its back-off, then can be claimed', () => {
    const journal = started(plan('p', external('a', { retry: { attempts: 2, backoffMs: { min: 50, max: 50 } } })))
    journal.must(report('a', 'ana', failed({ retryable: true }) as never))
    expect(code(journal, claim('a'))).toBe('not-ready')
    journal.clock.advance(50)
    journal.turn()
    expect(code(journal, claim('a'))).toBe('ok')
  })

  it('is not reported with a token that does not hold it; without one, whoever did it says so', () => {
    const journal = started(plan('p', external('a'), external('b')))
    const held = { ...report('a'), token: 'made up', held: true } as const
    expect(journal.submit(held)).toEqual({
      ok: false,
      refusal: {
        code: 'conflict',
        message: "the claim on 'a' is not held by this token",
        hint: 'it may have expired; claim it again',
      },
    })
    journal.must({ type: 'claim', task: name('a'), token: 'k', by: 'ana' })
    journal.must({ type: 'lapse', task: name('a'), token: 'k', reason: 'late' })
    expect(code(journal, { ...held, token: 'k' })).toBe('conflict')
    expect(code(journal, report('b'))).toBe('ok')
  })

  it('is the only kind that can be claimed or reported, in a plan that is active', () => {
    const journal = started(plan('p', task('a'), external('b', { needs: ['a'] })))
    expect([
      code(journal, claim('a')),
      code(journal, report('a')),
      code(journal, claim('b')),
      code(journal, claim('ghost')),
      code(journal, report('ghost')),
    ]).toEqual(['illegal-transition', 'illegal-transition', 'not-ready', 'not-found', 'not-found'])
    journal.must({ type: 'pause' })
    expect(code(journal, claim('b'))).toBe('illegal-transition')
  })
})

describe('retry', () => {
  it('opens the next visit of an ended task and of what came after it, and the ended plan with it', () => {
    const journal = started(plan('p', task('a'), task('b', { needs: ['a'] }), task('c')))
    for (const one of ['a', 'b', 'c']) journal.succeed(one)
    expect(journal.must({ type: 'retry', task: name('a'), reason: 'better now', repeat: true })).toEqual([
      { type: 'plan.reopened', reason: "retry of 'a'" },
      { type: 'task.reopened', tasks: ['a', 'b'], reason: 'better now' },
      { type: 'task.readied', tasks: ['a'] },
    ])
    expect(journal.state.order.map(({ visit, attempt, status }) => [visit, attempt, status])).toEqual([
      [2, 0, 'ready'],
      [2, 0, 'pending'],
      [1, 1, 'completed'],
    ])
  })

  it('makes a task that waits for its back-off ready at once', () => {
    const journal = started(plan('p', task('a', { retry: { attempts: 2, backoffMs: { min: 50, max: 50 } } })))
    journal.fail('a', { retryable: true })
    expect(journal.must({ type: 'retry', task: name('a') })).toEqual([{ type: 'task.readied', tasks: ['a'] }])
    expect(journal.turn()).toEqual([{ type: 'attempt.started', task: 'a', visit: 1, attempt: 2 }])
  })

  it('is refused for what has not ended, and while something unsafe that came after it runs', () => {
    const journal = started(plan('p', task('a'), task('b', { needs: ['a'] })))
    expect([
      code(journal, { type: 'retry', task: name('a') }),
      code(journal, { type: 'retry', task: name('b') }),
      code(journal, { type: 'retry', task: name('ghost') }),
    ]).toEqual(['not-ready', 'not-ready', 'not-found'])
    journal.succeed('a')
    expect(code(journal, { type: 'retry', task: name('a') })).toBe('not-ready')
    given(create(plan('p', task('a'))))
      .when({ type: 'retry', task: name('a') })
      .thenRefused('illegal-transition')
  })

  it('captures the files anew: what was prepared belonged to the visit before', () => {
    const journal = started(plan('p', edit('a', 'f')))
    journal.prepare('a', { preimage: numberedSha(5) })
    journal.succeed('a')
    journal.must({ type: 'retry', task: name('a') })
    expect(journal.state.order[0]!.prepared).toBeNull()
  })
})

describe('skip', () => {
  it('ends a task that failed, and frees what it blocked', () => {
    const journal = started(plan('p', task('a'), task('b', { needs: ['a'] })))
    journal.fail('a')
    expect(journal.must({ type: 'skip', task: name('a'), reason: 'by hand' })).toEqual([
      { type: 'plan.reopened', reason: "'a' was skipped" },
      { type: 'task.skipped', task: 'a', reason: 'by hand' },
      { type: 'task.unblocked', tasks: ['b'] },
      { type: 'task.readied', tasks: ['b'] },
    ])
  })

  it('is refused for what runs, is done, or does not exist; in a draft it is remembered', () => {
    const journal = started(plan('p', task('a'), task('b')))
    journal.succeed('b')
    const skip = (one: string) => code(journal, { type: 'skip', task: name(one), reason: '' })
    expect([skip('a'), skip('b'), skip('ghost')]).toEqual(['not-ready', 'not-ready', 'not-found'])
    given(
      create(plan('p', task('a'), task('b', { needs: ['a'] }))),
      { type: 'skip', task: name('a'), reason: 'done by hand' },
      START,
    )
      .when({ type: 'turn' })
      .then({ type: 'attempt.started', task: name('b'), visit: 1, attempt: 1 })
  })
})

it('a note is kept, on the plan or on a task it has; an unknown task gets the nearest name', () => {
  const journal = started(plan('p', task('alpha')))
  expect(journal.must({ type: 'note', text: 'hm' })).toEqual([{ type: 'note.added', text: 'hm' }])
  expect(journal.must({ type: 'note', text: 'hm', task: name('alpha') })).toEqual([
    { type: 'note.added', text: 'hm', task: 'alpha' },
  ])
  const place = { field: 'write', line: 2 }
  expect(journal.must({ type: 'note', text: 'hm', task: name('alpha'), place })).toEqual([
    { type: 'note.added', text: 'hm', task: 'alpha', place },
  ])
  for (const nowhere of [{}, { field: ' ' }, { line: 0 }, { line: 1.5 }])
    expect(journal.submit({ type: 'note', text: 'hm', place: nowhere })).toMatchObject({ refusal: { code: 'invalid' } })
  expect(journal.submit({ type: 'note', text: 'hm', task: name('alpa') })).toEqual({
    ok: false,
    refusal: { code: 'not-found', message: "the plan has no task 'alpa'", hint: "did you mean 'alpha'?" },
  })
})

describe('a report', () => {
  it('of success must hold every output it was asked for, and is refused with the names of those it lacks', () => {
    const outputs = {
      sources: { from: 'report' },
      notes: { from: 'report' },
      file: { from: 'file', file: 'x' },
    } as const
    const journal = started(plan('p', external('a', { outputs })))
    const refusal = given(create(plan('p', external('a', { outputs }))), START)
      .when(report('a', 'ana', succeeded({ outputs: { notes: '' } })))
      .thenRefused('invalid')
    expect(refusal.message).toBe("the report of 'a' is missing 'sources'")
    expect(code(journal, report('a', 'ana', succeeded({ outputs: { sources: [], notes: null } })))).toBe('ok')
  })

  it('of failure may name a failure mode of the task, and no other', () => {
    const failureModes = [{ name: 'paywall', detect: { type: 'prose', text: 'it asks for money' } }] as const
    const because = (mode: string) =>
      ({ type: 'report', task: name('a'), by: 'ana', result: { ...failed(), mode } }) as const
    const scenario = () => given(create(plan('p', external('a', { failureModes }))), START)
    expect(scenario().when(because('paywal')).thenRefused('unknown-reference')).toMatchObject({
      hint: "did you mean 'paywall'?",
      allowed: ['paywall'],
    })
    expect(scenario().when(because('paywall')).journal.state.tasks.get(name('a'))?.result).toMatchObject({
      mode: 'paywall',
    })
  })
})

it('a report names an outcome that leads somewhere, or none', () => {
  const journal = started(plan('p', external('a', { on: { thin: [name('b')] } }), task('b')))
  const report = (outcome: string) =>
    ({ type: 'report', task: name('a'), by: 'ana', result: { status: 'succeeded', outcome } }) as const
  expect(journal.submit(report('thn'))).toMatchObject({ ok: false, refusal: { hint: "did you mean 'thin'?" } })
  journal.must(report('thin'))
  expect(journal.status('b')).toBe('ready')
})

describe('a report that is not accepted', () => {
  const verdicts = [{ criterion: 'it works', holds: false, evidence: 'it does not' }]
  const unaccepted = (one = 'a') =>
    ({
      type: 'report',
      task: name(one),
      token: 'token-of-ana',
      held: true,
      by: 'ana',
      unaccepted: true,
      result: { ...failed({ message: 'not accepted', retryable: true }), verdicts },
    }) as const

  it('keeps the claim and the attempt, and says which criterion failed', () => {
    const journal = started(plan('p', external('a')))
    journal.must(claim('a'))
    expect(journal.must(unaccepted())).toMatchObject([
      { type: 'report.refused', task: 'a', visit: 1, attempt: 1, failure: { message: 'not accepted' }, verdicts },
    ])
    const [one] = journal.state.order
    expect(one).toMatchObject({ status: 'running', attempt: 1, failures: 0, refused: 1, claim: { by: 'ana' } })
    expect(code(journal, claim('a', 'bo'))).toBe('conflict')
    journal.must(report('a'))
    expect(journal.state.status).toBe('completed')
  })

  it('fails the attempt when it was the tenth', () => {
    const journal = started(plan('p', external('a')))
    journal.must(claim('a'))
    for (let reports = 1; reports < 10; reports++) journal.must(unaccepted())
    expect(journal.status('a')).toBe('running')
    expect(journal.must(unaccepted())[0]).toMatchObject({ type: 'attempt.failed', result: { verdicts } })
    expect(journal.state.status).toBe('failed')
  })

  it('counts anew in the next attempt', () => {
    const journal = started(plan('p', external('a', { retry: { attempts: 2, backoffMs: { min: 1, max: 1 } } })))
    journal.must(claim('a'))
    for (let reports = 1; reports <= 10; reports++) journal.must(unaccepted())
    journal.clock.advance(1)
    journal.must(claim('a'))
    journal.must(unaccepted())
    expect(journal.state.order[0]).toMatchObject({ status: 'running', attempt: 2, refused: 1 })
  })

  it('fails the attempt when its time is over', () => {
    const late = started(plan('p', external('a', { timeoutMs: 1_000 })))
    late.must(claim('a'))
    late.clock.advance(1_000)
    expect(late.must(unaccepted())[0]?.type).toBe('attempt.failed')
    const boxed = started(plan('p', external('a', { timeboxMs: 1_000 })))
    boxed.must(claim('a'))
    boxed.clock.advance(1_000)
    expect(boxed.must(unaccepted())[0]?.type).toBe('attempt.failed')
  })

  it('fails the attempt where the plan says what follows a failure', () => {
    const journal = started(plan('p', external('a', { on: { failure: ['undo'] } }), external('undo')))
    journal.must(claim('a'))
    expect(journal.must(unaccepted())[0]?.type).toBe('attempt.failed')
    expect(journal.status('undo')).toBe('ready')
  })

  it('without a claim is the beginning of one', () => {
    const journal = started(plan('p', external('a')))
    const { held: _, ...first } = unaccepted()
    expect(journal.must(first).map(({ type }) => type)).toEqual(['attempt.started', 'report.refused'])
    expect(journal.state.order[0]).toMatchObject({ status: 'running', claim: { token: 'token-of-ana', by: 'ana' } })
  })
})
