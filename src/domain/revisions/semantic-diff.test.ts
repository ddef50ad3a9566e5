import { describe, expect, it } from 'vitest'
import { external, plan, task } from '../../testing/index.ts'
import type { TaskDefinition } from '../plan.ts'
import { isEmpty, semanticDiff, summarise } from './semantic-diff.ts'

const subplan = (id: string, ...tasks: readonly TaskDefinition[]): TaskDefinition =>
  task(id, { action: { type: 'subplan', tasks } })
const names = (tasks: readonly { readonly task: string }[]): readonly string[] => tasks.map(one => one.task)

describe('a semantic diff', () => {
  it('of equal plans is empty, whoever wrote the keys in which order', () => {
    const a = plan('p', task('a', { title: 'A', write: ['x'] }))
    const b = plan('p', task('a', { write: ['x'], title: 'A' }))
    expect(isEmpty(semanticDiff(a, b))).toBe(true)
    expect(summarise(semanticDiff(a, b))).toBe('no change')
  })

  it('sorts what changed by what it means', () => {
    const before = plan('p', task('a', { title: 'A', timeoutMs: 1000, needs: [], write: ['x'], expect: 'true' }))
    const after = plan(
      'p',
      task('a', { title: 'B', timeoutMs: 2000, visits: 2, write: ['y'], expect: 'exit == 0', inputs: { n: 1 } }),
    )
    const [changed] = semanticDiff(before, after).changed
    expect(changed?.changes.map(({ kind, key }) => `${kind} ${key}`)).toEqual([
      'scope write',
      'criteria expect',
      'route needs',
      'route visits',
      'budget timeoutMs',
      'data inputs',
      'wording title',
    ])
    expect(changed?.changes[2]).toEqual({ kind: 'route', key: 'needs', before: [] })
    expect(changed?.changes[4]).toEqual({ kind: 'budget', key: 'timeoutMs', before: 1000, after: 2000 })
  })

  it('tells changes of the plan one by one', () => {
    const before = {
      ...plan('p', task('a')),
      policy: { write: ['x'], budget: { attempts: 2 } },
      concurrency: 1,
      place: ['a'],
    }
    const after = { ...plan('p', task('a')), policy: { write: ['x'], network: [] }, concurrency: 2, goal: 'g' }
    expect(semanticDiff(before, after).plan.map(({ kind, key }) => `${kind} ${key}`)).toEqual([
      'scope place',
      'scope policy.network',
      'budget concurrency',
      'budget policy.budget',
      'wording goal',
    ])
  })

  it('knows a task by its content when only its id is new, and lets whoever needs it follow', () => {
    const before = plan('p', task('a', { title: 'A' }), task('b', { title: 'B', needs: ['a'] }))
    const after = plan('p', task('x', { title: 'A' }), task('b', { title: 'B', needs: ['x'] }))
    expect(semanticDiff(before, after)).toEqual({
      plan: [],
      removed: [],
      added: [],
      renamed: [{ from: 'a', to: 'x' }],
      changed: [],
      reordered: [],
    })
  })

  it('knows a whole chain that was renamed', () => {
    const chain = (prefix: string) =>
      plan(
        'p',
        ...[1, 2, 3].map(n => task(`${prefix}${n}`, { title: `T${n}`, needs: n === 1 ? [] : [`${prefix}${n - 1}`] })),
      )
    const diff = semanticDiff(chain('a'), chain('b'))
    expect(diff.renamed).toHaveLength(3)
    expect(summarise(diff)).toBe('renamed a1 → b1, a2 → b2, a3 → b3')
  })

  it('guesses no renaming: neither among twins nor of a task that says nothing', () => {
    const twins = semanticDiff(
      plan('p', task('a', { title: 'T' }), task('b', { title: 'T' })),
      plan('p', task('x', { title: 'T' })),
    )
    expect([names(twins.removed), names(twins.added), twins.renamed]).toEqual([['a', 'b'], ['x'], []])
    const mute = semanticDiff(plan('p', external('a')), plan('p', external('x')))
    expect([names(mute.removed), names(mute.added), mute.renamed]).toEqual([['a'], ['x'], []])
  })

  it('a renamed task whose ways changed too is told twice', () => {
    const diff = semanticDiff(
      plan('p', task('z'), task('a', { title: 'A' })),
      plan('p', task('z'), task('x', { title: 'A', needs: ['z'] })),
    )
    expect(diff.renamed).toEqual([{ from: 'a', to: 'x' }])
    expect(diff.changed).toEqual([{ task: 'x', changes: [{ kind: 'route', key: 'needs', after: ['z'] }] }])
  })

  it('goes into subplans, and names their steps in full', () => {
    const before = plan('p', subplan('s', task('a', { title: 'A' }), task('b', { title: 'B' }), external('c')))
    const after = plan('p', subplan('s', task('b', { title: 'B2' }), task('n', { title: 'A' }), external('d')))
    const diff = semanticDiff(before, after)
    expect([names(diff.removed), names(diff.added), diff.renamed, names(diff.changed), diff.reordered]).toEqual([
      ['s/c'],
      ['s/d'],
      [{ from: 's/a', to: 's/n' }],
      ['s/b'],
      ['s'],
    ])
  })

  it('a subplan that becomes a command is another action', () => {
    const diff = semanticDiff(plan('p', subplan('s', task('a'))), plan('p', task('s')))
    expect(diff.changed).toMatchObject([{ task: 's', changes: [{ kind: 'action', key: 'action' }] }])
  })

  it('sees another order among the tasks in both, and only there', () => {
    const of = (...ids: readonly string[]) => plan('p', ...ids.map(id => task(id, { title: id })))
    expect(semanticDiff(of('a', 'b', 'c'), of('n', 'a', 'c')).reordered).toEqual([])
    expect(semanticDiff(of('a', 'b', 'c'), of('c', 'a')).reordered).toEqual([null])
  })

  it('is summed up in one line that stays short', () => {
    const of = (...ids: readonly string[]) => plan('p', task('k'), ...ids.map(id => task(id, { title: id })))
    const diff = semanticDiff(of('a', 'b'), { ...of('c', 'd', 'e', 'f', 'g'), title: 'T' })
    expect(summarise(diff)).toBe('added c, d, e and 2 more; removed a, b; plan title')
  })

  it('compares 20,000 tasks in a moment', () => {
    const of = (word: string) =>
      plan(
        'p',
        ...Array.from({ length: 20_000 }, (_, at) => task(`t${at}`, { title: `${word} ${at % 7 === 0 ? word : ''}` })),
      )
    expect(semanticDiff(of('a'), of('b')).changed).toHaveLength(20_000)
  })

  it('is safe with names that are no ordinary keys', () => {
    const hostile = JSON.parse('{"name":"p","tasks":[{"id":"a","action":{"type":"external"},"extra":{"__proto__":1}}]}')
    const plain = JSON.parse('{"name":"p","tasks":[{"id":"a","action":{"type":"external"},"extra":{}}]}')
    expect(semanticDiff(hostile, plain).changed).toMatchObject([{ changes: [{ kind: 'other', key: 'extra' }] }])
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })
})
