import { describe, expect, it } from 'vitest'
import { decision, edit, external, gate, name, plan, task } from '../../testing/plan.ts'
import type { TaskDefinition } from '../plan.ts'
import { analyze } from './analyze.ts'

const M = 60_000
const pure = { effect: 'pure' } as const

describe('waves', () => {
  it('put every task behind what it needs, in the order of the document', () => {
    const { waves, groups } = analyze(
      plan(
        'p',
        task('d', { needs: ['b', 'c'] }),
        task('a'),
        task('c', { needs: ['a'] }),
        task('b', { needs: ['a'] }),
        task('x'),
      ),
    )
    expect(waves).toEqual([['a', 'x'], ['c', 'b'], ['d']])
    expect(groups).toEqual([['d', 'a', 'c', 'b'], ['x']])
  })

  it('put a sleeping task behind the first one whose outcome leads there', () => {
    const { waves, conditional, unplaced } = analyze(
      plan(
        'p',
        task('a'),
        decision('which', { needs: ['a'], on: { yes: 'finish', no: 'a' } }),
        task('finish'),
        task('after', { needs: ['finish'] }),
      ),
    )
    expect(waves).toEqual([['a'], ['which'], ['finish'], ['after']])
    expect(conditional).toEqual(['finish'])
    expect(unplaced).toEqual([])
  })

  it('count the children of subplans and matrices', () => {
    const { waves, tasks, topLevel } = analyze(
      plan(
        'p',
        task('g', { action: { type: 'subplan', tasks: [task('one'), task('two', { needs: ['one'] })] } }),
        task('m', { needs: ['g'], matrix: { os: ['a', 'b'] } }),
      ),
    )
    expect(waves).toEqual([['g/one'], ['g/two'], ['g'], ['m/1', 'm/2'], ['m']])
    expect([tasks, topLevel]).toEqual([6, 2])
  })
})

describe('the critical path', () => {
  it('is the chain that takes longest, and a root has its own length', () => {
    const { criticalPath } = analyze(
      plan(
        'p',
        task('short', { estimateMs: M }),
        task('long', { estimateMs: 10 * M }),
        task('end', { needs: ['short', 'long'], estimateMs: 2 * M }),
      ),
    )
    expect(criticalPath).toEqual({ tasks: ['long', 'end'], ms: 12 * M })
  })

  it('of one task is that task', () => {
    expect(analyze(plan('p', task('a', { estimateMs: 5 * M }))).criticalPath).toEqual({ tasks: ['a'], ms: 5 * M })
  })
})

describe('the estimate', () => {
  it('says where lengths come from, and what is assumed', () => {
    const { estimate } = analyze(
      plan('p', task('a', { estimateMs: 3 * M }), task('b', { budget: { timeMs: 4 * M } }), task('c'), decision('d')),
      { assumedMs: 5 * M },
    )
    expect(estimate.from).toEqual({ estimate: 1, budget: 1, assumed: 1, none: 1 })
    expect(estimate.totalMs).toBe(12 * M)
    expect(estimate.assumedMs).toBe(5 * M)
  })

  it('plays the plan through within its concurrency', () => {
    const tasks = ['a', 'b', 'c', 'd'].map(id => task(id, { estimateMs: M }))
    expect(analyze(plan('p', ...tasks, { concurrency: 2 }))).toMatchObject({
      estimate: { elapsedMs: 2 * M, totalMs: 4 * M, speedUp: 2, speedUpMax: 4, exact: true },
      parallelism: { waves: 4, effective: 2, engine: 2, concurrency: 2, average: 2 },
    })
  })

  it('runs tasks with overlapping write scopes one after the other', () => {
    const writes = (id: string, ...write: readonly string[]) => task(id, { write, network: [], estimateMs: M })
    const { estimate, parallelism } = analyze(
      plan('p', writes('a', 'src/**'), writes('b', 'src/b/x.ts'), writes('c', 'doc/**')),
    )
    expect(parallelism).toMatchObject({ waves: 3, effective: 2 })
    expect(estimate.elapsedMs).toBe(2 * M)
  })

  it('gives agents and people a place beside the engine', () => {
    const { parallelism } = analyze(plan('p', task('a'), task('b'), external('c'), external('d'), { concurrency: 1 }))
    expect(parallelism).toMatchObject({ effective: 3, engine: 1 })
  })

  it('lets the children of a group take its estimate, or the group itself when they say none', () => {
    const group = (...tasks: readonly TaskDefinition[]) =>
      plan('p', task('g', { estimateMs: 9 * M, action: { type: 'subplan', tasks } }))
    expect(analyze(group(task('a', { estimateMs: M }), task('b', { estimateMs: 2 * M }))).estimate.totalMs).toBe(3 * M)
    expect(analyze(group(task('a'), task('b'))).estimate.totalMs).toBe(9 * M)
  })

  it('adds up what the tasks may cost, by currency', () => {
    const cost = (amount: number, currency: string) => ({ budget: { cost: { amount, currency } } })
    const { cost: sums } = analyze(
      plan('p', task('a', cost(0.1, 'USD')), task('b', cost(0.2, 'USD')), task('c', cost(3, 'EUR')), task('d'), {
        policy: { budget: { cost: { amount: 1, currency: 'USD' } } },
      }),
    )
    expect(sums).toEqual({
      tasks: [
        { currency: 'EUR', amount: 3 },
        { currency: 'USD', amount: 0.3 },
      ],
      unsaid: 1,
      plan: { amount: 1, currency: 'USD' },
    })
  })

  it('counts by kind, action and effect, whatever a kind is called', () => {
    const { counts } = analyze(plan('p', task('a', { kind: '__proto__' }), task('b', pure), gate('c')))
    expect(Object.entries(counts.kind)).toEqual([
      ['unsaid', 2],
      ['__proto__', 1],
    ])
    expect(counts.action).toEqual({ run: 2, gate: 1 })
    expect(counts.effect).toEqual({ pure: 2, unsafe: 1 })
  })
})

describe('regression 20: analysis of a bad graph ends', () => {
  it('names the circle and what stands behind it, and analyses the rest', () => {
    const { findings, waves, unplaced, criticalPath } = analyze(
      plan(
        'p',
        task('ok'),
        task('a', { needs: ['c'] }),
        task('b', { needs: ['a'] }),
        task('c', { needs: ['b'] }),
        task('d', { needs: ['c', 'ok'] }),
      ),
    )
    expect(findings[0]).toMatchObject({
      code: 'cycle',
      severity: 'error',
      message: expect.stringMatching(/[abc] → [abc] → [abc] → [abc]/),
    })
    expect(waves).toEqual([['ok']])
    expect(unplaced).toEqual(['a', 'b', 'c', 'd'])
    expect(criticalPath.tasks).toEqual(['ok'])
  })

  it('whatever is missing, said twice, or needs itself', () => {
    const bad = plan(
      'p',
      task('a', { needs: ['nowhere', 'a'], on: { failure: 'gone' } }),
      task('a'),
      task('b', { needs: ['a', 'a', 'b'] }),
    )
    const codes = analyze(bad).findings.map(({ code }) => code)
    expect(codes).toEqual(expect.arrayContaining(['unknown-reference', 'duplicate', 'cycle']))
  })

  const long = 20_000
  const chain = Array.from({ length: long }, (_, at) => task(`t${at}`, at === 0 ? {} : { needs: [`t${at - 1}`] }))

  it('in a chain of 20,000', () => {
    const { waves, criticalPath } = analyze(plan('p', ...chain))
    expect([waves.length, criticalPath.tasks.length]).toEqual([long, long])
  })

  it('in a circle of 20,000', () => {
    const circle = [task('t0', { needs: [`t${long - 1}`] }), ...chain.slice(1)]
    expect(analyze(plan('p', ...circle)).unplaced.length).toBe(long)
  })

  it('in a fan of 5,000 that write one file and lead to one task', () => {
    const fan = Array.from({ length: 5_000 }, (_, at) =>
      task(`t${at}`, { write: ['one/file'], network: [], on: { failure: 't0' } }),
    )
    expect(analyze(plan('p', ...fan)).estimate.elapsedMs).toBe(5_000 * M)
  })

  it('in loops of outcomes', () => {
    const { findings, waves } = analyze(
      plan('p', task('a', { on: { failure: 'b' } }), task('b', { on: { success: 'a', failure: 'b' } })),
    )
    expect(waves).toEqual([['a'], ['b']])
    expect(findings.filter(({ code }) => code === 'default-visits').map(({ task: id }) => id)).toEqual(['b', 'b'])
  })
})

it('an empty plan is an error and nothing else is wrong', () => {
  const { waves, estimate, findings } = analyze(plan('p'))
  expect(waves).toEqual([])
  expect(estimate).toMatchObject({ totalMs: 0, elapsedMs: 0, speedUp: 1 })
  expect(findings[0]).toMatchObject({ code: 'empty', severity: 'error' })
})

it('says the same every time, and changes nothing', () => {
  const definition = plan('p', edit('a', 'x'), edit('b', 'x'), gate('c', { needs: ['a'], on: { rejected: name('a') } }))
  const before = JSON.stringify(definition)
  expect(analyze(definition)).toEqual(analyze(definition))
  expect(JSON.stringify(definition)).toBe(before)
})
