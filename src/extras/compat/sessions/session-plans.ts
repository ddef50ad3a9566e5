// The plans of a session: made from a description or a document, listed, and looked back on.

import { isPlanName, type PlanName } from '../../../domain/id.ts'
import { defined, type Json, type JsonObject } from '../../../domain/json.ts'
import type { PlanDefinition } from '../../../domain/plan.ts'
import type { PlanStatus } from '../../../domain/status.ts'
import type { Engine, Order } from '../../../engine/engine.ts'
import { isSessionInScope } from '../../../engine/roles.ts'
import { slug } from '../../../format/text/slug.ts'
import { historyQuery, newSessionPlan, sessionPlanQuery } from '../../../format/wire/sessions.ts'
import { activePlan } from '../../../operations/session-plans.ts'
import { isSessionKnown, noSession, sessionIdFault } from '../../../server/find-session.ts'
import { LIMITS } from '../../../server/limits.ts'
import { CHOICE_KEYS, readChoice } from '../../../server/plans/draft-request.ts'
import { invalidRequest, isProblem, notFound, type Problem } from '../../../server/problem.ts'
import type { Call } from '../../../server/request.ts'
import { type AnyRoute, created, ok, route } from '../../../server/route.ts'
import { textOf } from '../../../server/routes/revisions.ts'
import { type Asking, gone, order, orderAlso } from '../../../server/submit-order.ts'
import { iso, isoOrNull, onWire } from '../../../server/wire-names.ts'
import type { Message, PlanRow } from '../../../stores/store.ts'
import { writtenBy } from '../../planners/goals/plan-goal.ts'
import { proposeOnce } from '../../planners/service/propose-plan.ts'
import { planWord } from './session-words.ts'
import { descriptionOf, showSessionPlan, statusesFor } from './show-session-plan.ts'

const make = {
  method: 'POST',
  right: 'operate',
  about:
    'Makes a plan in a session: of a description, or of a whole document. A session that is not there is opened by it.',
  body: newSessionPlan,
  bodyMaxBytes: LIMITS.planBytes,
  answers: { 201: { about: 'the plan', body: 'SessionPlanMade', tag: true } },
} as const

export const sessionPlanRoutes: readonly AnyRoute[] = [
  ...['/session/:session/plan', '/sessions/:session/plans'].map(path =>
    route({
      ...make,
      path,
      handle: async call => {
        const { body, params } = call
        const session = params.session!
        const fault = sessionIdFault(session, { in: 'path', key: 'session' })
        if (fault !== null) return fault
        if (!isSessionInScope(call.who.scope, session)) return noSession(session)
        const target = await meantPlan(call, body as JsonObject, session)
        if (isProblem(target)) return target
        const { message } = body
        const said = message === undefined ? {} : { message: message as Message }
        const made = await order(
          call,
          null,
          { ...target.order, conversation: { title: target.title, ...said } },
          target.asked,
        )
        if (isProblem(made)) return made
        const isToRun = body.auto_execute === true
        const started = isToRun ? await orderAlso(call, made.plan, { type: 'start' }, 'start') : null
        // It was made but cannot be run: a caller that asked for both must not take it for done.
        if (started !== null && isProblem(started))
          return { problem: { ...started.problem, plan_id: made.plan, created: true } }
        const shown = await showSessionPlan(call.engine, made.plan)
        if (shown === null) return gone()
        const { planned, planner = null, analysis } = target
        const replayed = made.replayed === undefined ? {} : { replayed: true }
        return created(
          { ...shown, planner, planned, ...defined({ analysis }), auto_execute: isToRun, ...replayed },
          `/plans/${made.plan}`,
          shown.version,
        )
      },
    }),
  ),
  ...['/session/:session/plan', '/sessions/:session/plan'].map(path =>
    route({
      method: 'GET',
      path,
      right: 'read',
      about: 'The active plan of a session: the running one that changed last, else the newest draft.',
      answers: { 200: { about: 'the plan', body: 'SessionPlan', tag: true } },
      handle: async call => {
        const session = call.params.session!
        if (!(await isSessionKnown(call, session))) return noSession(session)
        const { engine } = call
        const row = await activePlan(engine, session)
        if (row === null)
          return notFound(
            `no plan of the session '${session}' is under way or waits to be started`,
            `look at those that have ended: GET /sessions/${session}/plans`,
          )
        const shown = await showSessionPlan(engine, row.id)
        return shown === null ? gone() : ok(shown, shown.version)
      },
    }),
  ),
  route({
    method: 'GET',
    path: '/session/:session/plans',
    right: 'read',
    about: 'The plans of a session, newest first, as a bare list; a header links to what follows.',
    query: sessionPlanQuery,
    answers: { 200: { about: 'the plans', body: 'SessionPlanList' } },
    handle: async call => {
      const page = await plansOf(call, call.query)
      if (isProblem(page)) return page
      const { items, next } = page
      const link = `</session/${encodeURIComponent(call.params.session!)}/plans?cursor=${encodeURIComponent(next ?? '')}>`
      return { status: 200, body: items, ...(next === null ? {} : { headers: { link: `${link}; rel="next"` } }) }
    },
  }),
  route({
    method: 'GET',
    path: '/sessions/:session/plans',
    right: 'read',
    about: 'The plans of a session, newest first.',
    query: sessionPlanQuery,
    answers: { 200: { about: 'a page of them', body: 'SessionPlanPage' } },
    handle: async call => {
      const page = await plansOf(call, call.query)
      return isProblem(page) ? page : ok(page)
    },
  }),
  ...['/session/:session/plans/history', '/sessions/:session/plans/history'].map(path =>
    route({
      method: 'GET',
      path,
      right: 'read',
      about: 'The plans of a session in a few words each, newest first: by page, or by cursor.',
      query: historyQuery,
      answers: { 200: { about: 'a page of them', body: 'SessionHistory' } },
      handle: async call => {
        const { rooms, query } = call
        const session = call.params.session!
        if (!(await isSessionKnown(call, session))) return noSession(session)
        const { status, search, cursor, page = 1, limit } = query
        const ask: HistoryAsk = {
          session,
          statuses: status === undefined ? null : statusesFor(status),
          ...defined({ text: search }),
        }
        const now = rooms.now()
        if (cursor !== undefined) {
          const { items, next } = await rowsFrom(call.engine, ask, limit, cursor)
          const plans = items.map(row => remembered(row, now))
          return ok({ plans, page: null, limit, total: null, total_pages: null, next })
        }
        const { items, next, total } = await rowsOfPage(call.engine, ask, { page, limit })
        const plans = items.map(row => remembered(row, now))
        return ok({ plans, page, limit, total, total_pages: Math.ceil(total / limit), next })
      },
    }),
  ),
]

async function plansOf(
  call: Parameters<typeof isSessionKnown>[0] & Pick<Asking, 'params'>,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
) {
  const session = call.params.session!
  if (!(await isSessionKnown(call, session))) return noSession(session)
  const { engine } = call
  const { items, next } = await rowsFrom(engine, { session, statuses: null }, limit, cursor)
  const shown = []
  for (const { id } of items) shown.push(await showSessionPlan(engine, id))
  return { items: shown.filter(plan => plan !== null), next }
}

function remembered(row: PlanRow, now: number) {
  const { id, name, status, createdAt, updatedAt, startedAt, endedAt, tasks, done } = row
  return {
    id,
    name,
    description: descriptionOf(row),
    status: planWord(status),
    state: status,
    created_at: iso(createdAt),
    updated_at: iso(updatedAt),
    completed_at: isoOrNull(endedAt),
    step_count: tasks,
    completed_steps: done,
    duration: startedAt === null ? null : (endedAt ?? now) - startedAt,
  }
}

interface PlanForSession {
  readonly order: Extract<Order, { readonly type: 'create' }>
  readonly title: string
  readonly planned: string
  readonly planner?: string
  readonly analysis?: Json
  /** The same description is planned otherwise another time; a key counts for what was asked. */
  readonly asked?: Json
}

const DOCUMENT_KEYS = ['planfold', 'steps', 'nodes', 'tasks', 'plan_id']

async function meantPlan(
  call: Asking & Pick<Call, 'signal'>,
  body: JsonObject,
  session: string,
): Promise<PlanForSession | Problem> {
  const { auto_execute: _, message: __, document, ...rest } = body
  const isDocument = DOCUMENT_KEYS.some(key => Object.hasOwn(rest, key))
  const written = document ?? (isDocument ? rest : undefined)
  if (written === undefined) return await ofDescription(call, rest, session)
  const { documents } = call.rooms
  const title = typeof rest.description === 'string' ? rest.description : ''
  const text = textOf(written)
  const read = await documents.run('read-plan', { text, name: fallbackName(rest, title) }, text.length)
  if (isProblem(read)) return read
  const { source, imported } = read
  const definition = document === undefined ? read.definition : described(read.definition, title)
  return {
    order: {
      type: 'create',
      definition,
      session,
      source,
      taken: 'number',
      imported,
    },
    title: firstLine(title === '' ? (definition.title ?? definition.name) : title),
    planned: `as the document says (${source.dialect})`,
  }
}

/** What is said beside a document is kept where the document says nothing itself. */
function described(definition: PlanDefinition, description: string): PlanDefinition {
  if (description.trim() === '') return definition
  if (definition.goal === undefined) return { ...definition, goal: description }
  return { ...definition, extra: { ...definition.extra, description } }
}

/** A planner makes steps of the description, from what it finds in the workspace. */
async function ofDescription(
  call: Asking & Pick<Call, 'signal'>,
  { description, name, ...rest }: JsonObject,
  session: string,
): Promise<PlanForSession | Problem> {
  const strange = Object.keys(rest).find(key => !CHOICE_KEYS.includes(key))
  if (strange !== undefined)
    return invalidRequest('body', [
      { path: strange, message: 'is not known here', hint: 'leave it out, or send a document' },
    ])
  if (typeof description !== 'string' || description.trim() === '')
    return invalidRequest('body', [
      { path: 'description', message: 'says nothing', hint: 'say what is to be done, or send a document' },
    ])
  const choice = readChoice(rest)
  if (isProblem(choice)) return choice
  const asked: Json = { session, description, name: name ?? null, ...choice }
  const proposed = await proposeOnce(call, asked, description, choice)
  if (isProblem(proposed)) return proposed
  const { definition, source, planner, rationale, assumptions, analysis } = proposed
  const named = typeof name === 'string' ? { name: fallbackName({ name }, description) as PlanName } : {}
  return {
    order: {
      type: 'create',
      definition: { ...definition, ...named },
      source,
      session,
      taken: 'number',
      written: writtenBy({ definition }),
    },
    title: firstLine(description),
    planner,
    planned: [rationale, ...assumptions.map(one => `Assumed: ${one}`)].join('\n'),
    ...(analysis === undefined ? {} : { analysis: onWire(analysis) }),
    asked,
  }
}

const TITLE_MAX = 200

function firstLine(text: string): string {
  const [line = ''] = text.trim().split('\n')
  return line.length > TITLE_MAX ? `${line.slice(0, TITLE_MAX - 1)}…` : line
}

const fallbackName = ({ name }: { readonly name?: Json }, text: string): string =>
  (typeof name === 'string' ? (isPlanName(name) ? name : slug(name)) : null) ?? slug(firstLine(text)) ?? 'plan'

// The plans of a session, page by page: by number, as clients of sessions ask, with a count of all; or by cursor, where no page
// costs more than the first.

interface HistoryAsk {
  readonly session: string
  readonly statuses: readonly PlanStatus[] | null
  readonly text?: string
}

interface Rows {
  readonly items: readonly PlanRow[]
  readonly next: string | null
}

const PAGE = 200

/** As many as are wanted, from the cursor on; each look asks only for what is missing, so that none is passed over. */
async function rowsFrom(engine: Engine, ask: HistoryAsk, limit: number, cursor?: string): Promise<Rows> {
  const items: PlanRow[] = []
  let at = cursor
  if (ask.statuses?.length === 0) return { items, next: null }
  for (;;) {
    const page = await lookAt(engine, ask, limit - items.length, at)
    items.push(...page.items.filter(({ status }) => ask.statuses?.includes(status) ?? true))
    if (page.next === null || items.length >= limit) return { items, next: page.next }
    at = page.next
  }
}

async function rowsOfPage(
  engine: Engine,
  ask: HistoryAsk,
  { page, limit }: { readonly page: number; readonly limit: number },
): Promise<Rows & { readonly total: number }> {
  const first = (page - 1) * limit
  const items: PlanRow[] = []
  let [total, next]: [number, string | null] = [0, null]
  for (let cursor: string | undefined; ; ) {
    // Up to the end of the page in steps that end there, so that what is next is known; then only counted.
    const step = total < first + limit ? Math.min(PAGE, first + limit - total) : PAGE
    const found = await rowsFrom(engine, ask, step, cursor)
    for (const row of found.items) {
      if (total >= first && total < first + limit) items.push(row)
      total++
    }
    if (total === first + limit && next === null) next = found.next
    if (found.next === null) return { items, next: total > first + limit ? next : null, total }
    cursor = found.next
  }
}

/** A single status is looked for by the store itself. */
function lookAt(engine: Engine, { session, statuses, text }: HistoryAsk, limit: number, cursor: string | undefined) {
  const [only] = statuses?.length === 1 ? statuses : []
  return engine.ask({
    type: 'plans',
    session,
    archived: false,
    limit,
    status: only,
    ...(text === undefined || text.trim() === '' ? {} : { text }),
    cursor,
  })
}
