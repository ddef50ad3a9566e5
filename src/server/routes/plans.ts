// Plans over HTTP: create, list, show, change, archive, export, measure.

import { isPlanName, type PlanId, type TaskName } from '../../domain/id.ts'
import { defined, type Json, type JsonObject } from '../../domain/json.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { outlinedBy, type PlanChanges } from '../../domain/revisions/merge.ts'
import type { Card } from '../../domain/views/board.ts'
import { reportedByPlan } from '../../domain/views/reported-work.ts'
import { successRate } from '../../domain/views/summary.ts'
import { isSessionInScope } from '../../engine/roles.ts'
import { findExtra } from '../../extras.ts'
import type { Diagnostic } from '../../format/text/diagnostic.ts'
import { slug } from '../../format/text/slug.ts'
import type { PlanOfStore } from '../../format/wire/plans.ts'
import * as wire from '../../format/wire/plans.ts'
import { documentIdFault, idFault, isStorePlan, planFromStore } from '../../format/wire/task-bodies.ts'
import { archivePlan as archive } from '../../operations/archive-plan.ts'
import { createPlan } from '../../operations/create-plan.ts'
import { printReport } from '../../operations/export-plan.ts'
import type { PlanTarget } from '../../operations/find-target.ts'
import { activePlan } from '../../operations/session-plans.ts'
import type { MetricRow } from '../../stores/store.ts'
import { formatCalled, type ReadDocument } from '../documents/read-document.ts'
import { findPlan } from '../find-plan.ts'
import { LIMITS } from '../limits.ts'
import { CHOICE_KEYS, readChoice } from '../plans/draft-request.ts'
import { changedFields, clientSaid, type News, removedKeys, stale, unsaid, withoutEcho } from '../plans/patch.ts'
import { becomes, checker, notStarted, refuseStatus } from '../plans/set-plan-status.ts'
import { showDraft, withoutSeverity } from '../plans/show-draft.ts'
import { overviewItem, showPlan, showProgress } from '../plans/show-plan.ts'
import { markOf } from '../plans/show-task.ts'
import { invalidRequest, isProblem, notFound, notInBuild, type Problem, problem, refused } from '../problem.ts'
import { type Call, options } from '../request.ts'
import { type Answer, asText, created, nothing, ok, route } from '../route.ts'
import { type Asking, clientSignal, engineOf, gone, order, planRoute, submit } from '../submit-order.ts'
import { onWire } from '../wire-names.ts'

interface Wanted {
  readonly definition: PlanDefinition
  readonly document?: Pick<ReadDocument, 'source' | 'imported'> | undefined
  readonly warnings?: readonly Diagnostic[]
  readonly goal?: string | undefined
  readonly agent?: string | undefined
  readonly session?: string | undefined
  /** What the idempotency key covers if a planner makes the steps. */
  readonly asked?: Json
  readonly written?: 'others'
  readonly start: boolean
}

export async function makePlan(call: Asking, wanted: Wanted): Promise<Answer> {
  const { definition, document, warnings = [], goal, agent, start, asked } = wanted
  const session = wanted.session ?? definition.session
  const { check, problem: found } = checker(call)
  const create = {
    type: 'create',
    definition,
    taken: 'number',
    ...defined({ goal, agent, session, source: document?.source, imported: document?.imported }),
    ...defined({ written: wanted.written }),
  } as const
  const done = await createPlan(engineOf(call), create, {
    submit: { ...options(call), ...defined({ asked }) },
    start: start ? { check, once: call.once } : undefined,
  })
  if (done.status === 'refused') return refused(done.refusal)
  const { made, started } = done
  if (started !== null && started.status !== 'started' && started.status !== 'under-way')
    return found() ?? (await notStarted(call, made.plan, started))
  const isNew = made.replayed !== true
  const shown = await showPlan(call, made.plan)
  if (shown === null) return gone()
  const body = {
    ...shown.body,
    ...(isNew ? {} : { replayed: true }),
    ...(warnings.length === 0 ? {} : { warnings: warnings.map(withoutSeverity) }),
  }
  return created(body, `/plans/${made.plan}`, shown.version)
}

// DELETE archives: the tasks go with the plan, the journal stays. An open plan is cancelled and compensated first.

const WAIT_MS = 10_000

export async function archivePlan(
  call: Asking & { readonly signal: () => AbortSignal },
  plan: PlanId,
): Promise<Problem | null> {
  const { expectedVersion, once } = call
  const done = await archive(engineOf(call), plan, {
    expectedVersion,
    once,
    waitMs: WAIT_MS,
    signal: clientSignal(call),
  })
  switch (done.status) {
    case 'archived':
      return null
    case 'gone':
      return gone()
    case 'moved':
      return stale(call, done.plan, undefined)
    case 'cancelling': {
      const { name } = done.plan
      return problem(409, 'not-ready', `'${name}' is being cancelled, and has not ended yet`, {
        hint: `delete it again when it has, or end it at once: POST /plans/${name}/cancel {"force": true}`,
      })
    }
    case 'refused':
      return refused(done.refusal, { plan })
    default:
      return done satisfies never
  }
}

export const planChangeRoutes = [
  planRoute({
    method: 'PATCH',
    path: '/plans/:plan',
    right: 'operate',
    about:
      'Changes a plan. A status is asked for as an order; keys nobody knows are kept beside it, and null takes one away.',
    body: wire.planPatch,
    answers: { 200: { about: 'the plan as it is now', body: 'Plan', tag: true } },
    handle: async (call, found) => {
      const refusal = await change(call, found.plan)
      if (refusal !== null) return refusal
      const shown = await showPlan(call, found.plan)
      return shown === null ? gone() : ok(shown.body, shown.version)
    },
  }),
  planRoute({
    method: 'DELETE',
    path: '/plans/:plan',
    right: 'operate',
    about: 'Archives a plan and its tasks; one that is open is cancelled first. Its history stays.',
    query: wire.deleteQuery,
    answers: { 204: { about: 'it is archived' } },
    handle: async (call, found) => {
      if (call.query.purge === true) return refusePurge(call, found)
      return (await archivePlan(call, found.plan)) ?? nothing
    },
  }),
  route({
    method: 'DELETE',
    path: '/plans',
    right: 'operate',
    about: 'Archives several plans, and says of each what became of it.',
    body: wire.manyPlans,
    answers: { 200: { about: 'what was done', body: 'PlansArchived' } },
    handle: async call => {
      const archived: string[] = []
      const missing: string[] = []
      const kept: { id: string; detail: string; hint: string | null }[] = []
      for (const id of new Set(call.body.ids)) {
        const found = await findPlan(call, id)
        if (isProblem(found)) {
          missing.push(id)
          continue
        }
        const refusal = await archivePlan({ ...call, expectedVersion: undefined }, found.plan)
        if (refusal === null) archived.push(id)
        else kept.push({ id, detail: refusal.problem.detail, hint: refusal.problem.hint ?? null })
      }
      return ok({ archived, missing, refused: kept })
    },
  }),
  route({
    method: 'POST',
    path: '/plans/:plan/reorder',
    right: 'operate',
    about: 'Puts the tasks of a plan in another order, as a revision. What needs what stays as it is.',
    body: wire.newOrder,
    answers: { 200: { about: 'the order as it is now', body: 'PlanOrdered', tag: true } },
    handle: async call => {
      const found = await findPlan(call, call.params.plan!)
      return isProblem(found) ? found : await reorder(call, found.plan)
    },
  }),
]

type PatchCall = Call<undefined, wire.PlanPatch>

const KNOWN = {
  fields: new Set([
    'status',
    'current_step',
    'started_at',
    'completed_at',
    'title',
    'description',
    'owner',
    'labels',
    'plan_type',
    'steps',
    'reason',
    'expected_revision',
  ]),
  // Fields that count as a request even if they equal the current value.
  always: new Set(['status', 'current_step', 'reason', 'expected_revision']),
}

/** One PATCH may write several entries, so what can be refused is checked before the first. */
async function change(call: PatchCall, plan: PlanId): Promise<Problem | null> {
  const { engine } = call
  const [summary, current] = [
    await engine.ask({ type: 'summary', plan }),
    await engine.ask({ type: 'definition', plan }),
  ]
  const shown = (await showPlan(call, plan))?.body
  if (summary === null || current === null || shown === undefined) return gone()
  const body = withoutEcho(call.body, shown)
  const news = changedFields(body, shown, KNOWN)
  if (isProblem(news)) return news
  const { status, reason, expected_revision } = body
  const outline = outlineOf(current.definition, news)
  const definition = outline === null ? current.definition : outlinedBy(current.definition, outline)
  const refusal =
    stale(call, summary, expected_revision) ?? (status === undefined ? null : refuseStatus(summary, definition, status))
  if (refusal !== null) return refusal
  let { expectedVersion } = call
  if (outline !== null) {
    const said = {
      rationale: reason ?? 'changed by a client',
      ...defined({ expectedRevision: expected_revision }),
    }
    const revised = await submit(call, plan, { type: 'outline', ...outline, ...said }, defined({ expectedVersion }))
    if (!revised.ok) return unsaid(revised.refusal)
    expectedVersion = undefined
  }
  const set = annotated(summary.annotations, news)
  if (Object.keys(set).length > 0) {
    const kept = await submit(call, plan, { type: 'annotate', set }, defined({ expectedVersion }))
    if (!kept.ok) return unsaid(kept.refusal)
    expectedVersion = undefined
  }
  if (status === undefined) return null
  const moved = await becomes({ ...call, expectedVersion }, summary, status, reason ?? null)
  return moved !== null && isProblem(moved) ? moved : null
}

function outlineOf(
  definition: PlanDefinition,
  { fields, others }: News<wire.PlanPatch>,
): { readonly set: PlanChanges; readonly extra: JsonObject } | null {
  const { title, description: goal, owner, labels, plan_type, steps } = fields
  const set = defined({ title, goal, owner, labels })
  const extra = { ...defined({ plan_type, steps }), ...removedKeys(definition.extra, others) } as JsonObject
  return Object.keys(set).length + Object.keys(extra).length === 0 ? null : { set, extra }
}

function annotated(before: JsonObject, { fields, others }: News<wire.PlanPatch>): JsonObject {
  const { current_step, started_at, completed_at } = fields
  return {
    ...others,
    ...defined({ current_step }),
    ...clientSaid(before, { started_at, completed_at }),
  } as JsonObject
}

function refusePurge({ who: { role } }: Asking, { name }: PlanTarget): Problem {
  if (role !== 'admin')
    return problem(403, 'not-allowed', `a ${role} may not take the history of a plan away`, {
      hint: 'ask somebody with the role admin; DELETE without purge archives it',
    })
  return problem(501, 'not-supported', `the history of '${name}' alone cannot be taken away yet`, {
    hint: 'archive it, then prune the state folder where the service runs: that takes away what was archived long ago',
  })
}

type ReorderCall = Call<
  undefined,
  { readonly order: readonly string[]; readonly expected_revision?: number | undefined }
>

async function reorder(call: ReorderCall, plan: PlanId): Promise<Answer> {
  const { engine } = call
  const [summary, board] = [await engine.ask({ type: 'summary', plan }), await engine.ask({ type: 'board', plan })]
  if (summary === null || board === null) return gone()
  const old = stale(call, summary, call.body.expected_revision)
  if (old !== null) return old
  const wanted = tasksNamed(call.body.order, board)
  if (isProblem(wanted)) return wanted
  const done = await order(call, plan, { type: 'reorder', order: wanted })
  if (isProblem(done)) return done
  const current = await engine.ask({ type: 'definition', plan })
  if (current === null) return gone()
  const names = current.definition.tasks.map(({ id }) => id)
  return ok({ plan_id: plan, revision: current.revision, version: done.version, order: names }, done.version)
}

/** Resolves task ids or names; reports all errors at once. */
function tasksNamed(words: readonly string[], board: readonly Card[]): readonly TaskName[] | Problem {
  const names = new Map<string, TaskName>(board.flatMap(({ id, name }) => [[id, name] as const, [name, name] as const]))
  const unknown = words.filter(word => !names.has(word))
  const seen = new Set<TaskName>()
  const faults = words.flatMap((word, index) => {
    const name = names.get(word)
    const path = `order[${index}]`
    if (name === undefined)
      return [{ path, message: `there is no task '${word.slice(0, 100)}'`, hint: 'see GET /tasks?plan_id=…' }]
    if (seen.has(name)) return [{ path, message: `'${word}' is there twice`, hint: 'name each task once' }]
    seen.add(name)
    return []
  })
  const [first] = faults
  if (first === undefined) return [...seen]
  return problem(422, unknown.length > 0 ? 'unknown-reference' : 'duplicate', first.message, {
    hint: 'nothing was changed; name tasks of this plan, each once',
    faults,
    more: { unknown },
  })
}

export const planRoutes = [
  route({
    method: 'POST',
    path: '/plans',
    right: 'operate',
    about:
      'Makes a plan of a body of the PlanStore or of a document in any format; which one it is shows in its shape.',
    query: wire.makeQuery,
    body: wire.planBody,
    texts: ['application/yaml', 'application/x-yaml', 'text/yaml', 'text/markdown'],
    bodyMaxBytes: LIMITS.planBytes,
    answers: {
      200: { about: 'a dry run: it could be made, and nothing was written', body: 'PlanChecked' },
      201: { about: 'the plan, a draft unless it was to be started', body: 'PlanMade', tag: true },
    },
    handle: make,
  }),
  route({
    method: 'GET',
    path: '/plans',
    right: 'read',
    about: 'Plans with how they stand, what waits in them for a person, and what they used.',
    query: wire.listQuery,
    answers: { 200: { about: 'a page of them', body: 'PlanPage' } },
    handle: async call => {
      const { goal_id: goal, agent_id: agent, session_id, conversation_id, q: text, sort: order, ...said } = call.query
      const session = session_id ?? conversation_id
      const query = defined({ goal, agent, session, text, order, ...said })
      const { statuses: states, ...page } = await call.engine.ask({ type: 'overview', archived: false, ...query })
      return ok({ ...page, states, items: page.items.map(overviewItem) })
    },
  }),
  route({
    method: 'GET',
    path: '/plans/:plan',
    right: 'read',
    about: 'One plan, by id or name; by the id of a session, its active plan.',
    query: wire.oneQuery,
    answers: {
      200: {
        about: 'the plan; its document as text when a format was asked for',
        body: 'Plan',
        tag: true,
        texts: ['application/yaml', 'text/plain', 'text/html'],
      },
    },
    handle: async call => {
      const found = await planOrActive(call, call.params.plan!)
      if (isProblem(found)) return found
      if (call.query.as !== undefined) return await printPlan(call, found.plan, call.query.as)
      const shown = await showPlan(call, found.plan)
      if (shown === null) return notFound('the plan has gone')
      // Another plan of the session may have the same version, so the ETag needs more.
      return 'session' in found ? ok(shown.body, shown.version) : asText(shown.text, shown.version)
    },
  }),
  planRoute({
    method: 'GET',
    path: '/plans/:plan/metrics',
    right: 'read',
    about: 'How long its attempts took and how they ended, by kind of work.',
    answers: { 200: { about: 'its metrics', body: 'PlanMetrics' } },
    handle: async (call, found) => {
      const {
        engine,
        rooms: { now },
      } = call
      const summary = await engine.ask({ type: 'summary', plan: found.plan })
      const rows = await engine.ask({ type: 'metrics', plan: found.plan })
      const board = await engine.ask({ type: 'board', plan: found.plan })
      if (summary === null || rows === null || board === null) return notFound('the plan has gone')
      const { startedAt, endedAt } = summary
      return ok({
        plan_id: found.plan,
        progress: showProgress(summary.progress),
        ...summed(rows),
        elapsed_ms: startedAt === null ? null : (endedAt ?? now()) - startedAt,
        reported: onWire(reportedByPlan(board)),
        kinds: rows.map(row => ({ kind: row.kind, ...summed([row]) })),
      })
    },
  }),
]

/** Some clients know only their session and use its id; a plan with that name takes precedence. */
async function planOrActive(call: Call<unknown>, reference: string): Promise<PlanTarget | FoundBySession | Problem> {
  const found = await findPlan(call, reference)
  if (!isProblem(found) || !isSessionInScope(call.who.scope, reference)) return found
  const active = await activePlan(call.engine, reference)
  return active === null ? found : { plan: active.id, name: active.name, session: reference }
}

interface FoundBySession extends PlanTarget {
  readonly session: string
}

type MakeCall = Call<wire.MakeQuery, unknown>

async function asked(call: MakeCall): Promise<Wanted | Problem> {
  const { body, text, query } = call
  if (typeof body !== 'string' && query.from === undefined && isStorePlan(body as Json)) {
    const read = wire.planOfStore.read(body)
    return read.ok ? fromStore(call, read.value) : invalidRequest('body', read.faults)
  }
  const goal = query.from === undefined ? goalOnly(body as Json) : null
  if (goal !== null) {
    const said = beside(call, body as Json)
    const choice = readChoice(body)
    if (isProblem(choice)) return choice
    const asked: Json = { ...said, goal, ...choice }
    const planners = await findExtra('planners')
    if (planners === null) return notInBuild('planners')
    const proposed = await planners.proposeOnce(call, asked, goal, choice)
    if (isProblem(proposed)) return proposed
    const { definition, source } = proposed
    const document = source === undefined ? undefined : { source, imported: undefined }
    return { definition, document, asked, start: query.start === true, ...said }
  }
  const foreign = typeof body === 'string' ? null : documentIdFault(body as Json)
  if (foreign !== null) return invalidRequest('body', [foreign])
  const fallback = `plan-${markOf(call)}`
  const sent = text === '' ? '{}' : text
  const document = await call.rooms.documents.run(
    'read-plan',
    { text: sent, name: fallback, from: query.from },
    sent.length,
  )
  if (isProblem(document)) return typeof body === 'string' ? document : withShapes(document)
  const { warnings } = document
  const definition = titled(document.definition, fallback)
  const said = beside(call, body as Json)
  if (said.session !== undefined && definition.session !== undefined && said.session !== definition.session)
    return invalidRequest('query', [
      {
        path: 'session_id',
        message: `says '${said.session.slice(0, 100)}', and the document '${definition.session.slice(0, 100)}'`,
        hint: 'name the session once',
      },
    ])
  return { definition, document, warnings, start: query.start === true, ...said }
}

/** The goal, if the body says nothing about how to reach it, but at most who plans it and for whom; a planner then makes the steps. */
function goalOnly(body: Json): string | null {
  if (body === null || typeof body !== 'object' || Array.isArray(body)) return null
  const { goal, ...rest } = body as { readonly [key: string]: Json }
  const isAlone = Object.keys(rest).every(key => BESIDE_GOAL.has(key))
  return typeof goal === 'string' && goal.trim() !== '' && isAlone ? goal : null
}

const BESIDE_GOAL: ReadonlySet<string> = new Set([
  'goal_id',
  'agent_id',
  'session_id',
  'conversation_id',
  ...CHOICE_KEYS,
])

function titled(definition: PlanDefinition, fallback: string): PlanDefinition {
  const name = definition.name === fallback ? slug(definition.title ?? '') : null
  return name === null || !isPlanName(name) ? definition : { ...definition, name }
}

const NO_FORMAT = /planfold: 1/
const SHAPES =
  'send a document {"planfold": 1, "name": …, "tasks": […]}, a graph {"title": …, "nodes": […]}, {"steps": […]}, or only {"goal": "…"}'

const withShapes = (fault: Problem): Problem =>
  NO_FORMAT.test(fault.problem.hint ?? '') ? { ...fault, problem: { ...fault.problem, hint: SHAPES } } : fault

function fromStore(call: MakeCall, body: PlanOfStore): Wanted | Problem {
  const twoNames = idFault(body)
  if (twoNames !== null) return invalidRequest('body', [twoNames])
  const status = body.status ?? 'draft'
  if (status !== 'draft' && status !== 'active')
    return invalidRequest('body', [
      { path: 'status', message: `a plan cannot begin as '${status}'`, hint: 'make it, then PATCH its status' },
    ])
  const definition = planFromStore(body, markOf(call))
  return { definition, start: call.query.start ?? status === 'active', ...beside(call, body as Json) }
}

/** Goal, agent and session come from the query or, where a document has room for them, from the body. */
function beside({ query }: MakeCall, body: Json): Pick<Wanted, 'goal' | 'agent' | 'session'> {
  const said =
    body !== null && typeof body === 'object' && !Array.isArray(body) ? (body as { [key: string]: Json }) : {}
  const own = (key: string): string | undefined =>
    typeof said[key] === 'string' && said[key] !== '' ? (said[key] as string) : undefined
  return {
    goal: query.goal_id ?? own('goal_id'),
    agent: query.agent_id ?? own('agent_id'),
    session: query.session_id ?? own('session_id') ?? own('conversation_id'),
  }
}

async function make(call: MakeCall): Promise<Answer> {
  const wanted = await asked(call)
  if (isProblem(wanted)) return wanted
  const { name, dry_run } = call.query
  const done = dry_run === true ? showDraft : makePlan
  if (name === undefined) return await done(call, wanted)
  if (isPlanName(name)) return await done(call, { ...wanted, definition: { ...wanted.definition, name } })
  const hint = 'use letters and digits, with - _ . allowed inside'
  return invalidRequest('query', [{ path: 'name', message: 'cannot be a name', hint }])
}

async function printPlan(call: Call<unknown>, plan: PlanId, as: string): Promise<Answer> {
  const { engine } = call
  if (as === 'html') {
    const text = await printReport(engine, plan)
    return text === null
      ? notFound('the plan has gone')
      : {
          status: 200,
          // Downloaded, because the report has inline styles, which the policy of the service forbids.
          headers: { 'content-disposition': 'attachment; filename="report.html"' },
          raw: { type: 'text/html; charset=utf-8', data: text },
        }
  }
  const dialect = await formatCalled(as)
  if (isProblem(dialect)) return dialect
  const [current, board] = [await engine.ask({ type: 'definition', plan }), await engine.ask({ type: 'board', plan })]
  if (current === null || board === null) return notFound('the plan has gone')
  const printed = await call.rooms.documents.runOn('print', {
    definition: current.definition,
    statuses: board.map(card => [card.name, card.status]),
    as,
  })
  return isProblem(printed) ? printed : { status: 200, raw: { type: printed.type, data: printed.text } }
}

function summed(rows: readonly MetricRow[]) {
  const sum = (key: Exclude<keyof MetricRow, 'kind'>): number => rows.reduce((all, row) => all + row[key], 0)
  const ended = { succeeded: sum('succeeded'), failed: sum('failed'), lost: sum('lost') }
  return {
    attempts: sum('attempts'),
    ...ended,
    retries: sum('retries'),
    success_rate: successRate(ended),
    duration_ms: sum('durationMs'),
  }
}
