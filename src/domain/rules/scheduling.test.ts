import { describe, expect, it } from 'vitest'
import {
  edit,
  external,
  gate,
  interrupted,
  type Journal,
  name,
  numberedSha,
  type PlanOptions,
  plan,
  START,
  started,
  succeeded,
  type TaskOptions,
  task,
} from '../../testing/index.ts'
import { nextActions } from '../next-actions.ts'
import type { TaskDefinition } from '../plan.ts'
import { lacksLabels } from './scheduling.ts'

const running = (journal: Journal): readonly string[] => Array.from(journal.state.running, one => one.definition.id)
const preparing = (journal: Journal): readonly string[] =>
  nextActions(journal.state, journal.clock.now()).prepare.map(one => one.definition.id)
const many = (count: number, options: TaskOptions = {}): TaskDefinition[] =>
  Array.from({ length: count }, (_, at) => task(`t${at}`, options))

describe('the line', () => {
  it('higher priority goes first, then the order of the document', () => {
    const journal = started(
      plan(
        'p',
        task('a'),
        task('b', { priority: 1 }),
        task('c', { priority: 2 }),
        task('d', { priority: 1 }),
        task('e', { priority: -1 }),
        { concurrency: 1 },
      ),
    )
    const order: string[] = []
    for (let at = 0; at < 5; at++) {
      order.push(...running(journal))
      journal.succeed(running(journal)[0]!)
    }
    expect(order).toEqual(['c', 'b', 'd', 'a', 'e'])
  })

  it('a task whose agent asked for a permission and was cut off waits for the answer; others go on', () => {
    const journal = started(plan('p', task('a', { effect: 'pure' }), task('b'), { concurrency: 1 }))
    const form = [{ name: 'allow', type: 'choice', choices: ['yes', 'no'] }] as const
    const agent = { rule: 'agent:1' }
    journal.must({ type: 'ask', id: 'q', task: name('a'), by: 'planfold', text: 'Allow it?', form, agent })
    journal.settle('a', interrupted())
    expect(running(journal)).toEqual(['b'])
    journal.succeed('b')
    expect(nextActions(journal.state, journal.clock.now())).toMatchObject({ turn: false, rest: 'waiting' })
    journal.must({ type: 'answer', id: 'q', answers: { allow: 'no' }, by: 'ana' })
    journal.turn()
    expect(running(journal)).toEqual(['a'])
  })

  it('no more run at once than the plan allows', () => {
    const journal = started(plan('p', ...many(5), { concurrency: 2 }))
    expect(running(journal)).toEqual(['t0', 't1'])
    journal.turn()
    expect(running(journal)).toEqual(['t0', 't1'])
    journal.succeed('t0')
    expect(running(journal)).toEqual(['t1', 't2'])
  })

  it('regression 11: without a limit, or with one of zero, there is a safe default, and something starts', () => {
    for (const options of [{}, { concurrency: 0 }, { concurrency: -1 }] satisfies PlanOptions[]) {
      expect(running(started(plan('p', ...many(6), options)))).toEqual(['t0', 't1', 't2', 't3'])
    }
  })

  it('regression 15: with more ready tasks than places, all run in the end', () => {
    const journal = started(plan('p', ...many(50), { concurrency: 3 }))
    for (let at = 0; at < 50; at++) journal.succeed(running(journal)[at % running(journal).length]!)
    expect([journal.state.status, journal.state.counts.completed]).toEqual(['completed', 50])
  })

  it('regression 14: a running task is not started again, however many turns are taken', () => {
    const journal = started(plan('p', task('a')))
    expect([journal.turn(), journal.turn(), nextActions(journal.state, journal.clock.now()).turn]).toEqual([
      [],
      [],
      false,
    ])
    expect(journal.submit(START)).toMatchObject({ ok: false, refusal: { code: 'illegal-transition' } })
  })

  it('a task whose write scope overlaps one that runs, or is before it in line, waits; others pass by', () => {
    const pure = { effect: 'idempotent' } as const
    const journal = started(
      plan(
        'p',
        task('a', { ...pure, write: ['src/**'] }),
        task('b', { ...pure, write: ['src/x.ts'] }),
        task('c', { ...pure, write: ['test/**'] }),
        task('d', { ...pure, write: ['src/y.ts'] }),
      ),
    )
    // A scope is reserved before the task begins.
    const prepareAll = () =>
      journal.turn({ prepared: preparing(journal).map(id => ({ task: name(id), visit: 1, prepared: {} })) })
    prepareAll()
    expect(running(journal)).toEqual(['a', 'c'])
    journal.succeed('c')
    prepareAll()
    expect(running(journal)).toEqual(['a'])
    journal.succeed('a')
    prepareAll()
    expect(running(journal)).toEqual(['b', 'd'])
  })

  it('a task that was lost and is ready again holds one place in line, not two', () => {
    const journal = started(plan('p', ...many(3, { effect: 'pure' }), { concurrency: 2 }))
    journal.must({ type: 'recover', reason: 'its owner died' })
    journal.turn()
    expect(running(journal)).toEqual(['t0', 't1'])
  })

  it('while the process is stopping, what ended is settled and nothing starts', () => {
    const journal = started(plan('p', task('a'), task('b', { needs: ['a'] })))
    const settled = [{ task: name('a'), visit: 1, attempt: 1, result: succeeded() }]
    expect(journal.turn({ settled, start: false })).toEqual([
      { type: 'attempt.succeeded', task: 'a', visit: 1, attempt: 1, result: { status: 'succeeded' } },
      { type: 'task.readied', tasks: ['b'] },
    ])
  })
})

describe('the place of a plan', () => {
  it('is any worker that has all of its labels, whatever else it has', () => {
    const placed = plan('p', task('a'), { place: ['linux', 'gpu'] })
    expect(lacksLabels(placed, new Set(['gpu', 'berlin', 'linux']))).toEqual([])
    expect(lacksLabels(plan('p', task('a'), { place: [] }), new Set())).toEqual([])
    expect(lacksLabels(plan('p', task('a')), new Set())).toEqual([])
  })

  it('names what a worker lacks, in its own order; a part of a label or another case is another label', () => {
    const placed = plan('p', task('a'), { place: ['linux', 'gpu', 'eu/west'] })
    expect(lacksLabels(placed, new Set(['linux', 'GPU', 'eu']))).toEqual(['gpu', 'eu/west'])
    expect(lacksLabels(placed, new Set())).toEqual(['linux', 'gpu', 'eu/west'])
  })

  it('does not depend on labels and capabilities of tasks, nor on labels of the plan', () => {
    const labelled = plan('p', task('a', { labels: ['gpu'], capabilities: ['gpu'] }), { labels: ['gpu'] })
    expect(lacksLabels(labelled, new Set())).toEqual([])
  })
})

describe('preparation', () => {
  it('a task that writes in the workspace starts only with the preimage of its scope', () => {
    const journal = started(plan('p', edit('a', 'f')))
    expect([running(journal), preparing(journal)]).toEqual([[], ['a']])
    expect(journal.prepare('a', { preimage: numberedSha(5), inputHash: numberedSha(6) })).toEqual([
      { type: 'attempt.started', task: 'a', visit: 1, attempt: 1, preimage: numberedSha(5), inputHash: numberedSha(6) },
    ])
    expect(journal.state.order[0]!.prepared).toEqual({ preimage: numberedSha(5), inputHash: numberedSha(6) })
  })

  it('an unprepared task holds its place in line, so that lesser ones cannot starve it', () => {
    const journal = started(
      plan('p', edit('a', 'f'), task('b', { priority: -1 }), task('c', { priority: -2 }), edit('d', 'f'), {
        concurrency: 2,
      }),
    )
    expect([running(journal), preparing(journal)]).toEqual([['b'], ['a']])
    journal.turn()
    expect([running(journal), preparing(journal)]).toEqual([['b'], ['a']])
    journal.prepare('a', { preimage: numberedSha(5) })
    expect(running(journal)).toEqual(['b', 'a'])
  })

  it('regression 37: a condition that holds is recorded, then the task starts', () => {
    const journal = started(plan('p', task('a', { when: 'x > 1' })))
    expect([running(journal), preparing(journal)]).toEqual([[], ['a']])
    expect(journal.prepare('a', { when: true })).toEqual([
      { type: 'criterion.judged', task: 'a', criterion: 'x > 1', holds: true },
      { type: 'attempt.started', task: 'a', visit: 1, attempt: 1 },
    ])
  })

  it('regression 37: a condition that does not hold skips the task, and its dependants go on', () => {
    const journal = started(plan('p', task('a', { when: 'x > 1' }), task('b', { needs: ['a'] })))
    expect(journal.prepare('a', { when: false })).toEqual([
      { type: 'task.skipped', task: 'a', reason: 'its condition is false: x > 1' },
      { type: 'task.readied', tasks: ['b'] },
    ])
  })

  it('regression 37: nothing starts on a condition that nobody has judged', () => {
    const journal = started(plan('p', task('a', { when: 'x' }), edit('b', 'f', { when: 'y' })))
    expect([journal.prepare('a', {}), journal.prepare('b', { preimage: numberedSha(5) })]).toEqual([[], []])
    expect(preparing(journal)).toEqual(['a', 'b'])
  })

  it('regression 37: a condition is judged once in a visit, and again when its judging failed', () => {
    const retry = { attempts: 3, backoffMs: { min: 1, max: 1 } }
    for (const one of [
      task('a', { when: 'x', retry, effect: 'pure' }),
      gate('a', { when: 'x', retry }),
      external('a', { when: 'x', retry }),
    ]) {
      const journal = started(plan('p', one))
      journal.prepare('a', {
        failure: { class: 'resource', message: 'no memory', retryable: true },
        inputHash: numberedSha(6),
      })
      journal.clock.advance(10)
      journal.turn()
      expect([one.action.type, journal.status('a'), preparing(journal)]).toEqual([one.action.type, 'ready', ['a']])
    }
    const journal = started(plan('p', task('a', { when: 'x', retry, effect: 'pure' })))
    journal.prepare('a', { when: true })
    journal.fail('a', { retryable: true })
    journal.clock.advance(10)
    expect(journal.turn().at(-1)).toEqual({ type: 'attempt.started', task: 'a', visit: 1, attempt: 2 })
  })

  it('a preparation that goes wrong fails the task', () => {
    const journal = started(plan('p', task('a', { when: 'x' })))
    const failure = { class: 'logic', message: 'x is unknown', retryable: false } as const
    expect(journal.prepare('a', { failure })).toEqual([
      { type: 'attempt.started', task: 'a', visit: 1, attempt: 1, begun: false },
      { type: 'attempt.failed', task: 'a', visit: 1, attempt: 1, result: { status: 'failed', failure } },
      {
        type: 'recovery.chosen',
        task: 'a',
        visit: 1,
        choice: 'block',
        reason: 'not retried: a retry would not help',
      },
      { type: 'plan.finished', status: 'failed', reason: "task 'a' failed: x is unknown" },
    ])
  })

  it('what was prepared for an earlier visit is stale', () => {
    const journal = started(plan('p', edit('a', 'f')))
    expect(journal.turn({ prepared: [{ task: name('a'), visit: 2, prepared: { preimage: numberedSha(5) } }] })).toEqual(
      [],
    )
  })

  it('a failure of one in line that leads back past another does not start the other', () => {
    const journal = started(
      plan(
        'p',
        task('root'),
        task('a', { needs: ['root'], when: 'x', on: { failure: 'root' } }),
        task('b', { needs: ['root'] }),
        task('c', { needs: ['root'] }),
        { concurrency: 4 },
      ),
    )
    const failure = { class: 'logic', message: 'no', retryable: false } as const
    journal.turn({
      settled: [{ task: name('root'), visit: 1, attempt: 1, result: succeeded() }],
      prepared: [{ task: name('a'), visit: 1, prepared: { failure } }],
    })
    expect(journal.statuses()).toEqual({ root: 'ready', a: 'pending', b: 'pending', c: 'pending' })
  })

  it('a gate with a condition opens when it holds; an external task can then be claimed', () => {
    const journal = started(plan('p', gate('g', { when: 'x' }), external('e', { when: 'y' })))
    expect(journal.submit({ type: 'claim', task: name('e'), token: 'k', by: 'ana' })).toMatchObject({
      ok: false,
      refusal: { code: 'not-ready' },
    })
    expect(journal.ask('g', {}, { when: true })).toEqual([
      { type: 'criterion.judged', task: 'g', criterion: 'x', holds: true },
      { type: 'gate.opened', task: 'g', asks: { type: 'approval', show: [] }, hash: numberedSha(7) },
    ])
    journal.prepare('e', { when: true })
    expect(journal.must({ type: 'claim', token: 'k', by: 'ana' })).toHaveLength(1)
  })
})

describe('preconditions', () => {
  const preconditions = [
    { type: 'expect', expression: 'network.online' },
    { type: 'prose', text: 'the old server is off' },
  ] as const
  const seen = [
    { criterion: 'network.online', holds: true },
    { criterion: 'the old server is off', holds: null },
  ]
  const decide = (journal: Journal, verdict: 'approved' | 'rejected') =>
    journal.must({ type: 'decide', task: name('a'), verdict, rationale: '' })

  it('are judged before the task starts; prose is asked of a person, and only a yes lets it start', () => {
    const journal = started(plan('p', task('a', { preconditions })))
    expect([running(journal), preparing(journal)]).toEqual([[], ['a']])
    expect(journal.turn({ prepared: [{ task: name('a'), visit: 1, prepared: {} }] })).toEqual([])
    expect(journal.prepare('a', { preconditions: seen })).toEqual([
      {
        type: 'gate.opened',
        task: 'a',
        asks: { type: 'verdict', criteria: ['the old server is off'], before: true },
        hash: numberedSha(1),
      },
    ])
    expect(decide(journal, 'approved').map(event => event.type)).toEqual(['gate.decided', 'task.readied'])
    expect(journal.prepare('a', { preconditions: seen })).toEqual([
      { type: 'criterion.judged', task: 'a', criterion: 'network.online', holds: true, stage: 'precondition' },
      { type: 'criterion.judged', task: 'a', criterion: 'the old server is off', holds: true, stage: 'precondition' },
      { type: 'attempt.started', task: 'a', visit: 1, attempt: 1 },
    ])
  })

  it('that a person denies fail the task, which never began', () => {
    const journal = started(plan('p', task('a', { preconditions })))
    journal.prepare('a', { preconditions: seen })
    decide(journal, 'rejected')
    expect([journal.statuses(), journal.state.tasks.get(name('a'))?.attempt]).toEqual([{ a: 'failed' }, 0])
  })

  it('that do not hold fail the attempt, which is tried again as the policy says', () => {
    const retry = { attempts: 2, backoffMs: { min: 1_000, max: 1_000 } }
    const journal = started(plan('p', task('a', { preconditions, retry })))
    const failure = { class: 'resource', message: 'offline', retryable: true } as const
    expect(journal.prepare('a', { failure, mode: 'x' }).map(event => event.type)).toEqual([
      'attempt.started',
      'attempt.failed',
      'recovery.chosen',
      'retry.scheduled',
    ])
    journal.clock.advance(1_000)
    journal.turn()
    expect(preparing(journal)).toEqual(['a'])
  })

  it('are asked anew in the next visit', () => {
    const journal = started(plan('p', task('a', { preconditions })))
    journal.prepare('a', { preconditions: seen })
    decide(journal, 'approved')
    journal.prepare('a', { preconditions: seen })
    journal.succeed('a')
    journal.must({ type: 'retry', task: name('a'), repeat: true })
    journal.prepare('a', { preconditions: seen })
    expect(journal.status('a')).toBe('waiting')
  })

  it('keep an external task from being claimed, also when a retry is due, and a gate from opening', () => {
    const journal = started(
      plan('p', external('a', { preconditions }), gate('g', { preconditions }), { concurrency: 3 }),
    )
    const claim = { type: 'claim', task: name('a'), token: 'k', by: 'ana' } as const
    expect(journal.submit(claim)).toMatchObject({ ok: false, refusal: { code: 'not-ready' } })
    expect(journal.status('g')).toBe('ready')
    const held = [{ criterion: 'network.online', holds: true }]
    journal.prepare('a', { preconditions: held })
    journal.ask('g', {}, { preconditions: held })
    expect(journal.submit(claim)).toMatchObject({ ok: true })
    expect(journal.state.tasks.get(name('g'))?.gate?.asks).toEqual({ type: 'approval', show: [] })
  })
})
