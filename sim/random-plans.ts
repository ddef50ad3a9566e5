// Random plans, drawn by fast-check: every kind of task and edge. Not part of the exported helpers: fast-check is only ours.

import fc from 'fast-check'
import type { PlanDefinition, TaskDefinition } from '../src/domain/plan.ts'
import { name, type PlanOptions, plan, type TaskOptions, task } from '../src/testing/plan.ts'

const TASKS_MAX = 9

/** Numbers that shape one task; what they mean depends on its place. */
const seeds = fc.record({
  action: fc.constantFrom('run', 'run', 'run', 'edit', 'decide', 'gate', 'external', 'subplan'),
  many: fc.integer({ min: 0, max: 9 }),
  modes: fc.integer({ min: 0, max: 5 }),
  preconditions: fc.integer({ min: 0, max: 9 }),
  needs: fc.array(fc.nat(TASKS_MAX), { maxLength: 3 }),
  effect: fc.constantFrom(undefined, 'pure', 'idempotent', 'probed', 'model', 'unsafe', 'workspace'),
  optional: fc.boolean(),
  when: fc.integer({ min: 0, max: 4 }),
  attempts: fc.integer({ min: 0, max: 3 }),
  priority: fc.integer({ min: 0, max: 2 }),
  on: fc.array(
    fc.tuple(
      fc.constantFrom('success', 'failure', 'approved', 'rejected', 'default', 'x'),
      fc.array(fc.nat(TASKS_MAX), { maxLength: 2 }),
    ),
    { maxLength: 2 },
  ),
  visits: fc.integer({ min: 0, max: 3 }),
  compensate: fc.integer({ min: 0, max: 3 }),
  file: fc.nat(2),
})

/** Plans with every kind of edge, in which the document's order says nothing about the order of work. */
export const plans: fc.Arbitrary<PlanDefinition> = fc
  .tuple(fc.array(seeds, { minLength: 1, maxLength: TASKS_MAX }), fc.nat(4), fc.boolean(), fc.nat())
  .map(([list, concurrency, done, turn]) => {
    const tasks = list.map((seed, at): TaskDefinition => {
      const needs = at === 0 ? [] : [...new Set(seed.needs.map(need => `t${need % at}`))]
      const options: TaskOptions = {
        ...actionOf(seed),
        ...(needs.length === 0 ? {} : { needs }),
        effect: seed.effect === undefined ? undefined : (seed.effect as NonNullable<TaskOptions['effect']>),
        ...(seed.optional ? { optional: true as const } : {}),
        ...(seed.when === 0 ? { when: 'true' } : {}),
        ...(seed.attempts === 0 ? {} : { retry: { attempts: seed.attempts, backoffMs: { min: 100, max: 1_000 } } }),
        ...(seed.priority === 0 ? {} : { priority: seed.priority }),
        ...(seed.on.length === 0
          ? {}
          : {
              on: Object.fromEntries(
                seed.on.map(([outcome, to]) => [outcome, to.map(target => `t${target % list.length}`)]),
              ),
            }),
        ...(seed.visits === 0 ? {} : { visits: seed.visits }),
        ...manyOf(seed.many),
        ...(seed.modes === 0
          ? {
              failureModes: [
                { name: 'x', detect: { type: 'prose', text: 'x' }, recover: [name(`t${seed.file % list.length}`)] },
              ],
            }
          : {}),
        ...(seed.preconditions === 0 ? { preconditions: [{ type: 'prose', text: 'it is quiet' }] } : {}),
        ...(seed.compensate === 0 ? { compensate: { type: 'run', command: { argv: ['undo'] } } as const } : {}),
        ...(seed.compensate === 1
          ? { compensate: { type: 'edit', edits: [{ type: 'delete', file: 'x' }] } as const }
          : {}),
      }
      return task(`t${at}`, options)
    })
    const first = turn % tasks.length
    const options: PlanOptions = {
      ...(concurrency === 0 ? {} : { concurrency }),
      ...(done ? { done: [{ type: 'prose', text: 'it is good' }] } : {}),
      ...(turn % 3 === 0 ? { git: { commits: 'task' as const } } : {}),
      ...(turn % 5 === 0 ? { policy: { onFailure: 'keep' as const, checkpoints: { every: 2 } } } : {}),
    }
    return plan('random', ...tasks.slice(first), ...tasks.slice(0, first), options)
  })

function manyOf(many: number): Pick<TaskOptions, 'matrix' | 'forEach'> {
  if (many === 0) return { matrix: { x: [1, 2] } }
  if (many === 1) return { forEach: { items: [] } }
  if (many === 2) return { forEach: { in: '[1]' } }
  return {}
}

function actionOf({
  action,
  file,
}: {
  readonly action: string
  readonly file: number
}): Pick<TaskOptions, 'action' | 'write'> {
  switch (action) {
    case 'edit':
      return { action: { type: 'edit', edits: [{ type: 'create', file: `f${file}`, content: '' }] } }
    case 'decide':
      return { action: { type: 'decide', expression: 'x' } }
    case 'gate':
      return { action: { type: 'gate', gate: 'approval' } }
    case 'external':
      return { action: { type: 'external' } }
    case 'subplan':
      return {
        action: {
          type: 'subplan',
          tasks: [
            task('u', file === 1 ? { on: { failure: 'v' } } : {}),
            task('v', file === 2 ? { needs: ['u'] } : {}),
            task('w', file === 1 ? { needs: ['v'] } : {}),
          ],
        },
      }
    default:
      return { action: { type: 'run', command: { argv: ['true'] } }, ...(file === 0 ? { write: ['f0'] } : {}) }
  }
}
