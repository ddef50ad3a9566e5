import { describe, expect, it } from 'vitest'
import { external, name, numberedSha, plan, started, type TaskOptions, task } from '../../testing/index.ts'
import type { GateAction, TaskDefinition } from '../plan.ts'
import { taskOf } from '../state/evolve.ts'
import { decided, refusal } from './gates.fixture.ts'

const gate = (id: string, action: Partial<GateAction> = {}, options: TaskOptions = {}): TaskDefinition =>
  task(id, { ...options, action: { type: 'gate', gate: 'approval', ...action } })

const HOLDS = { criterion: 'npm test', holds: true, evidence: 'exit 0' }
const FAILS = { criterion: 'npm test', holds: false, evidence: 'exit 1' }

describe('a gate that is reached', () => {
  it('is ready until its question is made, and takes no place in line', () => {
    const journal = started(plan('p', gate('g'), task('a'), { concurrency: 1 }))
    expect(journal.statuses()).toEqual({ g: 'ready', a: 'running' })
    expect(journal.ask('g', { shown: numberedSha(9), binds: { a: numberedSha(8) } })).toEqual([
      {
        type: 'gate.opened',
        task: 'g',
        asks: { type: 'approval', show: [] },
        hash: numberedSha(7),
        shown: numberedSha(9),
        binds: { a: numberedSha(8) },
      },
    ])
    expect(journal.statuses()).toEqual({ g: 'waiting', a: 'running' })
  })

  it('does not believe a question that was made for another definition or another visit', () => {
    const journal = started(plan('p', gate('g')))
    const question = { asks: { type: 'approval', show: [] }, hash: numberedSha(7) } as const
    const prepared = [{ task: name('g'), visit: 1, prepared: {} }]
    journal.turn({ prepared, gates: [{ task: name('g'), visit: 1, from: numberedSha(2), question }] })
    journal.turn({ prepared, gates: [{ task: name('g'), visit: 2, from: numberedSha(1), question }] })
    expect(journal.status('g')).toBe('ready')
  })

  it('is not decided without a reason, also not by a program that minds no types', () => {
    const journal = started(plan('p', gate('g')))
    journal.ask('g')
    for (const rationale of [undefined, null, 5] as never[])
      expect(refusal(journal, decided('g', 'approved', { rationale }))).toMatchObject({ code: 'invalid' })
    expect(journal.status('g')).toBe('waiting')
  })

  it('blocks only what needs it: other branches run on', () => {
    const journal = started(
      plan('p', gate('g'), task('after', { needs: ['g'] }), task('a'), task('b', { needs: ['a'] })),
    )
    journal.ask('g')
    journal.succeed('a')
    journal.succeed('b')
    expect(journal.statuses()).toEqual({ g: 'waiting', after: 'pending', a: 'completed', b: 'completed' })
    expect(journal.state.status).toBe('active')
  })
})

describe('a gate that its checks decide', () => {
  for (const type of ['schema', 'invariant', 'tests', 'budget'] as const) {
    it(`of the type ${type} is passed by itself when they hold, and fails when one does not`, () => {
      const journal = started(
        plan('p', gate('g', { gate: type }), gate('h', { gate: type }), task('a', { needs: ['g'] })),
      )
      expect(journal.ask('g', { evidence: [HOLDS] }).slice(0, 2)).toEqual([
        {
          type: 'gate.opened',
          task: 'g',
          asks: { type: 'approval', show: [], gate: type },
          hash: numberedSha(7),
          evidence: [HOLDS],
        },
        {
          type: 'gate.decided',
          task: 'g',
          verdict: 'approved',
          rationale: 'its check passed',
          by: 'engine',
          hash: numberedSha(7),
        },
      ])
      expect(journal.statuses()).toMatchObject({ g: 'completed', a: 'running' })
      expect(journal.ask('h', { evidence: [HOLDS, FAILS] })[1]).toEqual({
        type: 'gate.decided',
        task: 'h',
        verdict: 'rejected',
        rationale: 'check failed: npm test (exit 1)',
        by: 'engine',
        hash: numberedSha(7),
      })
      expect(journal.status('h')).toBe('failed')
    })
  }

  it('asks a person when it may be overruled, when a check is prose, and when there is none', () => {
    const journal = started(
      plan(
        'p',
        gate('a', { gate: 'tests', unmet: 'ask' }),
        gate('b', { gate: 'invariant' }),
        gate('c', { gate: 'tests' }),
      ),
    )
    journal.ask('a', { evidence: [FAILS] })
    journal.ask('b', { evidence: [HOLDS, { criterion: 'it is elegant', holds: null }] })
    journal.ask('c')
    expect(journal.statuses()).toEqual({ a: 'waiting', b: 'waiting', c: 'waiting' })
    expect(taskOf(journal.state, name('a')).gate?.evidence).toEqual([FAILS])
    journal.must(decided('a', 'approved'))
    expect(journal.status('a')).toBe('completed')
  })

  it('leads where its outcome leads, and fails when that has had all its visits', () => {
    const journal = started(
      plan('p', task('fix', { visits: 1 }), gate('g', { gate: 'tests' }, { needs: ['fix'], on: { approved: 'fix' } })),
    )
    journal.succeed('fix')
    journal.ask('g', { evidence: [HOLDS] })
    expect(taskOf(journal.state, name('g'))).toMatchObject({
      status: 'failed',
      reason: "it leads back to 'fix', which has used all of its 1 runs",
    })
  })

  it('does not ask anybody whose checks are not met, of whatever type it is', () => {
    const journal = started(plan('p', gate('g', { checks: [] }, { on: { rejected: 'fix' } }), task('fix')))
    journal.ask('g', { evidence: [FAILS] })
    expect(journal.statuses()).toEqual({ g: 'failed', fix: 'running' })
  })
})

describe('who decides', () => {
  const roles = { roles: { lead: ['ana', 'bo'], boss: ['cy'] } }

  it('must have the role that is asked for', () => {
    const journal = started(plan('p', gate('g', { approvers: { role: 'lead' } }), { policy: roles }))
    journal.ask('g')
    for (const verdict of ['approved', 'rejected', 'pushed-back'] as const)
      expect(refusal(journal, decided('g', verdict, { by: 'eve' }))).toMatchObject({
        code: 'not-allowed',
        hint: 'ask ana, bo',
      })
    expect(refusal(journal, { ...decided('g', 'approved'), by: undefined as never }).code).toBe('not-allowed')
    expect(journal.must(decided('g', 'approved', { by: 'bo' }))[0]).toMatchObject({ by: 'bo', verdict: 'approved' })
  })

  it('is one person when the role is nobody else, and never an object of the language', () => {
    const journal = started(plan('p', gate('g', { approvers: { role: 'constructor' } }), { policy: roles }))
    journal.ask('g')
    expect(refusal(journal, decided('g', 'approved')).hint).toBe('ask constructor')
    journal.must(decided('g', 'approved', { by: 'constructor' }))
    expect(journal.status('g')).toBe('completed')
  })

  it('is several: the same person twice is no quorum, and one can reject', () => {
    const journal = started(plan('p', gate('g', { approvers: { count: 3 } }), gate('h', { approvers: { count: 2 } })))
    journal.ask('g')
    journal.ask('h')
    expect(journal.must(decided('g', 'approved'))).toEqual([
      { type: 'gate.voted', task: 'g', by: 'ana', rationale: 'because', hash: numberedSha(7) },
    ])
    expect(refusal(journal, decided('g', 'approved'))).toMatchObject({
      code: 'not-allowed',
      message: "'ana' has approved 'g' already",
    })
    journal.must(decided('g', 'approved', { by: 'bo' }))
    expect(journal.status('g')).toBe('waiting')
    expect(journal.must(decided('g', 'approved', { by: 'cy' }))[0]).toMatchObject({ type: 'gate.decided', by: 'cy' })
    journal.must(decided('h', 'approved'))
    journal.must(decided('h', 'rejected', { by: 'bo' }))
    expect(journal.statuses()).toEqual({ g: 'completed', h: 'failed' })
  })

  it('is asked once: a second decision is refused, and so is one after the plan was cancelled or has ended', () => {
    const journal = started(plan('p', gate('g'), gate('h'), external('x')))
    journal.ask('g')
    journal.ask('h')
    journal.must(decided('g', 'approved'))
    expect(refusal(journal, decided('g', 'approved', { by: 'bo' })).code).toBe('not-ready')
    journal.must({ type: 'cancel' })
    expect(refusal(journal, decided('h', 'approved')).code).toBe('illegal-transition')
    const ended = started(plan('p', gate('g')))
    ended.ask('g')
    ended.must(decided('g', 'approved'))
    expect(ended.state.status).toBe('completed')
    expect(refusal(ended, decided('g', 'approved')).code).toBe('illegal-transition')
  })

  it('agrees to what was seen and to nothing else', () => {
    const journal = started(plan('p', gate('g')))
    journal.ask('g')
    expect(refusal(journal, decided('g', 'approved', { hash: numberedSha(6) })).code).toBe('conflict')
    expect(journal.must(decided('g', 'approved', { hash: numberedSha(7) }))[0]).toMatchObject({ hash: numberedSha(7) })
  })

  it('says why in any script, within bounds', () => {
    const journal = started(plan('p', gate('g')))
    journal.ask('g')
    expect(refusal(journal, decided('g', 'approved', { rationale: '界'.repeat(70_000) })).code).toBe('limit')
    const rationale = `${'界🌍\u202e\u0000'.repeat(9_000)}`
    expect(journal.must(decided('g', 'approved', { rationale }))[0]).toMatchObject({ rationale })
  })
})

describe('a decision and a question', () => {
  it('take an option; it is the outcome and an output', () => {
    const options = [{ id: 'keep' }, { id: 'rewrite', cost: '3 days' }]
    const journal = started(
      plan('p', gate('g', { gate: 'decision', options, show: ['diff'] }, { on: { rewrite: 'w' } }), task('w')),
    )
    expect(journal.ask('g')[0]).toMatchObject({ asks: { type: 'decision', options, show: ['diff'] } })
    expect(refusal(journal, decided('g', 'chosen', { option: 'burn' })).hint).toBe('choose one of keep, rewrite')
    expect(refusal(journal, decided('g', 'approved')).code).toBe('illegal-transition')
    journal.must(decided('g', 'chosen', { option: 'rewrite' }))
    expect(taskOf(journal.state, name('g')).result).toEqual({
      status: 'succeeded',
      outcome: 'rewrite',
      outputs: { choice: 'rewrite', rationale: 'because', by: 'ana' },
    })
    expect(journal.status('w')).toBe('ready')
  })

  it('take answers of the types that were asked for; they are the outputs', () => {
    const form = [
      { name: 'port', type: 'number' as const, min: 1 },
      { name: 'host', type: 'text' as const, default: 'localhost' },
    ]
    const journal = started(plan('p', gate('g', { gate: 'question', question: 'Where?', form })))
    journal.ask('g')
    expect(refusal(journal, decided('g', 'answered', { answers: { port: 0 } })).message).toBe(
      "'port' must be at least 1",
    )
    journal.must(decided('g', 'answered', { answers: { port: 80 } }))
    expect(taskOf(journal.state, name('g')).result).toEqual({
      status: 'succeeded',
      outputs: { port: 80, host: 'localhost' },
    })
  })
})

describe('pushing back', () => {
  const built = () => {
    const journal = started(
      plan(
        'p',
        task('plan'),
        task('write', { needs: ['plan'] }),
        gate('g', {}, { needs: ['write'] }),
        task('ship', { needs: ['g'] }),
      ),
    )
    journal.succeed('plan')
    journal.succeed('write')
    journal.ask('g')
    return journal
  }

  it('opens the next visit of the task and of all after it, and hands the feedback on', () => {
    const journal = built()
    expect(journal.must(decided('g', 'pushed-back', { rationale: 'shorter' }))).toEqual([
      {
        type: 'gate.decided',
        task: 'g',
        verdict: 'pushed-back',
        rationale: 'shorter',
        by: 'ana',
        hash: numberedSha(7),
        to: 'write',
      },
      {
        ...{ type: 'note.added', text: 'shorter', task: 'write', kind: 'lesson' },
        ...{ about: { visit: 1, attempt: 1 }, by: 'ana' },
      },
      {
        type: 'task.reopened',
        tasks: ['write', 'g'],
        reason: "changes requested at 'g'",
        feedback: { from: 'g', by: 'ana', text: 'shorter', visit: 1 },
      },
      { type: 'task.readied', tasks: ['write'] },
    ])
    expect(taskOf(journal.state, name('write'))).toMatchObject({ visit: 2, feedback: [{ text: 'shorter' }] })
    expect(journal.statuses()).toEqual({ plan: 'completed', write: 'ready', g: 'pending', ship: 'pending' })
  })

  it('goes to the task that is named, if it comes before the gate', () => {
    const journal = built()
    expect(refusal(journal, decided('g', 'pushed-back', { to: name('ship') })).code).toBe('unknown-reference')
    expect(refusal(journal, decided('g', 'pushed-back', { to: name('plam') }))).toMatchObject({
      code: 'not-found',
      message: "the plan has no task 'plam'",
      hint: "did you mean 'plan'?",
    })
    journal.must(decided('g', 'pushed-back', { to: name('plan') }))
    expect(journal.statuses()).toEqual({ plan: 'ready', write: 'pending', g: 'pending', ship: 'pending' })
  })

  it('says what to change', () => {
    expect(refusal(built(), decided('g', 'pushed-back', { rationale: ' ' })).code).toBe('invalid')
  })

  it('passes over gates in between: they ask again', () => {
    const journal = started(
      plan(
        'p',
        task('write'),
        gate('tests', { gate: 'tests' }, { needs: ['write'] }),
        gate('g', {}, { needs: ['tests'] }),
      ),
    )
    journal.succeed('write')
    journal.ask('tests', { evidence: [HOLDS] })
    journal.ask('g')
    journal.must(decided('g', 'pushed-back'))
    expect(journal.statuses()).toEqual({ write: 'ready', tests: 'pending', g: 'pending' })
  })

  it('is counted by visits, and refused when they are used up', () => {
    const journal = built()
    for (const visit of [2, 3]) {
      journal.must(decided('g', 'pushed-back'))
      journal.turn()
      journal.succeed('write')
      journal.ask('g')
      expect(taskOf(journal.state, name('write')).visit).toBe(visit)
    }
    expect(refusal(journal, decided('g', 'pushed-back'))).toMatchObject({
      code: 'not-ready',
      message: "sending 'g' back leads back to 'write', which has used all of its 3 runs",
    })
    expect(taskOf(journal.state, name('write')).feedback).toHaveLength(2)
  })
})

describe('approving with edits', () => {
  const written = () => plan('p', gate('g'), task('a', { needs: ['g'] }))
  const edited = (definition = plan('p', gate('g'), task('a', { needs: ['g'], title: 'better' }))) => ({
    definition,
    hash: numberedSha(2),
    binds: { a: numberedSha(5) },
  })

  it('is a revision and a decision about it, in one', () => {
    const journal = started(written())
    journal.ask('g', { binds: { a: numberedSha(4) } })
    const events = journal.must(decided('g', 'approved', { edits: edited() }))
    expect(events.map(({ type }) => type)).toEqual(['plan.revised', 'gate.decided', 'task.readied'])
    expect(events[1]).toMatchObject({ hash: numberedSha(2), binds: { a: numberedSha(5) } })
    expect(taskOf(journal.state, name('a'))).toMatchObject({
      status: 'ready',
      consent: { hash: numberedSha(5), by: 'ana' },
    })
  })

  it('is refused where the plan cannot be revised so, where several must approve, and with any other answer', () => {
    const journal = started(written())
    journal.ask('g')
    const gone = edited(plan('p', task('a')))
    expect(refusal(journal, decided('g', 'approved', { edits: gone })).message).toContain("removes 'g'")
    expect(refusal(journal, decided('g', 'rejected', { edits: edited() })).code).toBe('invalid')
    const two = started(plan('p', gate('g', { approvers: { count: 2 } }), task('a', { needs: ['g'] })))
    two.ask('g')
    expect(refusal(two, decided('g', 'approved', { edits: edited() })).code).toBe('not-allowed')
    two.must(decided('g', 'approved', { by: 'bo' }))
    expect(refusal(two, decided('g', 'approved', { edits: edited() })).code).toBe('not-allowed')
  })
})

describe('a review', () => {
  it('decides all of its gates, or none', () => {
    const journal = started(plan('p', gate('g'), gate('h')))
    journal.ask('g')
    journal.ask('h')
    const decisions = [decided('g', 'approved'), decided('h', 'rejected')]
    expect(refusal(journal, { type: 'review', decisions: [decisions[0]!, decided('nobody', 'approved')] }).code).toBe(
      'not-found',
    )
    journal.must({ type: 'review', decisions })
    expect(journal.statuses()).toEqual({ g: 'completed', h: 'failed' })
  })

  it('leaves out what an earlier decision of it has led back to', () => {
    const journal = started(
      plan('p', task('a'), gate('g', {}, { needs: ['a'] }), gate('h', {}, { needs: ['a'], on: { rejected: 'a' } })),
    )
    journal.succeed('a')
    journal.ask('g')
    journal.ask('h')
    journal.must({ type: 'review', decisions: [decided('h', 'rejected'), decided('g', 'approved')] })
    expect(journal.statuses()).toEqual({ a: 'ready', g: 'pending', h: 'pending' })
  })
})
