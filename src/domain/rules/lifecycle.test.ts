import { describe, expect, it } from 'vitest'
import {
  create,
  edit,
  external,
  gate,
  given,
  interrupted,
  Journal,
  name,
  numberedPlanId,
  numberedSha,
  plan,
  START,
  started,
  succeeded,
  task,
} from '../../testing/index.ts'
import { advise } from '../hint.ts'
import type { Json } from '../json.ts'
import { nextActions } from '../next-actions.ts'
import { type Action, LATER_ACTIONS } from '../plan.ts'

const undo = { type: 'run', command: { argv: ['undo'] } } as const
const code = (journal: Journal, command: Parameters<Journal['submit']>[0]): string => {
  const decided = journal.submit(command)
  return decided.ok ? 'ok' : decided.refusal.code
}

describe('a plan', () => {
  it('is created once, and nothing else can happen before', () => {
    given(create(plan('p', task('a'))))
      .when(create(plan('p', task('a'))))
      .thenRefused('exists')
    given().when(START).thenRefused('not-found')
    given()
      .when({ ...create(plan('p', task('a'))), origin: numberedPlanId(2), session: 's', goal: 'g' } as never)
      .then({
        type: 'plan.created',
        plan: numberedPlanId(1),
        definition: plan('p', task('a')),
        hash: numberedSha(1),
        origin: numberedPlanId(2),
        session: 's',
        goal: 'g',
      })
  })

  it('regression 30: a goal may contain any characters', () => {
    const goal = '`${x}` "quotes" \'and\' \\ <b> \u0000 \u202e 目标 🎯\n---\n# {{x}}'
    const journal = new Journal()
    journal.must({ ...create(plan('p', task('a'), { goal, title: goal })), goal } as never)
    expect([journal.state.goal, journal.state.definition.goal]).toEqual([goal, goal])
  })

  it('is started once, from draft', () => {
    const refusal = given(create(plan('p', task('a'))), START)
      .when(START)
      .thenRefused('illegal-transition')
    expect(refusal).toEqual({
      code: 'illegal-transition',
      message: 'cannot start: only a draft can be started (status: running)',
      hint: advise`you can: ${[{ may: 'pause', plan: 'p' }, ', ', { may: 'cancel', plan: 'p' }, ', ', { may: 'revise', plan: 'p' }]}`,
      allowed: ['pause', 'cancel', 'revise'],
    })
  })

  it.each(LATER_ACTIONS)("regression 37: with the action '%s' it is kept, but not started", type => {
    given(create(plan('p', task('a', { action: { type, spec: {} } as Action }))))
      .when(START)
      .thenRefused('not-supported')
  })

  it('a model task starts when it says what this release understands, else it is kept', () => {
    const asks = (spec: Json) => given(create(plan('p', task('a', { action: { type: 'model', spec } })))).when(START)
    asks({ use: 'local/llama3', answer: { severity: 'low | high' } }).then(
      { type: 'plan.started', rules: START.rules },
      { type: 'task.readied', tasks: [name('a')] },
    )
    asks({ prompt: 'as an earlier release took it' }).thenRefused('not-supported')
  })

  it('regression 37: an action of a later release is found inside a subplan too', () => {
    const later = task('x', { action: { type: 'http', spec: {} } as Action })
    given(create(plan('p', task('a', { action: { type: 'subplan', tasks: [later] } }))))
      .when(START)
      .thenRefused('not-supported')
  })

  it('with for_each or a matrix it starts, expanded', () => {
    given(create(plan('p', task('a', { forEach: { items: [1] } }))))
      .when(START)
      .then({ type: 'plan.started', rules: START.rules }, { type: 'task.readied', tasks: [name('a/1')] })
    given(create(plan('p', task('a', { matrix: { os: ['x', 'y'] } }))))
      .when(START)
      .then({ type: 'plan.started', rules: START.rules }, { type: 'task.readied', tasks: [name('a/1'), name('a/2')] })
  })

  it('may bring along tasks that had ended: they stand there from the beginning, and count as such', () => {
    const definition = plan(
      'p',
      task('a'),
      task('b', { needs: ['a'] }),
      task('x'),
      task('y', { needs: ['x'] }),
      task('g', { action: { type: 'subplan', tasks: [task('u'), task('v')] } }),
    )
    const command = {
      type: 'create',
      plan: numberedPlanId(1),
      definition,
      hash: numberedSha(1),
      source: { dialect: 'plan-steps', text: 'goal: it works' },
    } as const
    const imported = [
      { task: name('a'), status: 'completed' },
      { task: name('x'), status: 'failed' },
      { task: name('g'), status: 'completed' },
      { task: name('g/v'), status: 'skipped' },
    ] as const
    const { imported: _, ...said } = { ...command, imported }
    const journal = new Journal()
    expect(journal.must({ ...command, imported })).toEqual([
      { ...said, type: 'plan.created' },
      { type: 'task.imported', tasks: [...imported, { task: 'g/u', status: 'completed' }] },
    ])
    expect(journal.state.dialect).toBe('plan-steps')
    expect(journal.must(START)).toEqual([
      { type: 'plan.started', rules: START.rules },
      { type: 'task.readied', tasks: ['b'] },
      { type: 'task.blocked', tasks: ['y'], by: 'x' },
    ])
    given()
      .when({ ...command, imported: [{ task: name('aa'), status: 'failed' }] })
      .thenRefused('unknown-reference')
    given()
      .when({ ...command, imported: [imported[0], imported[0]] })
      .thenRefused('duplicate')
  })

  it('that goes on from another one knows where outcomes had led, and what they had taken up', () => {
    const definition = plan('p', task('a', { on: { failure: 'fix' } }), task('fix'), task('n', { needs: ['fix'] }))
    const journal = new Journal()
    const failed = { status: 'failed', failure: { class: 'logic', message: 'no', retryable: false } } as const
    const imported = [
      { task: name('a'), status: 'failed', result: failed, handled: true },
      { task: name('fix'), status: 'pending', routedBy: [name('a')] },
    ] as const
    journal.must({ ...create(definition), imported } as Parameters<Journal['must']>[0])
    expect(journal.state.tasks.get(name('a'))).toMatchObject({ status: 'failed', handled: true, result: failed })
    expect(journal.must(START)).toEqual([
      { type: 'plan.started', rules: START.rules },
      { type: 'task.readied', tasks: ['fix'] },
    ])
    // Without that it would sleep, and be passed over.
    const asleep = new Journal()
    asleep.must({ ...create(definition), imported: imported.slice(0, 1) } as Parameters<Journal['must']>[0])
    asleep.must(START)
    expect(asleep.state.tasks.get(name('fix'))?.status).toBe('skipped')
  })

  it('all of whose tasks had ended well ends when it is started', () => {
    const journal = new Journal()
    const imported = [{ task: name('a'), status: 'completed' }] as const
    journal.must({ ...create(plan('p', task('a', { compensate: undo }))), imported } as Parameters<Journal['must']>[0])
    journal.must(START)
    expect([journal.state.status, journal.state.completedOrder]).toEqual(['completed', []])
  })

  it('is archived when it is a draft or has ended, and then only that', () => {
    given(create(plan('p', task('a'))))
      .when({ type: 'archive' })
      .then({ type: 'plan.archived' })
    given(create(plan('p', task('a'))), START)
      .when({ type: 'archive' })
      .thenRefused('illegal-transition')
    given(create(plan('p', task('a'))), { type: 'archive' })
      .when({ type: 'archive' })
      .then()
    given(create(plan('p', task('a'))), { type: 'archive' })
      .when(START)
      .thenRefused('illegal-transition')
  })
})

describe('pause', () => {
  it('starts nothing new, settles what ends, and resumes where it was', () => {
    const journal = started(plan('p', task('a'), task('b', { needs: ['a'] })))
    expect(journal.must({ type: 'pause', reason: 'lunch' })).toEqual([{ type: 'plan.paused', reason: 'lunch' }])
    expect(journal.must({ type: 'pause' })).toEqual([])
    expect(journal.succeed('a')).toHaveLength(2)
    expect([journal.statuses(), nextActions(journal.state, journal.clock.now())]).toMatchObject([
      { a: 'completed', b: 'ready' },
      { rest: 'paused', turn: false, prepare: [] },
    ])
    expect(journal.must({ type: 'resume' })).toEqual([{ type: 'plan.resumed' }])
    expect(journal.must({ type: 'resume' })).toEqual([])
    journal.turn()
    expect(journal.status('b')).toBe('running')
  })

  it('a plan whose last task ends while it is paused ends when it is resumed', () => {
    const journal = started(plan('p', task('a')))
    journal.must({ type: 'pause' })
    journal.succeed('a')
    expect(journal.state.status).toBe('paused')
    expect(journal.must({ type: 'resume' }).at(-1)).toMatchObject({ type: 'plan.finished', status: 'completed' })
  })

  it('only what is active can be paused, only what is paused resumed', () => {
    given(create(plan('p', task('a'))))
      .when({ type: 'pause' })
      .thenRefused('illegal-transition')
    given(create(plan('p', task('a'))))
      .when({ type: 'resume' })
      .thenRefused('illegal-transition')
  })

  it('timers do not wake a paused plan', () => {
    const journal = started(plan('p', task('a', { retry: { attempts: 2, backoffMs: { min: 5, max: 5 } } })))
    journal.fail('a', { retryable: true })
    journal.must({ type: 'pause' })
    expect(nextActions(journal.state, journal.clock.now() + 10)).toMatchObject({
      turn: false,
      wakeAt: null,
      rest: 'paused',
    })
  })
})

describe('cancel', () => {
  it('ends what has not begun, waits for what runs, then ends the plan', () => {
    const journal = started(plan('p', task('a'), task('b', { needs: ['a'] }), gate('g'), external('e')))
    journal.must({ type: 'claim', task: name('e'), token: 'k', by: 'ana' })
    expect(journal.must({ type: 'cancel', reason: 'enough' })).toEqual([
      { type: 'plan.cancelled', reason: 'enough', force: false },
      { type: 'task.abandoned', task: 'e', reason: 'the plan was cancelled' },
    ])
    expect(journal.statuses()).toEqual({ a: 'running', b: 'cancelled', g: 'cancelled', e: 'abandoned' })
    expect(journal.settle('a', interrupted())).toEqual([
      { type: 'attempt.lost', task: 'a', visit: 1, attempt: 1, reason: 'stopped by us', byUs: true },
      { type: 'plan.finished', status: 'cancelled', reason: 'enough' },
    ])
    expect(journal.statuses()).toEqual({ a: 'cancelled', b: 'cancelled', g: 'cancelled', e: 'abandoned' })
  })

  it('while it lasts nothing else begins: no retry, no route, no way back', () => {
    const journal = started(
      plan(
        'p',
        task('x'),
        task('a', {
          needs: ['x'],
          on: { success: 'x', failure: 'x' },
          retry: { attempts: 3, backoffMs: { min: 1, max: 1 } },
        }),
        task('b', { needs: ['x'], on: { success: 'x' } }),
      ),
    )
    journal.succeed('x')
    journal.must({ type: 'cancel' })
    for (const command of [
      { type: 'retry', task: name('x') },
      { type: 'skip', task: name('x'), reason: '' },
      { type: 'pause' },
      { type: 'revise', definition: plan('p', task('x')), hash: numberedSha(2), rationale: '' },
    ] as const) {
      expect([command.type, code(journal, command)]).toEqual([command.type, 'illegal-transition'])
    }
    journal.succeed('b')
    expect(journal.fail('a', { retryable: true }).slice(1)).toEqual([
      { type: 'plan.finished', status: 'cancelled', reason: 'cancelled' },
    ])
  })

  it('compensates what was completed, one by one, last first, and only when nothing runs any more', () => {
    const journal = started(
      plan(
        'p',
        task('a', { compensate: undo }),
        task('b', { compensate: undo }),
        task('plain'),
        task('c', { compensate: undo }),
        task('z', { needs: ['c'] }),
      ),
    )
    for (const one of ['b', 'plain', 'a']) journal.succeed(one)
    journal.must({ type: 'cancel' })
    expect(journal.turn()).toEqual([])
    expect(journal.succeed('c').slice(1)).toEqual([{ type: 'compensation.started', task: 'c', action: undo }])
    expect(nextActions(journal.state, journal.clock.now())).toMatchObject({
      compensate: { task: { definition: { id: 'c' } }, action: undo },
      rest: null,
    })
    const finish = (one: string) => journal.turn({ compensated: [{ task: name(one), result: succeeded() }] })
    expect(finish('b')).toEqual([])
    expect(finish('c')).toEqual([
      { type: 'compensation.finished', task: 'c', result: { status: 'succeeded' } },
      { type: 'compensation.started', task: 'a', action: undo },
    ])
    finish('a')
    expect(finish('b').at(-1)).toEqual({ type: 'plan.finished', status: 'cancelled', reason: 'cancelled' })
  })

  it('a crash in a compensation that may have happened is said aloud, and the others go on', () => {
    const journal = started(
      plan(
        'p',
        task('a', { compensate: undo }),
        task('b', { compensate: undo, needs: ['a'] }),
        task('z', { needs: ['b'] }),
      ),
    )
    journal.succeed('a')
    journal.succeed('b')
    journal.must({ type: 'cancel' })
    journal.settle('z', interrupted())
    expect(journal.must({ type: 'recover', reason: 'died' })).toMatchObject([
      {
        type: 'compensation.finished',
        task: 'b',
        result: { failure: { class: 'unknown', message: 'died; whether the undo step took effect is unknown' } },
      },
    ])
    expect(nextActions(journal.state, journal.clock.now()).turn).toBe(true)
    expect(journal.turn()).toEqual([{ type: 'compensation.started', task: 'a', action: undo }])
    journal.turn({ compensated: [{ task: name('a'), result: succeeded() }] })
    expect([journal.state.status, journal.state.reason]).toEqual([
      'cancelled',
      'undo step of b failed: died; whether the undo step took effect is unknown',
    ])
  })

  it('a crash in a compensation that only edits files leaves it to be made again', () => {
    const journal = started(
      plan('p', edit('a', 'f', { compensate: { type: 'edit', edits: [] } }), task('z', { needs: ['a'] })),
    )
    journal.prepare('a', { preimage: numberedSha(5) })
    journal.succeed('a')
    journal.must({ type: 'cancel' })
    journal.settle('z', interrupted())
    expect(journal.must({ type: 'recover', reason: 'died' })).toEqual([])
    expect(nextActions(journal.state, journal.clock.now()).compensate?.task.definition.id).toBe('a')
  })

  it('a compensation that a revision took away is not waited for', () => {
    const journal = started(plan('p', task('a', { compensate: undo }), task('b', { needs: ['a'] })))
    journal.succeed('a')
    journal.must({
      type: 'revise',
      definition: plan('p', task('a'), task('b', { needs: ['a'] })),
      hash: numberedSha(2),
      rationale: 'no undo',
    })
    journal.must({ type: 'cancel' })
    journal.settle('b', interrupted())
    expect(journal.state.status).toBe('cancelled')
  })

  it('by force ends here and now: what runs is given up, nothing is compensated', () => {
    const journal = started(plan('p', task('a', { compensate: undo }), task('b'), external('e')))
    journal.succeed('a')
    journal.must({ type: 'claim', task: name('e'), token: 'k', by: 'ana' })
    expect(journal.must({ type: 'cancel', force: true })).toEqual([
      { type: 'plan.cancelled', reason: 'cancelled', force: true },
      { type: 'attempt.lost', task: 'b', visit: 1, attempt: 1, reason: 'the plan was cancelled by force', byUs: true },
      { type: 'task.abandoned', task: 'e', reason: 'the plan was cancelled by force' },
      { type: 'plan.finished', status: 'cancelled', reason: 'cancelled' },
    ])
    expect(nextActions(journal.state, journal.clock.now())).toMatchObject({
      compensate: null,
      turn: false,
      rest: 'ended',
    })
  })

  it('by force also ends a cancelling that takes too long', () => {
    const journal = started(plan('p', task('a', { compensate: undo }), task('b', { needs: ['a'] })))
    journal.succeed('a')
    journal.must({ type: 'cancel' })
    expect(journal.must({ type: 'cancel' })).toEqual([])
    expect(journal.must({ type: 'cancel', force: true }).at(-1)).toMatchObject({
      type: 'plan.finished',
      status: 'cancelled',
    })
  })

  it('of a draft ends it; of an ended plan is refused; nothing of a cancelled plan is taken up again', () => {
    const journal = new Journal().create(plan('p', task('a')))
    expect(journal.must({ type: 'cancel' })).toHaveLength(2)
    expect([
      code(journal, { type: 'cancel' }),
      code(journal, { type: 'retry', task: name('a') }),
      code(journal, { type: 'skip', task: name('a'), reason: '' }),
    ]).toEqual(['illegal-transition', 'illegal-transition', 'illegal-transition'])
  })
})
