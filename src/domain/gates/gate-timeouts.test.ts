import { describe, expect, it } from 'vitest'
import {
  EPOCH,
  external,
  type Journal,
  name,
  numberedSha,
  plan,
  started,
  type TaskOptions,
  task,
} from '../../testing/index.ts'
import type { JsonObject } from '../json.ts'
import { nextActions } from '../next-actions.ts'
import type { GateAction, TaskDefinition } from '../plan.ts'
import { taskOf } from '../state/evolve.ts'
import { packFold, unpackFold } from '../state/fold.ts'
import { decided, refusal } from './gates.fixture.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const gate = (id: string, action: Partial<GateAction> = {}, options: TaskOptions = {}): TaskDefinition =>
  task(id, { ...options, action: { type: 'gate', gate: 'approval', ...action } })

const wakeAt = (journal: Journal): number | null => nextActions(journal.state, journal.clock.now()).wakeAt
const passes = (journal: Journal, ms: number) => {
  journal.clock.advance(ms)
  return journal.turn()
}

describe('a gate with an end', () => {
  it('is rejected when nobody has answered by then; the loop knows when to look', () => {
    const journal = started(plan('p', gate('g', { expiresMs: HOUR }), task('a', { needs: ['g'] })))
    expect(journal.ask('g')[0]).toMatchObject({ expiresAt: EPOCH + HOUR })
    expect(wakeAt(journal)).toBe(EPOCH + HOUR)
    expect(nextActions(journal.state, EPOCH + HOUR - 1)).toMatchObject({ turn: false, rest: 'waiting' })
    expect(nextActions(journal.state, EPOCH + HOUR).turn).toBe(true)
    expect(passes(journal, HOUR - 1)).toEqual([])
    expect(passes(journal, 1)[0]).toEqual({
      type: 'gate.decided',
      task: 'g',
      verdict: 'rejected',
      rationale: 'nobody answered within 1 h',
      by: 'engine',
      hash: numberedSha(7),
    })
    expect(journal.statuses()).toEqual({ g: 'failed', a: 'blocked' })
    expect(wakeAt(journal)).toBeNull()
  })

  it('leads where its end leads', () => {
    const journal = started(
      plan(
        'p',
        gate('g', { expiresMs: HOUR }, { on: { expired: 'later', rejected: 'no' } }),
        task('later'),
        task('no'),
      ),
    )
    journal.ask('g')
    passes(journal, HOUR)
    expect(journal.statuses()).toMatchObject({ g: 'failed', later: 'running', no: 'pending' })
  })

  it('cannot be answered any more when its time is over, even if nobody has looked since', () => {
    const journal = started(plan('p', gate('g', { expiresMs: HOUR })))
    journal.ask('g')
    journal.clock.advance(HOUR)
    expect(refusal(journal, decided('g', 'approved'))).toMatchObject({
      code: 'conflict',
      message: "'g' could be answered until 2026-01-01T01:00:00.000Z",
    })
  })

  it('asks on when it says so, and somebody is called once', () => {
    const journal = started(
      plan('p', gate('g', { expiresMs: HOUR, expired: 'escalate', escalate: { afterMs: 2 * HOUR, to: 'boss' } })),
    )
    journal.ask('g')
    expect(passes(journal, HOUR)).toEqual([{ type: 'task.escalated', task: 'g', why: 'expired', to: 'boss' }])
    expect(passes(journal, HOUR - 1)).toEqual([])
    expect(passes(journal, 1)).toEqual([{ type: 'task.escalated', task: 'g', why: 'waiting', to: 'boss' }])
    expect(passes(journal, 100 * HOUR)).toEqual([])
    expect(wakeAt(journal)).toBeNull()
    journal.must(decided('g', 'approved'))
    expect(journal.status('g')).toBe('completed')
  })

  it('that was answered in time raises nothing, and its next visit has a time of its own', () => {
    const journal = started(plan('p', task('a'), gate('g', { expiresMs: HOUR }, { needs: ['a'] })))
    journal.succeed('a')
    journal.ask('g')
    journal.clock.advance(HOUR / 2)
    journal.must(decided('g', 'pushed-back'))
    journal.turn()
    expect(passes(journal, HOUR)).toEqual([])
    journal.succeed('a')
    journal.ask('g')
    expect(wakeAt(journal)).toBe(journal.clock.now() + HOUR)
  })
})

describe('escalation', () => {
  const policy = { escalate: { afterMs: HOUR, to: 'boss' }, roles: { boss: ['cy', 'dee'], lead: ['ana'] } }

  it('calls a role when nobody answers, for every kind of gate; whoever was called may then decide', () => {
    const journal = started(
      plan('p', gate('g', { approvers: { role: 'lead' } }), task('a', { accept: [{ type: 'prose', text: 'nice' }] }), {
        policy,
      }),
    )
    journal.ask('g')
    journal.succeed('a', { verdicts: [{ criterion: 'nice', holds: null }] })
    expect(refusal(journal, decided('g', 'approved', { by: 'cy' })).code).toBe('not-allowed')
    expect(passes(journal, HOUR)).toEqual([
      { type: 'task.escalated', task: 'g', why: 'waiting', to: 'boss' },
      { type: 'task.escalated', task: 'a', why: 'waiting', to: 'boss' },
    ])
    expect(refusal(journal, decided('g', 'approved', { by: 'eve' })).code).toBe('not-allowed')
    journal.must(decided('g', 'approved', { by: 'dee' }))
    expect(journal.status('g')).toBe('completed')
  })

  it('of what waits after a crash, too', () => {
    const journal = started(plan('p', task('a'), { policy }))
    journal.must({ type: 'recover', reason: 'gone' })
    expect(journal.status('a')).toBe('waiting')
    expect(passes(journal, HOUR)).toEqual([{ type: 'task.escalated', task: 'a', why: 'waiting', to: 'boss' }])
  })

  it('waits while the plan is paused, and is not lost when it goes on', () => {
    const journal = started(plan('p', gate('g'), { policy }))
    journal.ask('g')
    journal.must({ type: 'pause' })
    expect(wakeAt(journal)).toBeNull()
    expect(passes(journal, 2 * HOUR)).toEqual([])
    journal.must({ type: 'resume' })
    expect(journal.turn()).toHaveLength(1)
  })

  it('is the same after the fold was stored and opened again', () => {
    const journal = started(
      plan('p', gate('g', { expiresMs: 2 * HOUR }), task('a', { deadline: '2026-01-01T03:00:00Z' }), { policy }),
    )
    journal.ask('g')
    const opened = unpackFold(
      JSON.parse(JSON.stringify(packFold(journal.state))) as JsonObject,
      journal.state.definition,
    )
    for (const hours of [1, 2, 3]) {
      const now = EPOCH + hours * HOUR
      expect(nextActions(opened, now).wakeAt).toEqual(nextActions(journal.state, now).wakeAt)
    }
    expect(nextActions(opened, EPOCH).wakeAt).toBe(EPOCH + HOUR)
  })
})

describe('a deadline', () => {
  it('that has passed calls whoever answers for the task, once in a visit; the task goes on', () => {
    const journal = started(plan('p', external('a', { deadline: '2026-01-01T01:00:00Z', owner: 'ana' })))
    expect(wakeAt(journal)).toBe(EPOCH + HOUR)
    expect(passes(journal, HOUR)).toEqual([{ type: 'task.escalated', task: 'a', why: 'deadline', to: 'ana' }])
    expect(passes(journal, HOUR)).toEqual([])
    expect(journal.status('a')).toBe('ready')
  })

  it('of a day is over when the day is', () => {
    const journal = started(plan('p', external('a', { deadline: '2026-01-02' }), { owner: 'olga' }))
    expect(wakeAt(journal)).toBe(EPOCH + 48 * HOUR)
    expect(passes(journal, 48 * HOUR)).toEqual([{ type: 'task.escalated', task: 'a', why: 'deadline', to: 'olga' }])
  })

  it('of a task that is done in time, or gone, calls nobody', () => {
    const journal = started(
      plan('p', external('a', { deadline: '2026-01-02' }), external('b', { deadline: '2026-01-02' }), external('c')),
    )
    journal.must({ type: 'report', task: name('a'), by: 'ana', result: { status: 'succeeded' } })
    journal.must({
      type: 'revise',
      definition: plan('p', external('a'), external('c')),
      hash: numberedSha(2),
      rationale: 'less',
    })
    expect(wakeAt(journal)).toBeNull()
    expect(passes(journal, 1_000 * HOUR)).toEqual([])
  })
})

describe('a claim that lapses', () => {
  it('calls somebody, once in a visit', () => {
    const journal = started(plan('p', external('a', { assignee: 'bo' })))
    const lapse = (token: string) => {
      journal.must({ type: 'claim', task: name('a'), token, by: 'robot' })
      return journal.must({ type: 'lapse', task: name('a'), token, reason: 'silent' })
    }
    expect(lapse('1').map(({ type }) => type)).toEqual(['attempt.lost', 'task.escalated'])
    expect(taskOf(journal.state, name('a')).escalated).toEqual(['heartbeat'])
    expect(lapse('2').map(({ type }) => type)).toEqual(['attempt.lost'])
  })
})
