import { describe, expect, it } from 'vitest'
import { name, numberedSha, plan, started, task } from '../../testing/index.ts'

describe('the end', () => {
  it('regression 21: a plan with a failed required task never ends completed, whatever else succeeds', () => {
    const journal = started(plan('p', task('a'), task('b')))
    journal.fail('a')
    expect(journal.state.status).toBe('active')
    expect(journal.succeed('b').at(-1)).toEqual({
      type: 'plan.finished',
      status: 'failed',
      reason: "task 'a' failed: it said no",
    })
  })

  it('of a plan that failed names the failure, not what it blocked', () => {
    const journal = started(plan('p', task('z', { needs: ['a'] }), task('a')))
    journal.fail('a', { message: 'disk full' })
    expect(journal.state.reason).toBe("task 'a' failed: disk full")
  })
})

describe('the definition of done', () => {
  const done = [{ type: 'prose', text: 'no caller has to change' }] as const
  const definition = plan('p', task('a'), task('b', { optional: true }), { done })
  const unjudged = [{ criterion: 'no caller has to change', holds: null }]

  it('is judged when everything else has ended well, optional failures or not', () => {
    const journal = started(definition)
    journal.fail('b')
    expect(journal.succeed('a').slice(1)).toEqual([
      { type: 'task.routed', task: 'done', outcome: 'done', to: ['done'] },
      { type: 'task.readied', tasks: ['done'] },
      { type: 'attempt.started', task: 'done', visit: 1, attempt: 1 },
    ])
    expect(journal.succeed('done').at(-1)).toMatchObject({ type: 'plan.finished', status: 'completed' })
  })

  it('is not judged of a plan that has failed', () => {
    const journal = started(definition)
    journal.succeed('b')
    journal.fail('a')
    expect([journal.state.status, journal.status('done')]).toEqual(['failed', 'pending'])
  })

  it('that does not hold fails the plan', () => {
    const journal = started(definition)
    journal.succeed('b')
    journal.succeed('a')
    journal.fail('done', { message: 'tests are red' })
    expect([journal.state.status, journal.state.reason]).toEqual(['failed', "task 'done' failed: tests are red"])
  })

  it('in prose waits for the verdict of a person', () => {
    for (const [verdict, status] of [
      ['approved', 'completed'],
      ['rejected', 'failed'],
    ] as const) {
      const journal = started(definition)
      journal.succeed('b')
      journal.succeed('a')
      expect(journal.succeed('done', { verdicts: unjudged }).slice(1)).toEqual([
        {
          type: 'gate.opened',
          task: 'done',
          asks: { type: 'verdict', criteria: ['no caller has to change'] },
          hash: numberedSha(1),
        },
      ])
      expect(journal.status('done')).toBe('waiting')
      journal.must({ type: 'decide', task: name('done'), verdict, rationale: 'I looked' })
      expect(journal.state.status).toBe(status)
    }
  })

  it('is judged again when work is taken up again, however far its judging had come', () => {
    for (const stage of ['running', 'waiting', 'completed'] as const) {
      const journal = started(definition)
      journal.succeed('b')
      journal.succeed('a')
      if (stage === 'waiting') journal.succeed('done', { verdicts: unjudged })
      if (stage === 'completed') journal.succeed('done')
      expect(journal.status('done')).toBe(stage)
      journal.must({ type: 'retry', task: name('a'), repeat: true })
      expect(journal.statuses()).toEqual({ a: 'ready', b: 'completed', done: 'pending' })
      journal.turn()
      journal.succeed('a')
      expect([journal.status('done'), journal.state.order[2]!.visit]).toEqual(['running', 2])
    }
  })

  it('that failed can be tried again by itself', () => {
    const journal = started(definition)
    journal.succeed('b')
    journal.succeed('a')
    journal.fail('done')
    journal.must({ type: 'retry', task: name('done') })
    journal.turn()
    expect(journal.statuses()).toEqual({ a: 'completed', b: 'completed', done: 'running' })
  })

  it('can be skipped by a person, before or after it was judged', () => {
    const early = started(definition)
    early.must({ type: 'skip', task: name('done'), reason: 'trust me' })
    early.succeed('b')
    early.succeed('a')
    expect([early.state.status, early.status('done')]).toEqual(['completed', 'skipped'])
    const late = started(definition)
    late.succeed('b')
    late.succeed('a')
    late.fail('done')
    late.must({ type: 'skip', task: name('done'), reason: 'trust me' })
    expect([late.state.status, late.status('done')]).toEqual(['completed', 'skipped'])
  })

  it('a prose criterion of a task keeps what needs it waiting for the verdict', () => {
    const journal = started(plan('p', task('a', { accept: done }), task('b', { needs: ['a'] })))
    journal.succeed('a', { verdicts: unjudged })
    expect(journal.statuses()).toEqual({ a: 'waiting', b: 'pending' })
    journal.must({ type: 'decide', task: name('a'), verdict: 'approved', rationale: '' })
    expect(journal.statuses()).toEqual({ a: 'completed', b: 'ready' })
  })
})
