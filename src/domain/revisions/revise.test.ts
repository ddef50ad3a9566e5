import { describe, expect, it } from 'vitest'
import {
  create,
  external,
  gate,
  given,
  type Journal,
  name,
  numberedSha,
  plan,
  started,
  task,
} from '../../testing/index.ts'
import type { PlanDefinition } from '../plan.ts'

const revise = (definition: PlanDefinition, number = 2, expectedRevision?: number) =>
  ({
    type: 'revise',
    definition,
    hash: numberedSha(number),
    rationale: 'better',
    ...(expectedRevision === undefined ? {} : { expectedRevision }),
  }) as const
const code = (journal: Journal, command: Parameters<Journal['submit']>[0]): string => {
  const decided = journal.submit(command)
  return decided.ok ? 'ok' : decided.refusal.code
}

describe('a revision', () => {
  it('keeps what was done, lets what runs carry on, and makes new tasks ready', () => {
    const journal = started(plan('p', task('a'), task('b', { needs: ['a'] }), task('old', { needs: ['b'] })))
    journal.succeed('a')
    const definition = plan('p', task('new', { needs: ['a'] }), task('a'), task('b', { needs: ['a'], title: 'B' }))
    expect(journal.must(revise(definition))).toEqual([
      { type: 'plan.revised', revision: 2, definition, hash: numberedSha(2), rationale: 'better' },
      { type: 'task.readied', tasks: ['new'] },
    ])
    expect(journal.statuses()).toEqual({ new: 'ready', a: 'completed', b: 'running' })
    expect(journal.state.order.map(one => one.ordinal)).toEqual([4, 1, 2])
  })

  it('opens a new visit of what had failed and was changed, and frees what it blocked', () => {
    const journal = started(plan('p', task('a'), task('b', { needs: ['a'] }), task('f'), task('c')))
    journal.fail('a')
    journal.fail('f')
    journal.must(revise(plan('p', task('a', { title: 'fixed' }), task('b', { needs: ['a'] }), task('f'), task('c'))))
    expect(journal.statuses()).toEqual({ a: 'ready', b: 'pending', f: 'failed', c: 'running' })
  })

  it('blocks what it adds behind a failure, handled or optional or not', () => {
    const journal = started(
      plan(
        'p',
        task('a', { on: { failure: 'x' } }),
        task('x'),
        task('o', { optional: true }),
        task('p', { optional: true, needs: ['o'] }),
      ),
    )
    journal.fail('a')
    journal.fail('o')
    journal.must(
      revise(
        plan(
          'p',
          task('a', { on: { failure: 'x' } }),
          task('x'),
          task('o', { optional: true }),
          task('p', { optional: true, needs: ['o'] }),
          task('n', { needs: ['a'] }),
          task('m', { needs: ['p'] }),
        ),
      ),
    )
    expect(journal.statuses()).toEqual({
      a: 'failed',
      x: 'running',
      o: 'failed',
      p: 'blocked',
      n: 'blocked',
      m: 'blocked',
    })
    expect(journal.succeed('x').at(-1)).toMatchObject({ type: 'plan.finished', status: 'failed' })
  })

  it('that gives a ready task a new need makes it wait for it', () => {
    const journal = started(plan('p', task('a'), task('b'), { concurrency: 1 }))
    expect(journal.status('b')).toBe('ready')
    journal.must(revise(plan('p', task('a'), task('b', { needs: ['n'] }), task('n'), { concurrency: 2 })))
    journal.turn()
    expect(journal.statuses()).toEqual({ a: 'running', b: 'pending', n: 'running' })
  })

  it('of a paused plan may change its place, and resets no task', () => {
    const journal = started(plan('p', task('a'), task('b', { needs: ['a'] }), { place: ['linux'] }))
    journal.succeed('a')
    journal.must({ type: 'pause' })
    const definition = plan('p', task('a'), task('b', { needs: ['a'] }), { place: ['linux', 'gpu'] })
    expect(journal.must(revise(definition))).toEqual([
      { type: 'plan.revised', revision: 2, definition, hash: numberedSha(2), rationale: 'better' },
    ])
    expect([journal.state.status, journal.state.definition.place]).toEqual(['paused', ['linux', 'gpu']])
    expect(journal.statuses()).toEqual({ a: 'completed', b: 'running' })
  })

  it('may not take away, turn into something else, or hold back what is under way', () => {
    const journal = started(plan('p', task('a'), gate('g'), external('e')))
    journal.ask('g')
    journal.must({ type: 'claim', token: 'k', by: 'ana' })
    const rest = [task('n')]
    expect([
      code(journal, revise(plan('p', gate('g'), external('e'), ...rest))),
      code(journal, revise(plan('p', task('a'), external('e'), ...rest))),
      code(journal, revise(plan('p', task('a'), gate('g'), task('e'), ...rest))),
      code(journal, revise(plan('p', task('a'), task('g'), external('e'), ...rest))),
      code(journal, revise(plan('p', task('a', { needs: ['n'] }), gate('g'), external('e'), ...rest))),
      code(journal, revise(plan('p', task('a'), gate('g'), external('e'), ...rest))),
    ]).toEqual(['not-ready', 'not-ready', 'not-ready', 'not-ready', 'not-ready', 'ok'])
  })

  it('is checked like any plan, keeps the name, and changes nothing when nothing changed', () => {
    const journal = started(plan('p', task('a')))
    expect([
      code(journal, revise(plan('q', task('a')))),
      code(journal, revise(plan('p', task('a', { needs: ['a'] })))),
      code(journal, revise(plan('p', task('a'), task('h', { action: { type: 'http', spec: null } })))),
      code(journal, revise(plan('p', task('a'), task('b')), 2, 7)),
    ]).toEqual(['invalid', 'cycle', 'not-supported', 'conflict'])
    expect(journal.must(revise(plan('p', task('a')), 1))).toEqual([])
    expect(code(journal, revise(plan('p', task('a'), task('b')), 2, 1))).toBe('ok')
    expect(journal.state.revision).toBe(2)
  })

  it('of a draft starts nothing; of an ended plan is refused', () => {
    given(create(plan('p', task('a'))))
      .when(revise(plan('p', task('b'))))
      .then({
        type: 'plan.revised',
        revision: 2,
        definition: plan('p', task('b')),
        hash: numberedSha(2),
        rationale: 'better',
      })
    const journal = started(plan('p', task('a')))
    journal.succeed('a')
    expect(code(journal, revise(plan('p', task('b'))))).toBe('illegal-transition')
  })

  it('that adds work while the definition of done is judged has it judged again after that work', () => {
    const done = [{ type: 'prose', text: 'good' }] as const
    const journal = started(plan('p', task('a'), { done }))
    journal.succeed('a')
    expect(journal.status('done')).toBe('running')
    journal.must(revise(plan('p', task('a'), task('b'), { done })))
    expect(journal.statuses()).toEqual({ a: 'completed', b: 'ready', done: 'pending' })
  })

  it('made while other tasks run again does not bring its judging forward', () => {
    const done = [{ type: 'prose', text: 'good' }] as const
    const journal = started(plan('p', task('a'), { done }))
    journal.succeed('a')
    journal.succeed('done')
    journal.must({ type: 'retry', task: name('a'), repeat: true })
    expect(journal.must(revise(plan('p', task('a', { title: 'A' }), { done })))).toHaveLength(1)
    expect(journal.statuses()).toEqual({ a: 'ready', done: 'pending' })
  })

  it('changes who is first in line', () => {
    const journal = started(plan('p', task('a'), task('b'), task('c'), { concurrency: 1 }))
    journal.must(revise(plan('p', task('a'), task('b'), task('c', { priority: 1 }), { concurrency: 1 })))
    journal.succeed('a')
    expect(journal.statuses()).toEqual({ a: 'completed', b: 'ready', c: 'running' })
  })
})

it('regression 31: a plan made from the same definition shares no state with its origin', () => {
  const definition = plan('p', task('a'), task('b', { needs: ['a'] }))
  const frozen = JSON.stringify(definition)
  const one = started(definition)
  const other = started(definition)
  one.fail('a')
  one.must({ type: 'skip', task: name('a'), reason: 'x' })
  expect(other.statuses()).toEqual({ a: 'running', b: 'pending' })
  expect(JSON.stringify(definition)).toBe(frozen)
})
