// The graph of task states and its bookkeeping. `setStatus` is the only place where a status changes: it updates the counters of the
// dependants (`unmet`, `blockers`) and the indexes of the plan, at a cost proportional to the edges touched, never to the size of the plan.

import type { Millis, TaskName } from '../id.ts'
import type { JsonObject } from '../json.ts'
import type { PlanDefinition, TaskDefinition } from '../plan.ts'
import { compensatorOf, expandTasks, remediesOf } from '../plan-rules/expand.ts'
import { DONE_TASK } from '../plan-rules/graph-rules.ts'
import { gatedIn } from '../policy/policy-in-state.ts'
import { BLOCKS, SATISFIES, TASK_STATUSES, type TaskStatus } from '../status.ts'
import { indexAlarms } from './alarms.ts'
import { Heap } from './heap.ts'
import type { PlanState, TaskState, Timer } from './state.ts'

export const newCounts = (): Record<TaskStatus, number> =>
  Object.fromEntries(TASK_STATUSES.map(status => [status, 0])) as Record<TaskStatus, number>

/** Higher priority first, then by ordinal. */
export const newReadyHeap = (): Heap<TaskState> =>
  new Heap((a, b) => {
    const left = a.definition.priority ?? 0
    const right = b.definition.priority ?? 0
    return left !== right ? left > right : a.ordinal < b.ordinal
  })

/** Soonest first, then by ordinal, so that every fold agrees. */
export const newTimerHeap = <T extends Timer>(): Heap<T> =>
  new Heap<T>((a, b) => (a.at !== b.at ? a.at < b.at : a.task.ordinal < b.task.ordinal))

/** One shared empty list, so that a fold sees quickly what differs. */
export const NO_TASKS: readonly TaskName[] = []

/** Shared, so that a stored fold can omit it. */
export const NOTHING: readonly never[] = []

/** Shared for the same reason. */
export const UNANNOTATED: JsonObject = {}

export function newTask(definition: TaskDefinition, ordinal: number, addedAt: Millis = 0): TaskState {
  return {
    definition,
    ordinal,
    addedAt,
    status: 'pending',
    visit: 1,
    attempt: 0,
    failures: 0,
    lost: 0,
    refused: 0,
    readiedAt: null,
    startedAt: null,
    endedAt: null,
    retryAt: null,
    claim: null,
    prepared: null,
    result: null,
    reason: null,
    gate: null,
    handled: false,
    dormant: false,
    routedBy: NO_TASKS,
    goneBack: 0,
    consent: null,
    feedback: NOTHING,
    recovering: null,
    recoveries: NOTHING,
    visitAt: null,
    waitsSince: null,
    escalated: NOTHING,
    annotations: UNANNOTATED,
    evaluations: NOTHING,
    unmet: 0,
    blockers: 0,
    dependants: NOTHING,
  }
}

export function allTasks(definition: PlanDefinition): readonly TaskDefinition[] {
  const tasks = expandTasks(definition)
  if (definition.done === undefined || definition.done.length === 0) return tasks
  const done: TaskDefinition = {
    id: DONE_TASK,
    title: 'Final checks',
    kind: 'validate',
    action: { type: 'verify' },
    accept: definition.done,
  }
  return [...tasks, done]
}

/** Links dependants, counts needs, and rebuilds every index from the statuses. */
export function relink(state: PlanState): void {
  for (const task of state.order) {
    task.dependants = NOTHING
    task.unmet = 0
    task.blockers = 0
  }
  for (const task of state.order) {
    const { needs } = task.definition
    if (needs === undefined) continue
    // Without duplicates. Most tasks have one need at most.
    if (needs.length === 1) linkNeed(state, task, needs[0]!)
    else for (const name of new Set(needs)) linkNeed(state, task, name)
  }
  for (const status of TASK_STATUSES) state.counts[status] = 0
  state.ready.clear()
  state.claimable.clear()
  state.running.clear()
  state.holding.clear()
  state.timers.clear()
  state.asking.clear()
  state.alarms.clear()
  for (const task of state.order) {
    state.counts[task.status]++
    place(state, task)
  }
}

/** Counts a need and adds the dependant to it. Tasks without dependants share one list, so the first dependant brings a list of its own. */
export function linkNeed(state: Pick<PlanState, 'tasks'>, task: TaskState, name: TaskName): void {
  const need = state.tasks.get(name)
  if (need === undefined) return
  if (need.dependants.length === 0) need.dependants = [task]
  else (need.dependants as TaskState[]).push(task)
  if (SATISFIES.has(need.status)) return
  task.unmet++
  if (BLOCKS.has(need.status)) task.blockers++
}

export function setStatus(state: PlanState, task: TaskState, status: TaskStatus): void {
  const was = task.status
  if (was === status) return
  task.status = status
  state.counts[was]--
  state.counts[status]++
  if (was === 'running') state.running.delete(task)
  else if (was === 'ready') {
    state.ready.stale(task)
    state.claimable.stale(task)
  }
  index(state, task)
  const unmet = Number(SATISFIES.has(was)) - Number(SATISFIES.has(status))
  const blockers = Number(BLOCKS.has(status)) - Number(BLOCKS.has(was))
  if (unmet === 0 && blockers === 0) return
  for (const dependant of task.dependants) {
    dependant.unmet += unmet
    dependant.blockers += blockers
  }
}

/** Puts a task into the indexes. Stale entries are dropped when they come up, by the tests below. */
export function index(state: PlanState, task: TaskState): void {
  if (state.holding.size > 0 && !isHolding(task)) state.holding.delete(task)
  if (state.asking.size > 0 && !isAsking(state, task)) state.asking.delete(task)
  place(state, task)
}

/** For a task that is in no index yet. */
function place(state: PlanState, task: TaskState): void {
  if ((task.prepared !== null || task.claim !== null) && isHolding(task)) state.holding.add(task)
  if (task.status === 'ready') {
    if (task.retryAt !== null) state.timers.push({ at: task.retryAt, task })
    else if (isAsking(state, task)) state.asking.add(task)
    else (isEngines(task) ? state.ready : state.claimable).push(task)
  } else if (task.status === 'running' && task.claim === null) state.running.add(task)
  indexAlarms(state, task)
}

/** Must a question be prepared first: for a gate, or for an external task that needs an approval? */
function isAsking(state: PlanState, task: TaskState): boolean {
  if (task.status !== 'ready' || task.retryAt !== null) return false
  return task.definition.action.type === 'gate' || isUnapproved(state, task)
}

/** Does it need an approval before a claim? Checked after its condition and preconditions. */
export const asksBeforeClaim = (state: PlanState, { definition }: TaskState): boolean =>
  definition.action.type === 'external' && gatedIn(state, definition) !== null

const isUnapproved = (state: PlanState, task: TaskState): boolean =>
  task.consent === null && !isEngines(task) && asksBeforeClaim(state, task)

export const isStartable = (task: TaskState): boolean =>
  task.status === 'ready' && task.retryAt === null && isEngines(task)
export const isClaimable = (state: PlanState, task: TaskState): boolean =>
  task.status === 'ready' &&
  task.retryAt === null &&
  !isEngines(task) &&
  (task.consent !== null || !asksBeforeClaim(state, task))

/** Caches a function of the state by plan version, for many readers between two changes. */
export function perVersion<T>(find: (state: PlanState) => T): (state: PlanState) => T {
  const found = new WeakMap<PlanState, { readonly version: number; readonly value: T }>()
  return state => {
    const known = found.get(state)
    if (known?.version === state.version) return known.value
    const value = find(state)
    found.set(state, { version: state.version, value })
    return value
  }
}

/** The same for a function that depends only on the definitions of the tasks. */
export function perDefinition<T>(find: (state: PlanState) => T): (state: PlanState) => T {
  const found = new WeakMap<PlanDefinition, { readonly tasks: number; readonly value: T }>()
  return state => {
    const { definition, order } = state
    const known = found.get(definition)
    // A draft grows in place, and items become tasks while the plan runs.
    if (known?.tasks === order.length) return known.value
    const value = find(state)
    found.set(definition, { tasks: order.length, value })
    return value
  }
}

/** In document order. Not for use while events are being decided. */
export const claimableTasks = perVersion(state => state.order.filter(task => isClaimable(state, task)))

export const isTimed = ({ at, task }: Timer): boolean => task.status === 'ready' && task.retryAt === at

/** Must the engine act on it? An external task waits for a claim once its condition and preconditions are judged. */
function isEngines(task: TaskState): boolean {
  return task.definition.action.type !== 'external' || isUnjudged(task) || hasUncheckedPreconditions(task)
}

/** The condition is evaluated once per visit, and a preparation that failed has not evaluated it. */
export const isUnjudged = (task: TaskState): boolean =>
  task.definition.when !== undefined && task.prepared?.when === undefined

/** Its preconditions have not been found to hold in this visit. */
export const hasUncheckedPreconditions = (task: TaskState): boolean =>
  (task.definition.preconditions?.length ?? 0) > 0 && task.prepared?.cleared !== true

/** The group of a child, by its name; null for a top-level task. `checkGraph` reserves such names. */
export function groupOf(state: Pick<PlanState, 'tasks'>, task: TaskState): TaskState | null {
  const end = task.definition.id.lastIndexOf('/')
  const group = end < 0 ? undefined : state.tasks.get(task.definition.id.slice(0, end) as TaskName)
  return group?.definition.action.type === 'group' ? group : null
}

/** The tasks to run again with a task: itself, or everything a group waits for. */
export function worksOf(state: PlanState, task: TaskState): readonly TaskState[] {
  if (task.definition.action.type !== 'group') return [task]
  const own = (task.definition.needs ?? []).map(name => state.tasks.get(name)).filter(child => child !== undefined)
  const children = own.filter(child => groupOf(state, child) === task)
  return children.length === 0 ? [task] : children.flatMap(child => worksOf(state, child))
}

export function beginningsOf(state: PlanState, task: TaskState): readonly TaskState[] {
  if (task.definition.action.type !== 'group') return [task]
  const own = (task.definition.needs ?? []).flatMap(name => state.tasks.get(name) ?? [])
  const children = new Set(own.filter(child => groupOf(state, child) === task))
  const first = [...children].filter(
    child => !child.definition.needs?.some(name => children.has(state.tasks.get(name) as TaskState)),
  )
  return first.length === 0 ? [task] : first.flatMap(child => beginningsOf(state, child))
}

export function outcomeTargets(definition: TaskDefinition): readonly TaskName[] {
  const { on, failureModes, leads, recover } = definition
  if (on === undefined && failureModes === undefined && leads === undefined && recover === undefined) return NO_TASKS
  const recovering = (failureModes ?? []).flatMap(mode => mode.recover ?? [])
  return [...Object.values(on ?? {}).flat(), ...recovering, ...(leads ?? []), ...remediesOf(definition)]
}

/** Another attempt of this visit may come and restore its files, or a claimant works on its scope. */
function isHolding(task: TaskState): boolean {
  const { definition, status, prepared, attempt, gate, claim } = task
  if (status === 'running' && claim !== null) return (definition.write?.length ?? 0) > 0
  if (prepared?.preimage === undefined || attempt === 0) return false
  return (
    status === 'ready' ||
    (status === 'waiting' && (gate?.asks.type === 'unknown-outcome' || gate?.asks.type === 'edits'))
  )
}

/** The engine's attempts, by ordinal, which is the same in every fold. */
export const runningInOrder = (state: PlanState): readonly TaskState[] =>
  [...state.running].sort((a, b) => a.ordinal - b.ordinal)

/** Unsatisfied and blocking needs; `needs` on tasks that activated it are waived. */
export function openNeeds(state: PlanState, task: TaskState): { readonly unmet: number; readonly blockers: number } {
  let { unmet, blockers } = task
  for (const name of task.routedBy) {
    const source = task.definition.needs?.includes(name) === true ? state.tasks.get(name) : undefined
    if (source !== undefined && !SATISFIES.has(source.status)) unmet--
    if (source !== undefined && BLOCKS.has(source.status)) blockers--
  }
  return { unmet, blockers }
}

/** Without the roots themselves. */
export function transitiveDependants(roots: readonly TaskState[]): readonly TaskState[] {
  const seen = new Set<TaskState>(roots)
  const found: TaskState[] = []
  const queue = [...roots]
  for (let at = 0; at < queue.length; at++) {
    for (const dependant of queue[at]!.dependants) {
      if (seen.has(dependant)) continue
      seen.add(dependant)
      found.push(dependant)
      queue.push(dependant)
    }
  }
  return found
}

/**
 * Dormant tasks: those without `needs` that a task which does not come after them routes to. A remedy is dormant even with `needs`,
 * because the failure it is for may never come. The task made from `done` is dormant until everything else has ended. Compensating
 * tasks are activated only by the engine.
 */
export function findDormant(state: Pick<PlanState, 'order' | 'tasks'>): ReadonlySet<TaskName> {
  const dormant = new Set<TaskName>()
  const sources = new Map<TaskState, TaskState[]>()
  for (const task of state.order) {
    const remedies = remediesOf(task.definition)
    for (const name of outcomeTargets(task.definition)) {
      const target = state.tasks.get(name)
      if (target === undefined || (hasOwnNeeds(target.definition) && !remedies.includes(name))) continue
      const list = sources.get(target)
      if (list === undefined) sources.set(target, [task])
      else list.push(task)
    }
  }
  for (const [target, from] of sources) {
    const after = new Set<TaskState>([target, ...transitiveDependants([target])])
    const strangers = from.filter(source => !after.has(source))
    if (strangers.length === 0) continue
    // Two tasks that route to each other: the first one is the start.
    const reached = strangers.every(source => source.ordinal > target.ordinal) ? reach(state, target) : null
    if (reached === null || strangers.some(source => !reached.has(source))) dormant.add(target.definition.id)
  }
  for (const task of state.order) {
    const by = compensatorOf(task.definition)
    if (by !== null && state.tasks.has(by)) dormant.add(by)
  }
  const done = state.tasks.get(DONE_TASK)
  if (done?.definition.action.type === 'verify') dormant.add(DONE_TASK)
  return dormant
}

/** A first child inherits the needs of its group, which do not make it active. */
const hasOwnNeeds = ({ needs, sleeps }: TaskDefinition): boolean => (needs?.length ?? 0) > 0 && sleeps !== true

/** Everything after a task, by `needs` or outcome edges. */
function reach(state: Pick<PlanState, 'tasks'>, from: TaskState): ReadonlySet<TaskState> {
  const seen = new Set<TaskState>([from])
  for (const task of seen) {
    for (const dependant of task.dependants) seen.add(dependant)
    for (const name of outcomeTargets(task.definition)) {
      const target = state.tasks.get(name)
      if (target !== undefined) seen.add(target)
    }
  }
  return seen
}

/** The task whose work is judged: by a reviewer, or by a critic that a failure has led to; null for any other task. */
export function judgedBy(state: Pick<PlanState, 'tasks'>, task: TaskState): TaskState | null {
  const { id, reviews } = task.definition
  if (reviews !== undefined) return state.tasks.get(reviews.of) ?? null
  for (const name of task.routedBy) {
    const source = state.tasks.get(name)
    const rule = source?.recovering?.by === id ? source.recovering.rule : null
    if (rule !== null && source?.definition.recover?.[rule]?.do.type === 'repair') return source
  }
  return null
}
