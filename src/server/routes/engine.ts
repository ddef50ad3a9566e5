// The Engine interface over HTTP, for `planfold/client`: orders, queries, entries, sessions and goals as typed values. Schemas
// check the input; the engine checks the rights.

import type { AnyQuery } from '../../engine/engine.ts'
import { entriesQuery } from '../../format/wire/events.ts'
import { orderBody } from '../../format/wire/orders.ts'
import { queryBody } from '../../format/wire/queries.ts'
import { streamBody } from '../../format/wire/streams.ts'
import { missingSightOf } from '../../operations/decide-gate.ts'
import { refuseRoute } from '../auth/denial-text.ts'
import { LIMITS } from '../limits.ts'
import { isProblem, refused } from '../problem.ts'
import { answerWithoutTokens, orderFrom } from '../remote/remote-orders.ts'
import { answerStream, streamEntries } from '../remote/remote-reads.ts'
import { ok, route } from '../route.ts'
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
