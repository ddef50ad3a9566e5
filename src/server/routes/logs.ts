// Paged logs from the store: journal entries, output chunks, attempts.

import { isSha256, type Sha256, type TaskName } from '../../domain/id.ts'
import { defined } from '../../domain/json.ts'
import { sentence, visibleEvents } from '../../domain/views/timeline.ts'
import * as wire from '../../format/wire/events.ts'
import type { Entry, StoredLog } from '../../stores/store.ts'
import { findTask } from '../find-plan.ts'
import { isProblem, notFound } from '../problem.ts'
import { withoutTokens } from '../remote/remote-orders.ts'
import { type Answer, type AnyRoute, ok, route } from '../route.ts'
import { type Asking, gone, planRoute, withTask } from '../submit-order.ts'
import { iso, onWire } from '../wire-names.ts'
import { ofTask } from './claims.ts'

const LEVEL_OF = { stdout: 'info', stderr: 'warning', engine: 'debug' } as const satisfies {
  readonly [stream in StoredLog['stream']]: (typeof wire.LEVELS)[number]
}

export const logRoutes: readonly AnyRoute[] = [
  planRoute({
    method: 'GET',
    path: '/plans/:plan/entries',
    right: 'read',
    about: 'The journal of the plan, oldest entry first, or newest first.',
    query: wire.entryQuery,
    answers: { 200: { about: 'a page of it', body: 'EntryPage' } },
    handle: async (call, { plan }) => {
      const { cursor, before, after, limit, command } = call.query
      const isNewestFirst = call.query.order === 'newest' || before !== undefined
      const entries = isNewestFirst
        ? await entriesBefore(call.engine, plan, before ?? cursor, { after: after ?? 0, limit })
        : await call.engine.ask({ type: 'entries', plan, after: after ?? cursor ?? 0, limit })
      if (entries === null) return gone()
      const items = entries.map(entry => shown(entry, { command: command !== false }))
      return ok({ items, next: entries.length < limit ? null : String(entries.at(-1)!.version) })
    },
  }),
  planRoute({
    method: 'GET',
    path: '/plans/:plan/logs',
    right: 'read',
    about: 'What the tasks of the plan printed, in the order in which it was stored.',
    query: wire.logQuery,
    answers: { 200: { about: 'a page of it', body: 'LogPage' } },
    handle: async (call, { plan }) => {
      const { task, ...query } = call.query
      const of = task === undefined ? null : await findTask(call, task, plan)
      if (of !== null && isProblem(of)) return of
      return await logsOf(call, plan, of?.task, query)
    },
  }),
  ...ofTask('/logs', {
    method: 'GET',
    right: 'read',
    about: 'What the task printed.',
    query: wire.logQuery,
    answers: { 200: { about: 'a page of it', body: 'LogPage' } },
    handle: async call => await withTask(call, async ({ plan, task }) => await logsOf(call, plan, task, call.query)),
  }),
  ...ofTask('/steps', {
    method: 'GET',
    right: 'read',
    about:
      'What the agent of the task did, with its words and thoughts before each step: the last 200 steps of all attempts.',
    answers: { 200: { about: 'the steps', body: 'AgentStepPage' } },
    handle: async call =>
      await withTask(call, async ({ plan, task }) => {
        const steps = await call.engine.ask({ type: 'agentSteps', plan, task })
        return steps === null
          ? gone()
          : ok({ items: steps.map(({ at, ...step }) => ({ ...step, at: iso(at) })), next: null })
      }),
  }),
  planRoute({
    method: 'GET',
    path: '/plans/:plan/attempts',
    right: 'read',
    about: 'Every attempt of the plan.',
    query: wire.attemptQuery,
    answers: { 200: { about: 'a page of them', body: 'AttemptPage' } },
    handle: async (call, { plan }) => {
      const page = await call.engine.ask({ type: 'attempts', plan, ...defined(call.query) })
      return ok(onWire(page))
    },
  }),
  ...ofTask('/attempts', {
    method: 'GET',
    right: 'read',
    about: 'Every attempt of the task.',
    query: wire.attemptQuery,
    answers: { 200: { about: 'a page of them', body: 'AttemptPage' } },
    handle: async call =>
      await withTask(call, async ({ plan, task }) =>
        ok(onWire(await call.engine.ask({ type: 'attempts', plan, task, ...defined(call.query) }))),
      ),
  }),
]

async function entriesBefore(
  engine: Asking['engine'],
  plan: string,
  requested: number | undefined,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<readonly Entry[] | null> {
  const summary = await engine.ask({ type: 'summary', plan })
  if (summary === null) return null
  const before = Math.min(requested ?? Number.POSITIVE_INFINITY, summary.version + 1)
  const from = Math.max(after, before - 1 - limit, 0)
  if (from >= before - 1) return []
  const entries = await engine.ask({ type: 'entries', plan, after: from, limit: before - 1 - from })
  return entries === null ? null : entries.toReversed()
}

interface LogAsk {
  readonly before?: number | undefined
  readonly tail?: number | undefined
  readonly cursor?: number | undefined
  readonly after?: number | undefined
  readonly limit: number
  readonly level?: (typeof wire.LEVELS)[number] | undefined
}

async function logsOf(
  { engine }: Asking,
  plan: string,
  task: TaskName | undefined,
  { cursor, after = cursor ?? 0, before, tail, limit, level }: LogAsk,
): Promise<Answer> {
  const isBack = tail !== undefined || before !== undefined
  const most = tail ?? limit
  // One extra item shows whether there are more.
  const back = isBack ? { before: before ?? Number.MAX_SAFE_INTEGER, limit: most + 1 } : { limit }
  const found = await engine.ask({ type: 'logs', plan, after, ...back, ...defined({ task }) })
  if (found === null) return gone()
  const chunks = isBack ? found.slice(-most) : found
  const items = chunks
    .map(({ plan: plan_id, at, stream, ...chunk }) => ({
      ...chunk,
      plan_id,
      stream,
      level: LEVEL_OF[stream],
      at: iso(at),
    }))
    .filter(chunk => level === undefined || chunk.level === level)
  if (isBack) return ok({ items, next: null, previous: found.length > most ? String(chunks[0]!.seq) : null })
  return ok({ items, next: chunks.length < limit ? null : String(chunks.at(-1)!.seq), previous: null })
}

function shown(entry: Entry, wanted: { readonly command: boolean }) {
  const { position, plan, version, actor, now, fence, hash } = entry
  const { command, events } = withoutTokens(entry)
  const sentences = visibleEvents(entry.events).map(event => sentence(event))
  const asked = wanted.command ? { command } : {}
  return { position, plan_id: plan, version, actor, at: iso(now), fence, hash, ...asked, events, told: sentences }
}

// Stored bytes, always sent as an attachment of unspecific type (octet-stream), so that no browser executes them.

const BYTES = 'application/octet-stream'

export const blobRoutes: readonly AnyRoute[] = [
  route({
    method: 'GET',
    path: '/blobs/:sha256',
    right: 'inspect',
    about: 'Stored bytes by their hash, files of the workspace too. Artifacts of a plan: /plans/:plan/artifacts.',
    answers: { 200: { about: 'the bytes, as an attachment', type: BYTES } },
    handle: async call => {
      const { sha256 } = call.params
      if (call.who.scope !== null || !isSha256(sha256!)) return noBytes()
      return bytes(sha256, await call.engine.ask({ type: 'blob', sha256 }))
    },
  }),
]

const noBytes = () => notFound('there are no such bytes', 'artifacts of a plan: GET /plans/…/artifacts')

function bytes(sha256: Sha256, data: Uint8Array | null): Answer {
  if (data === null) return noBytes()
  return {
    status: 200,
    raw: { type: BYTES, data },
    headers: attachment(sha256),
  }
}

/** No browser shows or executes what is sent with these. */
export const attachment = (filename: string) => ({
  'content-disposition': `attachment; filename="${filename}"`,
  'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
})
