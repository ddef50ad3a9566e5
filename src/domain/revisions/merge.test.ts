import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { planDefinition } from '../../format/plan/definition.arbitrary.ts'
import { renameTasks } from '../../format/plan/rename-tasks.ts'
import { external, name, plan, started, task } from '../../testing/index.ts'
import type { TaskName } from '../id.ts'
import type { PlanDefinition, TaskDefinition } from '../plan.ts'
import type { TaskStatus } from '../status.ts'
import { type MergeMode, mergeDefinitions, orderTasks, removeTasks, type Standings } from './merge.ts'

const RAN: ReadonlySet<TaskStatus> = new Set(['running', 'waiting', 'completed', 'failed'])
const standing = (statuses: { readonly [task: string]: TaskStatus }): Standings =>
  new Map(Object.entries(statuses).map(([id, status]) => [name(id), { status, ran: RAN.has(status) }]))

function merge(
  current: PlanDefinition,
  written: PlanDefinition,
  mode: MergeMode,
  statuses: { readonly [task: string]: TaskStatus } = {},
  claimed: { readonly [task: string]: TaskStatus } = {},
) {
  return mergeDefinitions(
    {
      current: deepFreeze(current),
      written: deepFreeze(written),
      mode,
      standings: standing(statuses),
      claimed: new Map(Object.entries(claimed) as [TaskName, TaskStatus][]),
    },
    renameTasks,
  )
}
const ids = (definition: PlanDefinition): readonly string[] => definition.tasks.map(({ id }) => id)
const fates = (merged: ReturnType<typeof merge>): readonly string[] =>
  merged.fates.map(({ task: id, fate }) => `${id} ${fate}`)

describe('tasks of a rewritten plan are known', () => {
  it('by id, then by id in other case, then by title, and are called as the plan calls them', () => {
    const current = plan(
      'p',
      task('a', { title: 'One' }),
      task('Build', { title: 'Two' }),
      task('c', { title: 'Three' }),
    )
    const written = plan(
      'p',
      task('1', { title: 'Three', needs: ['build'] }),
      task('build', { title: 'Two!' }),
      task('a', { title: 'Three', when: "tasks['1'].visit > 0" }),
    )
    const merged = merge(current, written, 'replace')
    expect(merged.definition.tasks).toMatchObject([
      { id: 'c', needs: ['Build'] },
      { id: 'Build' },
      { id: 'a', when: 'tasks.c.visit > 0' },
    ])
    expect(merged.notes.map(({ message }) => message)).toEqual([
      "'build' is taken to be 'Build': only upper and lower case differ",
      "'1' is taken to be 'c': it has the same title",
    ])
  })

  it('in expressions, too', () => {
    const current = plan('p', task('fetch-docs', { title: 'Fetch' }))
    const written = plan('p', task('s1', { title: 'Fetch' }), task('s2', { when: 'tasks.s1.visit > 0' }))
    expect(merge(current, written, 'merge').definition.tasks[1]).toMatchObject({
      when: "tasks['fetch-docs'].visit > 0",
    })
  })

  it('never by their place, and not when two could be meant', () => {
    const current = plan('p', task('a', { title: 'Same' }), task('b', { title: 'Same' }), task('c'))
    const merged = merge(current, plan('p', task('x', { title: 'Same' }), task('y'), task('z')), 'replace')
    expect(ids(merged.definition)).toEqual(['x', 'y', 'z'])
    expect(merged.notes).toEqual([])
  })
})

describe('a merge', () => {
  it('keeps what is not mentioned: tasks in their places, keys of tasks, keys of the plan', () => {
    const current = {
      ...plan('p', task('a', { retry: RETRY, title: 'A' }), task('b'), task('c', { needs: ['b'] }), task('d')),
      goal: 'g',
      policy: { write: ['src/**'] },
    }
    const written = { ...plan('p', task('d'), task('n'), task('a', { title: 'A2' })), goal: 'better' }
    const { definition } = merge(current, written, 'merge')
    expect(ids(definition)).toEqual(['d', 'n', 'a', 'b', 'c'])
    expect(definition).toMatchObject({ goal: 'better', policy: { write: ['src/**'] } })
    expect(definition.tasks[2]).toMatchObject({ title: 'A2', retry: RETRY })
  })

  it('keeps how a task is carried out when the text does not say', () => {
    const merged = merge(plan('p', task('a')), plan('p', external('a', { title: 'A' })), 'merge')
    expect(merged.definition.tasks[0]).toMatchObject({ title: 'A', action: { type: 'run' } })
    expect(merged.notes).toMatchObject([{ code: 'action', task: 'a' }])
    const said = merge(plan('p', task('a')), plan('p', external('a', { instruction: 'look' })), 'merge')
    expect(said.definition.tasks[0]).toMatchObject({ action: { type: 'external' }, instruction: 'look' })
  })

  it('goes into subplans', () => {
    const sub = (...tasks: readonly TaskDefinition[]) => plan('p', task('s', { action: { type: 'subplan', tasks } }))
    const { definition } = merge(sub(task('a', { title: 'A' }), task('b')), sub(task('a', { kind: 'k' })), 'merge')
    expect(definition.tasks[0]!.action).toMatchObject({ tasks: [{ id: 'a', title: 'A', kind: 'k' }, { id: 'b' }] })
  })

  it('keeps the items a list had when it was expanded', () => {
    const each = (items?: readonly string[]) => plan('p', task('a', { forEach: { in: 'inputs.list', items } }))
    for (const mode of ['merge', 'replace'] as const)
      expect(merge(each(['x', 'y']), each(), mode).definition.tasks[0]).toMatchObject({
        forEach: { items: ['x', 'y'] },
      })
  })

  it('of a task written the same in another order of keys is no change, even for one that failed', () => {
    const current = plan('p', task('a', { title: 'A', kind: 'k' }))
    const written = plan('p', task('a', { kind: 'k', title: 'A' }))
    for (const mode of ['merge', 'replace'] as const) {
      const merged = merge(current, written, mode, { a: 'failed' })
      expect(merged.definition.tasks[0]).toBe(current.tasks[0])
      expect(fates(merged)).toEqual(['a kept'])
    }
  })
})

describe('a replacement', () => {
  it('takes away what is not mentioned, tasks and keys', () => {
    const current = { ...plan('p', task('a', { retry: RETRY }), task('b')), goal: 'g' }
    const { definition } = merge(current, plan('p', task('a')), 'replace')
    expect(definition).toEqual(plan('p', task('a')))
  })

  it('cannot rename the plan', () => {
    const merged = merge(plan('p', task('a')), plan('q', task('a')), 'replace')
    expect([merged.definition.name, merged.notes[0]?.code]).toEqual(['p', 'name'])
  })
})

describe('the run knows better than the text', () => {
  it('what is said to be done is not done by it, and what is done stays done', () => {
    const current = plan('p', task('a'), task('b'), task('c'), task('d'))
    const merged = merge(
      current,
      current,
      'merge',
      { a: 'pending', b: 'completed', c: 'failed', d: 'completed' },
      { a: 'completed', b: 'completed', c: 'completed' },
    )
    expect(merged.definition).toEqual(current)
    expect(merged.notes.map(({ message }) => message)).toEqual([
      "the text says 'a' is completed; here it is pending, and stays so",
      "the text says 'c' is completed; here it is failed, and stays so",
    ])
    expect(fates(merged)).toEqual(['a kept', 'b kept', 'c kept', 'd kept'])
  })

  it('says of every task what becomes of it', () => {
    const current = plan('p', task('done'), task('bad'), task('run'), task('old'), task('ran', RUNS), task('now'))
    const written = plan('p', task('done', T), task('bad', T), task('run', T), task('new'))
    const merged = merge(current, written, 'replace', {
      done: 'completed',
      bad: 'failed',
      run: 'running',
      ran: 'completed',
      now: 'running',
    })
    expect(fates(merged)).toEqual([
      'done changed',
      'bad again',
      'run changed',
      'new new',
      'old gone',
      'ran abandoned',
      'now refused',
    ])
    expect(merged.notes).toMatchObject([{ code: 'compensation', task: 'ran' }])
  })

  it('goes into subplans: each step has its own fate', () => {
    const sub = (...tasks: readonly TaskDefinition[]) => plan('p', task('s', { action: { type: 'subplan', tasks } }))
    const merged = merge(sub(task('a'), task('b'), task('c')), sub(task('a', T), task('d')), 'replace', {
      's/a': 'failed',
      's/b': 'completed',
    })
    expect(fates(merged)).toEqual(['s changed', 's/a again', 's/d new', 's/b abandoned', 's/c gone'])
  })

  it('says what will be refused while a task is under way', () => {
    const current = plan('p', task('a'), task('b'))
    const other = merge(current, plan('p', external('a', { instruction: 'x' }), task('b')), 'merge', { a: 'running' })
    const later = merge(current, plan('p', task('a', { needs: ['b'] }), task('b')), 'merge', { a: 'running' })
    expect([fates(other)[0], fates(later)[0]]).toEqual(['a refused', 'a refused'])
  })

  it('the domain then does what was said', () => {
    const journal = started(plan('p', task('a'), task('b', { needs: ['a'] }), task('c'), { concurrency: 1 }))
    journal.fail('a')
    const current = journal.state.definition
    const { definition, fates: told } = merge(
      current,
      plan('p', task('a', { title: 'fixed' }), task('n', { needs: ['a'] })),
      'merge',
      journal.statuses() as { [task: string]: TaskStatus },
    )
    journal.must({ type: 'revise', definition, hash: HASH, rationale: 'r', expectedRevision: 1 })
    expect(told.find(({ fate }) => fate === 'again')?.task).toBe('a')
    expect(journal.statuses()).toMatchObject({ a: 'ready', n: 'pending', b: 'pending', c: 'running' })
    expect(
      journal.submit({ type: 'revise', definition: current, hash: HASH2, rationale: 'r', expectedRevision: 1 }),
    ).toMatchObject({ ok: false, refusal: { code: 'conflict' } })
  })
})

describe('changes by name', () => {
  const current = plan('p', task('alpha'), task('beta'), task('gamma'))

  it('regression 1: removing [existing, missing] is refused, names the missing one, and removes nothing', () => {
    expect(removeTasks(current, ['alpha', 'missing', 'gone'])).toMatchObject({
      ok: false,
      refusal: {
        code: 'unknown-reference',
        message: expect.stringContaining("no task 'missing', 'gone'; nothing was"),
      },
    })
    expect(removeTasks(current, ['gama'])).toMatchObject({ refusal: { hint: "did you mean 'gamma'?" } })
    const removed = removeTasks(current, ['alpha', 'gamma'])
    expect(removed.ok && ids(removed.definition)).toEqual(['beta'])
    expect(ids(current)).toEqual(['alpha', 'beta', 'gamma'])
  })

  it('regression 5: reordering follows the list; unknown ids and repeats are reported', () => {
    const ordered = orderTasks(current, ['gamma', 'alpha'])
    expect(ordered.ok && ids(ordered.definition)).toEqual(['gamma', 'alpha', 'beta'])
    expect(orderTasks(current, ['gamma', 'delta'])).toMatchObject({
      ok: false,
      refusal: { code: 'unknown-reference', message: expect.stringContaining("'delta'") },
    })
    expect(orderTasks(current, ['alpha', 'alpha'])).toMatchObject({ ok: false, refusal: { code: 'duplicate' } })
  })
})

describe('for any plan', () => {
  it('a text that says the same changes nothing, and one that says only a part of it loses nothing when merged', () => {
    fc.assert(
      fc.property(planDefinition, fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }), (current, keep) => {
        for (const mode of ['merge', 'replace'] as const)
          expect(merge(current, structuredClone(current), mode).definition).toEqual(current)
        const part = current.tasks.filter((_, at) => keep[at])
        const { definition, notes } = merge(current, { name: current.name, tasks: structuredClone(part) }, 'merge')
        expect({ definition, notes }).toEqual({ definition: current, notes: [] })
      }),
      { numRuns: 40 },
    )
  })

  it('a text of somebody else is taken as it is, or joins it: every task of both is there once', () => {
    fc.assert(
      fc.property(planDefinition, planDefinition, (current, written) => {
        const replaced = merge(current, written, 'replace')
        const renamed = replaced.notes.some(({ code }) => code === 'matched')
        if (!renamed) expect(ids(replaced.definition)).toEqual(ids(written))
        const merged = merge(current, written, 'merge')
        expect(new Set(ids(merged.definition)).size).toBe(merged.definition.tasks.length)
        expect(ids(merged.definition)).toEqual(expect.arrayContaining([...ids(current), ...ids(replaced.definition)]))
      }),
      { numRuns: 40 },
    )
  })
})

it('regression 31: a merge shares nothing that changes: both plans stay as they were', () => {
  const current = plan('p', task('a', { title: 'A', inputs: { list: [1] } }))
  const written = plan('p', task('A', { inputs: { list: [2] } }), task('b'))
  const before = structuredClone([current, written])
  merge(current, written, 'merge', { a: 'completed' })
  expect([current, written]).toEqual(before)
})

it('regression 33: what a text needs further down, or only in the plan there is, is kept', () => {
  const merged = merge(
    plan('p', task('there')),
    plan('p', task('a', { needs: ['z', 'there'] }), task('z', { on: { failure: 'a' } })),
    'merge',
  )
  expect(merged.definition.tasks).toMatchObject([
    { id: 'there' },
    { needs: ['z', 'there'] },
    { on: { failure: ['a'] } },
  ])
})

const T = { title: 'changed' }
const RUNS = { compensate: { type: 'run', command: { argv: ['undo'] } } } as const
const RETRY = { attempts: 3, backoffMs: { min: 1, max: 2 } }
const HASH = 'b'.repeat(64) as never
const HASH2 = 'c'.repeat(64) as never

function deepFreeze<T>(value: T): T {
  if (value !== null && typeof value === 'object') {
    Object.freeze(value)
    for (const item of Object.values(value)) deepFreeze(item)
  }
  return value
}
