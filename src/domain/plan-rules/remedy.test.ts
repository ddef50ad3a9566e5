import { describe, expect, it } from 'vitest'
import { name, plan, task } from '../../testing/plan.ts'
import type { PlanDefinition, RecoveryRule } from '../plan.ts'
import { findDormant, linkNeed, newTask } from '../state/task-index.ts'
import { expandTasks } from './expand.ts'
import { checkGraph } from './graph-rules.ts'

const alternate = (to: string): { recover: readonly RecoveryRule[] } => ({
  recover: [{ do: { type: 'alternate', task: name(to) } }],
})
const repair = (to: string): { recover: readonly RecoveryRule[] } => ({
  recover: [{ do: { type: 'repair', task: name(to) } }],
})
const steps = (...tasks: Parameters<typeof plan>[1][]) =>
  ({ action: { type: 'subplan', tasks: tasks as PlanDefinition['tasks'] } }) as const

function sleeping(definition: PlanDefinition): readonly string[] {
  expect(checkGraph(definition)).toEqual([])
  const order = expandTasks(definition).map((one, at) => newTask(one, at + 1))
  const tasks = new Map(order.map(one => [one.definition.id, one]))
  for (const one of order) for (const need of one.definition.needs ?? []) linkNeed({ tasks }, one, need)
  return [...findDormant({ order, tasks })].sort()
}

describe('a remedy', () => {
  it('sleeps until it is called, whatever it needs itself', () => {
    expect(sleeping(plan('p', task('a', alternate('b')), task('b')))).toEqual(['b'])
    expect(sleeping(plan('p', task('s'), task('a', alternate('b')), task('b', { needs: ['s'] })))).toEqual(['b'])
  })

  it('does not sleep when the task it helps comes after it anyway', () => {
    expect(sleeping(plan('p', task('make'), task('test', { needs: ['make'], ...repair('make') })))).toEqual([])
  })

  it('of several tasks keeps their name in the rule, and sleeps with those that begin it', () => {
    const way = task('way', steps(task('first'), task('then', { needs: ['first'] })))
    const definition = plan('p', task('s'), task('a', alternate('way')), { ...way, needs: [name('s')] })
    expect(sleeping(definition)).toEqual(['way', 'way/first'])
    const a = expandTasks(definition).find(({ id }) => id === 'a')
    expect(a).toMatchObject({ leads: ['way/first'], recover: [{ do: { type: 'alternate', task: 'way' } }] })
  })

  it('inside a subplan is named by its short name; a task around it by its own', () => {
    const definition = plan(
      'p',
      task('group', steps(task('a', alternate('b')), task('b'), task('c', repair('outside')))),
      task('outside'),
    )
    expect(sleeping(definition)).toEqual(['group/b', 'outside'])
    const rules = expandTasks(definition).flatMap(({ recover = [] }) => recover.map(({ do: way }) => way))
    expect(rules).toEqual([
      { type: 'alternate', task: 'group/b' },
      { type: 'repair', task: 'outside' },
    ])
  })

  it('of the tasks of a list is one for all of them, and sleeps before they are known', () => {
    const each = { forEach: { in: 'tasks.s.outputs.x' }, needs: ['s'] }
    const definition = plan('p', task('s'), task('each', { ...each, ...alternate('b') }), task('b', { needs: ['s'] }))
    expect(sleeping(definition)).toEqual(['b'])
    const known = plan('p', task('each', { forEach: { items: [1, 2] }, ...alternate('b') }), task('b'))
    expect(sleeping(known)).toEqual(['b'])
    expect(
      expandTasks(known)
        .filter(({ recover }) => recover !== undefined)
        .map(({ id }) => id),
    ).toEqual(['each/1', 'each/2'])
  })

  it('a subplan hands its timebox and its effects to its children', () => {
    const [group, child] = expandTasks(
      plan('p', task('g', { ...steps(task('x')), timeboxMs: 5_000, effects: ['src/**'] })),
    )
    expect(child).toMatchObject({ id: 'g/x', timeboxMs: 5_000, effects: ['src/**'] })
    expect(group?.effects).toBeUndefined()
  })

  it.each([
    ['which is not there', plan('p', task('a', alternate('zz'))), "task 'a' recovers by 'zz', which does not exist"],
    ['the task itself', plan('p', task('a', repair('a'))), "task 'a' would repair itself"],
    [
      'one that waits for it',
      plan('p', task('a', alternate('c')), task('b', { needs: ['a'] }), task('c', { needs: ['b'] })),
      "'c' would take the place of 'a', but needs it",
    ],
    [
      'the group around it',
      plan('p', task('g', steps(task('a', alternate('g'))))),
      "'g' would take the place of 'g/a', but needs it",
    ],
    [
      'one that undoes others',
      plan('p', task('a', { ...alternate('c'), compensate: { type: 'task', task: name('c') } }), task('c')),
      "an outcome of 'a' leads to 'c', which sleeps until 'a' is to be undone",
    ],
  ])('%s is refused', (_, definition, message) => {
    expect(checkGraph(definition).map(fault => fault.message)).toEqual([message])
    expect(checkGraph(definition)[0]).toMatchObject({ key: 'recover' })
  })
})
