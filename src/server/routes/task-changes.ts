// Tasks that change: their status, what they need and say, what a client keeps beside them; and what is said of their work.

import type { Evaluation } from '../../domain/client-event.ts'
import type { PlanId, TaskName } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { TaskChanges, TaskRecord } from '../../engine/engine.ts'
import { changedInputs } from '../../format/wire/from-store.ts'
import { taskWord } from '../../format/wire/store-words.ts'
import * as wire from '../../format/wire/tasks.ts'
import type { Call } from '../call.ts'
import { given } from '../given.ts'
import { type FoundTask, findTask } from '../look-up.ts'
import { needsMeant } from '../needs.ts'
import { clientSaid, merged, type News, newsIn, takenFrom, withoutEcho } from '../news.ts'
import { iso } from '../on-wire.ts'
import { type Accepted, gone, order, submit } from '../ordering.ts'
import { isProblem, type Problem, unfit } from '../problem.ts'
import { created, nothing, ok, route } from '../route.ts'
import { showTask, taskBody } from '../show-task.ts'
import { stale, unsaid } from '../stale.ts'
import { refuseTaskStatus, type Standing, taskBecomes, type WantedStatus } from '../task-status.ts'

export const taskChangeRoutes = [
  route({
    method: 'PATCH',
    path: '/tasks/:task',
    right: 'operate',
    noun: 'tasks',
    about:
      'Changes a task. A status is asked for as an order; keys nobody knows are kept beside it, and null takes one away.',
    body: wire.taskPatch,
    answers: { 200: { about: 'the task as it is now', body: wire.taskChanged, tag: true } },
    handle: async call => {
      const found = await findTask(call, call.params.task!)
      if (isProblem(found)) return found
      const moved = await change(call, found)
      if (moved !== null && isProblem(moved)) return moved
      const shown = await showTask(call, found.plan, found.task)
      if (shown === null) return gone()
      const claim = moved?.claim
      const told =
        claim === undefined ? {} : { claim: { token: claim.token, expires_in_seconds: claim.expiresInMs / 1000 } }
      return ok({ ...shown.body, ...told }, shown.version)
    },
  }),
  route({
    method: 'DELETE',
    path: '/tasks/:task',
    right: 'operate',
    noun: 'tasks',
    about: 'Takes a task out of its plan, as a revision. Refused while others need it.',
    answers: { 204: { about: 'it is gone from the plan; its history stays' } },
    handle: async call => {
      const found = await findTask(call, call.params.task!)
      if (isProblem(found)) return found
      const done = await order(call, found.plan, { type: 'remove', tasks: [found.task] })
      return isProblem(done) ? done : nothing
    },
  }),
  route({
    method: 'GET',
    path: '/tasks/:task/evaluations',
    right: 'read',
    noun: 'evaluations',
    about: 'What was said of the work of a task, oldest first.',
    answers: { 200: { about: 'the last of them', body: wire.evaluations } },
    handle: async call => {
      const found = await findTask(call, call.params.task!)
      if (isProblem(found)) return found
      const [record] =
        (await call.rooms.engine.ask({ type: 'records', plan: found.plan, tasks: [found.task] }))?.tasks ?? []
      const said = await call.rooms.engine.ask({ type: 'evaluations', plan: found.plan, task: found.task })
      if (record === undefined || said === null) return gone()
      return ok({ items: said.map(one => evaluationBody(record.card.id, one)), next: null })
    },
  }),
  route({
    method: 'POST',
    path: '/tasks/:task/evaluations',
    right: 'operate',
    noun: 'evaluations',
    about: 'Says what somebody makes of the work of a task. It changes nothing about it.',
    body: wire.newEvaluation,
    answers: { 201: { about: 'the evaluation', body: wire.evaluation, tag: true } },
    handle: async call => {
      const found = await findTask(call, call.params.task!)
      if (isProblem(found)) return found
      const { score, passed, metrics, notes, evaluator } = call.body
      const data = given({ metrics, notes, evaluator }) as JsonObject
      const kept = Object.keys(data).length === 0 ? undefined : data
      const done = await order(call, found.plan, {
        type: 'evaluate',
        task: found.task,
        ...given({ score, passed, data: kept }),
      })
      if (isProblem(done)) return done
      const event = done.events.find(one => one.type === 'task.evaluated')
      const said = await call.rooms.engine.ask({ type: 'evaluations', plan: found.plan, task: found.task })
      const [record] =
        (await call.rooms.engine.ask({ type: 'records', plan: found.plan, tasks: [found.task] }))?.tasks ?? []
      const one = said?.find(({ id }) => id === event?.id)
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
  // Whoever says a status means it, whatever is so now.
  always: new Set(['status', 'output_data', 'error', 'reason', 'token', 'expected_revision']),
}

/** Whatever can be refused is looked at before anything is written. Null when no status was asked for. */
async function change(call: PatchCall, { plan, task }: FoundTask): Promise<Accepted | null | Problem> {
  const { engine } = call.rooms
  const standing = await standingOf(engine, plan, task)
  if (standing === null) return gone()
  const { record, summary } = standing
  const shown = taskBody(record, { id: plan, name: summary.name })
  const body = withoutEcho(call.body, shown, taskWord)
  const news = newsIn(body, shown, KNOWN)
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
    const what = { type: 'change', task, ...changes, ...given({ expectedRevision: expected_revision }) } as const
    const changed = await submit(call, plan, what, given({ expectedVersion }))
    if (!changed.ok) return unsaid(changed.refusal)
    expectedVersion = undefined
  }
  const beside = annotated(record.card.annotations, news)
  if (Object.keys(beside).length > 0) {
    const order = { type: 'annotate', task, set: beside } as const
    const noted = await submit(call, plan, order, given({ expectedVersion }))
    if (!noted.ok) return unsaid(noted.refusal)
    expectedVersion = undefined
  }
  return wanted === null ? null : await taskBecomes({ ...call, expectedVersion }, standing, wanted)
}

async function standingOf(engine: Call['rooms']['engine'], plan: PlanId, task: TaskName): Promise<Standing | null> {
  const summary = await engine.ask({ type: 'summary', plan })
  const of = async (tasks: readonly string[]) => (await engine.ask({ type: 'records', plan, tasks }))?.tasks ?? []
  const [record] = await of([task])
  const current = await engine.ask({ type: 'definition', plan })
  if (summary === null || record === undefined || current === null) return null
  const needs = record.card.needs.length === 0 ? [] : await of(record.card.needs)
  return { record, needs, summary, isAlone: current.definition.extra?.plan_type === 'sequential' }
}

/** Fields of its definition as they shall be. */
async function changesOf(
  call: PatchCall,
  plan: PlanId,
  { definition }: TaskRecord,
  { fields, others }: News<wire.TaskPatch>,
): Promise<{ readonly set: TaskChanges; readonly extra: JsonObject } | Problem> {
  const { agent_id, title, description, task_type, input_data, labels, depends_on, dependencies } = fields
  const { needs, faults } = await needsMeant(call, plan, depends_on ?? dependencies, 'depends_on')
  if (faults.length > 0) return unfit('body', faults)
  const isNeeding = depends_on !== undefined || dependencies !== undefined
  const { sequence_order } = fields
  const offered = sequence_order === undefined ? undefined : sequence_order === null ? null : -sequence_order
  const extra = {
    ...given({ sequence_order }),
    // Where an earlier release kept data that looked like an expression.
    ...(input_data === undefined ? {} : { input_data: null }),
    ...takenFrom(definition.extra, others),
  } as JsonObject
  const before = definition.extra ?? {}
  const isOther = JSON.stringify(merged(before, extra)) !== JSON.stringify(before)
  const inputs = input_data == null ? null : changedInputs(input_data as JsonObject, definition.inputs ?? {})
  const set = {
    ...given({ assignee: agent_id, title, description, kind: task_type, labels }),
    ...given({ priority: fields.priority ?? offered }),
    ...(isNeeding ? { needs: needs.length === 0 ? null : needs } : {}),
    ...(input_data === undefined ? {} : { inputs }),
  }
  return { set, extra: isOther ? extra : {} }
}

/** What is kept beside it. What a task that has ended left behind stands in its outputs, until somebody says otherwise. */
function annotated(before: JsonObject, { fields, others }: News<wire.TaskPatch>): JsonObject {
  const { status, output_data, error, started_at, completed_at } = fields
  const isTold = status === 'completed' || status === 'failed'
  const outputs = isTold ? (before.output_data === undefined ? {} : { output_data: null }) : given({ output_data })
  return {
    ...others,
    ...(isTold ? {} : given({ error })),
    ...outputs,
    ...clientSaid(before, { started_at, completed_at }),
  } as JsonObject
}

function evaluationBody(task: string, { id, visit, score, passed, data, by, at }: Evaluation): wire.EvaluationBody {
  const said = (data ?? {}) as { metrics?: JsonObject; notes?: string; evaluator?: string }
  return {
    id,
    task_id: task,
    visit,
    score: score ?? null,
    passed: passed ?? null,
    metrics: (said.metrics ?? {}) as wire.EvaluationBody['metrics'],
    notes: said.notes ?? null,
    evaluator: said.evaluator ?? by,
    by,
    created_at: iso(at),
  }
}
