// Six letters that make a name its own. The same request under the same key gets the same letters, so that asking twice is asking
// once; otherwise they are drawn by lot.

import { createHash } from 'node:crypto'
import type { Call } from './call.ts'

const LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789'

export function markOf({ rooms, who, once }: Pick<Call<unknown, unknown>, 'rooms' | 'who' | 'once'>, part = 0): string {
  const bytes =
    once === undefined
      ? rooms.random(6)
      : createHash('sha256')
          .update(JSON.stringify([who.actor, once, part]))
          .digest()
  let mark = ''
  for (let at = 0; at < 6; at++) mark += LETTERS[bytes[at]! % LETTERS.length]
  return mark
}
