import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { create, given, Journal, plan, START, started, task } from '../../testing/index.ts'
import type { TaskName } from '../id.ts'
import { TASKS_MAX } from '../limits.ts'
import { checkGraph } from './graph-rules.ts'

const chain = (length: number, first: readonly string[] = []) =>
  plan('p', ...Array.from({ length }, (_, at) => task(`t${at}`, { needs: at === 0 ? first : [`t${at - 1}`] })))

describe('the graph', () => {
  it('regression 2: a plan without tasks may be drafted and never started, so it can never be complete', () => {
    expect(
      given(create(plan('p')))
        .when(START)
        .thenRefused('invalid'),
    ).toEqual({
      code: 'invalid',
      message: 'the plan has no tasks',
      hint: 'add at least one task: an empty plan is never complete',
    })
  })

  it('regression 8: a duplicate id is refused by name, and nothing is written', () => {
    const refusal = given()
      .when(create(plan('p', task('a'), task('b'), task('a'))))
      .thenRefused('duplicate')
    expect(refusal).toEqual({
      code: 'duplicate',
      message: "two tasks are called 'a'",
      hint: 'give one of them another id',
    })
  })

  it("the task made from the plan's `done` list keeps its name to itself", () => {
    const done = [{ type: 'prose', text: 'good' }] as const
    expect(checkGraph(plan('p', task('done'), { done })).map(({ code, task }) => [code, task])).toEqual([
      ['duplicate', 'done'],
    ])
    expect(checkGraph(plan('p', task('done')))).toEqual([])
  })

  it('regression 20: a cycle is refused with its path', () => {
    const definition = plan(
      'p',
      task('x'),
      task('a', { needs: ['c', 'x'] }),
      task('b', { needs: ['a'] }),
      task('c', { needs: ['b'] }),
      task('after', { needs: ['c'] }),
    )
    expect(checkGraph(definition)).toEqual([
      {
        code: 'cycle',
        message: 'dependency cycle: b → c → a → b',
        hint: 'remove one of these `needs`; to go back on an outcome, use `on:`',
        task: 'b',
        key: 'needs',
        path: ['b', 'c', 'a', 'b'],
      },
    ])
    given().when(create(definition)).thenRefused('cycle')
    expect(checkGraph(plan('p', task('a', { needs: ['a'] })))[0]?.path).toEqual(['a', 'a'])
  })

  it('a task is not told to need itself', () => {
    const [fault] = checkGraph(plan('p', task('build', { needs: ['built'] })))
    expect(fault).toMatchObject({ code: 'unknown-reference', hint: 'name a task of this plan' })
  })

  it('regression 20: a dangling reference is refused with the nearest name, in needs and in outcome edges', () => {
    const definition = plan(
      'p',
      task('baseline', { on: { failure: 'fixx' } }),
      task('fix', { needs: ['basline'] }),
      task('z', { needs: ['elsewhere'] }),
    )
    expect(checkGraph(definition)).toEqual([
      {
        code: 'unknown-reference',
        message: "task 'baseline' routes to 'fixx', which does not exist",
        hint: "did you mean 'fix'?",
        task: 'baseline',
        key: 'on',
        at: ['failure', 0],
      },
      {
        code: 'unknown-reference',
        message: "task 'fix' needs 'basline', which does not exist",
        hint: "did you mean 'baseline'?",
        task: 'fix',
        key: 'needs',
        at: [0],
      },
      {
        code: 'unknown-reference',
        message: "task 'z' needs 'elsewhere', which does not exist",
        hint: 'name a task of this plan',
        task: 'z',
        key: 'needs',
        at: [0],
      },
    ])
    given().when(create(definition)).thenRefused('unknown-reference')
  })

  it('a plan may say how many tasks it may have, those of groups included', () => {
    const policy = { limits: { tasks: 2 } }
    expect(checkGraph(plan('p', task('a'), task('b'), { policy }))).toEqual([])
    expect(checkGraph(plan('p', task('a'), task('b'), task('c'), { policy }))).toEqual([
      {
        code: 'limit',
        message: 'the plan has 3 tasks, more than 2',
        hint: 'raise policy.limits.tasks, or do less',
      },
    ])
    const many = plan('p', task('a', { matrix: { os: ['linux', 'mac'] } }), { policy })
    expect(checkGraph(many).map(({ code }) => code)).toEqual(['limit'])
  })

  it('regression 20: a circle of 20,000 tasks is found, and 20,000 dangling references are listed, before anyone gets impatient', () => {
    expect(checkGraph(chain(TASKS_MAX, [`t${TASKS_MAX - 1}`]))[0]?.path).toHaveLength(TASKS_MAX + 1)
    const long = (at: number) => `${'n'.repeat(90)}-${at}`
    const dangling = plan(
      'p',
      ...Array.from({ length: TASKS_MAX }, (_, at) => task(long(at), { needs: [`${'n'.repeat(89)}m-${at}`] })),
    )
    expect(checkGraph(dangling)).toHaveLength(TASKS_MAX)
  })

  it('more tasks than the limit are refused', () => {
    given()
      .when(create(chain(TASKS_MAX + 1)))
      .thenRefused('limit')
  })

  it('regression 33: a task may need one that is written after it', () => {
    const journal = started(plan('p', task('late', { needs: ['early'] }), task('early')))
    expect(journal.statuses()).toEqual({ late: 'pending', early: 'running' })
    journal.succeed('early')
    expect(journal.statuses()).toEqual({ late: 'running', early: 'completed' })
  })

  it('finds a cycle exactly when there is one', () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.nat(7), { maxLength: 3 }), { minLength: 1, maxLength: 8 }), list => {
        const needs = list.map(some => [...new Set(some.map(need => need % list.length))])
        const reached = needs.map((_, at) => {
          const seen = new Set<number>()
          for (const queue = [...needs[at]!]; queue.length > 0; ) {
            const next = queue.pop()!
            if (!seen.has(next)) queue.push(...needs[next]!)
            seen.add(next)
          }
          return seen
        })
        const faults = checkGraph(
          plan('p', ...needs.map((some, at) => task(`t${at}`, { needs: some.map(need => `t${need}`) }))),
        )
        expect(faults.length > 0).toBe(reached.some((seen, at) => seen.has(at)))
        const path = faults[0]?.path ?? []
        for (let at = 1; at < path.length; at++)
          expect(needs[Number(path[at]!.slice(1))]).toContain(Number(path[at - 1]!.slice(1)))
      }),
    )
  })
})

describe('a chain of 20,000 tasks', () => {
  it('runs to its end, fails as a whole, is skipped as a whole and retried as a whole without exhausting the stack', () => {
    const journal = started(chain(TASKS_MAX))
    journal.fail('t0')
    expect(journal.state.counts.blocked).toBe(TASKS_MAX - 1)
    expect(journal.state.status).toBe('failed')
    journal.must({ type: 'retry', task: journal.state.order[0]!.definition.id })
    journal.turn()
    for (let at = 0; at < TASKS_MAX; at++) journal.succeed(`t${at}`)
    expect(journal.state.status).toBe('completed')
    journal.must({ type: 'retry', task: journal.state.order[0]!.definition.id, repeat: true })
    expect(journal.state.counts.pending).toBe(TASKS_MAX - 1)
  })

  it('that nobody routed to is skipped in one go', () => {
    const journal = new Journal().create(
      plan('p', task('start', { on: { failure: 't0' } }), ...chain(TASKS_MAX - 1).tasks),
    )
    journal.must(START)
    journal.turn()
    journal.succeed('start')
    expect([journal.state.status, journal.state.counts.skipped]).toEqual(['completed', TASKS_MAX - 1])
  })
})

describe('a baseline of tests', () => {
  const run = { action: { type: 'run', command: { script: 'npm test 2>&1' } } } as const
  const judged = (baseline: string, script = 'npm test') => ({
    accept: [{ type: 'tests', command: { script }, baseline: baseline as TaskName }] as const,
  })

  it('comes before, and runs the command', () => {
    expect(checkGraph(plan('p', task('a', run), task('b', { needs: ['a'], ...judged('a') })))).toEqual([])
  })

  it.each([
    [
      'nobody',
      'npm test',
      ['a'],
      "a check of 'b' compares tests with 'nobody', which does not exist",
      'name a task of this plan',
    ],
    ['a', 'npm test', [], "a check of 'b' compares tests with 'a', which does not come before it", "let 'b' need 'a'"],
    [
      'b',
      'npm test',
      ['a'],
      "a check of 'b' compares tests with 'b', which does not come before it",
      "let 'b' need 'b'",
    ],
    [
      'a',
      'npm run x',
      ['a'],
      "a check of 'b' compares 'npm run x' with 'a', which does not run it",
      "let 'a' run exactly",
    ],
  ])('%s, %s: is refused with a hint', (baseline, script, needs, message, hint) => {
    const [fault, ...more] = checkGraph(plan('p', task('a', run), task('b', { needs, ...judged(baseline, script) })))
    expect(more).toEqual([])
    expect(fault).toMatchObject({ message, key: 'accept', task: 'b' })
    expect(fault?.hint).toContain(hint)
  })
})
