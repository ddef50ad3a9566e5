import { describe, expect, it } from 'vitest'
import { create, edit, external, Journal, name, plan, started, task } from '../../testing/index.ts'
import type { CommandOf } from '../command.ts'
import type { Json } from '../json.ts'
import { compareRuns, type Run, type Tried } from './compare.ts'

const base = () => [task('a'), task('b', { needs: ['a'] }), edit('c', 'x.txt')] as const

function run(definition: ReturnType<typeof plan>, live: (journal: ReturnType<typeof started>) => void): Run {
  const journal = started(definition)
  journal.prepare('c', { preimage: 'f'.repeat(64) as never })
  live(journal)
  const attempts: Tried[] = []
  for (const { now, events } of journal.entries)
    for (const event of events) {
      if (event.type === 'attempt.started')
        attempts.push({
          task: event.task,
          attempt: event.attempt,
          status: 'running',
          startedAt: now,
          endedAt: null,
          durationMs: null,
        })
      if (event.type === 'attempt.succeeded' || event.type === 'attempt.failed') {
        const at = attempts.findLastIndex(one => one.task === event.task)
        attempts[at] = {
          ...attempts[at]!,
          status: event.type === 'attempt.succeeded' ? 'succeeded' : 'failed',
          endedAt: now,
          durationMs: event.result.durationMs ?? null,
        }
      }
    }
  return { state: journal.state, attempts }
}

const files = (after: string | null): Json => [{ path: 'x.txt', before: null, after }]

describe('two runs side by side', () => {
  it('of the same plan that went the same way differ in nothing but their names and times', () => {
    const live = (journal: ReturnType<typeof started>) => {
      journal.succeed('a', { outputs: { n: 1, deep: { x: 1, y: 2 } } })
      journal.succeed('c', { outputs: { files: files('1') } })
      journal.clock.advance(5_000)
      journal.succeed('b', { durationMs: 5_000 })
    }
    const a = run(plan('one', ...base()), live)
    const b = run(plan('two', ...base()), journal => {
      journal.succeed('a', { outputs: { deep: { y: 2, x: 1 }, n: 1 } })
      journal.succeed('c', { outputs: { files: files('1') } })
      journal.clock.advance(90)
      journal.succeed('b', { durationMs: 90 })
    })
    const compared = compareRuns(a, b)
    expect(compared.definition).toMatchObject({ same: true, summary: 'no change' })
    expect(compared.tasks.flatMap(({ differs }) => differs)).toEqual([])
    expect(compared.files).toEqual([])
    expect(compared.a).toMatchObject({ name: 'one', status: 'completed', durationMs: 5_000, attempts: 3, retries: 0 })
    expect(compared.b).toMatchObject({ name: 'two', status: 'completed', durationMs: 90, failures: 0, lost: 0 })
    expect(compared.tasks[1]).toMatchObject({ task: 'b', a: { durationMs: 5_000 }, b: { durationMs: 90 } })
  })

  it('tell of every task what went another way, of outputs which, and of files how they were left', () => {
    const retry = { attempts: 2, backoffMs: { min: 1, max: 1 } }
    const a = run(plan('one', ...base()), journal => {
      journal.succeed('a', { outputs: { n: 1, same: [1] }, outcome: 'left', exit: 0 })
      journal.succeed('c', { outputs: { files: files('1') } })
      journal.succeed('b')
    })
    const b = run(
      plan('two', task('a', { retry }), task('b', { needs: ['a'] }), edit('c', 'x.txt'), external('d')),
      journal => {
        journal.fail('a', { retryable: true })
        journal.clock.advance(10)
        journal.turn()
        journal.succeed('a', { outputs: { n: 2, same: [1], more: null }, outcome: 'right', exit: 3 })
        journal.succeed('c', { outputs: { files: files(null) } })
      },
    )
    const compared = compareRuns(a, b)
    expect(compared.definition.same).toBe(false)
    expect(compared.definition.diff.added).toMatchObject([{ task: 'd' }])
    expect(compared.definition.diff.plan).toEqual([])
    const [first, second, third, fourth] = compared.tasks
    expect(first).toMatchObject({
      task: 'a',
      differs: ['outcome', 'attempts', 'exit', 'outputs'],
      outputs: ['more', 'n'],
      a: { outcome: 'left', attempts: 1, exit: 0 },
      b: { outcome: 'right', attempts: 2, exit: 3 },
    })
    expect(second).toMatchObject({
      task: 'b',
      differs: ['status'],
      a: { status: 'completed' },
      b: { status: 'running' },
    })
    expect(third).toMatchObject({ task: 'c', differs: ['outputs'], outputs: ['files'] })
    expect(fourth).toMatchObject({ task: 'd', a: null, differs: ['missing'], b: { status: 'ready' } })
    expect(compared.files).toEqual([{ path: 'x.txt', a: '1', b: null }])
    expect(compared.b).toMatchObject({ durationMs: null, attempts: 4, retries: 1, failures: 1 })
    // The other way round it is the same comparison.
    expect(compareRuns(b, a).tasks.map(({ differs }) => differs.length > 0)).toEqual([true, true, true, true])
  })

  it('follow a task that was renamed, and take hostile names as they are', () => {
    const outputs = JSON.parse('{"__proto__":1,"constructor":2}')
    const a = run(plan('one', task('before', { title: 'Same', kind: 'k' }), edit('c', 'x.txt')), journal => {
      journal.succeed('before', { outputs })
    })
    const b = run(plan('two', task('after', { title: 'Same', kind: 'k' }), edit('c', 'x.txt')), journal => {
      journal.succeed('after', { outputs: {} })
    })
    const compared = compareRuns(a, b)
    expect(compared.tasks.map(({ task, renamed }) => [task, renamed])).toEqual([
      ['before', 'after'],
      ['c', null],
    ])
    expect(compared.tasks[0]!.outputs).toEqual(['__proto__', 'constructor'])
  })
  it('of which one brought tasks along: that nobody tried them there is no difference', () => {
    const definition = plan('one', task('a'), task('b', { needs: ['a'] }), edit('c', 'x.txt'))
    const a = run(definition, journal => {
      journal.succeed('a', { outputs: { n: 1 } })
    })
    const journal = new Journal()
    const imported = [{ task: name('a'), status: 'completed', result: a.state.tasks.get(name('a'))!.result! }] as const
    journal.must({ ...create(plan('two', ...definition.tasks)), origin: a.state.id, imported } as CommandOf<'create'>)
    const compared = compareRuns(a, { state: journal.state, attempts: [] })
    expect(compared.tasks[0]).toMatchObject({ task: 'a', differs: [], a: { brought: false }, b: { brought: true } })
    expect(compared.b.origin).toBe(a.state.id)
  })

  it('differ in the files they were seen to leave', () => {
    const same = run(plan('one', task('a'), edit('c', 'x.txt')), () => {})
    const left = (...files: [string, string | null][]) => ({ ...same, files: new Map(files) })
    const compared = compareRuns(
      left(['a', '1'], ['b', '2'], ['c', null]),
      left(['a', '1'], ['b', 'folder'], ['d', '4']),
    )
    expect(compared.files).toEqual([
      { path: 'b', a: '2', b: 'folder' },
      { path: 'c', a: null },
      { path: 'd', b: '4' },
    ])
  })
})
