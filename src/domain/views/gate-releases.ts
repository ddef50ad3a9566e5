// What an answer at a gate sets going, as the plan stands now: a gate releases only what it alone still holds back. What waits for
// other gates or tasks as well is told with their names. Looked up whenever somebody looks, because others may answer meanwhile.

import { approvedTargets } from '../gates/consent-rules.ts'
import type { TaskName } from '../id.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import { ENDED, SATISFIES } from '../status.ts'

export interface Releases {
  /** These begin, or can be claimed, as soon as the gate is passed. */
  readonly begins: readonly TaskName[]
  /** These wait for the gate, and for others too. */
  readonly waits: readonly { readonly task: TaskName; readonly for: readonly TaskName[] }[]
  /** So many more stand behind it that are not named. */
  readonly more: number
}

const NAMED_MAX = 100
/** How far up it is looked for other gates. */
const LOOK_MAX = 1_000

/** Null when it is no gate that waits for an answer. */
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

/** Those that need it, those its answer leads to, and those that are agreed to there although others come before them. */
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

/** Where a choice leads is told with the options. */
const ledAlways = (definition: TaskState['definition']): readonly TaskName[] =>
  definition.action.type === 'gate' && definition.action.gate === 'decision'
    ? []
    : approvedTargets(definition).flatMap(({ to }) => to)

/** A group begins with its tasks, and the last judgement with nothing. */
function isWork({ status, definition: { action } }: TaskState): boolean {
  return !ENDED.has(status) && action.type !== 'group' && action.type !== 'verify'
}

/** Of a task with items that are not known yet, the engine looks them up first, under a name of its own. */
const nameOf = ({ definition: { id, action } }: TaskState): TaskName => (action.type === 'items' ? action.of : id)

/** What it waits for besides the gate: what it needs itself, and gates further up that nobody has passed. */
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
