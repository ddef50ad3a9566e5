// Simulates the plan in time, as the engine would run it: duration, parallelism, and the critical path.

import { concurrencyOf } from '../rules/scheduling.ts'
import { Heap } from '../state/heap.ts'
import { type Paths, ScopeIndex } from './scope-index.ts'
import type { Waves } from './waves.ts'
import type { WorkGraph } from './work-graph.ts'

// The critical path: the longest chain of dependent tasks, a lower bound for the duration of the plan. Durations are added in wave order,
// so no recursion is needed.

export interface CriticalPath {
  readonly tasks: readonly number[]
  readonly ms: number
  /** The earliest end of each task from the start of the plan; -1 without a wave. */
  readonly endsMs: readonly number[]
}

export function criticalPath(graph: WorkGraph, waves: Waves, lengths: readonly number[]): CriticalPath {
  const endsMs = graph.tasks.map(() => -1)
  const before = graph.tasks.map(() => -1)
  let last = -1
  for (const task of waves.order) {
    let start = 0
    for (const need of predecessors(graph, waves, task)) {
      if (before[task] !== -1 && endsMs[need]! <= start) continue
      start = endsMs[need]!
      before[task] = need
    }
    endsMs[task] = start + lengths[task]!
    if (last === -1 || endsMs[task]! > endsMs[last]!) last = task
  }
  const tasks: number[] = []
  for (let task = last; task !== -1; task = before[task]!) tasks.push(task)
  return { tasks: tasks.reverse(), ms: last === -1 ? 0 : endsMs[last]!, endsMs }
}

function predecessors(graph: WorkGraph, { wokenBy }: Waves, task: number): readonly number[] {
  return wokenBy[task] === -1 ? graph.needs[task]! : [...graph.needs[task]!, wokenBy[task]!]
}

// Simulates the engine: highest priority first, within `concurrency`, never two tasks with overlapping write scopes.
//
// Tasks with the same scope queue behind one another, so only the first of them is tried. A blocked task is tried again when the
// task that blocks it ends. TRIES_MAX bounds adversarial plans: after that scopes no longer block, and the result is marked as
// not exact.

export interface Schedule {
  readonly elapsedMs: number
  /** The most parallel tasks, including those of agents and people. */
  readonly peak: number
  /** The most parallel tasks that the engine runs itself. */
  readonly enginePeak: number
  readonly exact: boolean
}

const TRIES_MAX = 400_000

export function scheduleOf(
  graph: WorkGraph,
  waves: Waves,
  lengths: readonly number[],
  scopes: readonly Paths[],
): Schedule {
  const { definition, tasks } = graph
  const keys = scopes.map((scope, task) =>
    scope.length === 0
      ? `${task}`
      : `:${scope
          .map(path => path.join('/'))
          .sort()
          .join('\n')}`,
  )
  const byEngine = tasks.map(task => task.action.type !== 'external' && task.action.type !== 'gate')
  const unmet = graph.needs.map((needs, task) => needs.length + (waves.wokenBy[task] === -1 ? 0 : 1))
  const woken = wokenOf(waves)

  const first = (a: number, b: number): boolean => {
    const [left, right] = [tasks[a]!.priority ?? 0, tasks[b]!.priority ?? 0]
    return left !== right ? left > right : a < b
  }
  const ready = new Heap<number>(first)
  const running = new Heap<{ readonly task: number; readonly endsMs: number }>((a, b) =>
    a.endsMs !== b.endsMs ? a.endsMs < b.endsMs : a.task < b.task,
  )
  const held = new ScopeIndex()
  /** Ready tasks by scope, behind the one of that scope that is in `ready`, runs, or is blocked. */
  const behind = new Map<string, Heap<number>>()
  const heldUpBy = new Map<number, number[]>()
  let free = concurrencyOf(definition)
  let now = 0
  let underWay = 0
  let engines = 0
  let tries = 0
  let peak = 0
  let enginePeak = 0

  const start = (task: number): void => {
    held.add(task, scopes[task]!)
    running.push({ task, endsMs: now + lengths[task]! })
    underWay++
    if (byEngine[task]) {
      free--
      engines++
    }
    peak = Math.max(peak, underWay)
    enginePeak = Math.max(enginePeak, engines)
  }
  const readied = (task: number): void => {
    // Tasks of agents and people need no slot of the engine, and their writes are unknown.
    if (!byEngine[task]) return start(task)
    const line = behind.get(keys[task]!)
    if (line === undefined) {
      behind.set(keys[task]!, new Heap<number>(first))
      ready.push(task)
    } else line.push(task)
  }
  const end = (task: number): void => {
    held.remove(task, scopes[task]!)
    underWay--
    if (byEngine[task]) {
      free++
      engines--
      const next = behind.get(keys[task]!)?.pop(always)
      if (next === undefined) behind.delete(keys[task]!)
      else ready.push(next)
    }
    for (const other of heldUpBy.get(task) ?? []) ready.push(other)
    heldUpBy.delete(task)
    for (const dependant of [...graph.dependants[task]!, ...(woken.get(task) ?? [])])
      if (--unmet[dependant]! === 0 && waves.waveOf[dependant] !== -1) readied(dependant)
  }

  for (const task of waves.waves[0] ?? []) readied(task)
  for (;;) {
    for (let task = free > 0 ? ready.pop(always) : undefined; task !== undefined; ) {
      const other = scopes[task]!.length === 0 || ++tries > TRIES_MAX ? -1 : held.inTheWayOf(scopes[task]!)
      if (other === -1) start(task)
      else heldUpBy.get(other)?.push(task) ?? heldUpBy.set(other, [task])
      task = free > 0 ? ready.pop(always) : undefined
    }
    const next = running.pop(always)
    if (next === undefined) break
    now = next.endsMs
    end(next.task)
    // Tasks that end at the same moment free their scopes together.
    for (let also = running.peek(always); also !== undefined && also.endsMs === now; also = running.peek(always))
      end(running.pop(always)!.task)
  }
  return { elapsedMs: now, peak, enginePeak, exact: tries <= TRIES_MAX }
}

const always = (): boolean => true

function wokenOf({ wokenBy }: Waves): ReadonlyMap<number, readonly number[]> {
  const woken = new Map<number, number[]>()
  for (const [task, by] of wokenBy.entries()) {
    if (by === -1) continue
    const list = woken.get(by)
    if (list === undefined) woken.set(by, [task])
    else list.push(task)
  }
  return woken
}
