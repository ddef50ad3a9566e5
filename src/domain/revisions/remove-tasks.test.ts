import { describe, expect, it } from 'vitest'
import { gate, name, numberedSha, plan, started, task } from '../../testing/index.ts'
import type { PlanDefinition } from '../plan.ts'

const revise = (definition: PlanDefinition) =>
  ({ type: 'revise', definition, hash: numberedSha(2), rationale: 'fewer' }) as const

describe('a task that a revision removes', () => {
  it('is abandoned if it ran, and vanishes if it never did', () => {
    const journal = started(
      plan('p', task('done'), task('bad'), gate('asked'), task('never', { needs: ['x'] }), task('x')),
    )
    journal.succeed('done')
    journal.fail('bad')
    journal.ask('asked')
    journal.must({ type: 'decide', task: name('asked'), verdict: 'approved', rationale: '' })
    const events = journal.must(revise(plan('p', task('x'), task('n'))))
    expect(events.slice(0, 4)).toMatchObject([
      { type: 'task.abandoned', task: 'done', reason: 'removed in revision 2; it was completed' },
      { type: 'task.abandoned', task: 'bad', reason: 'removed in revision 2; it was failed' },
      { type: 'task.abandoned', task: 'asked', reason: 'removed in revision 2; it was completed' },
      { type: 'plan.revised', revision: 2 },
    ])
    expect(journal.statuses()).toEqual({ x: 'running', n: 'ready' })
  })

  it('blocks nobody that stays: what needed it must have been written anew', () => {
    const journal = started(plan('p', task('a'), task('b', { needs: ['a'] }), task('c')))
    journal.fail('a')
    expect(journal.status('b')).toBe('blocked')
    journal.must(revise(plan('p', task('b'), task('c'))))
    expect(journal.statuses()).toMatchObject({ b: 'ready', c: 'running' })
  })

  it('comes back as a new task, with nothing done', () => {
    const journal = started(plan('p', task('a'), task('x')))
    journal.succeed('a')
    journal.must(revise(plan('p', task('x'))))
    journal.must({ ...revise(plan('p', task('x'), task('a'))), hash: numberedSha(3) })
    expect(journal.statuses()).toMatchObject({ a: 'ready' })
  })

  it('stays when it completed and declares how it is undone: else nobody could undo it', () => {
    const undo = { type: 'run', command: { argv: ['undo'] } } as const
    const journal = started(plan('p', task('a', { compensate: undo }), task('x')))
    journal.succeed('a')
    expect(journal.submit(revise(plan('p', task('x'))))).toMatchObject({
      ok: false,
      refusal: {
        code: 'illegal-transition',
        message: "the revision removes 'a', which has done what only its 'compensate' can undo",
      },
    })
    journal.must(revise(plan('p', task('a', { compensate: undo }), task('n'), task('x'))))
  })
})
