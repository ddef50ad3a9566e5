import { describe, expect, it } from 'vitest'
import { decision, gate, name, numberedSha, plan, started, task } from '../../testing/index.ts'

describe('outcome edges', () => {
  it('a task reached only by an outcome edge is dormant until an outcome leads there', () => {
    const journal = started(
      plan('p', task('a', { on: { failure: 'fix' } }), task('fix'), task('after', { needs: ['fix'] })),
    )
    expect(journal.statuses()).toEqual({ a: 'running', fix: 'pending', after: 'pending' })
    expect(journal.fail('a').slice(2)).toEqual([
      { type: 'task.routed', task: 'a', outcome: 'failure', to: ['fix'] },
      { type: 'task.readied', tasks: ['fix'] },
      { type: 'attempt.started', task: 'fix', visit: 1, attempt: 1 },
    ])
  })

  it('a failure whose edge was taken is handled, and the plan is completed', () => {
    const journal = started(plan('p', task('a', { on: { failure: 'fix' } }), task('fix')))
    journal.fail('a')
    journal.succeed('fix')
    expect([journal.state.status, journal.statuses(), journal.state.order[0]!.handled]).toEqual([
      'completed',
      { a: 'failed', fix: 'completed' },
      true,
    ])
  })

  it('what needs a handled failure is blocked all the same', () => {
    const journal = started(plan('p', task('a', { on: { failure: 'fix' } }), task('fix'), task('b', { needs: ['a'] })))
    journal.fail('a')
    expect(journal.succeed('fix').at(-1)).toEqual({
      type: 'plan.finished',
      status: 'failed',
      reason: "task 'b' is blocked by a",
    })
  })

  it('a task may need what leads to it: the need is waived, for each of several that failed', () => {
    const journal = started(
      plan(
        'p',
        task('a', { on: { failure: 'clean' } }),
        task('b', { on: { failure: 'clean' } }),
        task('clean', { needs: ['a', 'b'] }),
      ),
    )
    journal.fail('a')
    expect(journal.status('clean')).toBe('pending')
    journal.fail('b')
    expect(journal.status('clean')).toBe('running')
    journal.succeed('clean')
    expect(journal.state.status).toBe('completed')
  })

  it('what an outcome led to can be retried by hand, and waits when its source is tried again', () => {
    const journal = started(plan('p', task('a', { on: { failure: 'clean' } }), task('clean', { needs: ['a'] })))
    journal.fail('a')
    journal.succeed('clean')
    journal.must({ type: 'retry', task: name('clean'), repeat: true })
    expect(journal.statuses()).toEqual({ a: 'failed', clean: 'ready' })
    journal.must({ type: 'retry', task: name('a') })
    expect(journal.statuses()).toEqual({ a: 'ready', clean: 'pending' })
  })

  it('an edge may point back: the target and all that came after it open their next visit', () => {
    const journal = started(
      plan(
        'p',
        task('harvest'),
        task('sum', { needs: ['harvest'] }),
        task('side', { needs: ['harvest'], effect: 'pure' }),
        task('review', { needs: ['sum'], on: { more: 'harvest' } }),
        task('ship', { needs: ['review'] }),
      ),
    )
    journal.succeed('harvest')
    journal.succeed('sum')
    expect(journal.succeed('review', { outcome: 'more' })).toEqual([
      {
        type: 'attempt.succeeded',
        task: 'review',
        visit: 1,
        attempt: 1,
        result: { status: 'succeeded', outcome: 'more' },
      },
      {
        type: 'attempt.lost',
        task: 'side',
        visit: 1,
        attempt: 1,
        reason: "it will run again: 'review' ended with outcome 'more'",
        byUs: true,
      },
      {
        type: 'task.reopened',
        tasks: ['harvest', 'sum', 'side', 'review'],
        reason: "'review' ended with outcome 'more'",
      },
      { type: 'task.readied', tasks: ['harvest'] },
      { type: 'task.routed', task: 'review', outcome: 'more', to: ['harvest'] },
      { type: 'attempt.started', task: 'harvest', visit: 2, attempt: 1 },
    ])
    for (const one of ['harvest', 'sum', 'side']) journal.succeed(one)
    journal.succeed('review')
    journal.succeed('ship')
    expect([journal.state.status, journal.state.order.map(one => one.visit)]).toEqual(['completed', [2, 2, 2, 2, 1]])
  })

  it('a way back lets alone what is under way and may not be run twice', () => {
    const journal = started(
      plan(
        'p',
        task('harvest'),
        task('push', { needs: ['harvest'], effect: 'unsafe' }),
        task('review', { needs: ['harvest'], on: { more: 'harvest' } }),
      ),
    )
    journal.succeed('harvest')
    journal.succeed('review', { outcome: 'more' })
    const push = journal.state.order[1]!
    expect([push.status, push.visit, push.attempt]).toEqual(['running', 1, 1])
    for (const one of ['push', 'harvest', 'review']) journal.succeed(one)
    expect([journal.state.status, push.visit]).toEqual(['completed', 1])
  })

  it.each([
    ['its default of three', {}, {}, 3],
    ['what the target says', { visits: 2 }, {}, 2],
    ['what the source says', { visits: 2 }, { visits: 4 }, 4],
    ['regression 11: the default when somebody says zero', { visits: 0 }, { visits: 0 }, 3],
  ])('a way back is bounded by %s', (_, target, source, visits) => {
    const journal = started(plan('p', task('a', target), task('b', { needs: ['a'], on: { again: 'a' }, ...source })))
    for (let visit = 1; visit < visits; visit++) {
      journal.succeed('a')
      journal.succeed('b', { outcome: 'again' })
      expect(journal.state.order[0]!.visit).toBe(visit + 1)
    }
    journal.succeed('a')
    journal.succeed('b', { outcome: 'again' })
    expect([journal.state.status, journal.state.reason]).toEqual([
      'failed',
      `task 'b' failed: outcome 'again' leads back to 'a', which has used all of its ${visits} runs`,
    ])
  })

  it('a target named twice opens one visit', () => {
    const journal = started(plan('p', task('a'), task('b', { needs: ['a'], on: { again: ['a', 'a'] } })))
    journal.succeed('a')
    journal.succeed('b', { outcome: 'again' })
    expect(journal.state.order[0]!.visit).toBe(2)
  })

  it('a target that was skipped because nobody came has not used up a visit', () => {
    const journal = started(plan('p', task('a', { on: { x: 'b' } }), task('b', { visits: 1 })))
    journal.succeed('a')
    expect([journal.state.status, journal.status('b')]).toEqual(['completed', 'skipped'])
    journal.must({ type: 'retry', task: name('a'), repeat: true })
    journal.turn()
    journal.succeed('a', { outcome: 'x' })
    expect(journal.statuses()).toEqual({ a: 'completed', b: 'running' })
  })

  it('of two tasks that lead to each other, the one written first is where it begins', () => {
    const journal = started(plan('p', task('a', { on: { failure: 'b' } }), task('b', { on: { success: 'a' } })))
    expect(journal.statuses()).toEqual({ a: 'running', b: 'pending' })
  })

  it('a task that leads back to itself is not dormant', () => {
    expect(started(plan('p', task('a', { on: { more: 'a' } }))).status('a')).toBe('running')
  })
})

describe('a decision', () => {
  const branches = plan(
    'p',
    decision('pick', { on: { left: 'l', right: 'r' } }),
    task('l'),
    task('r'),
    task('join', { needs: ['l', 'r'] }),
  )

  it('takes the edge it picked; what was never led to is skipped, and joins go on', () => {
    const journal = started(branches)
    journal.succeed('pick', { outcome: 'left' })
    expect(journal.statuses()).toEqual({ pick: 'completed', l: 'running', r: 'pending', join: 'pending' })
    expect(journal.succeed('l').slice(1)).toEqual([
      { type: 'task.skipped', task: 'r', reason: 'no outcome led to it' },
      { type: 'task.readied', tasks: ['join'] },
      { type: 'attempt.started', task: 'join', visit: 1, attempt: 1 },
    ])
  })

  it('regression 37: picking an outcome without an edge fails, and says which edge is missing', () => {
    const journal = started(branches)
    journal.succeed('pick', { outcome: 'up' })
    expect([journal.state.status, journal.state.order[0]!.result]).toEqual([
      'failed',
      {
        status: 'failed',
        failure: {
          class: 'logic',
          message: "it decided 'up', and `on` names no task for that",
          hint: "add 'on: { up: <task> }', or 'on: { default: <task> }'",
          retryable: false,
        },
      },
    ])
  })

  it("an outcome is somebody's text: the names of the object machinery lead nowhere", () => {
    for (const outcome of ['constructor', '__proto__', 'toString']) {
      const journal = started(branches)
      journal.succeed('pick', { outcome })
      expect(journal.status('pick')).toBe('failed')
    }
  })

  it('falls back to the edge called default', () => {
    const journal = started(plan('p', decision('pick', { on: { left: 'l', default: 'r' } }), task('l'), task('r')))
    journal.succeed('pick', { outcome: 'up' })
    expect(journal.statuses()).toEqual({ pick: 'completed', l: 'pending', r: 'running' })
  })

  it('a whole branch that was never led to is skipped, its dependants written before or after it included', () => {
    const journal = started(
      plan(
        'p',
        task('late', { needs: ['r'] }),
        task('later', { needs: ['late'] }),
        decision('pick', { on: { left: 'l', right: 'r' } }),
        task('l'),
        task('r'),
        task('r2', { needs: ['r', 'late'] }),
      ),
    )
    journal.succeed('pick', { outcome: 'left' })
    journal.succeed('l')
    expect([journal.state.status, journal.statuses()]).toEqual([
      'completed',
      { late: 'skipped', later: 'skipped', pick: 'completed', l: 'completed', r: 'skipped', r2: 'skipped' },
    ])
  })
})

describe('a gate', () => {
  const gated = plan(
    'p',
    task('a'),
    gate('g', { needs: ['a'], on: { rejected: 'a' } }),
    task('b', { needs: ['g'] }),
    task('free'),
  )
  const decide = (verdict: 'approved' | 'rejected', rationale = '') =>
    ({ type: 'decide', task: name('g'), verdict, rationale }) as const

  it('blocks only what needs it, and lets that go on when it is approved', () => {
    const journal = started(gated)
    expect(journal.succeed('a').slice(1)).toEqual([{ type: 'task.readied', tasks: ['g'] }])
    expect(journal.ask('g')).toEqual([
      { type: 'gate.opened', task: 'g', asks: { type: 'approval', show: [] }, hash: numberedSha(7) },
    ])
    expect(journal.statuses()).toEqual({ a: 'completed', g: 'waiting', b: 'pending', free: 'running' })
    expect(journal.must(decide('approved', 'fine'))).toEqual([
      { type: 'gate.decided', task: 'g', verdict: 'approved', rationale: 'fine', hash: numberedSha(7) },
      { type: 'task.readied', tasks: ['b'] },
    ])
  })

  it('leads where its rejection leads, until the visits are used up', () => {
    const journal = started(gated)
    journal.succeed('a')
    journal.ask('g')
    expect(journal.must(decide('rejected', 'no'))).toEqual([
      { type: 'gate.decided', task: 'g', verdict: 'rejected', rationale: 'no', hash: numberedSha(7) },
      { type: 'recovery.chosen', task: 'g', visit: 1, choice: 'route', to: ['a'], reason: expect.any(String) },
      { type: 'note.added', text: 'no', task: 'a', kind: 'lesson', about: { visit: 1, attempt: 1 }, by: 'g' },
      { type: 'task.reopened', tasks: ['a', 'g'], reason: "'g' ended with outcome 'rejected'" },
      { type: 'task.readied', tasks: ['a'] },
      {
        ...{ type: 'task.routed', task: 'g', outcome: 'rejected', to: ['a'] },
        feedback: { from: 'g', by: 'g', text: 'no' },
      },
    ])
    journal.turn()
    journal.succeed('a')
    journal.ask('g')
    journal.must(decide('rejected', 'no'))
    journal.turn()
    journal.succeed('a')
    journal.ask('g')
    journal.must(decide('rejected', 'never'))
    expect(journal.statuses()).toEqual({ a: 'completed', g: 'failed', b: 'blocked', free: 'running' })
  })

  it('leads where its approval leads', () => {
    const journal = started(plan('p', gate('g', { on: { approved: 'x' } }), task('x')))
    journal.ask('g')
    journal.must(decide('approved'))
    expect(journal.status('x')).toBe('ready')
  })

  it('asks once, and only what it asks can be answered', () => {
    const journal = started(gated)
    expect(journal.submit(decide('approved'))).toMatchObject({ ok: false, refusal: { code: 'not-ready' } })
    journal.succeed('a')
    journal.ask('g')
    expect(journal.submit({ type: 'decide', task: name('g'), verdict: 'done', rationale: '' })).toMatchObject({
      ok: false,
      refusal: { code: 'illegal-transition', allowed: ['approved', 'rejected', 'pushed-back'] },
    })
    journal.must(decide('approved'))
    expect(journal.submit(decide('approved'))).toMatchObject({ ok: false, refusal: { code: 'not-ready' } })
  })
})

describe('a failure mode', () => {
  const detect = { type: 'expect', expression: 'exit == 28' } as const
  const failureModes = [
    { name: 'no-disk', detect, recover: [name('clean')] },
    { name: 'odd', detect, advice: 'open a window' },
  ]
  const begin = (on: Readonly<Record<string, string>> = {}) =>
    started(
      plan(
        'p',
        task('a', { failureModes, on, retry: { attempts: 2, backoffMs: { min: 1, max: 1 } } }),
        task('clean'),
        task('x'),
        {
          concurrency: 9,
        },
      ),
    )
  const failing = (mode?: string, retryable = false) => ({
    status: 'failed' as const,
    failure: { class: 'logic' as const, message: 'exit 28', retryable },
    ...(mode === undefined ? {} : { mode }),
  })
  const routes = (journal: ReturnType<typeof begin>, mode?: string) =>
    journal.settle('a', failing(mode)).filter(event => event.type === 'task.routed')

  it('leads to what recovers from it, which sleeps until then; the failure is handled', () => {
    const journal = begin()
    expect(journal.status('clean')).toBe('pending')
    expect(routes(journal, 'no-disk')).toEqual([{ type: 'task.routed', task: 'a', outcome: 'no-disk', to: ['clean'] }])
    journal.succeed('clean')
    journal.succeed('x')
    expect([journal.state.status, journal.state.tasks.get(name('a'))?.handled]).toEqual(['completed', true])
  })

  it('leads by an edge of its name first, and else by on.failure', () => {
    expect(routes(begin({ 'no-disk': 'x', failure: 'clean' }), 'no-disk')).toMatchObject([{ to: ['x'] }])
    expect(routes(begin({ failure: 'x' }), 'odd')).toMatchObject([{ outcome: 'failure', to: ['x'] }])
    expect(routes(begin({ failure: 'x' }))).toMatchObject([{ outcome: 'failure', to: ['x'] }])
  })

  it('is looked at only when no attempt is left', () => {
    const journal = begin()
    expect(journal.settle('a', failing('no-disk', true)).map(event => event.type)).toEqual([
      'attempt.failed',
      'recovery.chosen',
      'retry.scheduled',
    ])
  })

  it('that nobody recognised leads nowhere, and what recovers from it is passed over', () => {
    const journal = begin()
    journal.succeed('x')
    expect(routes(journal)).toEqual([])
    expect(journal.statuses()).toEqual({ a: 'failed', clean: 'skipped', x: 'completed' })
    expect(journal.state.status).toBe('failed')
  })
})
