// Whatever is done to a plan: no task that a gate held back may begin without it, unless that was told.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { external, gate, name, plan, task } from '../../testing/index.ts'
import { cpuMs } from '../cpu-time.fixture.ts'
import type { TaskName } from '../id.ts'
import type { PlanDefinition, TaskDefinition } from '../plan.ts'
import type { TaskStatus } from '../status.ts'
import {
  type GatedPlan,
  type Release,
  releasedByFinishing,
  releasedByRevising,
  releasedBySkipping,
} from './gate-bypass.ts'

const standing = (definition: PlanDefinition, said: { readonly [task: string]: TaskStatus } = {}): GatedPlan => ({
  definition,
  statuses: new Map(Object.entries(said).map(([id, status]) => [name(id), status])),
})
const guarded = plan(
  'p',
  task('a'),
  gate('g', { needs: ['a'] }),
  task('m', { needs: ['g'] }),
  task('dep', { needs: ['m'] }),
)
const released = (task: string, gate = 'g') => ({ type: 'released', gate, task })

describe('skipping', () => {
  it('a gate is told, unless it was passed; rejected is not passed', () => {
    for (const status of ['pending', 'waiting', 'failed', 'blocked'] as const)
      expect(releasedBySkipping(standing(guarded, { g: status }), name('g'))).toEqual({ type: 'skipped', gate: 'g' })
    expect(releasedBySkipping(standing(guarded, { g: 'completed' }), name('g'))).toBeNull()
  })

  it('what stands between a gate and a task lets the task go', () => {
    expect(releasedBySkipping(standing(guarded), name('m'))).toEqual(released('dep'))
    expect(releasedBySkipping(standing(guarded, { g: 'completed' }), name('m'))).toBeNull()
    expect(releasedBySkipping(standing(guarded), name('dep'))).toBeNull()
    expect(releasedBySkipping(standing(guarded), name('a'))).toBeNull()
  })

  it('a group skips the gates inside', () => {
    const inside = task('group', { action: { type: 'subplan', tasks: [gate('g'), external('x', { needs: ['g'] })] } })
    const grouped = plan('p', inside, task('dep', { needs: ['group'] }))
    expect(releasedBySkipping(standing(grouped), name('group'))).toEqual({ type: 'skipped', gate: 'group/g' })
    // The group waits for all of its tasks.
    expect(releasedBySkipping(standing(grouped), 'group/x' as TaskName)).toBeNull()
  })
})

describe('the last word about a plan', () => {
  it('is no answer to a gate; a branch that nothing led to has none', () => {
    expect(releasedByFinishing(standing(guarded))).toEqual({ type: 'skipped', gate: 'g' })
    expect(releasedByFinishing(standing(guarded, { g: 'failed' }))).toBeNull()
    const branch = plan('p', task('a', { on: { failure: 'g' } }), gate('g'))
    expect(releasedByFinishing(standing(branch))).toBeNull()
    expect(releasedByFinishing(standing(branch, { g: 'waiting' }))).toEqual({ type: 'skipped', gate: 'g' })
  })
})

describe('a revision', () => {
  const into = (...tasks: readonly TaskDefinition[]): Release | null =>
    releasedByRevising(standing(guarded), plan('p', ...tasks))
  const [a, g, m, dep] = guarded.tasks as readonly [TaskDefinition, TaskDefinition, TaskDefinition, TaskDefinition]

  it('that takes a gate away, or makes another of it, is told', () => {
    expect(into(a, task('m'), dep)).toEqual({ type: 'removed', gate: 'g' })
    expect(into(a, task('g', { needs: ['a'] }), m, dep)).toEqual({ type: 'changed', gate: 'g' })
    expect(into(a, { ...g, title: 'harmless' }, m, dep)).toEqual({ type: 'changed', gate: 'g' })
    expect(into(a, { ...g, when: 'false' }, m, dep)).toEqual({ type: 'changed', gate: 'g' })
    expect(into(a, { ...g, priority: 3, extra: { sequence_order: 9 } }, m, dep)).toBeNull()
  })

  it('that lets a task go on without a gate it waited for is told, whatever the way', () => {
    expect(into(a, g, m, task('dep'))).toEqual(released('dep'))
    expect(into(a, g, task('m', { needs: ['a'] }), dep)).toEqual(released('m'))
    expect(into(a, g, task('n'), task('dep', { needs: ['n'] }))).toEqual(released('dep'))
    expect(into(a, g, m, task('dep', { needs: ['g'] }), task('new'))).toBeNull()
    expect(into(a, g, m)).toBeNull()
  })

  it('that leads elsewhere to what only the gate led to is told', () => {
    const led = plan('p', gate('g', { on: { approved: 'dep' } }), task('dep'), task('t'))
    const [before, target] = led.tasks as readonly [TaskDefinition, TaskDefinition]
    const other = plan('p', before, target, task('t', { on: { success: 'dep' } }))
    expect(releasedByRevising(standing(led), other)).toEqual(released('dep'))
    expect(releasedByRevising(standing(led), led)).toBeNull()
  })

  it('that changes who is asked is told', () => {
    const policy = { roles: { lead: ['ana'] }, gates: { before: ['deploy' as const] } }
    const was = standing({ ...guarded, policy })
    expect(releasedByRevising(was, { ...guarded, policy: { ...policy, gates: { before: [] } } })).toMatchObject({
      part: 'gates',
    })
    expect(releasedByRevising(was, { ...guarded, policy: { ...policy, roles: { lead: ['eve'] } } })).toMatchObject({
      part: 'roles',
    })
  })

  it('of a plan of many gates is judged soon', () => {
    const many = (needs: string) =>
      plan(
        'p',
        ...Array.from({ length: 2_000 }, (_, at) => [gate(`g${at}`), task(`t${at}`, { needs: [`g${at}`] })]).flat(),
        task('last', { needs: [needs] }),
      )
    const judging = () =>
      expect(releasedByRevising(standing(many('t1999')), many('t3'))).toEqual(released('last', 'g1999'))
    expect(cpuMs(judging, 1_000)).toBeLessThan(1_000)
  })
})

/** `PLANFOLD_RUNS=100000` looks longer. */
const RUNS = Number(process.env.PLANFOLD_RUNS ?? 2_000)

interface Row {
  readonly isGate: boolean
  readonly does: number
  readonly needs: readonly number[]
}

const rows = fc.array<Row>(
  fc.record({ isGate: fc.boolean(), does: fc.nat(2), needs: fc.array(fc.nat(7), { maxLength: 3 }) }),
  { minLength: 1, maxLength: 8 },
)

/** Gates, and tasks that do one of three things; needs point backwards. */
const planOf = (some: readonly Row[]): PlanDefinition =>
  plan(
    'p',
    ...some.map(({ isGate, does, needs }, at) => {
      const before = [...new Set(needs.filter(need => need < at))].map(need => `t${need}`)
      const more = before.length === 0 ? {} : { needs: before }
      const action = { type: 'run', command: { argv: ['echo', String(does)] } } as const
      return isGate ? gate(`t${at}`, more) : task(`t${at}`, { ...more, action })
    }),
  )

/** Another plan altogether, or the same with its last tasks cut off, changed or added. */
const revisions = fc
  .tuple(rows, rows, fc.nat(8))
  .map(([before, others, kept]) => [planOf(before), planOf([...before.slice(0, kept), ...others].slice(0, 8))] as const)

/** By walking up, one task at a time. */
function waitsFor({ tasks }: PlanDefinition, id: TaskName, gate: TaskName): boolean {
  const needs = tasks.find(one => one.id === id)?.needs ?? []
  return needs.some(need => need === gate || waitsFor({ tasks } as PlanDefinition, need, gate))
}

/** Told by comparing each new task with each old one: does it do what so far only those do who wait for the gate? */
function copiesWork(before: PlanDefinition, after: PlanDefinition, gate: TaskName): boolean {
  const worksAs = ({ action }: TaskDefinition): string => (action.type === 'run' ? JSON.stringify(action) : '')
  return after.tasks.some(task => {
    const work = worksAs(task)
    const was = before.tasks.find(({ id }) => id === task.id)
    if (work === '' || (was !== undefined && worksAs(was) === work) || waitsFor(after, task.id, gate)) return false
    const alike = before.tasks.filter(other => worksAs(other) === work)
    return alike.length > 0 && alike.every(({ id }) => waitsFor(before, id, gate))
  })
}

it('a revision of which nothing is told keeps every gate, everybody waiting for it, and copies none of their work', () => {
  fc.assert(
    fc.property(revisions, ([before, after]) => {
      const told = releasedByRevising(standing(before), after)
      const gates = before.tasks.filter(({ action }) => action.type === 'gate')
      const keeps = gates.every(
        each =>
          JSON.stringify(after.tasks.find(({ id }) => id === each.id)) === JSON.stringify(each) &&
          before.tasks.every(
            ({ id }) =>
              !waitsFor(before, id, each.id) || !after.tasks.some(one => one.id === id) || waitsFor(after, id, each.id),
          ) &&
          !copiesWork(before, after, each.id),
      )
      expect(told === null).toBe(keeps)
    }),
    { numRuns: RUNS },
  )
})

it('a task of a revision that does what waits for a gate, and waits for nothing, is told', () => {
  const was = plan('p', gate('t0'), task('t1', { needs: ['t0'] }))
  const copy = plan('p', gate('t0'), task('t1', { needs: ['t0'] }), task('t2'))
  expect(releasedByRevising(standing(was), copy)).toEqual({ type: 'copied', gate: 't0', task: 't2' })
})
