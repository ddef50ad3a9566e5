// Memory over any tables: an item is checked and replaced in one transaction.

import type { Millis } from '../domain/id.ts'
import { limitOf } from './cursor.ts'
import type { Memories } from './memories.ts'
import { eachLoaded, type Transactions } from './tables.ts'

/** `now`: expired items are removed for good with the next write. */
export function memoriesOn({
  transactions,
  clock,
}: {
  readonly transactions: Transactions
  readonly clock: { readonly now: () => Millis }
}): Memories {
  return {
    put: (record, text, check) =>
      transactions.write(({ memories }) => {
        const refusal = check?.(memories.get(record, record.key)) ?? null
        if (refusal !== null) return refusal
        memories.expire(clock.now())
        memories.put(record, text)
        return null
      }),
    get: async (places, keys) =>
      await transactions.read(({ memories }) =>
        eachLoaded(
          places.flatMap(place => keys.map(key => ({ place, key }))),
          ({ place, key }) => memories.get(place, key),
        ).filter(item => item !== null),
      ),
    find: async query =>
      await transactions.read(({ memories }) => memories.find({ ...query, limit: limitOf(query.limit, 20, 5_000) })),
    remove: (place, key, when = () => true) =>
      transactions.write(({ memories }) => {
        const item = memories.get(place, key)
        if (item === null || !when(item)) return false
        memories.remove(place, key)
        return true
      }),
    putVectors: (vectors, model) =>
      transactions.write(({ memories }) => {
        for (const vector of vectors) memories.putVector(vector, model)
      }),
    vectors: async query => await transactions.read(({ memories }) => memories.vectors(query)),
  }
}
