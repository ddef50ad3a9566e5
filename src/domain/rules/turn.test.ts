import { describe, expect, it } from 'vitest'
import { failed, gate, type Journal, name, numberedSha, plan, started, succeeded, task } from '../../testing/index.ts'
import type { Expanded } from '../command.ts'
import type { Json } from '../json.ts'
import type { TaskDefinition } from '../plan.ts'
import { bindItems } from '../plan-rules/for-each.ts'

const steps = (...tasks: readonly TaskDefinition[]) => ({ type: 'subplan' as const, tasks })
const search = (...more: readonly TaskDefinition[]) =>
  plan('p', task('scan'), task('fix', { needs: ['scan'], forEach: { in: 'tasks.scan.outputs.files' } }), ...more, {
    concurrency: 9,
  })

function found(journal: Journal, items: readonly Json[], hash = 2): Expanded {
  const { state } = journal
  const definition = bindItems(state.definition, name('fix'), items)
  const { visit } = state.tasks.get(name('fix/items'))!
  return { task: name('fix/items'), visit, from: state.hash, items, definition, hash: numberedSha(hash) }
}

describe('items that are found on the way', () => {
  it('make a revision that binds them, and the children begin, all in one entry', () => {
    const journal = started(search())
    journal.succeed('scan')
    const one = found(journal, ['x', 'y'])
    expect(journal.turn({ expanded: [one] })).toEqual([
      { type: 'attempt.started', task: 'fix/items', visit: 1, attempt: 1 },
      {
        type: 'plan.revised',
        revision: 2,
        definition: one.definition,
        hash: one.hash,
        rationale: "for_each of 'fix' gives 2 items",
      },
      {
        type: 'attempt.succeeded',
        task: 'fix/items',
        visit: 1,
        attempt: 1,
        result: { status: 'succeeded', outputs: { items: ['x', 'y'] } },
      },
      { type: 'task.readied', tasks: ['fix/1', 'fix/2'] },
      { type: 'attempt.started', task: 'fix/1', visit: 1, attempt: 1 },
      { type: 'attempt.started', task: 'fix/2', visit: 1, attempt: 1 },
    ])
    journal.succeed('fix/1')
    journal.succeed('fix/2')
    journal.succeed('fix', { outputs: { items: [] } })
    expect(journal.state.status).toBe('completed')
  })

  it('are not believed when the plan was revised since they were looked for, nor when told twice', () => {
    const journal = started(search())
    journal.succeed('scan')
    const late = found(journal, ['x'])
    journal.must({
      type: 'revise',
      definition: { ...journal.state.definition, title: 'T' },
      hash: numberedSha(9),
      rationale: '',
    })
    expect(journal.turn({ expanded: [late] })).toEqual([])
    const one = found(journal, ['x'], 3)
    expect(journal.turn({ expanded: [one] })).not.toEqual([])
    expect(journal.turn({ expanded: [one] })).toEqual([])
    expect(journal.state.revision).toBe(3)
  })

  it('are not bound while the plan is paused or the process is stopping', () => {
    const journal = started(search())
    journal.succeed('scan')
    const one = found(journal, ['x'])
    expect(journal.turn({ expanded: [one], start: false })).toEqual([])
    journal.must({ type: 'pause' })
    expect(journal.turn({ expanded: [one] })).toEqual([])
  })

  it('that cannot be found fail the task that looks for them, and block the group', () => {
    const journal = started(search())
    journal.succeed('scan')
    journal.prepare('fix/items', { failure: { class: 'logic', message: 'no list', retryable: false } })
    expect(journal.statuses()).toEqual({ scan: 'completed', fix: 'blocked', 'fix/items': 'failed' })
  })

  it('that would remove a child under way fail, and can be looked for again', () => {
    const journal = started(search())
    journal.succeed('scan')
    journal.turn({ expanded: [found(journal, ['x', 'y'])] })
    journal.must({ type: 'recover', reason: 'crash' })
    expect(journal.status('fix/2')).toBe('waiting')
    journal.must({ type: 'retry', task: name('scan'), repeat: true })
    journal.turn()
    journal.succeed('scan')
    const events = journal.turn({ expanded: [found(journal, ['x'], 3)] })
    expect(events.find(event => event.type === 'attempt.failed')).toMatchObject({
      task: 'fix/items',
      result: {
        failure: {
          message: "the items of 'fix' cannot be used: 'fix/2' is waiting, but its item is no longer in the list",
        },
      },
    })
  })

  it('found to be the same make no revision', () => {
    const journal = started(search())
    journal.succeed('scan')
    journal.turn({ expanded: [found(journal, ['x'])] })
    journal.succeed('fix/1')
    journal.must({ type: 'retry', task: name('scan'), repeat: true })
    journal.turn()
    journal.succeed('scan')
    const types = journal.turn({ expanded: [found(journal, ['x'])] }).map(event => event.type)
    expect(types).toEqual(['attempt.started', 'attempt.succeeded', 'task.readied', 'attempt.started'])
    expect(journal.state.revision).toBe(2)
  })

  it('that a revision leaves open again are looked for again', () => {
    const written = search()
    const journal = started(written)
    journal.succeed('scan')
    journal.turn({ expanded: [found(journal, ['x'])] })
    journal.succeed('fix/1')
    journal.must({ type: 'revise', definition: { ...written, title: 'T' }, hash: numberedSha(5), rationale: 'words' })
    expect(journal.statuses()).toMatchObject({ scan: 'completed', fix: 'pending', 'fix/items': 'ready' })
  })
})

describe('a group', () => {
  const definition = (options: Parameters<typeof task>[1] = {}) =>
    plan('p', task('g', { action: steps(task('a'), task('b', { needs: ['a'] })), ...options }), task('mend'), {
      concurrency: 9,
    })

  it('is blocked when one of its tasks fails, and the plan fails for that task', () => {
    const journal = started(definition())
    journal.succeed('mend')
    journal.fail('g/a')
    expect([journal.statuses(), journal.state.reason]).toEqual([
      { g: 'blocked', 'g/a': 'failed', 'g/b': 'blocked', mend: 'completed' },
      "task 'g/a' failed: it said no",
    ])
  })

  it('that says where its failure leads fails with its task, and the failure is handled', () => {
    const journal = started(definition({ on: { failure: 'mend' } }))
    const events = journal.fail('g/a').filter(({ type }) => type !== 'recovery.chosen')
    expect(events.slice(1)).toEqual([
      { type: 'task.blocked', tasks: ['g', 'g/b'], by: 'g/a' },
      { type: 'task.failed', task: 'g', by: 'g/a', reason: "'g/a' failed: it said no" },
      { type: 'task.routed', task: 'g', outcome: 'failure', to: ['mend'] },
      { type: 'task.readied', tasks: ['mend'] },
      { type: 'attempt.started', task: 'mend', visit: 1, attempt: 1 },
    ])
    journal.succeed('mend')
    expect(journal.state.status).toBe('completed')
  })

  it('is tried again as a whole, and passed over as a whole', () => {
    const journal = started(definition())
    journal.succeed('mend')
    journal.succeed('g/a')
    journal.turn({ settled: [{ task: name('g/b'), visit: 1, attempt: 1, result: succeeded() }] })
    journal.settle('g', failed())
    expect(journal.state.status).toBe('failed')
    journal.must({ type: 'retry', task: name('g'), repeat: true })
    expect(journal.statuses()).toEqual({ g: 'pending', 'g/a': 'ready', 'g/b': 'pending', mend: 'completed' })
    journal.must({ type: 'skip', task: name('g'), reason: 'enough' })
    expect(journal.statuses()).toEqual({ g: 'skipped', 'g/a': 'skipped', 'g/b': 'skipped', mend: 'completed' })
    expect(journal.state.status).toBe('completed')
  })

  it('is not passed over while one of its tasks runs', () => {
    const journal = started(definition())
    expect(journal.submit({ type: 'skip', task: name('g'), reason: '' })).toMatchObject({
      ok: false,
      refusal: { code: 'not-ready', message: "task 'g/a' is running" },
    })
  })

  it('without children is done at once', () => {
    const journal = started(plan('p', task('g', { forEach: { items: [] } })))
    journal.succeed('g')
    expect(journal.state.status).toBe('completed')
  })

  it('sleeps as a whole until an outcome leads there, and is passed over when none does', () => {
    const other = (result: 'well' | 'badly') => {
      const journal = started(
        plan(
          'p',
          task('x', { on: { failure: 'g' } }),
          task('g', { action: steps(task('a'), task('b', { needs: ['a'] })) }),
        ),
      )
      if (result === 'well') journal.succeed('x')
      else journal.fail('x')
      return journal.statuses()
    }
    expect(other('well')).toEqual({ x: 'completed', g: 'skipped', 'g/a': 'skipped', 'g/b': 'skipped' })
    expect(other('badly')).toEqual({ x: 'failed', g: 'pending', 'g/a': 'running', 'g/b': 'pending' })
  })

  it('has tasks of its own that sleep, though the group has needs; they are passed over when the rest of it is done', () => {
    const detect = { type: 'expect', expression: 'exit == 28' } as const
    const begin = () => {
      const failureModes = [{ name: 'no-disk', detect, recover: [name('clean')] }]
      const journal = started(
        plan(
          'p',
          task('first'),
          task('g', {
            needs: ['first'],
            action: steps(
              task('build', { failureModes }),
              task('clean', { on: { success: 'build' } }),
              task('sweep', { needs: ['clean'] }),
            ),
          }),
          task('after', { needs: ['g'] }),
          gate('elsewhere'),
        ),
      )
      journal.succeed('first')
      expect(journal.statuses()).toMatchObject({ 'g/build': 'running', 'g/clean': 'pending', 'g/sweep': 'pending' })
      return journal
    }
    const well = begin()
    well.succeed('g/build')
    expect(well.statuses()).toMatchObject({ g: 'running', 'g/clean': 'skipped', 'g/sweep': 'skipped' })
    const badly = begin()
    badly.settle('g/build', { ...failed(), mode: 'no-disk' })
    expect(badly.statuses()).toMatchObject({ g: 'blocked', 'g/build': 'failed', 'g/clean': 'running' })
    badly.succeed('g/clean')
    expect(badly.statuses()).toMatchObject({ g: 'pending', 'g/build': 'running', 'g/clean': 'completed' })
  })

  it('with needs of its own does not sleep because somebody leads there', () => {
    const journal = started(
      plan('p', task('a'), task('g', { needs: ['a'], action: steps(task('u')) }), task('x', { on: { failure: 'g' } }), {
        concurrency: 9,
      }),
    )
    journal.succeed('a')
    expect(journal.statuses()).toMatchObject({ 'g/u': 'running', x: 'running' })
  })
})
