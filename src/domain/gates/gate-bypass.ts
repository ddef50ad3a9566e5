// What would bypass an open gate: skipping a task, finishing a plan by hand, or a revision. A gate holds a task if the task cannot begin
// before the gate is passed, directly or through others, by `needs` or outcome edges. Who may not decide at a gate may not release what it
// holds.

import type { TaskName } from '../id.ts'
import { same } from '../json.ts'
import type { PlanDefinition, TaskDefinition } from '../plan.ts'
import { isActing } from '../plan-rules/impact.ts'
import { rolesOf } from '../policy/plan-roles.ts'
import type { TaskState } from '../state/state.ts'
import { allTasks, findDormant, linkNeed, newTask, outcomeTargets } from '../state/task-index.ts'
import { ENDED, SATISFIES, type TaskStatus } from '../status.ts'

export interface GatedPlan {
  readonly definition: PlanDefinition
  readonly statuses: ReadonlyMap<TaskName, TaskStatus>
}

/** What an approver of the gate would have to agree to. */
export type Release =
  | { readonly type: 'skipped' | 'removed' | 'changed'; readonly gate: TaskName }
  /** The task would no longer wait for the gate. */
  | { readonly type: 'released'; readonly gate: TaskName; readonly task: TaskName }
  /** A task that does the same as one behind the gate, without waiting for it. */
  | { readonly type: 'copied'; readonly gate: TaskName; readonly task: TaskName }
  | { readonly type: 'policy'; readonly part: (typeof RULES)[number] }

/** The policy about people acts as a gate before everything it names. */
const RULES = ['gates', 'roles', 'replan'] as const
const ruleOf = (definition: PlanDefinition, part: (typeof RULES)[number]) =>
  part === 'roles' ? rolesOf(definition) : definition.policy?.[part]

/** For a skipped task with all its children. */
export function releasedBySkipping(plan: GatedPlan, task: TaskName): Release | null {
  const graph = graphOf(plan.definition)
  const closed = closedIn(graph, plan)
  const skipped = new Set(graph.order.filter(({ id }) => id === task || id.startsWith(`${task}/`)).map(({ id }) => id))
  const gate = closed.find(({ id }) => skipped.has(id))
  if (gate !== undefined) return { type: 'skipped', gate: gate.id }
  const isPassed = passedIn(plan)
  return firstReleased(closed, { graph, isPassed }, { graph, isPassed: id => isPassed(id) || skipped.has(id) })
}

/** For a plan that is finished by hand: everything open is skipped. Branches that no outcome activated are skipped as usual. */
export function releasedByFinishing(plan: GatedPlan): Release | null {
  const graph = graphOf(plan.definition)
  const open = closedIn(graph, plan).find(({ id }) => {
    const status = plan.statuses.get(id) ?? 'pending'
    return !ENDED.has(status) && !(status === 'pending' && graph.dormant.has(id))
  })
  return open === undefined ? null : { type: 'skipped', gate: open.id }
}

export function releasedByRevising(plan: GatedPlan, after: PlanDefinition): Release | null {
  const { definition } = plan
  for (const part of RULES) if (!same(ruleOf(definition, part), ruleOf(after, part))) return { type: 'policy', part }
  const [was, is] = [graphOf(definition), graphOf(after)]
  const closed = closedIn(was, plan)
  for (const gate of closed) {
    const now = is.byName.get(gate.id)
    if (now === undefined) return { type: 'removed', gate: gate.id }
    if (!same(asked(gate), asked(now))) return { type: 'changed', gate: gate.id }
  }
  const isPassed = passedIn(plan)
  const [before, then] = [
    { graph: was, isPassed },
    { graph: is, isPassed },
  ]
  return firstReleased(closed, before, then) ?? firstCopied(closed, before, then)
}

/** Position, labels and client data need no approval. */
function asked({ extra: _, priority: __, labels: ___, ...rest }: TaskDefinition): object {
  return rest
}

const passedIn =
  ({ statuses }: GatedPlan) =>
  (id: TaskName): boolean =>
    SATISFIES.has(statuses.get(id) ?? 'pending')

/** A rejected gate is not passed either. */
const closedIn = ({ order }: Graph, plan: GatedPlan): readonly TaskDefinition[] => {
  const isPassed = passedIn(plan)
  return order.filter(({ id, action }) => action.type === 'gate' && !isPassed(id))
}

interface Graph {
  readonly order: readonly TaskDefinition[]
  readonly byName: ReadonlyMap<TaskName, TaskDefinition>
  readonly dormant: ReadonlySet<TaskName>
  readonly sources: ReadonlyMap<TaskName, readonly TaskName[]>
  readonly followers: ReadonlyMap<TaskName, readonly TaskName[]>
}

function graphOf(definition: PlanDefinition): Graph {
  const order = allTasks(definition)
  const states = new Map<TaskName, TaskState>(order.map((task, ordinal) => [task.id, newTask(task, ordinal)]))
  const sources = new Map<TaskName, TaskName[]>()
  const followers = new Map<TaskName, TaskName[]>()
  for (const task of order) {
    for (const need of new Set(task.needs)) {
      linkNeed({ tasks: states }, states.get(task.id)!, need)
      put(followers, need, task.id)
    }
    for (const target of new Set(outcomeTargets(task))) {
      put(sources, target, task.id)
      put(followers, task.id, target)
    }
  }
  const dormant = findDormant({ order: [...states.values()], tasks: states })
  return { order, byName: new Map(order.map(task => [task.id, task])), dormant, sources, followers }
}

function put(map: Map<TaskName, TaskName[]>, key: TaskName, value: TaskName): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}

interface Passing {
  readonly graph: Graph
  readonly isPassed: (id: TaskName) => boolean
}

/** Gates per walk, one bit each: a plan may consist of gates only. */
const BITS = 30

function firstReleased(gates: readonly TaskDefinition[], before: Passing, after: Passing): Release | null {
  for (let at = 0; at < gates.length; at += BITS) {
    const some = gates.slice(at, at + BITS)
    const [was, is] = [freeOf(some, before), freeOf(some, after)]
    for (const [task, free] of is) {
      const freed = free & ~(was.get(task) ?? -1)
      const gate = freed === 0 ? undefined : some.find((_, bit) => (freed & (1 << bit)) !== 0)
      if (gate !== undefined && !after.isPassed(task)) return { type: 'released', gate: gate.id, task }
    }
  }
  return null
}

/** Detects only verbatim copies, see SECURITY.md. A copy that existed before the revision is not new. */
function firstCopied(gates: readonly TaskDefinition[], before: Passing, after: Passing): Release | null {
  const known = before.graph.byName
  const news = after.graph.order.filter(task => isActing(task) && does(task) !== does(known.get(task.id)))
  if (news.length === 0) return null
  for (let at = 0; at < gates.length; at += BITS) {
    const some = gates.slice(at, at + BITS)
    const [was, is] = [freeOf(some, before), freeOf(some, after)]
    const held = new Map<string, number>()
    for (const task of before.graph.order.filter(isActing))
      held.set(does(task), (held.get(does(task)) ?? -1) & ~was.get(task.id)!)
    for (const task of news) {
      const freed = (held.get(does(task)) ?? 0) & is.get(task.id)!
      const gate = some.find((_, bit) => (freed & (1 << bit)) !== 0)
      if (gate !== undefined) return { type: 'copied', gate: gate.id, task: task.id }
    }
  }
  return null
}

const does = (task: TaskDefinition | undefined): string => (task === undefined ? '' : JSON.stringify(task.action))

/** For each task, a bit for each gate that it does not wait for. The least fixed point, so that a cycle does not release itself. */
function freeOf(gates: readonly TaskDefinition[], { graph, isPassed }: Passing): ReadonlyMap<TaskName, number> {
  const all = (1 << gates.length) - 1
  const own = new Map(gates.map(({ id }, bit) => [id, 1 << bit]))
  const free = new Map<TaskName, number>(graph.order.map(({ id }) => [id, 0]))
  const queue = graph.order.map(({ id }) => id)
  const queued = new Set(queue)
  for (let at = 0; at < queue.length; at++) {
    const id = queue[at]!
    queued.delete(id)
    const found = isPassed(id) ? all : begins(graph, graph.byName.get(id)!, free, all)
    const now = found & ~(own.get(id) ?? 0)
    if (now === free.get(id)) continue
    free.set(id, now)
    for (const next of graph.followers.get(id) ?? [])
      if (free.has(next) && !queued.has(next)) {
        queued.add(next)
        queue.push(next)
      }
  }
  return free
}

function begins(
  { dormant, sources }: Graph,
  { id, needs = [] }: TaskDefinition,
  free: ReadonlyMap<TaskName, number>,
  all: number,
): number {
  let bits = all
  for (const need of needs) bits &= free.get(need) ?? all
  // Compensations and the final check have no predecessors and are not gated.
  const from = sources.get(id)
  if (!dormant.has(id) || from === undefined) return bits
  let led = 0
  for (const source of from) led |= free.get(source) ?? all
  return bits & led
}
