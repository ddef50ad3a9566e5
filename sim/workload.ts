// A plan nobody would write, and how its tasks behave: a random graph of one to sixty tasks with every kind of task, effect
// class and edge there is, drawn from the seed.

import type { PlanName, TaskName } from '../src/domain/id.ts'
import type { Action, Criterion, EffectClass, PlanDefinition, TaskDefinition } from '../src/domain/plan.ts'
import type { Random } from './random.ts'
import type { Spending } from './spending.ts'

/** How a task behaves when it is carried out. */
export interface Script {
  readonly leastMs: number
  readonly mostMs: number
  /** How often it says no. */
  readonly failRate: number
}

export interface Workload {
  readonly definition: PlanDefinition
  readonly scripts: ReadonlyMap<TaskName, Script>
  /** People who pause, resume, cancel, retry and skip at random. */
  readonly meddlers: boolean
  readonly cancels: boolean
  /** They go back, and forth again; all files are looked at. */
  readonly travels: boolean
  /** What tasks spend, in plans with a budget. */
  readonly spending?: ReadonlyMap<TaskName, Spending>
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }
type Task = Mutable<TaskDefinition>
type Shape = 'chain' | 'fan-out' | 'diamond' | 'layered' | 'random'

export function drawWorkload(luck: Random): Workload {
  const count = luck.chance(0.08) ? luck.between(30, 60) : luck.chance(0.5) ? luck.between(1, 8) : luck.between(5, 20)
  const shape = luck.pick<Shape>(['chain', 'fan-out', 'diamond', 'layered', 'random'])
  const retries = luck.chance(0.7)
  const failing = luck.pick([0, 0.1, 0.25])
  const people = luck.chance(0.6)
  const edges = luck.chance(0.6)
  const conditions = luck.chance(0.4)
  const compensates = luck.chance(0.4)
  const tasks: Task[] = []
  const scripts = new Map<TaskName, Script>()
  for (let at = 0; at < count; at++) {
    const id = `t${at + 1}` as TaskName
    const task: Task = { id, ...drawAction(luck, id, people) }
    const needs = drawNeeds(luck, shape, at, count)
    if (needs.length > 0) task.needs = needs
    if (retries && luck.chance(0.6))
      task.retry = { attempts: luck.between(1, 4), backoffMs: { min: 200, max: luck.pick([200, 5_000, 60_000]) } }
    if (luck.chance(0.15)) task.timeoutMs = luck.pick([1_000, 5_000])
    if (luck.chance(0.1)) task.optional = true
    if (luck.chance(0.2)) task.priority = luck.between(-2, 3)
    if (conditions && luck.chance(0.3)) task.when = drawCondition(luck, at)
    if (luck.chance(0.06)) task.accept = [drawCriterion(luck)]
    if (compensates && task.action.type === 'run' && luck.chance(0.5))
      task.compensate = { type: 'run', command: { argv: ['undo', id] } }
    tasks.push(task)
    scripts.set(id, {
      leastMs: luck.pick([0, 10, 500]),
      mostMs: luck.pick([500, 3_000, 12_000]),
      failRate: luck.chance(0.5) ? failing : 0,
    })
  }
  if (edges) drawEdges(luck, tasks, scripts)
  if (luck.chance(0.4)) drawGroups(luck, tasks)
  const definition: Mutable<PlanDefinition> = {
    name: 'sim' as PlanName,
    tasks,
    concurrency: luck.pick([1, 2, 3, 4, 8]),
  }
  if (luck.chance(0.2)) definition.done = Array.from({ length: luck.between(1, 2) }, () => drawCriterion(luck))
  // Drawn last, so that older seeds draw the same plans.
  return { definition, scripts, meddlers: luck.chance(0.35), cancels: luck.chance(0.15), travels: luck.chance(0.35) }
}

function drawNeeds(luck: Random, shape: Shape, at: number, count: number): TaskName[] {
  const name = (index: number) => `t${index + 1}` as TaskName
  if (at === 0) return []
  switch (shape) {
    case 'chain':
      return [name(at - 1)]
    case 'fan-out':
      return at === count - 1 && count > 2
        ? Array.from({ length: count - 2 }, (_, index) => name(index + 1))
        : [name(0)]
    case 'diamond': {
      const place = at % 4
      if (place === 3) return [name(at - 1), name(at - 2)]
      return [name(at - Math.max(1, place))]
    }
    case 'layered': {
      const width = 4
      const layer = Math.floor(at / width)
      if (layer === 0) return []
      const before = Array.from({ length: width }, (_, index) => (layer - 1) * width + index)
      return before.filter(() => luck.chance(0.6)).map(name)
    }
    case 'random':
      return [...new Set(Array.from({ length: luck.between(0, 3) }, () => name(luck.between(0, at - 1))))]
    default:
      return shape satisfies never
  }
}

function drawAction(luck: Random, id: TaskName, people: boolean): Omit<TaskDefinition, 'id'> {
  const run: Action = { type: 'run', command: { argv: ['work', id] } }
  const kind = luck.pick<EffectClass | 'edit' | 'gate' | 'external' | 'decide'>([
    'pure',
    'workspace',
    'workspace',
    'edit',
    'idempotent',
    'probed',
    'probed',
    'model',
    'unsafe',
    'unsafe',
    ...(people ? (['gate', 'external'] as const) : []),
  ])
  switch (kind) {
    case 'workspace':
      // Sometimes a file of its own, sometimes one it shares: those must never run side by side.
      return { action: run, write: [luck.chance(0.5) ? `own/${id}` : `shared/${luck.between(1, 2)}`], network: [] }
    case 'edit':
      return {
        action: {
          type: 'edit',
          edits: [{ type: 'create', file: luck.chance(0.7) ? `own/${id}` : 'shared/1', content: id }],
        },
      }
    case 'gate':
      return { action: { type: 'gate', gate: 'approval' } }
    case 'external':
      return { action: { type: 'external' } }
    case 'probed':
      return { action: run, effect: 'probed', probe: { argv: ['probe', id] } }
    case 'unsafe':
      return { action: run }
    case 'decide':
      return { action: { type: 'decide', expression: "'success'" } }
    default:
      return { action: run, effect: kind }
  }
}

function drawCondition(luck: Random, at: number): string {
  const other = `tasks['t${luck.between(1, Math.max(1, at))}']`
  return luck.pick([
    'true',
    'true',
    'false',
    `${other}.status == 'completed'`,
    `${other}.attempt < 2`,
    `${other}.visit < 2`,
    'plan.revision == 1',
  ])
}

function drawCriterion(luck: Random): Criterion {
  return luck.pick<Criterion>([
    { type: 'expect', expression: 'attempt < 100' },
    { type: 'prose', text: 'it looks right' },
    { type: 'check', command: { argv: ['check'] } },
  ])
}

/** Outcome edges: back to earlier tasks, to a task that mends and leads back, and decisions that pick a way. */
function drawEdges(luck: Random, tasks: Task[], scripts: Map<TaskName, Script>): void {
  const count = tasks.length
  for (let round = luck.between(1, 3); round > 0; round--) {
    const at = luck.between(0, count - 1)
    const task = tasks[at]!
    const back = tasks[luck.between(0, at)]!.id
    const kind = luck.between(1, 4)
    if (kind === 1) task.on = { ...task.on, failure: [back] }
    else if (kind === 2) task.on = { ...task.on, rejected: [back], failure: [back] }
    else if (kind === 3) {
      const id = `fix${round}` as TaskName
      tasks.push({
        id,
        action: { type: 'run', command: { argv: ['work', id] } },
        effect: luck.pick<EffectClass>(['pure', 'idempotent', 'unsafe']),
        on: { success: [task.id] },
      })
      scripts.set(id, { leastMs: 10, mostMs: 2_000, failRate: luck.pick([0, 0.2]) })
      task.on = { ...task.on, failure: [id] }
    } else {
      const id = `choice${round}` as TaskName
      tasks.push({
        id,
        needs: [task.id],
        action: { type: 'decide', expression: `tasks['${task.id}'].visit < ${luck.between(1, 3)} ? 'again' : 'on'` },
        on: { again: [back], on: [] },
      })
    }
    task.visits = luck.between(2, 4)
  }
}

/** Tasks that are several: subplans, matrices, lists, and lists that are found on the way. */
function drawGroups(luck: Random, tasks: Task[]): void {
  for (let round = luck.between(1, 3); round > 0; round--) {
    const task = luck.pick(tasks)
    if (task.action.type === 'decide' || task.forEach !== undefined || task.matrix !== undefined) continue
    switch (luck.between(1, 5)) {
      case 1:
        task.matrix = { x: [1, 2], y: luck.chance(0.5) ? ['u'] : ['u', 'v'] }
        break
      case 2:
        task.forEach = { items: luck.pick([[], ['p'], ['p', 'q', 'r']]) }
        break
      case 3:
        // What is found depends on the visit, so that another visit finds something else.
        task.forEach = { in: luck.pick(['[1, 2]', '[]', `tasks['${task.id}'].visit < 2 ? [1, 2, 3] : [4]`]) }
        break
      case 4:
        task.preconditions = [luck.pick<Criterion>([{ type: 'prose', text: 'it is quiet' }, EXPECTED])]
        break
      default: {
        const { id: _, needs: _needs, on: _on, when: _when, visits: _visits, compensate: _undo, ...whole } = task
        const action: Action = {
          type: 'subplan',
          tasks: [
            { ...whole, id: 'u' as TaskName, ...(luck.chance(0.3) ? { on: { failure: ['v' as TaskName] } } : {}) },
            { ...whole, id: 'v' as TaskName, ...(luck.chance(0.3) ? { needs: ['u' as TaskName] } : {}) },
          ],
        }
        for (const key of ['accept', 'write', 'network', 'effect', 'probe', 'preconditions', 'compensate'] as const)
          delete task[key]
        task.action = action
      }
    }
  }
}

const EXPECTED: Criterion = { type: 'expect', expression: 'attempt < 100' }
