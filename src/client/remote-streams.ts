// Sessions or goals of a store that is elsewhere.

import type { Streams, StreamUpdated } from '../stores/store.ts'
import { refusalIn } from './refusals.ts'
import type { Reply } from './transport.ts'
import { troubleOf } from './trouble.ts'

export type Ask = (body: object, key: string | undefined) => Promise<Reply>

export function remoteStreams<E, R, F>(of: 'sessions' | 'goals', ask: Ask, newKey: () => string): Streams<E, R, F> {
  const read = async <T>(body: object): Promise<T> => {
    const reply = await ask({ of, ...body }, undefined)
    if (!reply.ok) throw troubleOf(reply.problem)
    return (reply.body as { readonly answer: T }).answer
  }
  return {
    append: async (id, events, { expectedVersion, once }) => {
      const version = expectedVersion === undefined ? {} : { expected_version: expectedVersion }
      const reply = await ask({ of, do: 'append', id, events, ...version }, once?.key ?? newKey())
      if (reply.ok) return (reply.body as { readonly answer: StreamUpdated }).answer
      const refusal = refusalIn(reply.problem)
      if (refusal === null) throw troubleOf(reply.problem)
      return { ok: false, refusal }
    },
    read: (id, options = {}) => read({ do: 'read', id, ...options }),
    get: id => read({ do: 'get', id }),
    list: query => read({ do: 'list', ...query }),
  }
}
