// `plan-record`, how the plan store keeps plans and tasks: `{plan: {…}, tasks: [{id, plan_id, agent_id, description, task_type,
// input_data, status, sequence_order, …}]}`, a list of such tasks, or one of them. Tasks follow each other by
// `sequence_order`; those with the same number run side by side. What came out of a task is kept, never taken for its inputs.

import type { TaskName } from '../../../domain/id.ts'
import { defined, isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import type { Dialect, Printed, Reading, StatusOf } from '../../../format/plan/dialect.ts'
import type { Path } from '../../../format/text/diagnostic.ts'
import { isReadableId } from '../../../format/text/slug.ts'
import { isList, type Source } from '../../../format/text/source.ts'
import { TASK_WORDS } from '../../../format/wire/status-words.ts'
import { durationText } from '../amounts.ts'
import { DataReferences, printReferences } from '../data-references.ts'
import { DocumentBuilder, type Fields, readStatus } from '../document-builder.ts'
import { printed } from '../export-loss.ts'
import { idsToWrite } from '../names.ts'
import { holdsTasks } from '../unknown-format.ts'
import { isSteps, readOrder, readPlanWords, readSteps } from './plan-steps.ts'
import { EDGES_MAX, edgesByRank, needsByRank, References, ranksOf, sameNeeds } from './plan-steps-order.ts'
import { planWords } from './plan-steps-print.ts'
import {
  criteriaOf,
  isText,
  isTexts,
  keepOthers,
  moveCriteria,
  moveIf,
  moveInputs,
  moveText,
  putId,
  readNeeds,
  refuseTwins,
  stepIds,
  taskStatusWord,
  withOthers,
} from './plan-steps-words.ts'

// Prints a plan as the records of the plan store: `{plan, tasks}`. Ranks become `sequence_order`; an order that ranks cannot say is
// written as `dependencies`.

function printPlanRecord(definition: PlanDefinition, status: StatusOf, read: Dialect['read']): Printed {
  const tasks = definition.tasks.filter(({ action }) => action.type !== 'verify')
  const ranks = ranksIn(tasks)
  const { extra } = definition
  const plan = defined({
    ...planWords(definition, status),
    plan_type: extra?.plan_type ?? (ranks === null ? 'parallel' : 'sequential'),
    steps: extra?.steps,
  })
  const written = idsToWrite(tasks.map(task => ({ id: task.id, text: printedWords(task) })))
  const numbers = numbersOf(tasks, ranks)
  const records = tasks.map((task, index) =>
    record(task, { written, number: numbers[index] as Json, planId: extra?.id, explicit: ranks === null, status }),
  )
  return printed(`${JSON.stringify({ plan, tasks: records }, null, 2)}\n`, definition, status, read)
}

interface About {
  readonly written: ReadonlySet<TaskName>
  readonly number: Json
  readonly planId: Json | undefined
  readonly explicit: boolean
  readonly status: StatusOf
}

function record(task: TaskDefinition, about: About): JsonObject {
  const { extra } = task
  const said = {
    id: about.written.has(task.id) ? task.id : extra?.id,
    plan_id: extra?.plan_id ?? about.planId,
    agent_id: task.assignee,
    name: task.title,
    description: task.description,
    task_type: task.kind,
    llm_prompt: task.instruction,
    input_data: printReferences(task.inputs),
    sequence_order: about.number,
    dependencies: about.explicit ? task.needs : undefined,
    priority: task.priority,
    labels: task.labels,
    timeout_seconds: task.timeoutMs === undefined ? undefined : task.timeoutMs / 1_000,
    acceptance_criteria: criteriaOf(task),
    status: taskStatusWord(TASK_WORDS, task, about.status(task.id)) ?? undefined,
  }
  return withOthers(said, extra, ['status', 'sequence_order'])
}

/** The rank of each task, when each needs exactly the rank before it; null when the order is another one. */
function ranksIn(tasks: readonly TaskDefinition[]): readonly number[] | null {
  const ranks: number[] = []
  let before: readonly TaskName[] | undefined
  let rank: TaskName[] = []
  for (const { id, needs } of tasks) {
    if (ranks.length > 0 && !sameNeeds(needs, before)) {
      before = rank
      rank = []
    }
    if (!sameNeeds(needs, before)) return null
    rank.push(id)
    ranks.push((ranks.at(-1) ?? 1) + (rank.length === 1 && ranks.length > 0 ? 1 : 0))
  }
  return ranks
}

/** The numbers as they were written, if they still say the same. */
function numbersOf(tasks: readonly TaskDefinition[], ranks: readonly number[] | null): readonly Json[] {
  const plain = ranks ?? tasks.map((_, index) => index + 1)
  const given = tasks.map((task, index) => task.extra?.sequence_order ?? (plain[index] as number))
  const holds = given.every((number, index) => {
    if (index === 0) return typeof number === 'number'
    const [last, now] = [given[index - 1] as number, number as number]
    return ranks === null ? now >= last : plain[index] === plain[index - 1] ? now === last : now > last
  })
  return holds ? given : plain
}

function printedWords(task: TaskDefinition): string {
  return task.title ?? task.description ?? task.kind ?? ''
}

export const planRecord: Dialect = {
  name: 'plan-record',
  about: 'plan and task records with sequence_order, as clients of the PlanStore HTTP API send them (JSON)',
  recognises: ({ value }) => {
    const parts = partsOf(value)
    return parts !== null && (parts.tasks.some(isRecord) || (parts.tasks.length === 0 && isSteps(parts.plan.steps)))
  },
  read,
  print: (definition, status) => printPlanRecord(definition, status, read),
}

interface Parts {
  readonly plan: JsonObject
  readonly planAt: Path
  readonly tasks: readonly Json[]
  readonly tasksAt: Path
}

function partsOf(value: Json | undefined): Parts | null {
  if (isList(value)) return value.length === 0 ? null : { plan: {}, planAt: [], tasks: value, tasksAt: [] }
  if (!isMap(value) || Object.hasOwn(value, 'planfold')) return null
  if (isMap(value.plan) && (isList(value.tasks) || value.tasks === undefined))
    return { plan: value.plan, planAt: ['plan'], tasks: value.tasks ?? [], tasksAt: ['tasks'] }
  if (isList(value.tasks)) {
    const { tasks, ...plan } = value
    return { plan, planAt: [], tasks: tasks as readonly Json[], tasksAt: ['tasks'] }
  }
  return isLone(value) ? { plan: {}, planAt: [], tasks: [value], tasksAt: LONE } : null
}

/** One task that is the whole text stands at no path. */
const LONE: Path = ['\u0000lone']

function isRecord(value: Json): boolean {
  if (!isMap(value) || holdsTasks(value)) return false
  const has = (key: string) => Object.hasOwn(value, key)
  return (
    has('sequence_order') ||
    has('plan_id') ||
    (isText(value.description) && (has('task_type') || has('input_data'))) ||
    (has('input_data') && has('output_data'))
  )
}

/** One record that is the whole text must look like a task by itself: a plan has a `plan_id` and a title, too. */
function isLone(value: JsonObject): boolean {
  const telling = ['task_type', 'sequence_order', 'input_data', 'output_data']
  const about = isText(value.description) || isText(value.agent_id) || isText(value.assigned_agent)
  const inAndOut = Object.hasOwn(value, 'input_data') && Object.hasOwn(value, 'output_data')
  return (inAndOut || (about && telling.some(key => Object.hasOwn(value, key)))) && !holdsTasks(value)
}

function read(source: Source): Reading {
  if (!source.read.ok) return source.read
  const draft = new DocumentBuilder(source)
  const parts = partsOf(source.value)
  if (parts === null) {
    draft.refuse({
      path: [],
      message: 'these are not records of a plan and its tasks',
      hint: 'write {"plan": {…}, "tasks": [{"description": "…", "sequence_order": 1}]}',
    })
    return draft.reading({})
  }
  const fields = draft.fields(parts.plan, parts.planAt, [])
  readPlanWords(draft, fields)
  const order = readOrder(fields)
  if (parts.tasks.length === 0 && isSteps(parts.plan.steps)) {
    const steps = fields.take('steps') as readonly Json[]
    fields.put('tasks', readSteps(draft, steps, { at: [...parts.planAt, 'steps'], to: ['tasks'], prefix: '', order }))
  } else {
    const planId = planIdOf(parts)
    if (parts.plan.id === undefined) fields.remember('id', planId)
    fields.put('tasks', readRecords(draft, parts, planId, order))
  }
  keepOthers(fields)
  return draft.reading(fields.document())
}

/** The plan all tasks say they belong to. */
function planIdOf({ plan, tasks }: Parts): Json | undefined {
  if (plan.id !== undefined) return plan.id
  const ids = new Set(tasks.map(task => (isMap(task) ? task.plan_id : undefined)))
  return ids.size === 1 ? [...ids][0] : undefined
}

function readRecords(
  draft: DocumentBuilder,
  parts: Parts,
  planId: Json | undefined,
  order: 'sequential' | 'parallel',
): readonly JsonObject[] {
  const pathOf = (index: number): Path => (parts.tasksAt === LONE ? [] : [...parts.tasksAt, index])
  const records = parts.tasks.map((task, index) => {
    if (isMap(task)) {
      refuseNumber(draft, task, pathOf(index))
      return { task, at: pathOf(index) }
    }
    draft.refuse({
      path: pathOf(index),
      message: 'a task must be a mapping (key: value)',
      hint: 'write {"description": "…", "sequence_order": 1}',
    })
    return { task: {}, at: pathOf(index) }
  })
  records.sort((a, b) => sequenceOf(a.task) - sequenceOf(b.task))
  const given = records.map(({ task }) => task)
  const ids = stepIds(given, wordsOf)
  refuseTwins(draft, given, { noun: 'task', pathOf: index => records[index]!.at })
  const references = new References()
  references.add(ids.map(id => [id, id] as const))
  references.add(records.map(({ task }, index) => [task.id, ids[index] as TaskName] as const))
  references.add(records.map(({ task }, index) => [task.name, ids[index] as TaskName] as const))
  const marked = records.map(({ task }, index) => ({
    item: ids[index] as TaskName,
    mark: task.sequence_order ?? undefined,
  }))
  const ranks = ranksOf(marked)
  const rankOf = new Map(ranks.flatMap((rank, index) => rank.map(id => [id, index + 1] as const)))
  if (order === 'sequential' && edgesByRank(ranks) > EDGES_MAX) {
    draft.refuse({
      path: parts.tasksAt === LONE ? [] : parts.tasksAt,
      message: 'too many tasks have the same sequence_order',
      hint: "say 'dependencies' instead",
    })
    return []
  }
  const unsaid = order === 'sequential' ? needsByRank(ranks) : new Map<TaskName, readonly TaskName[]>()
  const data = new DataReferences(references)
  const tasks = records.map(({ task, at }, index) => {
    const id = ids[index] as TaskName
    const fields = draft.fields(task, at, ['tasks', index])
    readRecord(draft, fields, id, planId, data)
    if (wordsOf(task) === '' && !isReadableId(task.id))
      draft.sketched(['tasks', index], 'the record does not say what the task is', "add an 'id' or a 'description'")
    const number = fields.take('sequence_order')
    if (number !== (order === 'sequential' ? rankOf.get(id) : index + 1)) fields.remember('sequence_order', number)
    readNeeds(draft, fields, references, unsaid.get(id))
    keepOthers(fields)
    return fields.document()
  })
  return data.needed(tasks)
}

function readRecord(
  draft: DocumentBuilder,
  fields: Fields,
  id: TaskName,
  planId: Json | undefined,
  references: DataReferences,
): void {
  const { map } = fields
  putId(fields, id)
  if (fields.take('plan_id') !== planId) fields.keep(['plan_id'])
  moveText(fields, ['name', 'title'], 'title')
  moveText(fields, ['description'], 'description')
  moveText(fields, ['task_type'], 'kind')
  moveText(fields, ['agent_id', 'assigned_agent'], 'assignee')
  moveText(fields, ['llm_prompt'], 'instruction')
  moveInputs(draft, fields, 'input_data', { step: id, references })
  moveInputs(draft, fields, 'inputs', { step: id, references })
  moveIf(fields, 'labels', 'labels', isTexts)
  moveIf(fields, 'priority', 'priority', value => Number.isSafeInteger(value) && Math.abs(value as number) <= 1_000_000)
  moveCriteria(fields, ['acceptance_criteria', 'success_criteria'])
  const seconds = map.timeout_seconds
  if (typeof seconds === 'number' && seconds >= 0.001 && seconds <= 30 * 86_400) {
    fields.take('timeout_seconds')
    fields.put('timeout', durationText(seconds, 's'), 'timeout_seconds')
  }
  readStatus(draft, fields, 'status', id, TASK_WORDS)
}

/** A word for a number would put the task at the end, which nobody asked for. */
function refuseNumber(draft: DocumentBuilder, { sequence_order: number }: JsonObject, at: Path): void {
  if (number === undefined || number === null || typeof number === 'number') return
  draft.refuse({
    path: [...at, 'sequence_order'],
    message: `sequence_order is a number, not ${JSON.stringify(number).slice(0, 60)}`,
    hint: 'write {"description": "…", "sequence_order": 1}',
  })
}

/** Tasks without a number come last, in the order in which they stand. */
function sequenceOf(task: JsonObject): number {
  return typeof task.sequence_order === 'number' ? task.sequence_order : Number.MAX_VALUE
}

function wordsOf(task: JsonObject): string {
  return [task.name, task.title, task.description, task.task_type].find(isText) ?? ''
}
