// Sessions: what groups the plans and messages of one conversation.

import { defined } from '../../domain/json.ts'
import { isSessionInScope } from '../../engine/roles.ts'
import { pauseBody } from '../../format/wire/plans.ts'
import { messageQuery, newMessage, newSession, sessionQuery } from '../../format/wire/sessions.ts'
import { pauseSession, resumeSession, type SessionMoved, type SessionRoom } from '../../operations/session-plans.ts'
import type { SessionRow } from '../../stores/store.ts'
import { findSession, isSessionKnown, noSession, onceFor, sessionIdFault } from '../find-session.ts'
import { isProblem, problem, refused } from '../problem.ts'
import { type Answer, type AnyRoute, created, ok, route } from '../route.ts'
import { type Asking, submit } from '../submit-order.ts'
import { iso } from '../wire-names.ts'

export const sessionRoutes: readonly AnyRoute[] = [
  route({
    method: 'POST',
    path: '/sessions',
    right: 'operate',
    about: 'Opens a session, under an id of yours or of ours.',
    body: newSession,
    answers: { 201: { about: 'the session', body: 'Session', tag: true } },
    handle: async call => {
      const { rooms, engine, body } = call
      const id = body.id ?? Buffer.from(rooms.random(12)).toString('hex')
      const fault = sessionIdFault(id, { in: 'body', key: 'id' })
      if (fault !== null) return fault
      if (!isSessionInScope(call.who.scope, id))
        return problem(403, 'not-allowed', 'your token is for certain sessions or plans only', {
          hint: 'name one of your sessions, or use another token',
        })
      // Under a key, only the store can say whether it was asked before.
      if (call.once === undefined && (await engine.sessions.get(id)) !== null)
        return problem(409, 'exists', `there is a session '${id}' already`, { hint: `look at it: GET /sessions/${id}` })
      const title = body.title ?? ''
      const appended = await engine.sessions.append(id, [{ type: 'session.opened', title }], {
        expectedVersion: 0,
        ...onceFor(call, { open: body.id ?? null, title }),
      })
      if (!appended.ok) return refused(appended.refusal)
      const row = await findSession(call, appended.id)
      return isProblem(row) ? row : created(shown(row), `/sessions/${row.id}`, row.version)
    },
  }),
  route({
    method: 'GET',
    path: '/sessions',
    right: 'read',
    about: 'Sessions, newest first.',
    query: sessionQuery,
    answers: { 200: { about: 'a page of them', body: 'SessionList' } },
    handle: async call => {
      const { engine, query } = call
      const { status, ...page } = query
      const { items, next } = await engine.sessions.list({
        where: status === undefined ? undefined : { status },
        ...defined(page),
      })
      return ok({ items: items.map(shown), next })
    },
  }),
  route({
    method: 'GET',
    path: '/sessions/:session',
    right: 'read',
    about: 'One session.',
    answers: { 200: { about: 'the session', body: 'Session', tag: true } },
    handle: async call => {
      const row = await findSession(call, call.params.session!)
      return isProblem(row) ? row : ok(shown(row), row.version)
    },
  }),
  route({
    method: 'POST',
    path: '/sessions/:session/messages',
    right: 'operate',
    about: 'Adds a message to a session.',
    body: newMessage,
    answers: { 201: { about: 'the message', body: 'Message', tag: true } },
    handle: async call => {
      const { engine, body, params, expectedVersion } = call
      const row = await findSession(call, params.session!)
      if (isProblem(row)) return row
      if (row.status === 'closed')
        return problem(409, 'illegal-transition', `the session '${row.id}' is closed`, {
          hint: 'open another one: POST /sessions',
          allowed: [],
        })
      const { role, text, data } = body
      const event = { type: 'message.added', role, text, ...(data === undefined ? {} : { data }) } as const
      const appended = await engine.sessions.append(row.id, [event], {
        ...defined({ expectedVersion }),
        ...onceFor(call, { session: row.id, ...event }),
      })
      if (!appended.ok) return refused(appended.refusal)
      const [entry] = await engine.sessions.read(row.id, { after: appended.version - 1, limit: 1 })
      if (entry === undefined) throw new Error(`bug: message ${appended.version} of ${row.id} is not there`)
      return created(shownMessage(row.id, entry), `/sessions/${row.id}/messages`, appended.version)
    },
  }),
  route({
    method: 'POST',
    path: '/sessions/:session/pause',
    right: 'operate',
    about: 'Pauses every running plan of the session.',
    body: pauseBody,
    answers: { 200: { about: 'what was done to which plan', body: 'SessionMoved' } },
    handle: async call => {
      const { reason, force } = call.body
      const said = { ...defined({ reason }), ...(force === true ? { force } : {}) } as const
      return await moveSession(call, 'paused', room => pauseSession(room, call.params.session!, said))
    },
  }),
  route({
    method: 'POST',
    path: '/sessions/:session/resume',
    right: 'operate',
    about: 'Continues every paused plan of the session.',
    answers: { 200: { about: 'what was done to which plan', body: 'SessionMoved' } },
    handle: async call => await moveSession(call, 'resumed', room => resumeSession(room, call.params.session!)),
  }),
  route({
    method: 'POST',
    path: '/sessions/:session/close',
    right: 'operate',
    about: 'Closes a session: no message is added any more. Its plans go on.',
    answers: { 200: { about: 'the session', body: 'Session', tag: true } },
    handle: async call => {
      const { engine, params, expectedVersion } = call
      const before = await findSession(call, params.session!)
      if (isProblem(before)) return before
      if (before.status === 'closed') return ok(shown(before), before.version)
      const appended = await engine.sessions.append(before.id, [{ type: 'session.closed' }], {
        ...defined({ expectedVersion }),
        ...onceFor(call, { close: before.id }),
      })
      if (!appended.ok) return refused(appended.refusal)
      const row = await findSession(call, before.id)
      return isProblem(row) ? row : ok(shown(row), row.version)
    },
  }),
  route({
    method: 'GET',
    path: '/sessions/:session/messages',
    right: 'read',
    about: 'The messages of a session, oldest first.',
    query: messageQuery,
    answers: { 200: { about: 'a page of them', body: 'MessageList' } },
    handle: async call => {
      const { engine, query, params } = call
      const row = await findSession(call, params.session!)
      if (isProblem(row)) return row
      const wanted = query.limit
      const from = query.cursor ?? query.after ?? 0
      const entries = await engine.sessions.read(row.id, { after: from, limit: wanted })
      const items = entries.flatMap(entry =>
        entry.event.type === 'message.added' ? [shownMessage(row.id, entry)] : [],
      )
      const last = entries.at(-1)?.version ?? from
      return ok({ items, next: entries.length < wanted || last >= row.version ? null : String(last) })
    },
  }),
]

async function moveSession(
  call: Asking,
  status: 'paused' | 'resumed',
  move: (room: SessionRoom) => Promise<SessionMoved>,
): Promise<Answer> {
  const session = call.params.session!
  if (!(await isSessionKnown(call, session))) return noSession(session)
  const { engine } = call
  const { moved, refused: left } = await move({ engine, submit: async (plan, what) => await submit(call, plan, what) })
  return ok({
    session_id: session,
    status,
    plans: moved.map(({ plan, name, version }) => ({ plan_id: plan, name, version })),
    refused: left.map(({ plan, name, refusal }) => {
      const { detail, hint } = refused(refusal, { plan }).problem
      return { plan_id: plan, name, detail, hint: hint ?? null }
    }),
  })
}

function shown({ id, title, status, messages, version, createdAt, updatedAt }: SessionRow) {
  return { id, title, status, messages, version, created_at: iso(createdAt), updated_at: iso(updatedAt) }
}

type Entry = Awaited<ReturnType<Parameters<typeof findSession>[0]['engine']['sessions']['read']>>[number]

function shownMessage(session: string, { version, at, actor, event }: Entry) {
  if (event.type !== 'message.added') throw new Error('bug: only messages are shown as such')
  const { role, text, data, plan } = event
  return {
    id: version,
    session_id: session,
    role,
    text,
    ...defined({ data, plan_id: plan }),
    by: actor,
    at: iso(at),
  }
}
