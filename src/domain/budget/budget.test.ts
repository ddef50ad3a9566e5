import { describe, expect, it } from 'vitest'
import { external, Journal, name, numberedSha, plan, START, task } from '../../testing/index.ts'
import type { Command } from '../command.ts'
import type { Budget, PlanDefinition } from '../plan.ts'
import { packFold, unpackFold } from '../state/fold.ts'
import type { Amounts } from './amounts.ts'
import { accountOf, type Level } from './ledger.ts'

const KEPT = { ...START, budget: 'kept' } as const

function begin(definition: PlanDefinition): Journal {
  const journal = new Journal()
  journal.create(definition)
  journal.must(KEPT)
  return journal
}

const within = (budget: Budget, ...tasks: PlanDefinition['tasks']): PlanDefinition => ({
  ...plan('p', ...tasks),
  policy: { budget },
})

const usd = (amount: number) => ({ amount, currency: 'USD' })
const account = (journal: Journal, level: Level = '') => accountOf(journal.state.budget!, level)

function reserve(journal: Journal, id: string, spend: { cost?: number | null; tokens?: number; calls?: number }) {
  const command: Command = { type: 'reserve', id, task: name(id.split('#')[0]!), visit: 1, attempt: 1, spend }
  return journal.submit(command)
}

const events = (decided: ReturnType<Journal['submit']>): readonly string[] =>
  decided.ok ? decided.events.map(({ type }) => type) : [decided.refusal.code]

describe('attempts', () => {
  it('a plan that has used all of its attempts is paused and asks, and goes on when there are more', () => {
    const journal = begin(within({ attempts: 1 }, task('a'), task('b', { needs: ['a'] })))
    journal.turn()
    expect(account(journal)).toMatchObject({ held: { attempts: 1 }, spent: {} })
    journal.succeed('a')
    expect(journal.state).toMatchObject({ status: 'paused', overBudget: true })
    expect(journal.state.questions[0]).toMatchObject({
      text: 'the budget is used up: the plan may use 1 attempt: 1 attempt spent, 1 attempt needed. Add 1 attempt?',
      by: 'planfold',
      task: 'b',
    })
    expect(journal.status('b')).toBe('ready')
    expect(events(journal.submit({ type: 'resume' }))).toEqual(['conflict'])
    expect(events(journal.submit({ type: 'raise', add: { attempts: 2 }, by: 'ana' }))).toEqual([
      'budget.raised',
      'question.answered',
      'plan.resumed',
    ])
    journal.turn()
    expect(journal.statuses()).toEqual({ a: 'completed', b: 'running' })
    expect(account(journal)).toMatchObject({ spent: { attempts: 1 }, held: { attempts: 1 }, raised: { attempts: 2 } })
  })

  it('an attempt that succeeds without what it asked for takes its question back, and the plan goes on', () => {
    const journal = begin(within({ tokens: 10 }, task('a'), task('b', { needs: ['a'] })))
    journal.turn()
    reserve(journal, 'a#1', { tokens: 20 })
    expect(journal.state).toMatchObject({ status: 'paused', questions: [{ task: 'a' }] })
    journal.succeed('a')
    expect(journal.state).toMatchObject({ status: 'active', questions: [] })
    journal.turn()
    expect(journal.status('b')).toBe('running')
  })

  it('a task that is skipped needs no more: its question is taken back, and what is left goes on or completes', () => {
    const last = begin(within({ attempts: 1 }, task('a'), task('b', { needs: ['a'] })))
    last.turn()
    last.succeed('a')
    expect(last.state.status).toBe('paused')
    expect(events(last.submit({ type: 'skip', task: name('b'), reason: 'too dear' }))).toEqual([
      'task.skipped',
      'question.answered',
      'plan.resumed',
      'plan.finished',
    ])
    expect(last.state).toMatchObject({ status: 'completed', questions: [] })

    const more = begin(within({ attempts: 1 }, task('a'), task('b', { needs: ['a'] }), task('c', { needs: ['b'] })))
    more.turn()
    more.succeed('a')
    more.must({ type: 'skip', task: name('b'), reason: 'too dear' })
    expect(more.state).toMatchObject({ status: 'active', questions: [] })
    more.turn()
    expect(more.state).toMatchObject({ status: 'paused', overBudget: true, questions: [{ task: 'c' }] })
  })

  it('a yes to the question adds what is offered; a no leaves the plan paused, and it asks again', () => {
    const journal = begin(within({ attempts: 1 }, task('a'), task('b', { needs: ['a'] })))
    journal.turn()
    journal.succeed('a')
    const { id } = journal.state.questions[0]!
    journal.must({ type: 'answer', id, answers: { more: 'no' }, by: 'ana' })
    expect(journal.state).toMatchObject({ status: 'paused', questions: [] })
    journal.must({ type: 'resume' })
    journal.turn()
    expect(journal.state.status).toBe('paused')
    const again = journal.state.questions[0]!.id
    expect(again).not.toBe(id)
    journal.must({ type: 'answer', id: again, answers: { more: 'yes' }, by: 'ana' })
    journal.turn()
    expect(journal.status('b')).toBe('running')
  })

  it('for a task that an agent could claim, too', () => {
    const journal = begin(within({ attempts: 1 }, task('a'), external('b', { needs: ['a'] })))
    journal.turn()
    journal.succeed('a')
    expect(journal.state).toMatchObject({ status: 'paused', overBudget: true })
    journal.must({ type: 'raise', add: { attempts: 1 }, by: 'ana' })
    journal.must({ type: 'claim', task: name('b'), token: 't', by: 'agent' })
    expect(account(journal)).toMatchObject({ spent: { attempts: 1 }, held: { attempts: 1 } })
    const other = begin(within({ attempts: 1, exceeded: 'fail' }, task('a'), external('b', { needs: ['a'] })))
    other.turn()
    other.succeed('a')
    expect(other.status('b')).toBe('failed')
  })

  it('with `exceeded: fail` the task fails, and no attempt is counted for it', () => {
    const journal = begin(within({ attempts: 1, exceeded: 'fail' }, task('a'), task('b', { needs: ['a'] })))
    journal.turn()
    journal.succeed('a')
    expect(journal.status('b')).toBe('failed')
    expect(journal.state.tasks.get(name('b'))?.result).toMatchObject({
      failure: {
        class: 'policy',
        code: 'budget',
        retryable: false,
        hint: expect.arrayContaining([{ next: 'budget-add', plan: 'p', what: 'attempts', amount: '1', quoted: true }]),
      },
    })
    expect(account(journal).spent).toEqual({ attempts: 1 })
    // What the hint says helps: more, and the task is tried again.
    expect(journal.state.status).toBe('failed')
    journal.must({ type: 'raise', add: { attempts: 1 }, by: 'ana' })
    journal.must({ type: 'retry', task: name('b') })
    journal.turn()
    expect(journal.status('b')).toBe('running')
  })

  it('an attempt that did not begin is given back, one that was lost is not', () => {
    const journal = begin(within({ attempts: 5 }, task('a', { effect: 'pure' })))
    journal.turn()
    journal.settle('a', { status: 'interrupted', reason: 'no room', begun: false })
    expect(account(journal)).toMatchObject({ spent: {}, held: { attempts: 1 } })
    journal.must({ type: 'recover', reason: 'died' })
    expect(account(journal)).toMatchObject({ spent: { attempts: 1 }, held: {} })
  })
})

describe('calls', () => {
  const models = (budget: Budget, ...names: string[]) =>
    begin(within(budget, ...names.map(one => task(one, { effect: 'model' }))))

  it('what is held counts until it is settled with what was used', () => {
    const journal = models({ cost: usd(1), tokens: 1_000 }, 'a')
    journal.turn()
    expect(events(reserve(journal, 'a#1', { cost: 0.6, tokens: 400, calls: 1 }))).toEqual(['budget.reserved'])
    expect(account(journal).held).toMatchObject({ cost: 0.6, tokens: 400, calls: 1 })
    expect(events(reserve(journal, 'a#1', { cost: 0.6, tokens: 400, calls: 1 })), 'said twice').toEqual([])
    journal.must({ type: 'settle', id: 'a#1', actual: { cost: 0.1, tokens: 30, calls: 1 } })
    journal.must({ type: 'settle', id: 'a#1', actual: { cost: 0.1, tokens: 30, calls: 1 } })
    expect(account(journal)).toMatchObject({ held: { attempts: 1 }, spent: { cost: 0.1, tokens: 30, calls: 1 } })
    expect(account(journal, name('a')).spent).toEqual({ cost: 0.1, tokens: 30, calls: 1 })
  })

  it('a call that fits once others have settled waits; one that never fits asks', () => {
    const journal = models({ cost: usd(1) }, 'a', 'b')
    journal.turn()
    reserve(journal, 'a#1', { cost: 0.7 })
    expect(events(reserve(journal, 'b#1', { cost: 0.5 })), 'others hold it').toEqual([])
    expect(journal.state.status).toBe('active')
    journal.must({ type: 'settle', id: 'a#1', actual: { cost: 0.2 } })
    expect(events(reserve(journal, 'b#1', { cost: 0.5 }))).toEqual(['budget.reserved'])
    expect(events(reserve(journal, 'a#2', { cost: 0.9 }))).toEqual(['question.asked', 'plan.paused'])
    expect(journal.statuses(), 'what runs goes on').toEqual({ a: 'running', b: 'running' })
    expect(events(reserve(journal, 'a#2', { cost: 0.9 })), 'asked once').toEqual([])
  })

  it('a call that nobody settled has used all it held: when its attempt ends, and after a crash', () => {
    const journal = models({ cost: usd(1) }, 'a', 'b')
    journal.turn()
    reserve(journal, 'a#1', { cost: 0.3 })
    reserve(journal, 'b#1', { cost: 0.4 })
    journal.succeed('a')
    expect(account(journal)).toMatchObject({ spent: { cost: 0.3 }, held: { cost: 0.4 } })
    journal.must({ type: 'recover', reason: 'died' })
    expect(account(journal)).toMatchObject({ spent: { cost: 0.7, attempts: 2 }, held: {} })
    journal.must({ type: 'settle', id: 'b#1', actual: { cost: 0.1 } })
    expect(account(journal).spent.cost, 'told too late').toBe(0.7)
  })

  it('a model without a price is asked about when there is a limit of money', () => {
    const journal = models({ cost: usd(1) }, 'a')
    journal.turn()
    expect(events(reserve(journal, 'a#1', { cost: null, calls: 1 }))).toEqual(['question.asked', 'plan.paused'])
    expect(events(journal.submit({ type: 'resume' }))).toEqual(['conflict'])
    const { id } = journal.state.questions[0]!
    expect(events(journal.submit({ type: 'answer', id, answers: { more: 'yes' }, by: 'ana' }))).toEqual([
      'question.answered',
      'budget.raised',
      'plan.resumed',
    ])
    expect(events(reserve(journal, 'a#1', { cost: null, calls: 1 }))).toEqual(['budget.reserved'])
    journal.must({ type: 'settle', id: 'a#1', actual: { cost: null, calls: 1 } })
    expect(account(journal)).toMatchObject({ spent: { calls: 1 }, unpriced: 1 })
  })

  it('what nobody counts is asked about where there is a limit of money, tokens or calls, and only there', () => {
    for (const budget of [{ cost: usd(1) }, { tokens: 5 }, { calls: 5 }]) {
      const journal = models(budget, 'a')
      journal.turn()
      expect(events(reserve(journal, 'a#1', { cost: null }))).toEqual(['question.asked', 'plan.paused'])
      expect(journal.state.questions[0]!.text).toContain('Planfold cannot count the cost')
    }
    const timed = models({ timeMs: 5_000 }, 'a')
    timed.turn()
    expect(events(reserve(timed, 'a#1', { cost: null }))).toEqual(['budget.reserved'])
  })

  it('a limit in another currency cannot be kept by itself', () => {
    const journal = models({ cost: { amount: 5, currency: 'EUR' } }, 'a')
    journal.turn()
    expect(events(reserve(journal, 'a#1', { cost: 0.1 }))).toEqual(['question.asked', 'plan.paused'])
  })

  it('a single dear call is asked about, also in a plan without a budget; who is told no is refused', () => {
    const journal = new Journal()
    journal.create(plan('p', task('a', { effect: 'model' })))
    journal.must(START)
    journal.turn()
    expect(events(reserve(journal, 'a#1', { cost: 4 })), 'nothing is written').toEqual([])
    expect(journal.state.budget).toBeNull()
    expect(events(reserve(journal, 'a#2', { cost: 6 }))).toEqual(['question.asked', 'plan.paused'])
    expect(journal.state.questions[0]!.text).toBe('a single call may cost 6 USD, more than 5 USD. Spend it?')
    journal.must({ type: 'answer', id: journal.state.questions[0]!.id, answers: { more: 'no' }, by: 'ana' })
    expect(events(reserve(journal, 'a#2', { cost: 6 }))).toEqual(['limit'])
  })

  it('`large` says from where on single calls are asked about', () => {
    const journal = models({ large: usd(0.5) }, 'a')
    journal.turn()
    expect(events(reserve(journal, 'a#1', { cost: 0.6 }))).toEqual(['question.asked', 'plan.paused'])
    journal.must({ type: 'answer', id: journal.state.questions[0]!.id, answers: { more: 'yes' }, by: 'ana' })
    expect(events(reserve(journal, 'a#1', { cost: 0.6 }))).toEqual(['budget.reserved'])
    expect(events(reserve(journal, 'a#2', { cost: 0.7 })), 'dearer still').toEqual(['question.asked', 'plan.paused'])
  })

  it('an attempt that is over reserves nothing', () => {
    const journal = models({ cost: usd(1) }, 'a')
    journal.turn()
    journal.succeed('a')
    expect(events(reserve(journal, 'a#1', { cost: 0.1 }))).toEqual(['conflict'])
  })
})

describe('groups', () => {
  const grouped = (budget: Budget): PlanDefinition => ({
    ...plan('p', {
      ...task('work'),
      action: { type: 'subplan', tasks: [task('x', { effect: 'model' }), task('y', { effect: 'model' })] },
      budget,
    }),
    policy: { budget: { cost: usd(10) } },
  })

  it('all tasks of a group share its budget, and the plan pays too', () => {
    const journal = begin(grouped({ cost: usd(1) }))
    journal.turn()
    reserve(journal, 'work/x#1', { cost: 0.8 })
    expect(events(reserve(journal, 'work/y#1', { cost: 0.3 })), 'its sibling holds it').toEqual([])
    journal.must({ type: 'settle', id: 'work/x#1', actual: { cost: 0.8 } })
    expect(events(reserve(journal, 'work/y#1', { cost: 0.3 }))).toEqual(['question.asked', 'plan.paused'])
    expect(journal.state.questions[0]!.text).toContain("'work' may use 1 USD: 0.8 USD spent, 0.3 USD needed")
    expect(account(journal, name('work')).spent.cost).toBe(0.8)
    expect(account(journal).spent.cost).toBe(0.8)
    expect(events(journal.submit({ type: 'raise', task: name('work'), add: { cost: 0.05 }, by: 'ana' }))).toEqual([
      'budget.raised',
    ])
    expect(events(journal.submit({ type: 'raise', task: name('work'), add: { cost: 0.05 }, by: 'ana' }))).toEqual([
      'budget.raised',
      'question.answered',
      'plan.resumed',
    ])
    expect(events(reserve(journal, 'work/y#1', { cost: 0.3 }))).toEqual(['budget.reserved'])
  })

  it('only what is limited can be raised, by an amount greater than zero', () => {
    const journal = begin(grouped({ cost: usd(1) }))
    const raise = (add: Amounts, at?: string) =>
      events(journal.submit({ type: 'raise', add, ...(at === undefined ? {} : { task: name(at) }), by: 'ana' }))
    expect(raise({ tokens: 5 })).toEqual(['invalid'])
    expect(raise({ cost: -1 })).toEqual(['invalid'])
    expect(raise({ cost: Number.NaN })).toEqual(['invalid'])
    expect(raise({})).toEqual(['invalid'])
    expect(raise({ cost: 1 }, 'nobody')).toEqual(['not-found'])
    expect(raise({ cost: 1 }, 'work/x')).toEqual(['invalid'])
    expect(raise({ cost: 1 })).toEqual(['budget.raised'])
  })
})

describe('time', () => {
  it('runs while any task runs, not for each of them, and not while the machine sleeps', () => {
    const journal = begin(within({ timeMs: 60_000 }, task('a'), task('b'), task('c', { needs: ['a', 'b'] })))
    journal.turn()
    journal.clock.advance(10_000)
    journal.succeed('a', { durationMs: 10_000 })
    journal.clock.advance(5_000)
    journal.succeed('b', { durationMs: 15_000 })
    expect(account(journal).spent.timeMs).toBe(15_000)
    journal.clock.advance(8 * 3_600_000)
    journal.succeed('c', { durationMs: 2_000 })
    expect(account(journal).spent.timeMs, 'it slept for eight hours').toBe(17_000)
  })

  it('when it is used up, nothing begins before there is more', () => {
    const journal = begin(within({ timeMs: 1_000 }, task('a'), task('b', { needs: ['a'] })))
    journal.turn()
    journal.clock.advance(1_000)
    journal.succeed('a', { durationMs: 1_000 })
    expect(journal.state.questions[0]!.text).toBe('the budget is used up: the plan may use 1s: 1s used. Add 500ms?')
    journal.must({ type: 'raise', add: { timeMs: 1_000 }, by: 'ana' })
    journal.turn()
    expect(journal.status('b')).toBe('running')
  })

  it('of an attempt that was lost, it counts until the last sign of life', () => {
    const journal = begin(within({ timeMs: 60_000 }, task('a', { effect: 'pure' })))
    journal.turn()
    const lastSign = journal.clock.now() + 4_000
    journal.clock.advance(3 * 86_400_000)
    journal.must({ type: 'recover', reason: 'died', lastSign })
    expect(account(journal).spent.timeMs).toBe(4_000)
  })
})

describe('output', () => {
  it('each attempt holds a share of what is left, and gives back what it did not print', () => {
    const journal = begin(within({ outputBytes: 1_000_000 }, task('a'), task('b')))
    journal.turn()
    const held = account(journal).held.outputBytes!
    expect(held).toBeGreaterThan(0)
    expect(held).toBeLessThanOrEqual(1_000_000)
    journal.succeed('a', { log: { sha256: 'x' as never, bytes: 10 } })
    journal.succeed('b', { log: { sha256: 'x' as never, bytes: 1e9 } })
    expect(account(journal).held.outputBytes ?? 0).toBe(0)
    expect(account(journal).spent.outputBytes).toBeLessThanOrEqual(1_000_000)
  })
})

describe('the fold', () => {
  it('keeps the accounts, and a plan without a budget has none', () => {
    const journal = begin(within({ cost: usd(1), attempts: 9 }, task('a', { effect: 'model' })))
    journal.turn()
    reserve(journal, 'a#1', { cost: 0.3 })
    const packed = JSON.parse(JSON.stringify(packFold(journal.state)))
    const opened = unpackFold(packed, journal.state.definition)
    expect(opened.budget).toEqual(journal.state.budget)
    expect(JSON.stringify(packFold(opened))).toBe(JSON.stringify(packFold(journal.state)))
    const bare = new Journal()
    bare.create(plan('p', task('a')))
    expect('budget' in packFold(bare.state)).toBe(false)
  })

  it('a plan that is taken up again while the question is open is paused again, and does not ask twice', () => {
    const journal = begin(within({ attempts: 1 }, task('a'), task('b', { needs: ['a'] })))
    journal.turn()
    journal.succeed('a')
    journal.believe([{ type: 'plan.reopened', reason: 'taken up again' }])
    expect(journal.turn().map(({ type }) => type)).toEqual(['plan.paused'])
    expect(journal.state.questions).toHaveLength(1)
  })

  it('a budget that is raised in the plan file is enough to resume', () => {
    const tasks = [task('a'), task('b', { needs: ['a'] })]
    const journal = begin(within({ attempts: 1 }, ...tasks))
    journal.turn()
    journal.succeed('a')
    const definition = within({ attempts: 5 }, ...tasks)
    journal.must({ type: 'revise', definition, hash: numberedSha(2), rationale: 'more' })
    expect(events(journal.submit({ type: 'resume' }))).toEqual(['question.answered', 'plan.resumed'])
    journal.turn()
    expect(journal.status('b')).toBe('running')
  })

  it('a person who pauses a plan that waits for budget ends what runs; the question stays', () => {
    const journal = begin(within({ calls: 1 }, task('a', { effect: 'model' })))
    journal.turn()
    reserve(journal, 'a#1', { calls: 2 })
    expect(journal.state.overBudget).toBe(true)
    journal.must({ type: 'pause' })
    expect(journal.state.overBudget).toBe(false)
    expect(events(journal.submit({ type: 'raise', add: { calls: 1 }, by: 'ana' }))).toEqual([
      'budget.raised',
      'question.answered',
    ])
    expect(journal.state.status).toBe('paused')
  })
})

describe('the policy around a plan', () => {
  const layers = (budget: Budget) =>
    [{ from: 'organisation', file: '/etc/planfold/policy.yaml', policy: { budget } }] as const
  const around = (budget: Budget, definition: PlanDefinition): Journal => {
    const journal = new Journal()
    journal.create(definition)
    journal.must({ ...KEPT, policy: layers(budget) })
    return journal
  }

  it('caps a plan that has no budget of its own; nobody is asked for what nobody here can give', () => {
    const journal = around({ attempts: 1 }, plan('p', task('a'), task('b', { needs: ['a'] })))
    journal.turn()
    journal.succeed('a')
    expect(journal.state.questions).toEqual([])
    expect(journal.statuses()).toMatchObject({ a: 'completed', b: 'failed' })
    expect(journal.submit({ type: 'raise', add: { attempts: 1 }, by: 'ana' }).ok).toBe(false)
  })

  it('a person adds to the budget of the plan, up to what the policy allows', () => {
    const three = [task('a'), task('b', { needs: ['a'] }), task('c', { needs: ['b'] })]
    const journal = around({ attempts: 2 }, within({ attempts: 1 }, ...three))
    journal.turn()
    journal.succeed('a')
    expect(journal.state.questions).toHaveLength(1)
    expect(journal.submit({ type: 'raise', add: { attempts: 2 }, by: 'ana' })).toMatchObject({
      ok: false,
      refusal: { code: 'not-allowed', message: 'the policy around the plan allows no more than 2 attempts' },
    })
    journal.must({ type: 'raise', add: { attempts: 1 }, by: 'ana' })
    journal.turn()
    journal.succeed('b')
    expect(journal.statuses()).toMatchObject({ b: 'completed', c: 'failed' })
  })
})
