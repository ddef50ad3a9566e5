// What happened, entry by entry; what was printed, chunk by chunk; every attempt. All of it from the store, page by page.

import type { TaskName } from '../../domain/id.ts'
import { sentence, visibleEvents } from '../../domain/views/timeline.ts'
import * as wire from '../../format/wire/events.ts'
import type { Entry, StoredLog } from '../../stores/store.ts'
import { findTask } from '../find-plan.ts'
import { presentFields } from '../planstore/patch.ts'
import { isProblem } from '../problem.ts'
import { withoutTokens } from '../remote/remote-orders.ts'
import { type Answer, type AnyRoute, ok, route } from '../route.ts'
import { type Asking, gone, withPlan, withTask } from '../submit-order.ts'
import { iso, onWire } from '../wire-names.ts'
import { ofTask } from './claims.ts'

const noun = 'logs'
const LEVEL_OF = { stdout: 'info', stderr: 'warning', engine: 'debug' } as const satisfies {
  readonly [stream in StoredLog['stream']]: (typeof wire.LEVELS)[number]
}

export const logRoutes: readonly AnyRoute[] = [
  route({
    method: 'GET',
    path: '/plans/:plan/entries',
    right: 'read',
    noun,
    about: 'The journal of the plan, oldest entry first.',
    query: wire.entryQuery,
    answers: { 200: { about: 'a page of it', body: wire.entries } },
    handle: async call =>
      await withPlan(call, async ({ plan }) => {
        const { cursor, after = cursor ?? 0, limit } = call.query
        const entries = await call.engine.ask({ type: 'entries', plan, after, limit })
        if (entries === null) return gone()
        return ok({ items: entries.map(shown), next: entries.length < limit ? null : String(entries.at(-1)!.version) })
      }),
  }),
  route({
    method: 'GET',
    path: '/plans/:plan/logs',
    right: 'read',
    noun,
    about: 'What the tasks of the plan printed, in the order in which it was stored.',
    query: wire.logQuery,
    answers: { 200: { about: 'a page of it', body: wire.logs } },
    handle: async call =>
      await withPlan(call, async ({ plan }) => {
        const { task, ...query } = call.query
        const of = task === undefined ? null : await findTask(call, task, plan)
        if (of !== null && isProblem(of)) return of
        return await logsOf(call, plan, of?.task, query)
      }),
  }),
  ...ofTask('/logs', {
    method: 'GET',
    right: 'read',
    noun,
    about: 'What the task printed.',
    query: wire.logQuery,
    answers: { 200: { about: 'a page of it', body: wire.logs } },
    handle: async call => await withTask(call, async ({ plan, task }) => await logsOf(call, plan, task, call.query)),
  }),
  route({
    method: 'GET',
    path: '/plans/:plan/attempts',
    right: 'read',
    noun,
    about: 'Every attempt of the plan.',
    query: wire.attemptQuery,
    answers: { 200: { about: 'a page of them', body: wire.attempts } },
    handle: async call =>
      await withPlan(call, async ({ plan }) => {
        const page = await call.engine.ask({ type: 'attempts', plan, ...presentFields(call.query) })
        return ok(onWire(page))
      }),
  }),
  ...ofTask('/attempts', {
    method: 'GET',
    right: 'read',
    noun,
    about: 'Every attempt of the task.',
    query: wire.attemptQuery,
    answers: { 200: { about: 'a page of them', body: wire.attempts } },
    handle: async call =>
      await withTask(call, async ({ plan, task }) =>
        ok(onWire(await call.engine.ask({ type: 'attempts', plan, task, ...presentFields(call.query) }))),
      ),
  }),
]

interface LogAsk {
  readonly cursor?: number | undefined
  readonly after?: number | undefined
  readonly limit: number
  readonly level?: (typeof wire.LEVELS)[number] | undefined
}

async function logsOf(
  { engine }: Asking,
  plan: string,
  task: TaskName | undefined,
  { cursor, after = cursor ?? 0, limit, level }: LogAsk,
): Promise<Answer> {
  const chunks = await engine.ask({ type: 'logs', plan, after, limit, ...presentFields({ task }) })
  if (chunks === null) return gone()
  const items = chunks
    .map(({ plan: plan_id, at, stream, ...chunk }) => ({
      ...chunk,
      plan_id,
      stream,
      level: LEVEL_OF[stream],
      at: iso(at),
    }))
    .filter(chunk => level === undefined || chunk.level === level)
  return ok({ items, next: chunks.length < limit ? null : String(chunks.at(-1)!.seq) })
}

function shown(entry: Entry) {
  const { position, plan, version, actor, now, fence, hash } = entry
  const { command, events } = withoutTokens(entry)
  const told = visibleEvents(entry.events).map(event => sentence(event))
  return { position, plan_id: plan, version, actor, at: iso(now), fence, hash, command, events, told }
}
