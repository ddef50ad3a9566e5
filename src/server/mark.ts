// Six letters that make a name its own. The same request under the same key gets the same letters, so that asking twice is asking
// once; otherwise they are drawn by lot. What is taken all the same is drawn again.

import { createHash } from 'node:crypto'
import type { Call } from './call.ts'

const LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789'

type Asking = Pick<Call<unknown, unknown>, 'rooms' | 'who' | 'once'>

/** `again`: how often it was drawn before. The first is made without it, as it was when nothing was drawn again. */
export function markOf({ rooms, who, once }: Asking, part = 0, again = 0): string {
  const bytes =
    once === undefined
      ? rooms.random(6)
      : createHash('sha256')
          .update(JSON.stringify(again === 0 ? [who.actor, once, part] : [who.actor, once, part, again]))
          .digest()
  let mark = ''
  for (let at = 0; at < 6; at++) mark += LETTERS[bytes[at]! % LETTERS.length]
  return mark
}

/** So often is drawn: thirty bits are taken now and then, and never thrice. A lot that always falls the same is told in the end. */
export const DRAWS_MAX = 4

/** Makes names of stems, no two alike, nor like one of `taken`. Each `round` makes others. */
export function namesFor(call: Asking, taken: Iterable<string>, round: number): (stem: string, part: number) => string {
  const used = new Set(taken)
  return (stem, part) => {
    let name = ''
    for (let tries = 0; tries < DRAWS_MAX; tries++) {
      name = `${stem}-${markOf(call, part, round + tries * DRAWS_MAX)}`
      if (!used.has(name)) break
    }
    used.add(name)
    return name
  }
}
