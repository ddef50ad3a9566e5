import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decision, edit, external, gate, name, plan, started, task } from '../../testing/index.ts'
import type { TaskName } from '../id.ts'
import { ITEMS_MAX, SUBPLAN_DEPTH_MAX } from '../limits.ts'
import type { PlanDefinition, TaskDefinition } from '../plan.ts'
import { findDormant } from '../state/task-index.ts'
import { expandTasks } from './expand.ts'
import { bindItems, keepItems } from './for-each.ts'
import { checkGraph } from './graph-rules.ts'

const steps = (...tasks: readonly TaskDefinition[]) => ({ type: 'subplan' as const, tasks })
const graph = (definition: PlanDefinition) =>
  Object.fromEntries(expandTasks(definition).map(({ id, needs }) => [id, needs ?? []]))
const one = (definition: PlanDefinition, id: string): TaskDefinition =>
  expandTasks(definition).find(each => each.id === id)!

describe('a plan without structure', () => {
  it('is its own list of tasks, the very same array', () => {
    const definition = plan('p', task('a'), gate('b', { needs: ['a'] }))
    expect(expandTasks(definition)).toBe(definition.tasks)
  })
})

describe('a subplan', () => {
  it('stands behind its group: it takes over its needs, and the group waits for it', () => {
    const definition = plan(
      'p',
      task('first'),
      task('g', { needs: ['first'], action: steps(task('a'), task('b', { needs: ['a'] }), task('c')) }),
      task('last', { needs: ['g'] }),
    )
    expect(graph(definition)).toEqual({
      first: [],
      g: ['g/a', 'g/b', 'g/c'],
      'g/a': ['first'],
      'g/b': ['g/a'],
      'g/c': ['first'],
      last: ['g'],
    })
    expect(one(definition, 'g').action).toEqual({ type: 'group', children: ['g/a', 'g/b', 'g/c'] })
  })

  it('may stand in a subplan', () => {
    const inner = task('in', { action: steps(task('x'), task('y', { needs: ['x'] })) })
    expect(graph(plan('p', task('g', { action: steps(task('a'), { ...inner, needs: [name('a')] }) })))).toEqual({
      g: ['g/a', 'g/in'],
      'g/a': [],
      'g/in': ['g/in/x', 'g/in/y'],
      'g/in/x': ['g/a'],
      'g/in/y': ['g/in/x'],
    })
  })

  it('without tasks is a group that waits for what it needs itself', () => {
    expect(graph(plan('p', task('a'), task('g', { needs: ['a'], action: steps() })))).toEqual({ a: [], g: ['a'] })
  })

  it('hands down what a child does not say itself', () => {
    const definition = plan(
      'p',
      task('g', {
        when: 'inputs.go',
        optional: true,
        priority: 3,
        milestone: 'beta',
        write: ['src/**'],
        network: [],
        env: { A: '1', B: '1' },
        cwd: 'app',
        timeoutMs: 5_000,
        preconditions: [{ type: 'prose', text: 'the disk is quiet' }],
        accept: [{ type: 'prose', text: 'it is good' }],
        action: steps(task('a', { when: 'exit == 0', priority: 1, env: { B: '2' } }), task('b', { needs: ['a'] })),
      }),
    )
    expect(one(definition, 'g/a')).toEqual({
      id: 'g/a',
      action: { type: 'run', command: { argv: ['true'] } },
      when: '(inputs.go) && (exit == 0)',
      optional: true,
      priority: 1,
      milestone: 'beta',
      write: ['src/**'],
      network: [],
      env: { A: '1', B: '2' },
      cwd: 'app',
      timeoutMs: 5_000,
      preconditions: [{ type: 'prose', text: 'the disk is quiet' }],
    })
    expect(one(definition, 'g/b')).toMatchObject({ when: 'inputs.go', priority: 3, env: { A: '1', B: '1' } })
    expect(one(definition, 'g/b')).not.toHaveProperty('preconditions')
    const { when, preconditions, write, accept } = one(definition, 'g')
    expect({ when, preconditions, write, accept }).toEqual({ accept: [{ type: 'prose', text: 'it is good' }] })
  })

  it('leads by short names to siblings, by full names elsewhere, and into a group by its first tasks', () => {
    const definition = plan(
      'p',
      task('fix', { on: { success: 'g' } }),
      task('g', {
        action: steps(
          task('a', { on: { failure: 'b' } }),
          task('b', { on: { failure: 'fix', success: 'deep' } }),
          task('deep', { action: steps(task('x'), task('y', { needs: ['x'] })) }),
        ),
      }),
    )
    expect(checkGraph(definition)).toEqual([])
    expect(one(definition, 'g/a').on).toEqual({ failure: ['g/b'] })
    expect(one(definition, 'g/b').on).toEqual({ failure: ['fix'], success: ['g/deep/x'] })
    expect(one(definition, 'fix').on).toEqual({ success: ['g/a', 'g/b', 'g/deep/x'] })
  })
})

describe('a matrix', () => {
  it('makes one task for each combination, the first axis slowest, each with its values', () => {
    const definition = plan('p', task('a'), task('m', { needs: ['a'], matrix: { os: ['l', 'w'], node: [20, 22] } }))
    expect(graph(definition)).toEqual({
      a: [],
      m: ['m/1', 'm/2', 'm/3', 'm/4'],
      'm/1': ['a'],
      'm/2': ['a'],
      'm/3': ['a'],
      'm/4': ['a'],
    })
    expect([1, 2, 3, 4].map(at => one(definition, `m/${at}`).bound)).toEqual([
      { index: 0, matrix: { os: 'l', node: 20 } },
      { index: 1, matrix: { os: 'l', node: 22 } },
      { index: 2, matrix: { os: 'w', node: 20 } },
      { index: 3, matrix: { os: 'w', node: 22 } },
    ])
    expect(one(definition, 'm/2').title).toBe('l, node 22')
  })

  it('leaves the way of success to the group, and every other to the children', () => {
    const on = { success: 'next', failure: 'fix' }
    const definition = plan('p', task('m', { matrix: { x: [1] }, on }), task('next'), task('fix'))
    expect([one(definition, 'm').on, one(definition, 'm/1').on]).toEqual([{ success: ['next'] }, { failure: ['fix'] }])
    const decides = plan('p', decision('d', { matrix: { x: [1] }, on }), task('next'), task('fix'))
    expect(one(decides, 'd/1').on).toEqual({ success: ['next'], failure: ['fix'] })
  })

  it('of a subplan makes that subplan several times', () => {
    const definition = plan('p', task('m', { matrix: { x: ['u', 'v'] }, action: steps(task('a'), task('b')) }))
    expect(graph(definition)).toEqual({
      m: ['m/1', 'm/2'],
      'm/1': ['m/1/a', 'm/1/b'],
      'm/1/a': [],
      'm/1/b': [],
      'm/2': ['m/2/a', 'm/2/b'],
      'm/2/a': [],
      'm/2/b': [],
    })
    expect(one(definition, 'm/2/b').bound).toEqual({ index: 1, matrix: { x: 'v' } })
  })
})

describe('for_each', () => {
  it('over items makes one task for each', () => {
    const definition = plan('p', external('f', { forEach: { items: ['x', { y: 1 }] }, title: 'Look' }))
    expect(graph(definition)).toEqual({ f: ['f/1', 'f/2'], 'f/1': [], 'f/2': [] })
    expect([one(definition, 'f/1'), one(definition, 'f/2')]).toMatchObject([
      { title: 'Look (x)', action: { type: 'external' }, bound: { item: 'x', index: 0 } },
      { title: 'Look', bound: { item: { y: 1 }, index: 1 } },
    ])
  })

  it('over an expression first has a task that finds the items, and its children need that one', () => {
    const open = plan('p', task('a'), task('f', { needs: ['a'], forEach: { in: 'tasks.a.outputs.list' } }))
    expect(graph(open)).toEqual({ a: [], f: ['f/items'], 'f/items': ['a'] })
    expect(one(open, 'f/items').action).toEqual({ type: 'items', in: 'tasks.a.outputs.list', of: 'f' })
    const bound = bindItems(open, name('f'), ['x', 'y'])
    expect(bound.tasks[1]?.forEach).toEqual({ in: 'tasks.a.outputs.list', items: ['x', 'y'] })
    expect(graph(bound)).toEqual({
      a: [],
      f: ['f/items', 'f/1', 'f/2'],
      'f/items': ['a'],
      'f/1': ['f/items'],
      'f/2': ['f/items'],
    })
  })

  it('asks a condition before it looks for items, unless the condition speaks of them', () => {
    const definition = (when: string) => plan('p', task('f', { when, forEach: { in: '[1]' } }))
    expect(one(definition('inputs.go'), 'f/items').when).toBe('inputs.go')
    expect(one(definition('item > 1'), 'f/items').when).toBeUndefined()
  })

  it('is bound inside a subplan by its full name', () => {
    const definition = plan('p', task('g', { action: steps(task('f', { forEach: { in: '[1]' } })) }))
    expect(graph(bindItems(definition, name('g/f'), [1]))).toEqual({
      g: ['g/f'],
      'g/f': ['g/f/items', 'g/f/1'],
      'g/f/items': [],
      'g/f/1': ['g/f/items'],
    })
  })

  it('keeps the items that were found when a revision leaves them open, for the same expression only', () => {
    const written = (list: string) => plan('p', task('g', { action: steps(task('f', { forEach: { in: list } })) }))
    const bound = bindItems(written('[1]'), name('g/f'), [1])
    expect(keepItems(bound, written('[1]'))).toEqual(bound)
    const other = written('[2]')
    expect(keepItems(bound, other)).toBe(other)
  })
})

describe('checking a structured plan', () => {
  const codes = (definition: PlanDefinition) => checkGraph(definition).map(({ code, task: at, key }) => [code, at, key])

  it('names the full task: twice the same id, a need that is not beside it, a circle, a scope too wide', () => {
    expect(codes(plan('p', task('g', { action: steps(task('a'), task('a')) })))).toEqual([['duplicate', 'g/a', 'id']])
    const outside = plan('p', task('o'), task('g', { action: steps(task('a', { needs: ['o'] })) }))
    expect(checkGraph(outside)).toEqual([
      {
        code: 'unknown-reference',
        message: "task 'g/a' needs 'o', which does not exist beside it",
        hint: "let the task around it need 'o'",
        task: 'g/a',
        key: 'needs',
        at: [0],
      },
    ])
    expect(codes(plan('p', task('g', { action: steps(task('a', { on: { failure: 'nowhere' } })) })))).toEqual([
      ['unknown-reference', 'g/a', 'on'],
    ])
    expect(
      codes(
        plan('p', task('g', { action: steps(task('a', { needs: ['b'] }), task('b', { needs: ['a'] })) }), task('z')),
      ),
    ).toEqual([['cycle', 'g/b', 'needs']])
    expect(
      codes(
        plan('p', task('g', { action: steps(edit('a', 'x', { write: ['etc/x'] })) }), {
          policy: { write: ['src/**'] },
        }),
      ),
    ).toEqual([['policy', 'g/a', 'write']])
    expect(codes(plan('p', task('g/a'), task('g', { action: steps(task('a')) })))).toEqual([
      ['duplicate', 'g/a', 'id'],
      ['structure', 'g/a', 'id'],
    ])
    expect(codes(plan('p', task('m/9'), task('m', { matrix: { x: [1, 2] } })))).toEqual([['structure', 'm/9', 'id']])
  })

  it('finds a circle that goes through a group', () => {
    const definition = plan('p', task('g', { needs: ['h'], action: steps(task('a')) }), task('h', { needs: ['g/a'] }))
    expect(codes(definition)).toEqual([['cycle', 'h', 'needs']])
  })

  it('knows what recovers, and who is meant', () => {
    const modes = (recover: string) => [
      { name: 'flaky', detect: { type: 'expect' as const, expression: 'exit == 2' }, recover: [name(recover)] },
    ]
    expect(checkGraph(plan('p', task('a', { failureModes: modes('fxi') }), task('fix')))).toMatchObject([
      { code: 'unknown-reference', key: 'failure_modes', hint: "did you mean 'fix'?" },
    ])
    const good = plan('p', task('a', { failureModes: modes('fix') }), task('fix'))
    expect(checkGraph(good)).toEqual([])
    expect([...findDormant(started(good).state)]).toEqual(['fix'])
  })

  it('bounds depth, products, items and names before anything is expanded', () => {
    const deep = (depth: number): TaskDefinition => task('s', depth === 0 ? {} : { action: steps(deep(depth - 1)) })
    expect(codes(plan('p', deep(SUBPLAN_DEPTH_MAX)))).toEqual([])
    expect(codes(plan('p', deep(SUBPLAN_DEPTH_MAX + 1)))).toMatchObject([['limit', expect.anything(), 'subplan']])
    const axis = Array.from({ length: 100 }, (_, at) => at)
    const wide = plan('p', task('m', { matrix: { a: axis, b: axis, c: axis, d: axis, e: axis, f: axis } }))
    expect(codes(wide)).toEqual([['limit', 'm', 'matrix']])
    const items = Array.from({ length: ITEMS_MAX + 1 }, () => 1)
    expect(codes(plan('p', task('f', { forEach: { items } })))).toEqual([['limit', 'f', 'for_each']])
    const many = Array.from({ length: 200 }, (_, at) => task(`t${at}`))
    expect(codes(plan('p', task('m', { matrix: { a: axis, b: [1, 2] }, action: steps(...many) })))).toEqual([
      ['limit', undefined, undefined],
    ])
    const long = 'x'.repeat(60)
    expect(codes(plan('p', task(long, { action: steps(task(long)) })))).toEqual([['limit', `${long}/${long}`, 'id']])
  })

  it('refuses a list that is found inside a list, and a list beside a matrix', () => {
    const inner = task('f', { forEach: { in: 'item.files' } })
    expect(codes(plan('p', task('m', { matrix: { x: [1] }, action: steps(inner) })))).toEqual([
      ['structure', 'm/1/f', 'for_each'],
    ])
    expect(codes(plan('p', task('m', { matrix: { x: [1] }, forEach: { items: [] } })))).toEqual([
      ['structure', 'm', 'matrix'],
    ])
  })

  it('looks below a list that is empty', () => {
    const definition = plan('p', task('f', { forEach: { items: [] }, action: steps(task('a', { needs: ['b'] })) }))
    expect(codes(definition)).toEqual([['unknown-reference', 'f/1/a', 'needs']])
    expect(codes(plan('p', task('f', { forEach: { items: [] }, action: steps(task('a')) })))).toEqual([])
  })
})

// ── whatever is written ────────────────────────────────────────────────────────────────────────────────────────────

const ID = fc.constantFrom('a', 'b', 'c', 'd')

function tasksOf(depth: number): fc.Arbitrary<readonly TaskDefinition[]> {
  const action =
    depth === 0
      ? fc.constant(undefined)
      : fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: tasksOf(depth - 1) })
  const many = fc.constantFrom(
    {},
    {},
    {},
    { matrix: { x: [1, 2], y: ['u', 'v'] } },
    { forEach: { items: ['p', 'q'] } },
    { forEach: { items: [] } },
    { forEach: { in: '[1]' } },
    { forEach: { in: '[1]', items: [3] } },
  )
  return fc.uniqueArray(
    fc
      .record({
        id: ID,
        needs: fc.array(ID, { maxLength: 2 }),
        on: fc.array(fc.oneof(ID, fc.constantFrom('a/b', 'c/1')), { maxLength: 2 }),
        action,
        many,
        // Mostly needs that point back, so that many plans are clean.
        tame: fc.integer({ min: 0, max: 9 }),
      })
      .map(({ needs, tame, ...rest }) => ({
        ...rest,
        needs: tame === 0 ? needs : needs.filter(need => need < rest.id),
      }))
      .map(({ id, needs, on, action: inner, many: times }) =>
        task(id, {
          ...times,
          ...(needs.length === 0 ? {} : { needs }),
          ...(on.length === 0 ? {} : { on: { failure: on } }),
          action: inner === undefined ? undefined : steps(...inner),
        }),
      ),
    { minLength: 1, maxLength: 4, selector: ({ id }) => id },
  )
}

describe('expanding whatever is written', () => {
  it('never throws; and what checkGraph finds clean has unique names, known needs and no circle', () => {
    let clean = 0
    fc.assert(
      fc.property(tasksOf(2), tasks => {
        const definition = plan('p', ...tasks)
        const flat = expandTasks(definition)
        if (checkGraph(definition).length > 0) return
        clean++
        const names = flat.map(({ id }) => id)
        expect(new Set(names).size).toBe(names.length)
        for (const { needs } of flat) for (const need of needs ?? []) expect(names).toContain(need)
        expect(isAcyclic(flat)).toBe(true)
        for (const { on } of flat) for (const target of Object.values(on ?? {}).flat()) expect(names).toContain(target)
      }),
      { numRuns: 2_000 },
    )
    expect(clean).toBeGreaterThan(100)
  })
})

function isAcyclic(tasks: readonly TaskDefinition[]): boolean {
  const left = new Map<TaskName, ReadonlySet<TaskName>>(tasks.map(({ id, needs }) => [id, new Set(needs)]))
  for (let moved = true; moved; ) {
    moved = false
    for (const [id, needs] of left) {
      if ([...needs].some(need => left.has(need))) continue
      left.delete(id)
      moved = true
    }
  }
  return left.size === 0
}
