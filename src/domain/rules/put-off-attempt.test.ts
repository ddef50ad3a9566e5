// An attempt whose time has not come: it ends, and the task is taken up again then.

import { describe, expect, it } from 'vitest'
import { failed, name, numberedSha, plan, started, succeeded, task } from '../../testing/index.ts'
import { nextActions } from '../next-actions.ts'
import { packFold, unpackFold } from '../state/fold.ts'
import { explain } from '../views/board.ts'

const MINUTE = 60_000
const wait = (spec: string, options = {}) => task('a', { action: { type: 'wait', spec }, ...options })
const begun = (spec = '10m', options = {}) =>
  started(plan('p', wait(spec, options), task('b', { effect: 'pure' }), { concurrency: 1 }))

function putOff(journal: ReturnType<typeof begun>, ms = 10 * MINUTE) {
  const until = journal.clock.now() + ms
  journal.settle('a', { status: 'interrupted', begun: false, until, reason: 'waits until then' })
  return until
}
const running = ({ state }: ReturnType<typeof begun>) => Array.from(state.running, one => one.definition.id as string)

describe('an attempt that is put off', () => {
  it('holds no place, wakes the loop in time, and says until when', () => {
    const journal = begun()
    const since = journal.clock.now()
    const until = putOff(journal)
    expect(running(journal)).toEqual(['b'])
    journal.succeed('b')
    expect(nextActions(journal.state, journal.clock.now())).toMatchObject({ turn: false, wakeAt: until, rest: null })
    const waiting = journal.state.tasks.get(name('a'))!
    expect(waiting).toMatchObject({ status: 'ready', failures: 0, lost: 0, waitsSince: since })
    expect(explain(journal.state, waiting, journal.clock.now())).toBe("'a' waits until then")
    expect(unpackFold(packFold(journal.state), journal.state.definition).tasks.get(name('a'))?.waitsSince).toBe(since)
    journal.clock.advance(10 * MINUTE)
    journal.turn()
    expect(running(journal)).toEqual(['a'])
    journal.settle('a', succeeded())
    expect(journal.state.status).toBe('completed')
  })

  it('counts from its first attempt, also when its process died; a retry of a failure counts anew', () => {
    const journal = begun('10m', { retry: { attempts: 2, backoffMs: { min: 1, max: 1 } } })
    const since = journal.clock.now()
    journal.clock.advance(MINUTE)
    journal.must({ type: 'recover', reason: 'its process died' })
    journal.turn()
    expect(journal.state.tasks.get(name('a'))).toMatchObject({ attempt: 2, waitsSince: since })
    journal.settle('a', failed({ class: 'transient', retryable: true }))
    expect(journal.state.tasks.get(name('a'))).toMatchObject({ waitsSince: null })
    expect(explain(journal.state, journal.state.tasks.get(name('a'))!, journal.clock.now())).toContain(
      'will be retried',
    )
  })

  it('is looked at again at once when the plan is changed', () => {
    const journal = begun()
    putOff(journal)
    journal.succeed('b')
    const definition = plan('p', wait('1s'), task('b', { effect: 'pure' }), { concurrency: 1 })
    journal.must({ type: 'revise', definition, hash: numberedSha(2), rationale: 'sooner' })
    journal.turn()
    expect(running(journal)).toEqual(['a'])
  })

  it.each(['pause', 'cancel'] as const)('is ended by %s without anything to stop', type => {
    const journal = begun()
    putOff(journal)
    journal.succeed('b')
    journal.must({ type, reason: 'enough' })
    expect(journal.state.running.size).toBe(0)
    expect(journal.state.status).toBe(type === 'pause' ? 'paused' : 'cancelled')
    if (type === 'cancel') return
    journal.clock.advance(20 * MINUTE)
    journal.must({ type: 'resume' })
    journal.turn()
    expect(running(journal)).toEqual(['a'])
  })
})
