// Rollback, undo and redo, in the cases one would think of first. That they are exact in all others: domain/rollback/rollback-plan.test.ts.

import { describe, expect, it } from 'vitest'
import {
  edit,
  external,
  failed,
  gate,
  Journal,
  name,
  numberedSha,
  plan,
  START,
  succeeded,
  task,
} from '../../testing/index.ts'
import type { Command, CommandOf, RollbackOutcome } from '../command.ts'
import type { Event } from '../event.ts'
import { nextActions } from '../next-actions.ts'
import type { PlanDefinition } from '../plan.ts'
import { meaningFor, meaningOf } from './rollback-plan.ts'

const undo = { type: 'run', command: { argv: ['undo'] } } as const
const safe = { effect: 'idempotent' } as const
const done: RollbackOutcome = { changes: numberedSha(9), paths: 1 }
const types = (events: readonly Event[]) => events.map(({ type }) => type)

function begin(definition: PlanDefinition): Journal {
  const journal = new Journal().create(definition)
  journal.must(START)
  journal.turn()
  return journal
}

/** What the engine would ask for. */
function to(journal: Journal, version: number, more: Partial<CommandOf<'rollback'>> = {}): CommandOf<'rollback'> {
  const { state, entries } = journal
  return {
    type: 'rollback',
    kind: 'rollback',
    id: 'r',
    at: 0,
    to: version,
    ...meaningOf(entries, state, version),
    ...more,
  }
}

const finish = (journal: Journal): readonly Event[] => journal.turn({ rolledBack: { id: 'r', outcome: done } })

function beforeLast({ entries }: Journal): number {
  return entries.findLast(({ events }) => events.some(event => event.type === 'rollback.started'))!.version - 1
}

describe('a rollback', () => {
  const three = plan('p', task('a', safe), task('b', { needs: ['a'], ...safe }), task('c', { needs: ['b'], ...safe }))

  it('opens what was done since in a new visit, and leaves the plan paused', () => {
    const journal = begin(three)
    journal.succeed('a', { outputs: { n: 1 } })
    const { version } = journal.state
    journal.succeed('b')
    journal.succeed('c')
    expect(journal.state.status).toBe('completed')
    expect(types(journal.must(to(journal, version)))).toEqual(['rollback.started', 'plan.reopened'])
    expect(journal.submit({ type: 'retry', task: name('c') })).toMatchObject({ refusal: { code: 'conflict' } })
    expect(nextActions(journal.state, 0)).toMatchObject({ rest: null, rollback: { to: version } })
    expect(types(finish(journal))).toEqual(['rollback.finished', 'task.readied', 'plan.paused'])
    expect(journal.statuses()).toEqual({ a: 'completed', b: 'ready', c: 'pending' })
    expect(journal.state.tasks.get(name('b'))).toMatchObject({ visit: 2, attempt: 0, result: null })
    expect(journal.state.tasks.get(name('a'))).toMatchObject({ visit: 1, result: { outputs: { n: 1 } } })
    expect([journal.state.status, journal.state.reason]).toEqual(['paused', `rolled back to entry ${version}`])
    journal.must({ type: 'resume' })
    journal.turn()
    journal.succeed('b')
    journal.succeed('c')
    expect(journal.state.status).toBe('completed')
  })

  it('is undone and redone, as often as wanted; a plan that had ended there ends as it had', () => {
    const journal = begin(three)
    journal.succeed('a')
    const { version } = journal.state
    journal.succeed('b', { outputs: { n: 2 } })
    journal.succeed('c')
    journal.must(to(journal, version))
    finish(journal)
    for (let round = 1; round <= 2; round++) {
      journal.must(to(journal, beforeLast(journal), { kind: 'undo' }))
      expect(types(finish(journal))).toEqual(['rollback.finished', 'plan.finished'])
      expect(journal.statuses()).toEqual({ a: 'completed', b: 'completed', c: 'completed' })
      expect(journal.state.tasks.get(name('b'))?.result).toEqual(succeeded({ outputs: { n: 2 } }))
      expect([journal.state.status, journal.state.reason]).toEqual(['completed', 'all required tasks completed'])
      journal.must(to(journal, beforeLast(journal), { kind: 'undo' }))
      finish(journal)
      expect(journal.statuses()).toEqual({ a: 'completed', b: 'ready', c: 'pending' })
      expect(journal.state.status).toBe('paused')
    }
  })

  it('ends what runs, and takes no notice of how that ended', () => {
    const journal = begin(plan('p', task('a', safe), task('b', { needs: ['a'], ...safe }), gate('g', { needs: ['b'] })))
    journal.succeed('a')
    const started = journal.state.version - 1
    journal.must(to(journal, started))
    expect(journal.status('b')).toBe('running')
    expect(nextActions(journal.state, 0).rollback).toBeNull()
    // It was faster than its end: nobody goes on because of it.
    expect(types(journal.succeed('b'))).toEqual(['attempt.succeeded'])
    expect(journal.statuses()).toEqual({ a: 'completed', b: 'completed', g: 'pending' })
    finish(journal)
    expect(journal.statuses()).toEqual({ a: 'ready', b: 'pending', g: 'pending' })
  })

  it('of files only leaves every task, and what ended meanwhile has its consequences afterwards', () => {
    const journal = begin(plan('p', task('a', safe), task('b', { needs: ['a'] }), { concurrency: 2 }))
    journal.must({ ...to(journal, 2), resets: [], compensate: [], filesOnly: true })
    journal.succeed('a')
    expect(journal.status('b')).toBe('pending')
    expect(types(finish(journal))).toEqual(['rollback.finished', 'task.readied', 'plan.paused'])
    expect(journal.statuses()).toEqual({ a: 'completed', b: 'ready' })
  })

  it('of files only tries again what failed meanwhile and may be tried, and blocks nobody because of it', () => {
    const retry = { attempts: 2, backoffMs: { min: 1_000, max: 1_000 } }
    const journal = begin(plan('p', task('a', { ...safe, retry }), task('b', { needs: ['a'] })))
    journal.must({ ...to(journal, 2), resets: [], compensate: [], filesOnly: true })
    expect(types(journal.fail('a', { retryable: true }))).toEqual(['attempt.failed'])
    expect(types(finish(journal))).toEqual(['rollback.finished', 'recovery.chosen', 'retry.scheduled', 'plan.paused'])
    expect(journal.statuses()).toEqual({ a: 'ready', b: 'pending' })
  })

  it('of files only opens the next visit of what would bring its old files back', () => {
    const retry = { attempts: 3, backoffMs: { min: 1_000, max: 1_000 } }
    const journal = begin(plan('p', edit('a', 'f', { retry })))
    journal.prepare('a', { preimage: numberedSha(3) })
    journal.fail('a', { retryable: true })
    journal.must({ ...to(journal, 2), resets: [], compensate: [], filesOnly: true })
    finish(journal)
    expect(journal.state.tasks.get(name('a'))).toMatchObject({
      status: 'ready',
      visit: 2,
      prepared: null,
      retryAt: null,
    })
  })

  it('takes claims away from whoever holds them, closes gates, and asks anew when the plan comes there again', () => {
    const journal = begin(plan('p', task('a', safe), external('e', { needs: ['a'] }), gate('g', { needs: ['a'] })))
    const { version } = journal.state
    journal.succeed('a')
    journal.ask('g')
    journal.must({ type: 'claim', task: name('e'), token: 'k', by: 'ana' })
    expect(types(journal.must(to(journal, version)))).toEqual(['rollback.started', 'attempt.lost'])
    finish(journal)
    expect(journal.statuses()).toEqual({ a: 'ready', e: 'pending', g: 'pending' })
    const report: Command = { type: 'report', task: name('e'), token: 'k', by: 'ana', result: succeeded() }
    expect(journal.submit(report)).toMatchObject({ ok: false })
    journal.must({ type: 'resume' })
    journal.turn()
    journal.succeed('a')
    journal.ask('g')
    expect(journal.statuses()).toEqual({ a: 'completed', e: 'ready', g: 'waiting' })
  })

  it('leaves alone what nothing has happened to: a gate that was open then stays open', () => {
    const journal = begin(plan('p', gate('g'), task('a', safe), task('b', { needs: ['a'], ...safe })))
    journal.ask('g')
    journal.succeed('a')
    const { version } = journal.state
    journal.succeed('b')
    const asked = to(journal, version)
    expect(asked.resets.map(({ task }) => task)).toEqual(['b'])
    journal.must(asked)
    finish(journal)
    expect(journal.statuses()).toEqual({ g: 'waiting', a: 'completed', b: 'ready' })
  })

  it('forgets a retry that was to come', () => {
    const retry = { attempts: 3, backoffMs: { min: 60_000, max: 60_000 } }
    const journal = begin(plan('p', task('a', { ...safe, retry })))
    journal.fail('a', { retryable: true })
    journal.must(to(journal, 2))
    finish(journal)
    expect(journal.state.tasks.get(name('a'))).toMatchObject({ status: 'ready', retryAt: null, failures: 0, visit: 2 })
    expect(nextActions(journal.state, journal.clock.now())).toMatchObject({ wakeAt: null, rest: 'paused' })
  })

  it('of a paused plan is under way like any other, and ends paused', () => {
    const journal = begin(three)
    journal.succeed('a')
    journal.must({ type: 'pause' })
    journal.must(to(journal, 3))
    expect(journal.state.status).toBe('active')
    expect(journal.must({ type: 'resume' })).toEqual([])
    journal.settle('b', { status: 'interrupted', reason: 'rolled back' })
    finish(journal)
    expect([journal.state.status, journal.statuses()]).toEqual(['paused', { a: 'ready', b: 'pending', c: 'pending' }])
  })

  it('of a plan that failed opens what failed, and unblocks what waited for it', () => {
    const journal = begin(three)
    journal.succeed('a')
    const { version } = journal.state
    journal.fail('b')
    expect([journal.state.status, journal.status('c')]).toEqual(['failed', 'blocked'])
    const { state } = journal
    const { reason } = state
    journal.must(to(journal, version))
    finish(journal)
    expect(journal.statuses()).toEqual({ a: 'completed', b: 'ready', c: 'pending' })
    journal.must(to(journal, beforeLast(journal), { kind: 'undo' }))
    finish(journal)
    expect(journal.statuses()).toEqual({ a: 'completed', b: 'failed', c: 'blocked' })
    expect([state.status, state.reason]).toEqual(['failed', reason])
  })

  it('of a plan that was cancelled takes it up again, and undone it is cancelled again', () => {
    const journal = begin(three)
    journal.succeed('a')
    const { version } = journal.state
    journal.must({ type: 'cancel', reason: 'enough' })
    journal.succeed('b')
    expect(journal.state.status).toBe('cancelled')
    journal.must(to(journal, version))
    finish(journal)
    expect([journal.state.status, journal.statuses()]).toEqual(['paused', { a: 'completed', b: 'ready', c: 'pending' }])
    journal.must(to(journal, beforeLast(journal), { kind: 'undo' }))
    finish(journal)
    expect([journal.state.status, journal.state.reason, journal.statuses()]).toEqual([
      'cancelled',
      'enough',
      { a: 'completed', b: 'completed', c: 'cancelled' },
    ])
  })

  it('in a loop goes to the visit of then: its result stands, and it may go round as often as it could', () => {
    const journal = begin(
      plan('p', task('a', { ...safe, visits: 2 }), task('b', { needs: ['a'], on: { failure: 'a' }, ...safe })),
    )
    journal.succeed('a', { outputs: { n: 1 } })
    const { version } = journal.state
    journal.fail('b')
    journal.turn()
    journal.succeed('a', { outputs: { n: 2 } })
    journal.must(to(journal, version))
    journal.settle('b', { status: 'interrupted', reason: 'rolled back' })
    finish(journal)
    expect(journal.state.tasks.get(name('a'))).toMatchObject({ status: 'completed', result: { outputs: { n: 1 } } })
    journal.must({ type: 'resume' })
    journal.turn()
    // The second visit is free again, the third is not.
    journal.fail('b')
    expect(journal.status('a')).toBe('running')
    journal.succeed('a')
    journal.fail('b')
    expect(journal.state.status).toBe('failed')
  })

  it('puts to sleep again what no outcome had led to', () => {
    const journal = begin(plan('p', task('a', { ...safe, on: { failure: 'mend' } }), task('mend', safe)))
    journal.fail('a')
    expect(journal.state.tasks.get(name('mend'))).toMatchObject({ status: 'running', dormant: false })
    journal.must(to(journal, 2))
    journal.settle('mend', { status: 'interrupted', reason: 'rolled back' })
    finish(journal)
    expect(journal.state.tasks.get(name('mend'))).toMatchObject({ status: 'pending', dormant: true, routedBy: [] })
    expect(journal.state.tasks.get(name('a'))).toMatchObject({ status: 'ready', handled: false })
  })

  it('lets the definition of done be judged again', () => {
    const criteria = [{ type: 'prose', text: 'good' }] as const
    const journal = begin(plan('p', task('a', safe), { done: criteria }))
    journal.succeed('a')
    journal.succeed('done')
    expect(journal.state.status).toBe('completed')
    journal.must(to(journal, 2))
    finish(journal)
    expect(journal.state.tasks.get(name('done'))).toMatchObject({ status: 'pending', dormant: true })
    journal.must({ type: 'resume' })
    journal.turn()
    journal.succeed('a')
    expect(journal.status('done')).toBe('running')
  })

  it('of some tasks opens these, what came after them, and the definition of done', () => {
    const criteria = [{ type: 'prose', text: 'good' }] as const
    const journal = begin(
      plan('p', task('a', safe), task('b', { needs: ['a'], ...safe }), task('free', safe), { done: criteria }),
    )
    for (const one of ['a', 'free', 'b', 'done']) journal.succeed(one)
    const tasks = [name('a')]
    const { entries, state } = journal
    journal.must({ ...to(journal, 2), ends: undefined as never, ...meaningFor(entries, state, tasks), tasks })
    finish(journal)
    expect(journal.statuses()).toEqual({ a: 'ready', b: 'pending', free: 'completed', done: 'pending' })
    expect(journal.state.status).toBe('paused')
  })

  it('is refused for a draft, for an entry that is not there, and while something runs that may not be ended', () => {
    const draft = new Journal().create(three)
    expect(draft.submit(to(draft, 1))).toMatchObject({ refusal: { code: 'illegal-transition' } })
    const journal = begin(plan('p', task('a')))
    expect(journal.submit({ ...to(journal, 2), to: 77 })).toMatchObject({ refusal: { code: 'not-found' } })
    expect(journal.submit(to(journal, 2))).toMatchObject({ refusal: { code: 'not-ready' } })
    const bare = { ...to(journal, 2), compensate: [name('a')] }
    expect(journal.submit(bare)).toMatchObject({ refusal: { code: 'invalid' } })
    journal.must(to(journal, 2, { force: true }))
    // Nobody knows what it did; going back does not make that known, but somebody has asked for it.
    expect(types(journal.settle('a', { status: 'interrupted', reason: 'rolled back' }))).toEqual([
      'attempt.lost',
      'attempt.parked',
    ])
    finish(journal)
    expect([journal.state.status, journal.status('a')]).toEqual(['paused', 'ready'])
  })

  it('that cannot be done changes nothing, says why, and leaves the plan standing still', () => {
    const journal = begin(three)
    journal.succeed('a')
    journal.must(to(journal, 2))
    journal.settle('b', { status: 'interrupted', reason: 'rolled back' })
    const { failure } = failed({ message: 'somebody has worked on f' })
    const outcome = { changes: null, paths: 0, failure, conflicts: ['f'] }
    expect(journal.turn({ rolledBack: { id: 'r', outcome } })).toEqual([
      { type: 'rollback.stopped', ...outcome },
      { type: 'plan.paused', reason: 'the rollback was stopped: somebody has worked on f' },
    ])
    expect(journal.statuses()).toEqual({ a: 'completed', b: 'ready', c: 'pending' })
    // Told twice, because nobody knew whether it had been written: nothing more happens, not even to the next one.
    expect(journal.turn({ rolledBack: { id: 'r', outcome } })).toEqual([])
    journal.must({ ...to(journal, 2), id: 'another' })
    expect(journal.turn({ rolledBack: { id: 'r', outcome: done } })).toEqual([])
    expect(journal.state.rollback?.id).toBe('another')
  })

  it('is ended by `cancel --force`, and by no other cancel', () => {
    const journal = begin(three)
    journal.succeed('a')
    journal.must(to(journal, 2))
    expect(journal.submit({ type: 'cancel' })).toMatchObject({ refusal: { code: 'conflict' } })
    journal.must({ type: 'cancel', force: true, reason: 'now' })
    expect(journal.state).toMatchObject({ status: 'cancelled', reason: 'now', rollback: null, compensating: null })
    expect(nextActions(journal.state, 0).rest).toBe('ended')
  })

  it('goes on after a crash where it was', () => {
    const journal = begin(three)
    journal.succeed('a')
    journal.must(to(journal, 2))
    journal.must({ type: 'recover', reason: 'its owner died' })
    expect(nextActions(journal.state, 0)).toMatchObject({ rollback: { to: 2 }, rest: null })
    finish(journal)
    expect(journal.statuses()).toEqual({ a: 'ready', b: 'pending', c: 'pending' })
  })
})

describe('compensations on the way back', () => {
  const saga = plan(
    'p',
    task('a', { ...safe, compensate: undo }),
    task('b', { needs: ['a'], ...safe, compensate: { type: 'edit', edits: [] } }),
    task('c', { needs: ['b'], ...safe }),
    { policy: { onFailure: 'keep' } },
  )
  const compensated = (task: string, result = succeeded()) => ({ compensated: [{ task: name(task), result }] })

  it('run last first, before files go back, each once; what was compensated is open when the rollback is undone', () => {
    const journal = begin(saga)
    for (const one of ['a', 'b', 'c']) journal.succeed(one)
    const asked = to(journal, 2)
    expect(asked.compensate).toEqual(['b', 'a'])
    journal.must(asked)
    expect(journal.turn()).toMatchObject([{ type: 'compensation.started', task: 'b' }])
    expect(nextActions(journal.state, 0)).toMatchObject({ rollback: null, compensate: { task: { visit: 1 } } })
    expect(types(journal.turn(compensated('b')))).toEqual(['compensation.finished', 'compensation.started'])
    journal.turn(compensated('a'))
    expect(nextActions(journal.state, 0).rollback).not.toBeNull()
    finish(journal)
    expect(journal.state.completedOrder).toEqual([])
    // Nothing is left to be undone.
    expect(to(journal, 2).compensate).toEqual([])
    const back = to(journal, beforeLast(journal), { kind: 'undo' })
    expect(back.resets.map(({ task, status }) => [task, status])).toEqual([
      ['a', 'pending'],
      ['b', 'pending'],
      ['c', 'completed'],
    ])
    journal.must(back)
    finish(journal)
    expect([journal.state.status, journal.statuses()]).toEqual(['paused', { a: 'ready', b: 'pending', c: 'completed' }])
  })

  it('of what was done before the checkpoint do not run, also when it was begun again since', () => {
    const journal = begin(saga)
    journal.succeed('a')
    const { version } = journal.state
    expect(to(journal, version).compensate).toEqual([])
    // Once more since: nobody can undo the second time without the first.
    journal.must({ type: 'retry', task: name('a') })
    journal.turn()
    expect(to(journal, version, { force: true }).compensate).toEqual([])
    journal.succeed('a')
    const asked = to(journal, version)
    expect(asked).toMatchObject({ compensate: ['a'], resets: [{ task: 'a', status: 'pending' }, { task: 'b' }] })
  })

  it('are tried again while that may help, after a wait', () => {
    const retry = { attempts: 3, backoffMs: { min: 1_000, max: 1_000 } }
    const journal = begin(plan('p', task('a', { ...safe, compensate: undo, retry })))
    journal.succeed('a')
    journal.must(to(journal, 2))
    journal.turn()
    const busy = failed({ class: 'transient', retryable: true, message: 'busy' })
    for (let failures = 1; failures <= 2; failures++) {
      expect(journal.turn({ compensated: [{ task: name('a'), result: busy }] })).toMatchObject([
        { type: 'compensation.retried', at: journal.clock.now() + 1_000 },
      ])
      const wakeAt = journal.clock.now() + 1_000
      expect(nextActions(journal.state, journal.clock.now())).toMatchObject({ wakeAt, turn: false, rest: null })
      expect(journal.turn()).toEqual([])
      journal.clock.advance(1_000)
      expect(types(journal.turn())).toEqual(['compensation.started'])
    }
    expect(types(journal.turn({ compensated: [{ task: name('a'), result: busy }] }))).toEqual([
      'compensation.finished',
      'rollback.stopped',
      'plan.finished',
    ])
  })

  it('that fail stop it; with force it goes on, and says so', () => {
    for (const force of [false, true]) {
      const journal = begin(saga)
      journal.succeed('a')
      journal.succeed('b')
      journal.must(to(journal, 2, force ? { force } : {}))
      journal.settle('c', { status: 'interrupted', reason: 'rolled back' })
      const ended = types(journal.turn(compensated('b', failed() as never)))
      if (force) {
        expect(ended).toEqual(['compensation.finished', 'compensation.started'])
        journal.turn(compensated('a'))
        finish(journal)
        expect(journal.statuses()).toEqual({ a: 'ready', b: 'pending', c: 'pending' })
        // Its effect may still be there: the next rollback tries again.
        expect(journal.state.completedOrder).toEqual(['b'])
      } else {
        expect(ended).toEqual(['compensation.finished', 'rollback.stopped', 'plan.paused'])
        expect(journal.statuses()).toEqual({ a: 'completed', b: 'completed', c: 'ready' })
        expect(to(journal, 2).compensate).toEqual(['b', 'a'])
      }
    }
  })

  it('whose outcome nobody knows after a crash stop it, unless they may be made again', () => {
    const journal = begin(saga)
    journal.succeed('a')
    journal.succeed('b')
    journal.must(to(journal, 2))
    journal.settle('c', { status: 'interrupted', reason: 'rolled back' })
    expect(journal.must({ type: 'recover', reason: 'its owner died' })).toEqual([])
    expect(nextActions(journal.state, 0).compensate?.task.definition.id).toBe('b')
    journal.turn(compensated('b'))
    expect(types(journal.must({ type: 'recover', reason: 'its owner died' }))).toEqual([
      'compensation.finished',
      'rollback.stopped',
      'plan.paused',
    ])
    // What was compensated stays so, and is done again when the work is taken up.
    expect(journal.state.compensated).toEqual(['b'])
  })

  it('that failed leave the order in which to undo as it was, when the rollback is undone', () => {
    const journal = begin(
      plan('p', task('b', { needs: ['a'], ...safe, compensate: undo }), task('a', { ...safe, compensate: undo })),
    )
    journal.succeed('a')
    journal.succeed('b')
    expect(journal.state.completedOrder).toEqual(['a', 'b'])
    journal.must(to(journal, 2, { force: true }))
    journal.turn()
    for (const one of ['b', 'a']) journal.turn(compensated(one, failed() as never))
    finish(journal)
    journal.must(to(journal, beforeLast(journal), { kind: 'undo' }))
    finish(journal)
    expect([journal.state.status, journal.state.completedOrder]).toEqual(['completed', ['a', 'b']])
  })

  it('open the definition of done again, also where it had been judged', () => {
    const journal = begin(
      plan('p', task('a', { ...safe, compensate: undo }), { done: [{ type: 'prose', text: 'good' }] }),
    )
    journal.succeed('a')
    journal.succeed('done')
    journal.must(to(journal, 2))
    journal.turn()
    journal.turn(compensated('a'))
    finish(journal)
    journal.must(to(journal, beforeLast(journal), { kind: 'undo' }))
    finish(journal)
    expect(journal.state.tasks.get(name('done'))).toMatchObject({ status: 'pending', dormant: true, routedBy: [] })
    expect([journal.state.status, journal.status('a')]).toEqual(['paused', 'ready'])
  })
})
