// A plan that failed goes on: what is done stays done; what failed, was undone or was changed runs again.

import { describe, expect, it } from 'vitest'
import {
  create,
  failed,
  gate,
  Journal,
  name,
  numberedSha,
  type PlanOptions,
  plan,
  START,
  succeeded,
  type TaskOptions,
  task,
} from '../../testing/index.ts'
import type { UnsafeWork } from '../command.ts'
import { advise, quoted } from '../hint.ts'
import type { PlanDefinition, TaskDefinition } from '../plan.ts'
import type { LostOutput, Result } from '../result.ts'

const pure = (id: string, options: TaskOptions = {}) => task(id, { effect: 'pure', ...options })
const says = (...argv: readonly string[]) => ({ action: { type: 'run', command: { argv } } }) as const

/** Drives a plan until it rests; every task succeeds that `fails` does not name. */
function drive(journal: Journal, fails: readonly string[] = [], result: (task: string) => Result = () => succeeded()) {
  for (let turns = 0; turns < 30 && journal.state.status === 'active'; turns++) {
    const { compensation } = journal.state
    const settled = [...journal.state.running].map(({ definition: { id }, visit, attempt }) => ({
      task: id,
      visit,
      attempt,
      result: fails.includes(id) ? failed() : result(id),
    }))
    const compensated = compensation === null ? {} : { compensated: [{ task: compensation, result: succeeded() }] }
    journal.must({ type: 'turn', settled, ...compensated })
    const { rollback } = journal.state
    if (rollback !== null && journal.state.running.size === 0)
      journal.must({ type: 'turn', rolledBack: { id: rollback.id, outcome: { changes: null, paths: 0 } } })
  }
}

function failedPlan(definition: PlanDefinition, fails: readonly string[], result?: (task: string) => Result): Journal {
  const journal = new Journal()
  journal.must(create(definition))
  journal.must(START)
  drive(journal, fails, result)
  expect(journal.state.status).toBe('failed')
  return journal
}

const goOn = (definition: PlanDefinition, number: number, unsafe: UnsafeWork = 'refuse') =>
  ({ type: 'revise', definition, hash: numberedSha(number), rationale: 'run plan.yaml', goOn: unsafe }) as const
const visits = (journal: Journal) =>
  Object.fromEntries(journal.state.order.map(({ definition, visit }) => [definition.id, visit]))
const refusalOf = (journal: Journal, command: ReturnType<typeof goOn>) => {
  const decided = journal.submit(command)
  return decided.ok ? null : decided.refusal
}

describe('a plan that failed goes on', () => {
  const definition = plan('p', task('a'), task('b', { needs: ['a'] }), task('c', { needs: ['b'] }))

  it('with the same definition: what is done stays done, what failed and what it blocked runs', () => {
    const journal = failedPlan(definition, ['b'])
    expect(journal.must(goOn(definition, 1))).toEqual([
      { type: 'plan.reopened', reason: 'run plan.yaml' },
      { type: 'task.reopened', tasks: ['b'], reason: 'continuing after the failure' },
      { type: 'task.unblocked', tasks: ['c'] },
      { type: 'task.readied', tasks: ['b'] },
    ])
    expect(journal.state.revision).toBe(1)
    drive(journal)
    expect(journal.state.status).toBe('completed')
    expect(visits(journal)).toEqual({ a: 1, b: 2, c: 1 })
  })

  it('as a revision: what failed runs as it is written now, and what is new runs too', () => {
    const journal = failedPlan(definition, ['b'])
    const fixed = plan(
      'p',
      task('a', { title: 'other words are no other work' }),
      task('b', { needs: ['a'], ...says('mended') }),
      task('new', { needs: ['b'] }),
      task('c', { needs: ['new'] }),
    )
    const events = journal.must(goOn(fixed, 2))
    expect(events.map(({ type }) => type).slice(0, 2)).toEqual(['plan.reopened', 'plan.revised'])
    expect(journal.state.revision).toBe(2)
    drive(journal)
    expect(journal.state.status).toBe('completed')
    expect(visits(journal)).toEqual({ a: 1, b: 2, new: 1, c: 1 })
  })

  it('what was done and does something else now runs again, with all that comes after it', () => {
    const before = plan('p', pure('a'), pure('b', { needs: ['a'] }), pure('x'), pure('c', { needs: ['b'] }))
    const journal = failedPlan(before, ['c'])
    journal.must(
      goOn(plan('p', pure('a', says('other')), pure('b', { needs: ['a'] }), pure('x'), pure('c', { needs: ['b'] })), 2),
    )
    drive(journal)
    expect(visits(journal)).toEqual({ a: 2, b: 2, x: 1, c: 2 })
  })

  it('so does an external task whose description says something else: that is its work', () => {
    const external = { action: { type: 'external' } } as const
    const written = (description: string) =>
      plan('p', task('a', { ...external, description }), pure('b', { description }), pure('c', { needs: ['a', 'b'] }))
    const journal = new Journal()
    journal.must(create(written('write the tests')))
    journal.must(START)
    journal.must({ type: 'skip', task: name('a'), reason: 'done by hand' })
    drive(journal, ['c'])
    expect(journal.state.status).toBe('failed')
    journal.must(goOn(written('write the docs'), 2))
    expect(visits(journal)).toEqual({ a: 2, b: 1, c: 2 })
  })

  it('what was compensated runs again', () => {
    const undo = { compensate: { type: 'run', command: { argv: ['undo'] } } } as const
    const saga = plan('p', task('a', undo), task('b', { needs: ['a'] }))
    const journal = failedPlan(saga, ['b'])
    expect(journal.state.compensated).toEqual(['a'])
    journal.must(goOn(saga, 1))
    drive(journal)
    expect(journal.state.status).toBe('completed')
    expect(visits(journal)).toEqual({ a: 2, b: 2 })
  })

  it('what wrote files that were taken back runs again', () => {
    const rollback: PlanOptions = { policy: { onFailure: 'rollback' } }
    const wrote = (id: string): Result =>
      succeeded(id === 'a' ? { wrote: { changes: numberedSha(7), paths: 1 } as never } : {})
    const back = plan('p', pure('a'), pure('looks', { needs: [] }), pure('b', { needs: ['a'] }), rollback)
    const journal = failedPlan(back, ['b'], wrote)
    expect(journal.state.setBack).toBe(true)
    journal.must(goOn(back, 1))
    drive(journal, [], wrote)
    expect(visits(journal)).toEqual({ a: 2, looks: 1, b: 2 })
    expect(journal.state.setBack).toBe(false)
  })

  it('a failure that an outcome edge took up stays taken up', () => {
    const routed = plan('p', pure('a', { on: { failure: 'mend' } }), pure('mend'), pure('c', { needs: ['mend'] }))
    const journal = failedPlan(routed, ['a', 'c'])
    journal.must(goOn(routed, 1))
    drive(journal, ['a'])
    expect(journal.state.status).toBe('completed')
    expect(visits(journal)).toEqual({ a: 1, mend: 1, c: 2 })
  })

  it('a gate that was rejected asks again', () => {
    const gated = plan('p', gate('g'), pure('a', { needs: ['g'] }))
    const journal = new Journal()
    journal.must(create(gated))
    journal.must(START)
    journal.ask('g')
    journal.must({ type: 'decide', task: name('g'), verdict: 'rejected', rationale: 'no' })
    expect(journal.state.status).toBe('failed')
    journal.must(goOn(gated, 1))
    journal.ask('g')
    expect(journal.statuses()).toMatchObject({ g: 'waiting', a: 'pending' })
  })

  it('the definition of done is judged again, alone when only it did not hold', () => {
    const done = plan('p', pure('a'), { done: [{ type: 'expect', expression: 'false' }] })
    const journal = failedPlan(done, ['done'])
    journal.must(goOn(done, 1))
    drive(journal)
    expect(journal.state.status).toBe('completed')
    expect(visits(journal)).toEqual({ a: 1, done: 2 })
  })
})

describe('work that may not happen twice', () => {
  const mail = (options: TaskOptions): TaskDefinition => task('mail', options)
  const before = plan('p', mail(says('send')), pure('c', { needs: ['mail'] }))
  const other = plan('p', mail(says('send', 'more')), pure('c', { needs: ['mail'] }))

  it('is neither repeated nor passed over until somebody says which', () => {
    const journal = failedPlan(before, ['c'])
    expect(refusalOf(journal, goOn(other, 2))).toEqual({
      code: 'not-ready',
      message:
        "'mail' is completed and would be done a second time, because it or what it needs changed, failed or was undone; its effect is unsafe to repeat",
      hint: advise`say which: ${quoted('unsafe-work', { choice: 'keep' })} keeps its result and continues after it, ${quoted('unsafe-work', { choice: 'repeat' })} runs it again`,
      allowed: ['keep-done', 'repeat'],
    })
    expect(journal.state).toMatchObject({ status: 'failed', revision: 1 })
  })

  it('stays done, or is done once more, as somebody says', () => {
    const kept = failedPlan(before, ['c'])
    kept.must(goOn(other, 2, 'keep'))
    expect(visits(kept)).toEqual({ mail: 1, c: 2 })
    const repeated = failedPlan(before, ['c'])
    repeated.must(goOn(other, 2, 'repeat'))
    expect(visits(repeated)).toEqual({ mail: 2, c: 2 })
  })

  it('is not repeated because what it needs runs again, also when it needs that only now', () => {
    const loose = plan('p', pure('a'), task('mail'), pure('c', { needs: ['a', 'mail'] }))
    const bound = plan('p', pure('a', says('other')), task('mail', { needs: ['a'] }), pure('c', { needs: ['mail'] }))
    const journal = failedPlan(loose, ['c'])
    expect(refusalOf(journal, goOn(bound, 2))?.code).toBe('not-ready')
    journal.must(goOn(bound, 2, 'keep'))
    drive(journal)
    expect(journal.state.status).toBe('completed')
    expect(visits(journal)).toEqual({ a: 2, mail: 1, c: 2 })
  })

  it('is asked about when only the files it wrote were taken back', () => {
    const rollback: PlanOptions = { policy: { onFailure: 'rollback' } }
    const wrote = (): Result => succeeded({ wrote: { changes: numberedSha(7), paths: 1 } as never })
    const back = plan('p', task('deploy'), pure('c', { needs: ['deploy'] }), rollback)
    const asked = failedPlan(back, ['c'], wrote)
    expect(asked.state.setBack).toBe(true)
    expect(refusalOf(asked, goOn(back, 1))).toMatchObject({ code: 'not-ready', allowed: ['keep-done', 'repeat'] })
    expect(asked.submit({ type: 'retry', task: name('c') })).toMatchObject({
      ok: false,
      refusal: {
        allowed: ['repeat'],
        hint: expect.arrayContaining([quoted('retry', { plan: 'p', task: 'c', repeat: true })]),
      },
    })
    asked.must(goOn(back, 1, 'keep'))
    expect(visits(asked)).toEqual({ deploy: 1, c: 2 })
    const repeated = failedPlan(back, ['c'], wrote)
    repeated.must(goOn(back, 1, 'repeat'))
    expect(visits(repeated)).toEqual({ deploy: 2, c: 2 })
    const retried = failedPlan(back, ['c'], wrote)
    retried.must({ type: 'retry', task: name('c'), repeat: true })
    expect(visits(retried)).toEqual({ deploy: 2, c: 2 })
  })

  it('is repeated without a word when the revision declares that this is harmless', () => {
    const journal = failedPlan(before, ['c'])
    const safe = plan('p', mail({ ...says('send', 'more'), effect: 'idempotent' }), pure('c', { needs: ['mail'] }))
    journal.must(goOn(safe, 2))
    expect(visits(journal)).toEqual({ mail: 2, c: 2 })
  })
})

describe('going on', () => {
  it('changes nothing of a plan that is under way with the same definition, and revises one that has another', () => {
    const journal = new Journal()
    journal.must(create(plan('p', pure('a'))))
    journal.must(START)
    expect(journal.must(goOn(plan('p', pure('a')), 1))).toEqual([])
    journal.must(goOn(plan('p', pure('a'), pure('b')), 2))
    expect(journal.statuses()).toEqual({ a: 'ready', b: 'ready' })
  })

  it('is refused of a plan that is completed or was cancelled', () => {
    const completed = new Journal()
    completed.must(create(plan('p', pure('a'))))
    completed.must(START)
    drive(completed)
    expect(refusalOf(completed, goOn(plan('p', pure('a', says('x'))), 2))?.code).toBe('illegal-transition')
    const cancelled = new Journal()
    cancelled.must(create(plan('p', pure('a'))))
    cancelled.must({ type: 'cancel' })
    expect(refusalOf(cancelled, goOn(plan('p', pure('a')), 1))?.code).toBe('illegal-transition')
  })
})

describe('an output file that is gone when the plan is taken up', () => {
  const outputs = { report: { from: 'file', file: 'report.json' } } as const
  const lost = { task: name('make'), visit: 1, output: 'report', file: 'report.json' } as const
  const recover = (...found: readonly LostOutput[]) => ({ type: 'recover', reason: 'stopped', lost: found }) as const
  /** `make` is done, `wait` is not. */
  function underWay(options: TaskOptions, recovery: PlanOptions = {}): Journal {
    const journal = new Journal()
    const made = plan('p', task('make', { outputs, ...options }), gate('wait', { needs: ['make'] }), recovery)
    journal.must(create(made))
    journal.must(START)
    journal.turn()
    journal.succeed('make', { outputs: { report: { tests: 3 } } })
    journal.ask('wait')
    return journal
  }
  const REMAKE: PlanOptions = { recovery: { outputs: 'remake' } }

  it('is told once, and once more when it is back', () => {
    const journal = underWay({ effect: 'pure' })
    expect(journal.must(recover({ ...lost, what: 'missing' }))).toEqual([
      { type: 'outputs.checked', lost: [{ ...lost, what: 'missing' }] },
    ])
    expect(journal.must(recover({ ...lost, what: 'missing' }))).toEqual([])
    expect(journal.must(recover())).toEqual([{ type: 'outputs.checked', lost: [] }])
    expect(journal.statuses()).toEqual({ make: 'completed', wait: 'waiting' })
  })

  it('is made again by policy, with what needs it', () => {
    const journal = underWay({ effect: 'pure' }, REMAKE)
    journal.must(recover({ ...lost, what: 'missing' }))
    expect(visits(journal)).toEqual({ make: 2, wait: 2 })
    expect(journal.statuses()).toEqual({ make: 'ready', wait: 'pending' })
  })

  it('is made again only when no files of what needs it are still to be set back', () => {
    const journal = new Journal()
    const use = task('use', { needs: ['make'], write: ['src/**'], network: [] })
    journal.must(create(plan('p', pure('make', { outputs }), use, gate('wait', { needs: ['use'] }), REMAKE)))
    journal.must(START)
    journal.turn()
    journal.succeed('make', { outputs: { report: { tests: 3 } } })
    journal.prepare('use', { preimage: numberedSha(5) })
    journal.must(recover())
    const found = recover({ ...lost, what: 'missing' })
    expect(journal.must(found).map(({ type }) => type)).toEqual(['outputs.checked'])
    expect(journal.state.tasks.get(name('use'))).toMatchObject({ visit: 1, prepared: { preimage: numberedSha(5) } })
    journal.prepare('use', { preimage: numberedSha(5) })
    journal.succeed('use')
    journal.must(found)
    expect(visits(journal)).toEqual({ make: 2, use: 2, wait: 2 })
  })

  it('is only told when somebody changed an output of a task that would run again with it', () => {
    const journal = new Journal()
    const print = pure('print', { needs: ['make'], outputs: { page: { from: 'file', file: 'page.html' } } })
    journal.must(create(plan('p', pure('make', { outputs }), print, gate('wait', { needs: ['print'] }), REMAKE)))
    journal.must(START)
    journal.turn()
    journal.succeed('make', { outputs: { report: { tests: 3 } } })
    journal.succeed('print', { outputs: { page: { artifact: numberedSha(8) } } })
    const edited = { task: name('print'), visit: 1, output: 'page', file: 'page.html', what: 'changed' } as const
    journal.must(recover({ ...lost, what: 'missing' }, edited))
    expect(visits(journal)).toEqual({ make: 1, print: 1, wait: 1 })
    journal.must(recover({ ...lost, what: 'missing' }))
    expect(visits(journal)).toEqual({ make: 2, print: 2, wait: 2 })
  })

  it('is only told when somebody changed it, when making it again is unsafe, or when it is of an earlier visit', () => {
    const changed = underWay({ effect: 'pure' }, REMAKE)
    changed.must(recover({ ...lost, what: 'changed' }))
    expect(changed.statuses()).toEqual({ make: 'completed', wait: 'waiting' })
    const beside = underWay({ effect: 'pure' }, REMAKE)
    beside.must(recover({ ...lost, what: 'missing' }, { ...lost, output: 'other', file: 'other', what: 'changed' }))
    expect(beside.statuses()).toEqual({ make: 'completed', wait: 'waiting' })
    const unsafe = underWay({}, REMAKE)
    expect(unsafe.must(recover({ ...lost, what: 'missing' })).map(({ type }) => type)).toEqual(['outputs.checked'])
    const earlier = underWay({ effect: 'pure' }, REMAKE)
    expect(earlier.must(recover({ ...lost, visit: 2, what: 'missing' }))).toEqual([])
  })
})
