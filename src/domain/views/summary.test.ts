import { describe, expect, it } from 'vitest'
import { questionFor } from '../../../sim/random-recovery.ts'
import { external, gate, Journal, name, type PlanOptions, plan, START, task } from '../../testing/index.ts'
import { advise, next, quoted } from '../hint.ts'
import { nextActions } from '../next-actions.ts'
import type { TaskDefinition } from '../plan.ts'
import { taskOf } from '../state/evolve.ts'
import { card, explain } from './board.ts'

import { summary, whatStopped } from './summary.ts'

function begun(...parts: readonly (TaskDefinition | PlanOptions)[]): Journal {
  const journal = new Journal().create(plan('p', ...parts))
  journal.must(START)
  journal.turn()
  return journal
}

const why = (journal: Journal, one: string) =>
  explain(journal.state, taskOf(journal.state, name(one)), journal.clock.now())
const stopped = ({ state, clock }: Journal) => whatStopped(state, clock.now())
const busy = { class: 'transient', retryable: true, message: 'busy' } as const

const changed = advise`in the plan file, then ${quoted('run', { file: 'FILE' })}; completed tasks are kept; failed, undone and changed tasks, and the tasks after them, run again`

describe('a recovery under way', () => {
  const recover = [
    { do: { type: 'alternate', task: name('b') } },
    { on: ['logic'], do: { type: 'ask' } },
  ] as const satisfies TaskDefinition['recover']

  it('is told with the rule, who helps, and which rule comes next', () => {
    const journal = begun(task('a', { recover }), task('b'))
    journal.fail('a', { message: 'wrong' })
    const how = "recovery rule 1: 'b' instead (running); then rule 2 (ask a person), if it is logic"
    expect(why(journal, 'a')).toBe(`'a' failed: wrong; ${how}`)
    expect(card(journal.state, journal.state.order[0]!).recovery).toBe(how)
    expect(summary(journal.state).recovering).toEqual([{ task: 'a', how }])
    journal.fail('b')
    expect(why(journal, 'a')).toBe("'a' failed (wrong) and needs your decision: retry, skip or reject it")
  })

  it('by trying again names what would follow', () => {
    const journal = begun(
      task('a', { recover, retry: { attempts: 2, backoffMs: { min: 2_000, max: 2_000 } } }),
      task('b'),
    )
    journal.fail('a', busy)
    expect(why(journal, 'a')).toBe("'a' will be retried in 2 s: busy; if that fails too: rule 1 ('b' instead)")
  })

  it('is over when it has helped', () => {
    const journal = begun(task('a', { recover }), task('b'), external('c'))
    journal.fail('a')
    journal.succeed('b')
    expect(why(journal, 'a')).toBe("'a' is completed")
    expect(summary(journal.state).recovering).toBeUndefined()
  })
})

it('an open breaker is told, with what it holds back and until when', () => {
  const net = (id: string) => task(id, { capabilities: ['net'], retry: { attempts: 9, backoffMs: { min: 1, max: 1 } } })
  const policy = { breaker: { failures: 1, cooldownMs: 30_000 } }
  const journal = begun(net('a'), net('b'), { policy, concurrency: 1 } as PlanOptions)
  journal.fail('a', busy)
  expect(why(journal, 'b')).toBe("'b' is ready, but 'net' failed too often in a row: tasks that need it wait for 30 s")
  expect(summary(journal.state).breakers).toEqual([
    { capability: 'net', until: journal.clock.now() + 30_000, failures: 1 },
  ])
  journal.clock.advance(30_000)
  journal.turn()
  expect(why(journal, 'b')).toBe("'b' is ready, but 'net' failed too often in a row; another task tries it first")
})

describe('a plan that stands still says what stopped it and what to do next', () => {
  it('when it failed: the task, its hint, and how to go on', () => {
    const journal = begun(task('a'))
    journal.fail('a', { message: 'wrong', hint: 'look at the log' })
    const told = {
      why: "task 'a' failed: wrong",
      next: [
        'look at the log',
        [next('retry', { plan: 'p', task: 'a' })],
        [next('skip', { plan: 'p', task: 'a', reason: 'why' })],
        advise`fix it ${changed}`,
      ],
      task: 'a',
    }
    expect(stopped(journal)).toEqual(told)
    expect(summary(journal.state).stopped).toEqual(told)
  })

  it('when a cap ended it', () => {
    const policy = { limits: { attempts: 1 } }
    const journal = begun(task('a', { retry: { attempts: 9, backoffMs: { min: 0, max: 0 } } }), {
      policy,
    } as PlanOptions)
    journal.fail('a', busy)
    journal.clock.advance(1)
    journal.turn()
    expect(stopped(journal)).toMatchObject({
      why: 'the plan has used all of its 1 attempts (policy.limits.attempts)',
      next: [
        advise`see why it loops: ${next('log', { plan: 'p' })}`,
        [next('retry', { plan: 'p', task: 'a' })],
        advise`raise policy.limits.attempts ${changed}`,
      ],
    })
  })

  it('when a command used more than it may: nothing has gone round', () => {
    const journal = begun(task('a'))
    const hint = 'raise `policy.limits.memory` in the plan'
    journal.fail('a', {
      ...{ class: 'resource', code: 'sandbox:memory', retryable: true, hint },
      message: 'it used more than 1 GiB of memory (policy.limits.memory), and was ended',
    })
    expect(stopped(journal)).toMatchObject({
      next: [
        hint,
        [next('retry', { plan: 'p', task: 'a' })],
        [next('skip', { plan: 'p', task: 'a', reason: 'why' })],
        advise`fix it ${changed}`,
      ],
    })
  })

  it('when going round too often ended it: what went round, and nothing that no outcome led to', () => {
    const journal = begun(
      task('a', { visits: 9 }),
      task('d', { needs: ['a'], visits: 9, on: { again: ['a'], ok: ['e'] } }),
      task('e'),
      { policy: { limits: { loops: 1 } } } as PlanOptions,
    )
    for (let round = 0; round < 2; round++) {
      journal.succeed('a')
      journal.succeed('d', { outcome: 'again' })
    }
    expect(journal.state).toMatchObject({ status: 'failed', reason: expect.stringContaining('policy.limits.loops') })
    expect(stopped(journal)).toMatchObject({
      task: 'd',
      next: expect.arrayContaining([[next('retry', { plan: 'p', task: 'd' })]]),
    })
    expect(JSON.stringify(stopped(journal))).not.toContain('"e"')
    for (const type of ['retry', 'skip'] as const)
      expect(journal.submit({ type, task: name('e'), reason: 'x' })).toMatchObject({
        refusal: { code: 'illegal-transition' },
      })
    journal.must({ type: 'retry', task: name('d'), repeat: true })
    journal.turn()
    journal.succeed('d', { outcome: 'ok' })
    journal.succeed('e')
    expect(journal.state.status).toBe('completed')
  })

  it('when a person or an agent must do something', () => {
    const journal = begun(gate('g'), external('e'))
    const { prepare } = nextActions(journal.state, journal.clock.now())
    journal.turn({
      prepared: prepare.map(({ definition, visit }) => ({ task: definition.id, visit, prepared: {} })),
      gates: prepare.flatMap(one => questionFor(journal.state, one)),
    })
    expect(stopped(journal)).toEqual({
      why: "'g' needs a decision of a person; 'e' waits to be claimed",
      next: [[next('inbox')], [next('claim', { plan: 'p' })]],
      task: 'g',
    })
  })

  it('when it is a draft, paused or cancelled; a completed one has nothing to say', () => {
    expect(stopped(new Journal().create(plan('p', task('a'))))?.next).toEqual([[next('run', { plan: 'p' })]])
    const journal = begun(task('a'))
    expect(stopped(journal)).toBeNull()
    journal.must({ type: 'pause', reason: 'lunch' })
    expect(stopped(journal)).toEqual({ why: 'paused: lunch', next: [[next('resume', { plan: 'p' })]] })
    journal.must({ type: 'resume' })
    journal.succeed('a')
    expect(stopped(journal)).toBeNull()
    const gone = begun(task('a'))
    gone.must({ type: 'cancel', reason: 'enough', force: true })
    expect(stopped(gone)?.why).toBe('cancelled: enough')
  })
})
