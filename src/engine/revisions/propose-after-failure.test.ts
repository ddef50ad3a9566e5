// The plan that a rule proposes: more tasks beside the one that failed, which needs them, under names that are free.

import { describe, expect, it } from 'vitest'
import type { TaskName } from '../../domain/id.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { name, plan, task } from '../../testing/index.ts'
import { withAdded } from './propose-after-failure.ts'

function added(definition: PlanDefinition, failed: string, ...add: PlanDefinition['tasks']): PlanDefinition {
  const made = withAdded(definition, failed as TaskName, add)
  if (!made.ok) throw new Error(made.why)
  return made.value.definition
}

const needs = ({ tasks }: { readonly tasks: PlanDefinition['tasks'] }) =>
  Object.fromEntries(tasks.map(({ id, needs = [] }) => [id, needs]))

describe('what a rule adds', () => {
  it('comes before the task that failed, and whoever else is in the plan stays as it was', () => {
    const definition = plan('p', task('a'), task('b', { needs: ['a'] }), task('c', { needs: ['b'] }))
    expect(needs(added(definition, 'b', task('x'), task('y', { needs: ['x'] })))).toEqual({
      a: [],
      x: [],
      y: ['x'],
      b: ['a', 'x', 'y'],
      c: ['b'],
    })
  })

  it('bears a number when its name is taken, also to those that were added with it', () => {
    const definition = plan('p', task('x'), task('x-2'), task('b'))
    expect(needs(added(definition, 'b', task('x'), task('y', { needs: ['x'] })))).toMatchObject({
      'x-3': [],
      y: ['x-3'],
      b: ['x-3', 'y'],
    })
  })

  it('stands in the subplan of the task, and once for all items of a list', () => {
    const inner = [task('one'), task('two', { needs: ['one'] })]
    const group = plan('p', task('g', { action: { type: 'subplan', tasks: inner } }))
    const [g] = added(group, 'g/two', task('x')).tasks
    expect(g?.action.type === 'subplan' && needs(g.action)).toEqual({ one: [], x: [], two: ['one', 'x'] })
    const many = plan('p', task('each', { forEach: { items: [1, 2] } }))
    expect(needs(added(many, 'each/2', task('x')))).toEqual({ x: [], each: ['x'] })
  })

  it('that sleeps until an outcome leads to it is not waited for', () => {
    const sleeper = task('late')
    const leading = task('x', { on: { failure: 'late' } })
    expect(needs(added(plan('p', task('b')), 'b', leading, sleeper)).b).toEqual(['x'])
  })

  it('has no place when the task is not written any more', () => {
    expect(withAdded(plan('p', task('a')), name('b'), [task('x')])).toMatchObject({ ok: false })
  })
})
