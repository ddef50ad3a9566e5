import { describe, expect, it } from 'vitest'
import { edit, Journal, name, numberedSha, plan, START, task } from '../../testing/index.ts'
import type { Event } from '../event.ts'
import type { CheckpointName } from '../id.ts'
import { nextActions } from '../next-actions.ts'
import type { PlanDefinition } from '../plan.ts'
import { checkpointsOf, findCheckpoint } from '../views/checkpoints.ts'

const types = (events: readonly Event[]) => events.map(({ type }) => type)
const standing = { snapshot: numberedSha(4), files: 12 }
const seen = { before: numberedSha(3) }

function begin(definition: PlanDefinition): Journal {
  const journal = new Journal().create(definition)
  journal.must({ ...START, files: 'seen' })
  journal.turn()
  return journal
}

describe('checkpoints', () => {
  it('are taken by hand under a name, when the plan has started and no rollback is under way', () => {
    const asked = { type: 'checkpoint', name: 'good' as CheckpointName, standing } as const
    const draft = new Journal().create(plan('p', task('a')))
    expect(draft.submit(asked)).toMatchObject({ refusal: { code: 'illegal-transition' } })
    draft.must(START)
    expect(draft.must(asked)).toEqual([{ ...asked, type: 'checkpoint.taken', why: 'asked' }])
    draft.must({ type: 'rollback', kind: 'rollback', id: 'r', at: 0, to: 2, resets: [], compensate: [] })
    expect(draft.submit(asked)).toMatchObject({ refusal: { code: 'conflict' } })
  })

  it('are taken before a task that declares risks, in the entry in which it starts', () => {
    const journal = begin(plan('p', task('a', { risks: ['drops a table'] }), task('b', { needs: ['a'] })))
    expect(journal.prepare('a', { ...seen, checkpoint: standing })).toMatchObject([
      { type: 'checkpoint.taken', why: 'risky', task: 'a', standing },
      { type: 'attempt.started', task: 'a', before: numberedSha(3) },
    ])
    journal.succeed('a')
    // Nothing is risky about the other, whatever was prepared for it.
    expect(types(journal.prepare('b', { ...seen, checkpoint: standing }))).toEqual(['attempt.started'])
  })

  it('are taken after every so many tasks, counted from the last one with files in it', () => {
    const journal = begin(
      plan('p', ...['a', 'b', 'c', 'd'].map(one => task(one)), {
        concurrency: 1,
        policy: { checkpoints: { every: 2 } },
      }),
    )
    const taken: string[] = []
    for (const one of ['a', 'b', 'c', 'd']) {
      if (types(journal.prepare(one, { ...seen, checkpoint: standing })).includes('checkpoint.taken')) taken.push(one)
      journal.succeed(one)
    }
    expect(taken).toEqual(['c'])
  })

  it('are not taken where files are not looked at, or the policy says never', () => {
    const policy = { checkpoints: { before: 'never' } } as const
    const never = begin(plan('p', task('a', { risks: ['x'] }), { policy }))
    expect(types(never.prepare('a', { ...seen, checkpoint: standing }))).toEqual(['attempt.started'])
    const old = new Journal().create(plan('p', task('a', { risks: ['x'] })))
    old.must(START)
    expect(types(old.turn())).toEqual(['attempt.started'])
  })

  it('are taken by checkpoint tasks, which look at the files and write nothing', () => {
    const journal = begin(plan('p', task('mark', { action: { type: 'checkpoint', name: 'ready-to-ship' } })))
    expect(journal.succeed('mark', { checkpoint: standing })).toMatchObject([
      { type: 'attempt.succeeded' },
      { type: 'checkpoint.taken', name: 'ready-to-ship', why: 'task', task: 'mark' },
      { type: 'plan.finished', status: 'completed' },
    ])
  })

  it('stand after every task that is done, named after it and its time, at the entry that says so', () => {
    const journal = begin(plan('p', edit('build', 'f'), task('b', { needs: ['build'] })))
    journal.prepare('build', { preimage: numberedSha(1) })
    journal.succeed('build', { wrote: { changes: numberedSha(2), paths: 3, left: 1 } })
    const { version } = journal.state
    expect(checkpointsOf(journal.entries)).toEqual([
      {
        name: 'cp-build-20260101T000000000Z',
        version,
        at: journal.clock.now(),
        task: 'build',
        why: 'after',
        paths: 3,
        standing: { left: 1 },
      },
    ])
    journal.must({ type: 'checkpoint', name: 'x' as CheckpointName, standing })
    journal.must({ type: 'checkpoint', name: 'x' as CheckpointName, standing })
    expect(findCheckpoint(checkpointsOf(journal.entries), 'x')?.version).toBe(version + 2)
    expect(findCheckpoint(checkpointsOf(journal.entries), 'y')).toBeNull()
  })
})

it('a task that declares no scope is looked at once a visit before it begins; one that does, or is pure, is not', () => {
  const journal = begin(
    plan('p', task('any'), task('pure', { effect: 'pure' }), task('scoped', { write: ['x'], network: [] }), {
      concurrency: 3,
    }),
  )
  const next = nextActions(journal.state, 0)
  expect(next.prepare.map(({ definition }) => definition.id)).toEqual(['any', 'scoped'])
  expect(journal.status('pure')).toBe('running')
  expect(journal.prepare('any', { unwatched: 'too many files' })).toMatchObject([
    { type: 'attempt.started', task: name('any'), unwatched: 'too many files' },
  ])
})
