// The Engine interface over HTTP, for `planfold/client`: orders, queries, entries, sessions and goals as typed values. Schemas
// check the input; the engine checks the rights.

import type { PlanId } from '../../domain/id.ts'
import type { AnyQuery, OwnStreams } from '../../engine/engine.ts'
import { isSessionInScope } from '../../engine/roles.ts'
import { entriesQuery } from '../../format/wire/events.ts'
import { orderBody } from '../../format/wire/orders.ts'
import { queryBody } from '../../format/wire/queries.ts'
import { streamBody, type WireStream } from '../../format/wire/streams.ts'
import { missingSightOf } from '../../operations/decide-gate.ts'
import type { Streams } from '../../stores/store.ts'
import { inTokenWords, refuseRoute } from '../auth/denial-text.ts'
import { findPlan } from '../find-plan.ts'
import { noSession, onceFor } from '../find-session.ts'
import { LIMITS } from '../limits.ts'
import type { Outlet } from '../live/sse.ts'
import { isProblem, problem, refused } from '../problem.ts'
import { answerWithoutTokens, orderFrom, withoutTokens } from '../remote/remote-orders.ts'
import type { Call } from '../request.ts'
import { type Answer, ok, route } from '../route.ts'
import { submit } from '../submit-order.ts'

export const engineDoorRoutes = [
  route({
    method: 'POST',
    path: '/engine/orders',
    right: 'read',
    about: 'One order of the Engine door; the right it needs depends on its type. For `planfold/client`.',
    body: orderBody,
    bodyMaxBytes: LIMITS.planBytes,
    answers: { 200: { about: 'what happened', body: 'EngineSubmitted' } },
    handle: async call => {
      const { engine, who, body, once } = call
      const { plan, order: asked, expected_version: expected } = body
      // Missing rights are reported before any other error.
      const denial = refuseRoute(who, engine.rightFor(asked.type))
      if (denial !== null) return denial
      const order = await orderFrom(engine, plan, asked)
      if (isProblem(order)) return order
      const unsaid = plan === null ? null : await missingSightOf(engine, plan, order)
      if (unsaid !== null) return refused(unsaid, { plan })
      const expectedVersion = expected ?? call.expectedVersion
      const submitted = await submit(call, plan, order, {
        once,
        expectedVersion,
      })
      if (!submitted.ok) return refused(submitted.refusal, { plan })
      const { ok: _, ...reply } = submitted
      return ok(reply)
    },
  }),
  route({
    method: 'POST',
    path: '/engine/queries',
    once: false,
    right: 'read',
    about: 'One query of the Engine door. Changes nothing, but for `prune`. For `planfold/client`.',
    body: queryBody,
    answers: { 200: { about: 'the answer', body: 'EngineAnswer' } },
    handle: async call => {
      const query: AnyQuery = call.body.query
      const answer = await call.engine.ask(query)
      if (!(answer instanceof Uint8Array)) return ok({ answer: answerWithoutTokens(query.type, answer) })
      return ok({ bytes: Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength).toString('base64') })
    },
  }),
  route({
    method: 'POST',
    path: '/engine/streams',
    right: 'read',
    about: 'Sessions and goals as the Engine door has them: append, read, get, list. For `planfold/client`.',
    body: streamBody,
    answers: { 200: { about: 'the answer', body: 'EngineStreamAnswer' } },
    handle: answerStream,
  }),
  route({
    method: 'GET',
    path: '/engine/entries',
    right: 'read',
    about: 'Whole entries of the journal, one a line, behind a position and then live. For `planfold/client`.',
    query: entriesQuery,
    answers: { 200: { about: 'entries until it is cut', type: 'application/x-ndjson' } },
    handle: streamEntries,
  }),
]

// Reads of the Engine interface over HTTP: sessions, goals, and journal entries as they are committed.

// Streams whole journal entries as they are committed, one JSON value per line: the wire form of the engine's `watch`. Blank
// lines are heartbeats. A client that stops reading is disconnected and reconnects.

interface EntriesQuery {
  readonly after: number
  readonly plan?: string | undefined
}

const HEADERS = {
  'content-type': 'application/x-ndjson; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
}

export async function streamEntries(call: Call<EntriesQuery>): Promise<Answer> {
  const { rooms, who, query, signal } = call
  const found = query.plan === undefined ? null : await findPlan(call, query.plan)
  if (found !== null && isProblem(found)) return found
  const release = rooms.live.admit(who.token)
  if (release === null)
    return problem(429, 'streams', `${rooms.limits.streams} streams of this token are open already`, {
      hint: 'close one of them',
      headers: { 'retry-after': '5' },
    })
  // Also fires when the response ends before anything was sent.
  signal().addEventListener('abort', release, { once: true })
  return { stream: out => send(call, found?.plan, out) }
}

async function send(call: Call<EntriesQuery>, plan: PlanId | undefined, out: Outlet): Promise<void> {
  const { rooms, query } = call
  const { streamSilentMs, heartbeatMs } = rooms.limits
  const cut = new AbortController()
  out.begin(200, HEADERS)
  out.write('\n')
  const heart = setInterval(() => out.buffered() === 0 && out.write('\n'), heartbeatMs)
  const watching = call.engine.watch({
    after: query.after,
    signal: AbortSignal.any([out.disconnected, cut.signal]),
    plan,
  })
  try {
    for await (const entry of watching) {
      if (out.write(`${JSON.stringify(withoutTokens(entry))}\n`)) continue
      if (!(await isDrained(out, streamSilentMs))) cut.abort()
    }
  } finally {
    clearInterval(heart)
  }
  if (cut.signal.aborted) out.destroy()
  else out.end()
}

/** False on timeout. Clears its timer, since a stream waits thousands of times. */
const isDrained = (out: Outlet, withinMs: number): Promise<boolean> =>
  new Promise(resolve => {
    const silent = setTimeout(() => resolve(false), withinMs)
    void out.drained().then(() => {
      clearTimeout(silent)
      resolve(true)
    })
  })

async function answerStream(call: Call<undefined, WireStream>): Promise<Answer> {
  const { engine, body, who } = call
  if (body.of === 'sessions' && body.do !== 'list' && !isSessionInScope(who.scope, body.id)) return noSession(body.id)
  // The schema has checked which filters belong to which stream.
  const stream = engine[body.of] as OwnStreams<Streams<unknown, unknown>>
  switch (body.do) {
    case 'append': {
      const { id, events, expected_version: expectedVersion } = body
      const appended = await stream.append(id, events, {
        expectedVersion,
        ...onceFor(call, { of: body.of, id, events: events as never }),
      })
      return appended.ok ? ok({ answer: appended }) : refused(inTokenWords(who, appended.refusal))
    }
    case 'read': {
      const { id, of: _, do: __, ...options } = body
      return ok({ answer: await stream.read(id, options) })
    }
    case 'get':
      return ok({ answer: await stream.get(body.id) })
    case 'list': {
      const { of: _, do: __, ...query } = body
      return ok({ answer: await stream.list(query) })
    }
    default:
      return body satisfies never
  }
}
