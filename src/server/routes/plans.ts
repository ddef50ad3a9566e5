// Plans: made, listed, shown, printed in another format, measured.

import type { PlanId } from '../../domain/id.ts'
import { isPlanName } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { successRate } from '../../domain/views/progress.ts'
import { reportedByPlan } from '../../domain/views/reported-work.ts'
import { slug } from '../../format/dialects/naming.ts'
import { documentIdFault, idFault, isStorePlan, planFromStore } from '../../format/wire/from-store.ts'
import type { PlanOfStore } from '../../format/wire/plans.ts'
import * as wire from '../../format/wire/plans.ts'
import { activePlan } from '../../operations/session-plans.ts'
import type { MetricRow, PlanRow } from '../../stores/store.ts'
import type { Call } from '../call.ts'
import { formatCalled } from '../document.ts'
import { given } from '../given.ts'
import { type FoundPlan, findPlan } from '../look-up.ts'
import { makePlan, type Wanted } from '../make-plan.ts'
import { markOf } from '../mark.ts'
import { onWire } from '../on-wire.ts'
import { isProblem, notFound, type Problem, unfit } from '../problem.ts'
import { LIMITS } from '../rooms.ts'
import { type Answer, asText, ok, route } from '../route.ts'
import { pageInScope } from '../scope.ts'
import { isSessionInScope } from '../session-look-up.ts'
import { planItem, showPlan, showProgress } from '../show-plan.ts'

export const planRoutes = [
  route({
    method: 'POST',
    path: '/plans',
    right: 'operate',
    noun: 'plans',
    about:
      'Makes a plan of a body of the PlanStore or of a document in any format; which one it is shows in its shape.',
    query: wire.makeQuery,
    body: wire.planBody,
    texts: ['application/yaml', 'application/x-yaml', 'text/yaml', 'text/markdown'],
    bodyMaxBytes: LIMITS.planBytes,
    answers: { 201: { about: 'the plan, a draft unless it was to be started', body: wire.planMade, tag: true } },
    handle: make,
  }),
  route({
    method: 'GET',
    path: '/plans',
    right: 'read',
    noun: 'plans',
    about: 'Plans, newest first.',
    query: wire.listQuery,
    answers: { 200: { about: 'a page of them', body: wire.plans } },
    handle: async call => {
      const { goal_id: goal, agent_id: agent, q: text, status, limit, cursor } = call.query
      const session = call.query.session_id ?? call.query.conversation_id
      const query = given({ goal, agent, session, text, status, limit, archived: call.query.archived ?? false })
      const page = await pageInScope(
        call,
        cursor,
        (row: PlanRow) => row.id,
        from => call.rooms.engine.ask({ type: 'plans', ...query, ...given({ cursor: from }) }),
      )
      return ok({ items: page.items.map(planItem), next: page.next })
    },
  }),
  route({
    method: 'GET',
    path: '/plans/:plan',
    right: 'read',
    noun: 'plans',
    about: 'One plan, by id or name; by the id of a session, its active plan.',
    query: wire.oneQuery,
    answers: {
      200: {
        about: 'the plan; its document as text when a format was asked for',
        body: wire.plan,
        tag: true,
        texts: ['application/yaml', 'text/plain'],
      },
    },
    handle: async call => {
      const found = await planOrActive(call, call.params.plan!)
      if (isProblem(found)) return found
      if (call.query.as !== undefined) return await printPlan(call, found.plan, call.query.as)
      const shown = await showPlan(call, found.plan)
      if (shown === null) return notFound('the plan has gone')
      // Another plan of the session may have the same version, so the tag needs more than that.
      return 'session' in found ? ok(shown.body, shown.version) : asText(shown.text, shown.version)
    },
  }),
  route({
    method: 'GET',
    path: '/plans/:plan/metrics',
    right: 'read',
    noun: 'plans',
    about: 'How long its attempts took and how they ended, by kind of work.',
    answers: { 200: { about: 'its metrics', body: wire.planMetrics } },
    handle: async call => {
      const found = await findPlan(call, call.params.plan!)
      if (isProblem(found)) return found
      const { engine, now } = call.rooms
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

/** Clients that know only their conversation ask for its plan by that. A plan of this name comes first. */
async function planOrActive(call: Call<unknown>, reference: string): Promise<FoundPlan | FoundBySession | Problem> {
  const found = await findPlan(call, reference)
  if (!isProblem(found) || !isSessionInScope(call, reference)) return found
  const active = await activePlan(call.rooms.engine, reference)
  return active === null ? found : { plan: active.id, name: active.name, session: reference }
}

interface FoundBySession extends FoundPlan {
  readonly session: string
}

type MakeCall = Call<wire.MakeQuery, unknown>

async function asked(call: MakeCall): Promise<Wanted | Problem> {
  const { body, text, query } = call
  if (typeof body !== 'string' && query.from === undefined && isStorePlan(body as Json)) {
    const read = wire.planOfStore.read(body)
    return read.ok ? fromStore(call, read.value) : unfit('body', read.faults)
  }
  const foreign = typeof body === 'string' ? null : documentIdFault(body as Json)
  if (foreign !== null) return unfit('body', [foreign])
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
    return unfit('query', [
      {
        path: 'session_id',
        message: `says '${said.session.slice(0, 100)}', and the document '${definition.session.slice(0, 100)}'`,
        hint: 'name the session once',
      },
    ])
  return { definition, document, warnings, start: query.start === true, ...said }
}

/** Nobody gave it a name: its title does. */
function titled(definition: PlanDefinition, fallback: string): PlanDefinition {
  const name = definition.name === fallback ? slug(definition.title ?? '') : null
  return name === null || !isPlanName(name) ? definition : { ...definition, name }
}

const NO_FORMAT = /planfold: 1/
const SHAPES =
  'send a document {"planfold": 1, "name": …, "tasks": […]}, a graph {"title": …, "nodes": […]}, or {"steps": […]}'

/** What looks like nothing we know is told which shapes there are. */
const withShapes = (fault: Problem): Problem =>
  NO_FORMAT.test(fault.problem.hint ?? '') ? { ...fault, problem: { ...fault.problem, hint: SHAPES } } : fault

function fromStore(call: MakeCall, body: PlanOfStore): Wanted | Problem {
  const twoNames = idFault(body)
  if (twoNames !== null) return unfit('body', [twoNames])
  const status = body.status ?? 'draft'
  if (status !== 'draft' && status !== 'active')
    return unfit('body', [
      { path: 'status', message: `a plan cannot begin as '${status}'`, hint: 'make it, then PATCH its status' },
    ])
  const definition = planFromStore(body, markOf(call))
  return { definition, start: call.query.start ?? status === 'active', ...beside(call, body as Json) }
}

/** A goal, an agent and a session may be said in the address or, where a document has room for them, in the body. */
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
  const { name } = call.query
  if (name === undefined) return await makePlan(call, wanted)
  if (isPlanName(name)) return await makePlan(call, { ...wanted, definition: { ...wanted.definition, name } })
  const hint = 'use letters, digits and - _ . between them'
  return unfit('query', [{ path: 'name', message: 'cannot be a name', hint }])
}

async function printPlan(call: Call<unknown>, plan: PlanId, as: string): Promise<Answer> {
  const dialect = formatCalled(as)
  if (isProblem(dialect)) return dialect
  const { engine } = call.rooms
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
