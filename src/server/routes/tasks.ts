// Tasks over HTTP: add to a plan, list, show, change, evaluate.

import type { Evaluation } from '../../domain/event.ts'
import type { PlanId, TaskName } from '../../domain/id.ts'
import { defined, type JsonObject } from '../../domain/json.ts'
import { SATISFIES } from '../../domain/status.ts'
import type { TaskChanges, TaskRecord } from '../../engine/engine.ts'
import type { Evaluation as EvaluationShown } from '../../format/wire/answers/tasks.ts'
import { taskWord } from '../../format/wire/status-words.ts'
import { changedInputs, givenName, idFault, taskFromStore } from '../../format/wire/task-bodies.ts'
import * as wire from '../../format/wire/tasks.ts'
import type { Fault } from '../../format/wire/wire.ts'
import type { TaskTarget } from '../../operations/find-target.ts'
import type { TaskRow } from '../../stores/store.ts'
import { findPlan, findTask } from '../find-plan.ts'
import {
  changedFields,
  clientSaid,
  merged,
  type News,
  removedKeys,
  stale,
  unsaid,
  withoutEcho,
} from '../plans/patch.ts'
import { refuseTaskStatus, type Standing, taskBecomes, type WantedStatus } from '../plans/set-task-status.ts'
import {
  DRAWS_MAX,
  inOrder,
  namesFor,
  type Ordered,
  resolveNeeds,
  showTask,
  showTasks,
  taskBody,
} from '../plans/show-task.ts'
import { invalidRequest, isProblem, type Problem, problem } from '../problem.ts'
import type { Call } from '../request.ts'
import { type Answer, created, nothing, ok, route } from '../route.ts'
import { type Accepted, gone, order, submit, taskRoute } from '../submit-order.ts'
import { iso } from '../wire-names.ts'

// Changes to tasks: status, needs, results, client fields, and assessments.

export const taskChangeRoutes = [
  taskRoute({
    method: 'PATCH',
    path: '/tasks/:task',
    right: 'operate',
    about:
      'Changes a task. A new status is an order to the engine. Unknown keys are stored with the task; null removes one.',
    body: wire.taskPatch,
    answers: { 200: { about: 'the task as it is now', body: 'TaskChanged', tag: true } },
    handle: async (call, found) => {
      const moved = await change(call, found)
      if (moved !== null && isProblem(moved)) return moved
      const shown = await showTask(call, found.plan, found.task)
      if (shown === null) return gone()
      const claim = moved?.claim
      const claimed =
        claim === undefined ? {} : { claim: { token: claim.token, expires_in_seconds: claim.expiresInMs / 1000 } }
      return ok({ ...shown.body, ...claimed }, shown.version)
    },
  }),
  taskRoute({
    method: 'DELETE',
    path: '/tasks/:task',
    right: 'operate',
    about: 'Removes a task from its plan, as a revision. Refused while other tasks need it.',
    answers: { 204: { about: 'removed from the plan; its history stays' } },
    handle: async (call, found) => {
      const done = await order(call, found.plan, { type: 'remove', tasks: [found.task] })
      return isProblem(done) ? done : nothing
    },
  }),
]

export const evaluationRoutes = [
  taskRoute({
    method: 'GET',
    path: '/tasks/:task/evaluations',
    right: 'read',
    about: 'The evaluations of a task, oldest first.',
    answers: { 200: { about: 'the evaluations', body: 'EvaluationPage' } },
    handle: async (call, found) => {
      const [record] = (await call.engine.ask({ type: 'records', plan: found.plan, tasks: [found.task] }))?.tasks ?? []
      const evaluations = await call.engine.ask({ type: 'evaluations', plan: found.plan, task: found.task })
      if (record === undefined || evaluations === null) return gone()
      return ok({ items: evaluations.map(one => evaluationBody(record.card.id, one)), next: null })
    },
  }),
  taskRoute({
    method: 'POST',
    path: '/tasks/:task/evaluations',
    right: 'operate',
    about: 'Adds an evaluation of the work of a task. It does not change the task.',
    body: wire.newEvaluation,
    answers: { 201: { about: 'the evaluation', body: 'Evaluation', tag: true } },
    handle: async (call, found) => {
      const { score, passed, metrics, notes, evaluator } = call.body
      const data = defined({ metrics, notes, evaluator }) as JsonObject
      const kept = Object.keys(data).length === 0 ? undefined : data
      const done = await order(call, found.plan, {
        type: 'evaluate',
        task: found.task,
        ...defined({ score, passed, data: kept }),
      })
      if (isProblem(done)) return done
      const event = done.events.find(one => one.type === 'task.evaluated')
      const evaluations = await call.engine.ask({ type: 'evaluations', plan: found.plan, task: found.task })
      const [record] = (await call.engine.ask({ type: 'records', plan: found.plan, tasks: [found.task] }))?.tasks ?? []
      const one = evaluations?.find(({ id }) => id === event?.id)
      if (record === undefined || one === undefined) return gone()
      return created(evaluationBody(record.card.id, one), `/tasks/${record.card.id}/evaluations`, done.version)
    },
  }),
]

type PatchCall = Call<undefined, wire.TaskPatch>

const KNOWN = {
  fields: new Set([
    'agent_id',
    'title',
    'description',
    'task_type',
    'input_data',
    'sequence_order',
    'priority',
    'depends_on',
    'dependencies',
    'labels',
    'status',
    'output_data',
    'started_at',
    'completed_at',
    'error',
    'reason',
    'token',
    'expected_revision',
  ]),
  // Fields that count as a request even if they equal the current value.
  always: new Set(['status', 'output_data', 'error', 'reason', 'token', 'expected_revision']),
}

/** One PATCH may write up to three entries, so what can be refused is checked before the first. Null if no status was requested. */
async function change(call: PatchCall, { plan, task }: TaskTarget): Promise<Accepted | null | Problem> {
  const { engine } = call
  const standing = await standingOf(engine, plan, task)
  if (standing === null) return gone()
  const { record, summary } = standing
  const shown = taskBody(record, { id: plan, name: summary.name })
  const body = withoutEcho(call.body, shown, taskWord)
  const news = changedFields(body, shown, KNOWN)
  if (isProblem(news)) return news
  const { status, output_data, error = null, reason = null, token, expected_revision } = body
  const kept = record.card.annotations.output_data
  const outputs = (output_data ?? (status === 'completed' ? kept : null) ?? null) as JsonObject | null
  const wanted: WantedStatus | null = status === undefined ? null : { status, outputs, error, reason, token }
  const refusal =
    stale(call, summary, expected_revision) ?? (wanted === null ? null : refuseTaskStatus(standing, wanted))
  if (refusal !== null) return refusal
  const changes = await changesOf(call, plan, record, news)
  if (isProblem(changes)) return changes
  let { expectedVersion } = call
  if (Object.keys(changes.set).length + Object.keys(changes.extra).length > 0) {
    const what = {
      type: 'change',
      task,
      ...changes,
      ...defined({ expectedRevision: expected_revision }),
    } as const
    const changed = await submit(call, plan, what, defined({ expectedVersion }))
    if (!changed.ok) return unsaid(changed.refusal)
    expectedVersion = undefined
  }
  const annotations = annotated(record.card.annotations, news)
  if (Object.keys(annotations).length > 0) {
    const order = { type: 'annotate', task, set: annotations } as const
    const noted = await submit(call, plan, order, defined({ expectedVersion }))
    if (!noted.ok) return unsaid(noted.refusal)
    expectedVersion = undefined
  }
  return wanted === null ? null : await taskBecomes({ ...call, expectedVersion }, standing, wanted)
}

async function standingOf(engine: Call['engine'], plan: PlanId, task: TaskName): Promise<Standing | null> {
  const summary = await engine.ask({ type: 'summary', plan })
  const of = async (tasks: readonly string[]) => (await engine.ask({ type: 'records', plan, tasks }))?.tasks ?? []
  const [record] = await of([task])
  const current = await engine.ask({ type: 'definition', plan })
  if (summary === null || record === undefined || current === null) return null
  const needs = record.card.needs.length === 0 ? [] : await of(record.card.needs)
  return { record, needs, summary, isAlone: current.definition.extra?.plan_type === 'sequential' }
}

async function changesOf(
  call: PatchCall,
  plan: PlanId,
  { definition }: TaskRecord,
  { fields, others }: News<wire.TaskPatch>,
): Promise<{ readonly set: TaskChanges; readonly extra: JsonObject } | Problem> {
  const { agent_id, title, description, task_type, input_data, labels, depends_on, dependencies } = fields
  const { needs, faults } = await resolveNeeds(call, plan, depends_on ?? dependencies, 'depends_on')
  if (faults.length > 0) return invalidRequest('body', faults)
  const setsNeeds = depends_on !== undefined || dependencies !== undefined
  const { sequence_order } = fields
  // Earlier in the sequence means a higher priority.
  const sequencePriority = sequence_order === undefined ? undefined : sequence_order === null ? null : -sequence_order
  const extra = {
    ...defined({ sequence_order }),
    // Earlier releases kept data that looked like an expression here.
    ...(input_data === undefined ? {} : { input_data: null }),
    ...removedKeys(definition.extra, others),
  } as JsonObject
  const before = definition.extra ?? {}
  const isExtraChanged = JSON.stringify(merged(before, extra)) !== JSON.stringify(before)
  const inputs = input_data == null ? null : changedInputs(input_data as JsonObject, definition.inputs ?? {})
  const set = {
    ...defined({ assignee: agent_id, title, description, kind: task_type, labels }),
    ...defined({ priority: fields.priority ?? sequencePriority }),
    ...(setsNeeds ? { needs: needs.length === 0 ? null : needs } : {}),
    ...(input_data === undefined ? {} : { inputs }),
  }
  return { set, extra: isExtraChanged ? extra : {} }
}

/** The client fields to store. With a final status, `output_data` and `error` become the result of the task and are not stored here. */
function annotated(before: JsonObject, { fields, others }: News<wire.TaskPatch>): JsonObject {
  const { status, output_data, error, started_at, completed_at } = fields
  const isFinal = status === 'completed' || status === 'failed'
  const outputs = isFinal ? (before.output_data === undefined ? {} : { output_data: null }) : defined({ output_data })
  return {
    ...others,
    ...(isFinal ? {} : defined({ error })),
    ...outputs,
    ...clientSaid(before, { started_at, completed_at }),
  } as JsonObject
}

function evaluationBody(task: string, { id, visit, score, passed, data, by, at }: Evaluation): EvaluationShown {
  const more = (data ?? {}) as { metrics?: JsonObject; notes?: string; evaluator?: string }
  return {
    id,
    task_id: task,
    visit,
    score: score ?? null,
    passed: passed ?? null,
    metrics: (more.metrics ?? {}) as EvaluationShown['metrics'],
    notes: more.notes ?? null,
    evaluator: more.evaluator ?? by,
    by,
    created_at: iso(at),
  }
}

export const taskRoutes = [
  route({
    method: 'POST',
    path: '/tasks',
    right: 'operate',
    about: 'Adds a task to a plan, or several: then all of them or none. An agent or a person claims and reports it.',
    body: wire.newTasks,
    answers: { 201: { about: 'the task; a list when several were sent', body: 'TasksMade', tag: true } },
    handle: async call => await addTasks(call),
  }),
  route({
    method: 'GET',
    path: '/tasks',
    right: 'read',
    about: 'Tasks of a plan in sequence; without a plan, tasks of all plans, newest first.',
    query: wire.listQuery,
    answers: { 200: { about: 'a page of tasks', body: 'TaskPage' } },
    handle: async call => await listTasks(call),
  }),
  taskRoute({
    method: 'GET',
    path: '/tasks/:task',
    right: 'read',
    about: 'One task, by id or as `plan:task`.',
    answers: { 200: { about: 'the task', body: 'Task', tag: true } },
    handle: async (call, found) => {
      const shown = await showTask(call, found.plan, found.task)
      return shown === null ? gone() : ok(shown.body, shown.version)
    },
  }),
  route({
    method: 'GET',
    path: '/tasks/:task/dependencies',
    right: 'read',
    about: 'What a task needs, with statuses, and which tasks need it.',
    answers: { 200: { about: 'needed tasks and dependent tasks', body: 'TaskDependencies' } },
    handle: async call => {
      const found = await findTask(call, call.params.task!)
      return isProblem(found) ? found : await showDependencies(call, found.plan, found.task)
    },
  }),
]

type AddCall = Call<undefined, wire.NewTasks>

async function addTasks(call: AddCall): Promise<Answer> {
  const { list, outer, isBatch } = sent(call.body)
  const references = new Set(list.map(one => one.plan_id ?? outer))
  const [reference] = references
  if (reference === undefined || references.size > 1) {
    const message = reference === undefined ? 'is missing' : 'tasks of one request belong to one plan'
    return invalidRequest('body', [{ path: 'plan_id', message, hint: 'say plan_id, the same for all' }])
  }
  const found = await findPlan(call, reference)
  if (isProblem(found)) return found
  const needs = await needsOf(call, found.plan, list, index => (isBatch ? `[${index}].` : ''))
  if (isProblem(needs)) return needs
  const names = await added(call, found.plan, list, needs)
  if (isProblem(names)) return names
  const shown = await showTasks(call, found.plan, names)
  const [first] = shown?.bodies ?? []
  if (shown === null || first === undefined) return gone()
  return created(
    isBatch ? shown.bodies : first,
    isBatch ? `/tasks?plan_id=${found.plan}` : `/tasks/${first.id}`,
    shown.version,
  )
}

/**
 * Tasks without a name get a generated one; if it is taken, the next round generates others. With an idempotency key each round always
 * generates the same names, so a repeated request finds its own tasks: if the first one ended in a later round, earlier rounds conflict.
 */
async function added(
  call: AddCall,
  plan: PlanId,
  list: readonly wire.NewTask[],
  needs: readonly (readonly TaskName[])[],
): Promise<readonly TaskName[] | Problem> {
  const given = list.flatMap(one => givenName(one) ?? [])
  let first: Problem | null = null
  for (let round = 0; ; round++) {
    const nameFor = namesFor(call, given, round)
    const tasks = list.map((one, index) => taskFromStore(one, needs[index]!, stem => nameFor(stem, index)))
    const ordered = inOrder(tasks)
    if (!ordered.ok) return unordered(ordered, index => `[${index}].name`)
    const made = await order(call, plan, { type: 'add', tasks: ordered.tasks })
    const names = tasks.map(({ id }) => id)
    if (!isProblem(made)) return names
    first ??= made
    const isLast = given.length === list.length || round === DRAWS_MAX - 1
    const isOfLaterRound = isOf(made, 'conflict') && call.once !== undefined
    const isTaken = isOf(made, 'duplicate') && !isLast && (await hasOneOf(call, plan, generatedNames(names, given)))
    if (isLast || !(isOfLaterRound || isTaken)) return isOfLaterRound ? first : made
  }
}

const isOf = ({ problem: { type } }: Problem, code: string): boolean => type === `urn:planfold:problem:${code}`

const generatedNames = (names: readonly TaskName[], given: readonly TaskName[]): readonly TaskName[] => {
  const known = new Set(given)
  return names.filter(name => !known.has(name))
}

const hasOneOf = async ({ engine }: AddCall, plan: PlanId, tasks: readonly TaskName[]): Promise<boolean> =>
  ((await engine.ask({ type: 'records', plan, tasks }))?.tasks.length ?? 0) > 0

function unordered(fault: Extract<Ordered, { readonly ok: false }>, at: (index: number) => string): Problem {
  if ('cycle' in fault)
    return problem(422, 'cycle', `these tasks need each other: ${fault.cycle.join(' → ')}`, {
      hint: 'leave one of these needs out',
      more: { cycle: fault.cycle },
    })
  const [first, second] = fault.at
  const message = `there is a '${fault.duplicate}' already, at ${at(first)}`
  return problem(422, 'duplicate', `two tasks of the request are called '${fault.duplicate}'`, {
    hint: 'give each a name of its own',
    faults: [{ path: at(second), message, hint: 'give each a name of its own' }],
  })
}

interface Sent {
  readonly list: readonly wire.NewTask[]
  readonly outer?: string | undefined
  readonly isBatch: boolean
}

function sent(body: wire.NewTasks): Sent {
  if (Array.isArray(body)) return { list: body, isBatch: true }
  const { tasks, plan_id: outer } = body as { readonly tasks?: readonly wire.NewTask[]; readonly plan_id?: string }
  return tasks === undefined ? { list: [body as wire.NewTask], isBatch: false } : { list: tasks, outer, isBatch: true }
}

async function needsOf(
  call: AddCall,
  plan: PlanId,
  list: readonly wire.NewTask[],
  at: (index: number) => string,
): Promise<readonly (readonly TaskName[])[] | Problem> {
  const found: (readonly TaskName[])[] = []
  const faults: Fault[] = []
  for (const [index, one] of list.entries()) {
    const key = one.depends_on == null ? 'dependencies' : 'depends_on'
    const { needs, faults: wrong } = await resolveNeeds(call, plan, one[key], `${at(index)}${key}`)
    faults.push(...wrong)
    const twoNames = idFault(one)
    if (twoNames !== null) faults.push({ ...twoNames, path: `${at(index)}id` })
    if (one.status != null && one.status !== 'pending')
      faults.push({
        path: `${at(index)}status`,
        message: `a task cannot begin as '${taskWord(one.status)}'`,
        hint: 'add it, then PATCH its status',
      })
    found.push(needs)
  }
  return faults.length === 0 ? found : invalidRequest('body', faults)
}

async function listTasks(call: Call<wire.TaskList>): Promise<Answer> {
  const { plan_id, agent_id: assignee, status: statuses, limit, cursor } = call.query
  const plan = plan_id === undefined ? null : await findPlan(call, plan_id)
  if (plan !== null && isProblem(plan)) return plan
  const where = plan === null ? ({ order: 'recent' } as const) : ({ order: 'sequence', plan: plan.plan } as const)
  const query = { ...where, archived: false, limit, ...defined({ assignee, statuses }) }
  const { items, next } = await call.engine.ask({ type: 'tasks', ...query, ...defined({ cursor }) })
  return ok({ items: await wholeTasks(call, items), next })
}

/** Search returns rows; the full tasks are then read plan by plan. */
async function wholeTasks(call: Pick<Call, 'engine'>, rows: readonly TaskRow[]) {
  const byPlan = new Map<PlanId, TaskName[]>()
  for (const { plan, name } of rows) byPlan.set(plan, [...(byPlan.get(plan) ?? []), name])
  const shown = new Map<string, unknown>()
  for (const [plan, names] of byPlan) {
    const found = await showTasks(call, plan, names)
    for (const body of found?.bodies ?? []) shown.set(body.id, body)
  }
  return rows.flatMap(({ id }) => shown.get(id) ?? [])
}

async function showDependencies({ engine }: Pick<Call, 'engine'>, plan: PlanId, task: TaskName): Promise<Answer> {
  const of = async (tasks: readonly string[]) => (await engine.ask({ type: 'records', plan, tasks }))?.tasks ?? []
  const [own] = await of([task])
  if (own === undefined) return gone()
  const show = ({ card: { id, name, status } }: typeof own) => ({ id, name, status: taskWord(status), state: status })
  const needed = await of(own.card.needs)
  return ok({
    task_id: own.card.id,
    name: own.card.name,
    depends_on: needed.map(show),
    needed_by: (await of(own.neededBy)).map(show),
    unmet: needed.filter(({ card }) => !SATISFIES.has(card.status)).map(({ card }) => card.name),
  })
}
