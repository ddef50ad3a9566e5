// Somebody's word about a whole plan: what it passes over, what it cannot change, and that nobody gets past a gate by it.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { commandOf, moves, plans } from '../../../sim/random-journals.ts'
import { external, gate, Journal, name, plan, START, started, succeeded, task } from '../../testing/index.ts'
import type { Command, CommandOf } from '../command.ts'
import { decide } from '../decide.ts'
import { unpackFold } from '../state/fold.ts'
import { checkState, stored } from '../state/state.fixture.ts'
import type { PlanState } from '../state/state.ts'
import { ENDED } from '../status.ts'

/** More of them on request: `PLANFOLD_RUNS=20000`. */
const RUNS = Number(process.env.PLANFOLD_RUNS ?? 150)

const finish = (as: 'completed' | 'failed', more: Partial<CommandOf<'finish'>> = {}): CommandOf<'finish'> => ({
  type: 'finish',
  as,
  reason: 'ana says so',
  by: 'ana',
  ...more,
})
const { rules } = START
const begun = (...parts: Parameters<typeof plan> extends [string, ...infer R] ? R : never): Journal => {
  const journal = new Journal().create(plan('p', ...parts))
  journal.must(START)
  return journal
}

function refused(journal: Journal, command: Command) {
  const before = stored(journal.state)
  const decided = journal.submit(command)
  expect(stored(journal.state)).toEqual(before)
  if (decided.ok) throw new Error(`'${command.type}' was not refused`)
  return decided.refusal
}

describe('finished as completed', () => {
  it('what is open is skipped in the name of whoever says so, and claims are given back', () => {
    const journal = begun(external('a'), external('b'), external('c', { needs: ['b'] }))
    journal.must({ type: 'report', task: name('a'), by: 'bo', result: succeeded() })
    journal.must({ type: 'claim', task: name('b'), token: 'k', by: 'ana' })
    expect(journal.must(finish('completed'))).toEqual([
      { type: 'attempt.lost', task: 'b', visit: 1, attempt: 1, reason: 'ana says so', byUs: true },
      { type: 'task.skipped', task: 'b', reason: 'ana says so', by: 'ana' },
      { type: 'task.skipped', task: 'c', reason: 'ana says so', by: 'ana' },
      { type: 'plan.finished', status: 'completed', reason: 'completed by ana: 1 completed, 2 skipped' },
    ])
    expect(journal.state.tasks.get(name('b'))).toMatchObject({ status: 'skipped', claim: null })
    // Whoever had it cannot report it any more, and an old lapse changes nothing.
    expect(
      refused(journal, { type: 'report', task: name('b'), token: 'k', by: 'ana', result: succeeded() }),
    ).toMatchObject({
      code: 'illegal-transition',
      message: 'cannot report: only tasks of a running plan can be reported (status: completed)',
    })
    expect(journal.must({ type: 'lapse', task: name('b'), token: 'k', reason: 'late' })).toEqual([])
  })

  it('is refused while somebody else holds a task, and not by what they hold themselves', () => {
    const journal = begun(external('a'), external('b'))
    journal.must({ type: 'claim', task: name('b'), token: 'k', by: 'bo' })
    expect(refused(journal, finish('completed'))).toMatchObject({
      code: 'illegal-transition',
      message: "cannot complete: 'b' is held by bo; wait for it, or cancel (status: running)",
    })
    journal.must(finish('completed', { by: 'bo' }))
    expect(journal.state).toMatchObject({ status: 'completed', reason: 'completed by bo: 0 completed, 2 skipped' })
  })

  it('a draft is started by it, under the rules of now', () => {
    const journal = new Journal().create(plan('p', external('a')))
    expect(refused(journal, finish('completed'))).toMatchObject({ code: 'illegal-transition' })
    journal.must(finish('completed', { start: { rules } }))
    expect(journal.state).toMatchObject({ status: 'completed', rules, startedAt: journal.clock.now() })
    // It can be taken up again like any other.
    journal.must({ type: 'retry', task: name('a') })
    expect(journal.statuses()).toEqual({ a: 'ready' })
  })

  it('a plan that is paused ends as well', () => {
    const journal = begun(external('a'))
    journal.must({ type: 'pause' })
    journal.must(finish('completed'))
    expect(journal.state.status).toBe('completed')
  })

  it('is refused when a required task failed, and not when the failure was taken up or the task is optional', () => {
    const journal = started(plan('p', task('a'), external('b')))
    journal.fail('a')
    expect(refused(journal, finish('completed'))).toMatchObject({
      code: 'illegal-transition',
      message: "cannot complete: 'a' is required, and it is failed (status: running)",
      allowed: ['pause', 'cancel', 'revise'],
    })
    const optional = started(plan('p', task('a', { optional: true }), external('b', { needs: ['a'] }), external('c')))
    optional.fail('a')
    expect(optional.statuses()).toEqual({ a: 'failed', b: 'blocked', c: 'ready' })
    optional.must(finish('completed'))
    expect([optional.state.status, optional.status('b')]).toEqual(['completed', 'skipped'])
    const routed = started(plan('p', task('a', { on: { failure: 'mend' } }), external('mend'), external('c')))
    routed.fail('a')
    routed.must(finish('completed'))
    expect(routed.state.status).toBe('completed')
  })

  it('a way out of a failure that was still being tried is given up, and no other is begun', () => {
    const recover = [{ do: { type: 'repair', task: name('mend') } }, { do: { type: 'replan' } }] as const
    const journal = started(plan('p', task('a', { optional: true, recover }), external('mend'), external('c')))
    journal.fail('a')
    expect(journal.statuses()).toMatchObject({ a: 'failed', mend: 'ready' })
    journal.must(finish('completed'))
    expect(journal.state.status).toBe('completed')
    expect(journal.statuses()).toEqual({ a: 'failed', mend: 'skipped', c: 'skipped' })
  })

  it('is refused while the engine carries out a task', () => {
    const journal = started(plan('p', task('a'), external('b')))
    const refusal = refused(journal, finish('completed'))
    expect(refusal).toMatchObject({ code: 'illegal-transition', allowed: expect.anything() })
    expect(refusal.message).toContain("'a' is running")
  })

  it('finishing twice is refused, whatever is said the second time', () => {
    const journal = begun(external('a'))
    journal.must(finish('completed'))
    for (const as of ['completed', 'failed'] as const)
      expect(refused(journal, finish(as))).toMatchObject({
        code: 'illegal-transition',
        allowed: ['retry', 'archive'],
      })
  })

  it('nobody gets past a gate by it whom the gate does not ask', () => {
    const approvers = { role: 'lead' }
    const roles = { policy: { roles: { lead: ['bo'] } } }
    const guarded = gate('g', {})
    const asked = { ...guarded, action: { ...guarded.action, approvers } } as typeof guarded
    const journal = begun(external('a'), { ...asked, needs: [name('a')] }, roles)
    expect(refused(journal, finish('completed'))).toMatchObject({ code: 'not-allowed' })
    journal.must(finish('completed', { by: 'bo' }))
    expect(journal.state.status).toBe('completed')
    const two = { ...guarded, action: { ...guarded.action, approvers: { ...approvers, count: 2 } } } as typeof guarded
    expect(refused(begun(two, roles), finish('completed', { by: 'bo' }))).toMatchObject({ code: 'not-allowed' })
  })

  it('the definition of done is judged all the same', () => {
    const journal = begun(external('a'), { done: [{ type: 'prose', text: 'good' }] })
    journal.must(finish('completed'))
    expect([journal.state.status, journal.status('done')]).toEqual(['active', 'ready'])
    journal.turn()
    expect(refused(journal, finish('completed'))).toMatchObject({ code: 'illegal-transition' })
    journal.succeed('done', { verdicts: [{ criterion: 'good', holds: null }] })
    expect(refused(journal, finish('completed')).message).toContain('waits for a verdict')
    journal.must({ type: 'decide', task: name('done'), verdict: 'approved', rationale: 'yes', by: 'ana' })
    expect(journal.state.status).toBe('completed')
  })

  it('branches that nothing led to are passed over as always', () => {
    const journal = begun(external('a', { on: { bad: 'b' } }), external('b'))
    journal.must(finish('completed'))
    expect(journal.statuses()).toEqual({ a: 'skipped', b: 'skipped' })
    expect(journal.state.tasks.get(name('b'))?.reason).toBe('no outcome led to it')
  })

  it('waits while a rollback is under way or tasks are being undone', () => {
    const journal = begun(task('a', { compensate: { type: 'edit', edits: [] } }), external('b'))
    journal.turn()
    journal.succeed('a')
    journal.must({ type: 'cancel' })
    expect(refused(journal, finish('completed')).message).toContain('being undone')
  })
})

describe('finished as failed', () => {
  it('everything that is open is given up, and the plan fails for that reason', () => {
    const journal = begun(external('a'), external('b', { needs: ['a'] }))
    journal.must({ type: 'claim', task: name('a'), token: 'k', by: 'bo' })
    journal.must(finish('failed'))
    expect(journal.state).toMatchObject({ status: 'failed', reason: 'ana says so' })
    expect(journal.statuses()).toEqual({ a: 'abandoned', b: 'cancelled' })
  })

  it('what runs is ended first, and what declared how is undone', () => {
    const journal = new Journal().create(
      plan('p', task('a', { compensate: { type: 'edit', edits: [] } }), task('b', { needs: ['a'] })),
    )
    journal.must(START)
    journal.turn()
    journal.succeed('a')
    journal.turn()
    expect(journal.statuses()).toEqual({ a: 'completed', b: 'running' })
    journal.must(finish('failed'))
    expect(journal.state).toMatchObject({ status: 'active', ending: 'failed', compensating: ['a'] })
    expect(refused(journal, finish('completed')).code).toBe('illegal-transition')
  })

  it('also an empty draft can be given up', () => {
    const journal = new Journal().create(plan('p'))
    journal.must(finish('failed', { start: { rules } }))
    expect(journal.state.status).toBe('failed')
  })
})

describe('whatever has happened to a plan', () => {
  it('a word about it is refused and changes nothing, or ends it as far as it may end', () => {
    fc.assert(
      fc.property(plans, moves, fc.constantFrom('completed', 'failed'), (definition, list, as) => {
        const journal = new Journal().create(definition)
        journal.submit(START)
        for (const move of list) {
          journal.clock.advance(move.luck % 400)
          journal.submit(commandOf(journal.state, move, journal.clock.now(), journal.entries))
          const twin = unpackFold(stored(journal.state), journal.state.definition)
          checkWord(twin, as as 'completed' | 'failed', journal.clock.now())
        }
      }),
      { numRuns: RUNS },
    )
  })
})

function checkWord(state: PlanState, as: 'completed' | 'failed', now: number): void {
  const before = stored(state)
  const open = state.order.filter(
    ({ status, dormant, definition }) =>
      !ENDED.has(status) && !(dormant && status === 'pending') && definition.action.type !== 'verify',
  )
  const failed = state.order.filter(({ status }) => status === 'failed')
  const decided = decide(state, finish(as, { start: { rules } }), now)
  if (!decided.ok) {
    expect(stored(state)).toEqual(before)
    return
  }
  checkState(state)
  const isHeldUp = state.uncommitted.length > 0 || state.counts.running > 0 || state.compensating !== null
  if (as === 'failed') {
    if (state.status !== 'failed') expect({ isHeldUp: isHeldUp || state.rollback !== null }).toEqual({ isHeldUp: true })
    return
  }
  for (const task of open) expect([task.definition.id, task.status]).toEqual([task.definition.id, 'skipped'])
  for (const task of failed) expect(task.status).toBe('failed')
  const judged = state.order.at(-1)
  const isJudging = judged?.definition.action.type === 'verify' && !ENDED.has(judged.status)
  if (!isJudging && state.uncommitted.length === 0) expect(state.status).toBe('completed')
}
