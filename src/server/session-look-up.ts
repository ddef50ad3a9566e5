// Sessions by their id, within what a token may see; and the key that makes an append to one happen once.

import { createHash } from 'node:crypto'
import type { Sha256 } from '../domain/id.ts'
import type { Json } from '../domain/json.ts'
import { canonicalJson } from '../format/hash.ts'
import { sessionId } from '../format/wire/sessions.ts'
import type { SessionRow } from '../stores/store.ts'
import type { Call } from './call.ts'
import { notFound, type Problem, unfit } from './problem.ts'

type Asking = Pick<Call<unknown, unknown>, 'rooms' | 'who' | 'once'>

export const isSessionInScope = ({ who: { scope } }: Pick<Asking, 'who'>, id: string): boolean =>
  scope === null || scope.sessions?.includes(id) === true

export async function findSession(call: Asking, id: string): Promise<SessionRow | Problem> {
  const row = isSessionInScope(call, id) ? await call.rooms.engine.sessions.get(id) : null
  return row ?? noSession(id)
}

/** A plan may name a session that nobody opened. */
export async function isSessionKnown(call: Asking, id: string): Promise<boolean> {
  if (!isSessionInScope(call, id)) return false
  const { engine } = call.rooms
  if ((await engine.sessions.get(id)) !== null) return true
  return (await engine.ask({ type: 'plans', session: id, limit: 1 })).items.length > 0
}

export const noSession = (id: string): Problem =>
  notFound(`there is no session '${id.slice(0, 100)}'`, 'list them: GET /sessions')

/** An id somebody chose; null when it is a good one. */
export function sessionIdFault(
  id: string,
  where: { readonly in: 'body' | 'path'; readonly key: string },
): Problem | null {
  const read = sessionId.read(id)
  return read.ok
    ? null
    : unfit(where.in, [{ path: where.key, message: 'cannot be the id of a session', hint: ID_HINT }])
}

const ID_HINT = 'use letters and digits, with dots, dashes, colons and the like between them, at most 128'

/** The options of an append to a stream: of what is asked, whoever asks it. */
export function onceFor({ once }: Pick<Asking, 'once'>, what: Json) {
  if (once === undefined) return {}
  const hash = createHash('sha256').update(canonicalJson(what)).digest('hex') as Sha256
  return { once: { key: once, hash } }
}
