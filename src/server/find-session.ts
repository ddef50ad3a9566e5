// Sessions by their id, within what a token may see; and the key that makes an append to one happen once.

import { createHash } from 'node:crypto'
import type { Sha256 } from '../domain/id.ts'
import type { Json } from '../domain/json.ts'
import { isSessionInScope } from '../engine/roles.ts'
import { canonicalJson } from '../format/plan/hash.ts'
import { sessionId } from '../format/wire/sessions.ts'
import { isSessionKnown as isKnown } from '../operations/session-plans.ts'
import type { SessionRow } from '../stores/store.ts'
import { invalidRequest, notFound, type Problem } from './problem.ts'
import type { Call } from './request.ts'

type Asking = Pick<Call<unknown, unknown>, 'rooms' | 'engine' | 'who' | 'once'>

export async function findSession(call: Asking, id: string): Promise<SessionRow | Problem> {
  return (await call.engine.sessions.get(id)) ?? noSession(id)
}

/** A plan may name a session that was never opened. */
export const isSessionKnown = async ({ engine }: Asking, id: string): Promise<boolean> =>
  isSessionInScope(engine.caller.scope, id) && (await isKnown(engine, id))

export const noSession = (id: string): Problem =>
  notFound(`there is no session '${id.slice(0, 100)}'`, 'list them: GET /sessions')

export function sessionIdFault(
  id: string,
  where: { readonly in: 'body' | 'path'; readonly key: string },
): Problem | null {
  const read = sessionId.read(id)
  return read.ok
    ? null
    : invalidRequest(where.in, [{ path: where.key, message: 'cannot be the id of a session', hint: ID_HINT }])
}

const ID_HINT = 'use letters and digits, with dots, dashes, colons and the like allowed inside, at most 128'

export function onceFor({ once }: Pick<Asking, 'once'>, what: Json) {
  if (once === undefined) return {}
  const hash = createHash('sha256').update(canonicalJson(what)).digest('hex') as Sha256
  return { once: { key: once, hash } }
}
