// Prints a task as a node of the planning playbook. Fields that the playbook does not have are left out; `export-loss.ts` finds them by
// reading the text again.

import type { TaskName } from '../../../domain/id.ts'
import { defined, isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import type { FailureMode, TaskDefinition } from '../../../domain/plan.ts'
import { raiseTask } from '../../../format/plan/definition-to-document.ts'
import type { StatusOf } from '../../../format/plan/dialect.ts'
import { endedStatus } from '../../../format/plan/dialect.ts'
import { isList } from '../../../format/text/source.ts'
import { priorityOf } from '../amounts.ts'
import { alternatives, writtenIds } from '../document-builder.ts'
import { printCriterion } from './criteria.ts'
import { matrixOf } from './pipeline.ts'
import { callsOf, knownOf } from './plan-nodes-criteria.ts'
import { printOutputs } from './plan-nodes-outputs.ts'
import { isGateKind, NODE_KEYS, NODE_STATUS, SAME_KEYS } from './plan-nodes-task.ts'
import { withoutImplied } from './plan-nodes-wildcards.ts'

export interface PrintAround {
  readonly ids: ReadonlyMap<TaskName, Json>
  /** The same ids as text. */
  readonly taken: ReadonlySet<string>
  readonly outer?: ReadonlyMap<TaskName, Json>
  readonly prefix: string
  readonly status: StatusOf
  /** Artifacts of the plan, by the name of the task they come from. */
  readonly artifacts: ReadonlyMap<string, readonly JsonObject[]>
  /** The `for_each` list of a task whose id ends with `*`: reading derives it, so it is not printed. */
  readonly implied?: (task: TaskDefinition) => string | null
}

/** For tasks without an outer plan and without artifacts of the plan. */
export function around(ids: ReadonlyMap<TaskName, Json>): Omit<PrintAround, 'status'> {
  return { ids, taken: new Set([...ids.values()].map(String)), prefix: '', artifacts: new Map() }
}

export function printNode(task: TaskDefinition, here: PrintAround): JsonObject {
  const document = raiseTask(task)
  const { action, extra = {} } = task
  const idOf = (name: TaskName): Json => here.ids.get(name) ?? here.outer?.get(name) ?? name
  const calls = callsOf(task.instruction)
  const known = knownOf(document, calls, [])
  const gate = action.type === 'gate'
  const before = task.preconditions?.map(criterion => printCriterion(criterion, { ...known, judged: 'before' }))
  const after = task.accept?.map(criterion => printCriterion(criterion, { ...known, judged: 'after' }))
  const impliedList = here.implied?.(task) ?? null
  const same = Object.fromEntries(SAME_KEYS.filter(key => document[key] !== undefined).map(key => [key, document[key]]))
  if (impliedList !== null && document.for_each === impliedList) {
    delete same.for_each
    const inputs = withoutImplied(task.inputs ?? {})
    if (inputs === undefined) delete same.inputs
    else same.inputs = inputs
  }
  return defined({
    id: idOf(task.id),
    title: document.title,
    kind: gate && task.kind === undefined ? 'gate' : task.kind,
    ...same,
    depends_on: join(task.needs?.map(idOf), extra.needs),
    gate:
      gate && (document.gate !== 'approval' || (task.kind !== undefined && !isGateKind(task.kind)))
        ? document.gate
        : undefined,
    show: gate ? action.show : undefined,
    subplan: action.type === 'subplan' ? printSteps(action.tasks, task.id, here) : undefined,
    matrix: sameJson(task.matrix, matrixOf(calls) ?? undefined) ? undefined : task.matrix,
    priority: priorityOf(extra.priority ?? null) === task.priority ? (extra.priority ?? task.priority) : task.priority,
    estimate: document.estimate,
    budget: document.budget,
    ...printOutputs(task, here.artifacts.get(task.id) ?? []),
    [gate ? 'checks' : 'preconditions']: before,
    command: printCommand(task),
    success_criteria: after,
    failure_modes: task.failureModes?.map(mode => printFailureMode(mode, idOf, here, known)),
    ...printRoutes(task, idOf, here),
    status: statusWord(task, here),
    ...Object.fromEntries(Object.entries(extra).filter(([key]) => !NODE_KEYS.includes(key))),
  })
}

function statusWord({ id, extra }: TaskDefinition, { prefix, status }: PrintAround): string | undefined {
  const now = status(`${prefix}${id}` as TaskName)
  const remembered = typeof extra?.status === 'string' ? extra.status : undefined
  if (now !== 'pending') return NODE_STATUS.print(now, remembered) ?? now
  // The task has not started, so the status that was read is printed again, unless it was final.
  if (remembered === undefined || alternatives(remembered) !== null) return remembered
  const read = NODE_STATUS.read(remembered)
  return read.ok && endedStatus(read.status) === null ? remembered : undefined
}

function printSteps(tasks: readonly TaskDefinition[], parent: TaskName, here: PrintAround): readonly Json[] {
  const steps: Json[] = []
  const inner: PrintAround = {
    ...around(writtenIds(tasks)),
    outer: here.ids,
    prefix: `${here.prefix}${parent}/`,
    status: here.status,
  }
  for (const [index, task] of tasks.entries()) {
    const follows = index > 0 && typeof steps[index - 1] === 'string'
    const line = follows ? { needs: [String(index)] } : {}
    const short = { id: String(index + 1), title: task.title, ...line }
    const plain =
      sameJson(raiseTask(task), short as JsonObject) &&
      inner.status(`${inner.prefix}${task.id}` as TaskName) === 'pending'
    steps.push(plain ? (task.title as string) : printNode(task, inner))
  }
  return steps
}

function printCommand({ instruction, action, extra }: TaskDefinition): Json | undefined {
  const remembered = extra?.command
  if (action.type === 'gate' || action.type === 'subplan') return remembered
  return isList(remembered) && remembered.join('\n') === instruction ? remembered : instruction
}

function printFailureMode(
  { name, detect, class: kind, recover, advice }: FailureMode,
  idOf: (name: TaskName) => Json,
  here: PrintAround,
  known: ReturnType<typeof knownOf>,
): JsonObject {
  // Advice that equals the id of a task would be read as that task.
  const alone = recover === undefined && advice !== undefined && !here.taken.has(advice)
  const targets = recover?.map(idOf)
  return defined({
    name,
    detect: printCriterion(detect, { ...known, judged: 'failed' }),
    class: kind,
    recover: targets === undefined ? (alone ? advice : undefined) : targets,
    advice: alone ? undefined : advice,
  })
}

function printRoutes({ on, extra }: TaskDefinition, idOf: (name: TaskName) => Json, here: PrintAround): JsonObject {
  const outside = (isList(extra?.next) ? extra.next : []).filter(way => isMap(way) && !here.taken.has(String(way.to)))
  const ways = Object.entries(on ?? {})
  const listed = ways.every(([, to]) => to.length > 0)
  const next = [
    ...(listed ? ways.flatMap(([outcome, to]) => to.map(name => ({ on: outcome, to: idOf(name) }))) : []),
    ...outside,
  ]
  return defined({
    next: next.length === 0 ? undefined : next,
    on:
      on !== undefined && (!listed || ways.length === 0)
        ? Object.fromEntries(ways.map(([outcome, to]) => [outcome, to.map(idOf)]))
        : undefined,
  })
}

function join(needs: readonly Json[] | undefined, blank: Json | undefined): readonly Json[] | undefined {
  return isList(blank) ? [...(needs ?? []), ...blank] : needs
}

export function sameJson(a: Json | undefined, b: Json | undefined): boolean {
  if (isList(a) && isList(b)) return a.length === b.length && a.every((item, index) => sameJson(item, b[index]))
  if (!isMap(a) || !isMap(b)) return a === b
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every(key => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
}
