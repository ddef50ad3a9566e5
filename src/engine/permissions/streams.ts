// Sessions and goals for a caller: appends are in their name, need the right to operate, and stay within their scope.

import { refuse } from '../../domain/refusal.ts'
import type { Store, Streams } from '../../stores/store.ts'
import type { Engine, OwnStreams } from '../engine.ts'
import { type Caller, deny, denyWithout, isSessionInScope, NotAllowed, requireRight } from '../roles.ts'

/** Sessions outside the scope appear not to exist. */
export function ownSessions(store: Store, caller: Caller): Engine['sessions'] {
  const sessions = owned(store.sessions, caller)
  const { scope } = caller
  if (scope === null) return sessions
  const isSeen = (id: string): boolean => isSessionInScope(scope, id)
  return {
    append: async (id, events, options) =>
      isSeen(id)
        ? await sessions.append(id, events, options)
        : { ok: false, refusal: refuse('not-found', `there is no session '${id.slice(0, 100)}'`) },
    read: async (id, options) => (isSeen(id) ? await sessions.read(id, options) : []),
    get: async id => (isSeen(id) ? await sessions.get(id) : null),
    list: async query => {
      const { items, next } = await sessions.list(query)
      return { items: items.filter(({ id }) => isSeen(id)), next }
    },
  }
}

/** Goals belong to no plan, so no limited scope contains them. */
export function ownGoals(store: Store, caller: Caller): Engine['goals'] {
  if (caller.scope === null) return owned(store.goals, caller)
  const refusal = deny(caller, 'all plans')
  const denied = async (): Promise<never> => {
    throw new NotAllowed(refusal)
  }
  return { append: async () => ({ ok: false, refusal }), read: denied, get: denied, list: denied }
}

function owned<E, R, F>(streams: Streams<E, R, F>, caller: Caller): OwnStreams<Streams<E, R, F>> {
  const { actor } = caller
  return {
    append: async (id, events, options = {}) => {
      const refusal = denyWithout(caller, 'operate')
      return refusal === null ? await streams.append(id, events, { ...options, actor }) : { ok: false, refusal }
    },
    read: async (id, options) => {
      requireRight(caller, 'read')
      return await streams.read(id, options)
    },
    get: async id => {
      requireRight(caller, 'read')
      return await streams.get(id)
    },
    list: async query => {
      requireRight(caller, 'read')
      return await streams.list(query)
    },
  }
}
