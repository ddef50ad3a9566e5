// What an answer at a gate would release in the current state: only tasks that wait for nothing else. Tasks that also wait for other gates
// or tasks are listed with their names. Computed on demand, because the state may change.

import { approvedTargets } from '../gates/consent-rules.ts'
import type { TaskName } from '../id.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import { ENDED, SATISFIES } from '../status.ts'

export interface Releases {
  /** These begin, or become claimable, when the gate is passed. */
  readonly begins: readonly TaskName[]
  readonly waits: readonly { readonly task: TaskName; readonly for: readonly TaskName[] }[]
  readonly more: number
}

const NAMED_MAX = 100
const LOOK_MAX = 1_000

/** Null when the task is no gate that waits for an answer. */
export function releasesOf(state: PlanState, gate: TaskState): Releases | null {
  if (gate.gate === null || gate.definition.action.type !== 'gate') return null
  const behind = behindOf(state, gate)
  const named = behind.slice(0, NAMED_MAX)
  const begins: TaskName[] = []
  const waits: { task: TaskName; for: readonly TaskName[] }[] = []
  for (const task of named) {
    const others = othersBefore(state, task, gate)
    if (others.length === 0) begins.push(nameOf(task))
    else waits.push({ task: nameOf(task), for: others })
  }
  return { begins, waits, more: behind.length - named.length }
}

/** Its dependants, the targets of its answer, and the tasks it approves although others precede them. */
function behindOf(state: PlanState, { definition, dependants, gate }: TaskState): readonly TaskState[] {
  const { action, on = {} } = definition
  const isQuestion = action.type === 'gate' && action.gate === 'question'
  const led = isQuestion ? [...(on.answered ?? []), ...(on.success ?? [])] : ledAlways(definition)
  const bound = Object.keys(gate?.binds ?? {})
  const others = [...led, ...bound].flatMap(name => state.tasks.get(name as TaskName) ?? [])
  const found = new Map<TaskName, TaskState>()
  for (const task of [...dependants, ...others]) if (isWork(task)) found.set(nameOf(task), task)
  return [...found.values()]
}

/** The targets of a choice are listed with the options. */
const ledAlways = (definition: TaskState['definition']): readonly TaskName[] =>
  definition.action.type === 'gate' && definition.action.gate === 'decision'
    ? []
    : approvedTargets(definition).flatMap(({ to }) => to)

/** A group begins with its children, and the final check is no work. */
function isWork({ status, definition: { action } }: TaskState): boolean {
  return !ENDED.has(status) && action.type !== 'group' && action.type !== 'verify'
}

/** For a task with computed items, the engine first runs another one that finds them. */
const nameOf = ({ definition: { id, action } }: TaskState): TaskName => (action.type === 'items' ? action.of : id)

/** What it waits for besides the gate: its own needs, and open gates further up. */
function othersBefore(state: PlanState, task: TaskState, gate: TaskState): readonly TaskName[] {
  const direct = openNeeds(state, task, gate)
  const seen = new Set<TaskState>([task, gate, ...direct])
  const gates: TaskName[] = []
  const queue = [...direct]
  for (let at = 0; at < queue.length && at < LOOK_MAX; at++) {
    for (const need of openNeeds(state, queue[at]!, gate)) {
      if (seen.has(need)) continue
      seen.add(need)
      queue.push(need)
      if (need.definition.action.type === 'gate') gates.push(need.definition.id)
    }
  }
  return [...direct.map(nameOf), ...gates]
}

function openNeeds(state: PlanState, { definition: { needs = [] } }: TaskState, gate: TaskState): readonly TaskState[] {
  return needs.flatMap(name => {
    const need = state.tasks.get(name)
    return need === undefined || need === gate || SATISFIES.has(need.status) ? [] : [need]
  })
}
