// An order as the text of a request. What cannot be written as a document is refused here as it would be there: nothing throws.

import { type Refusal, refuse } from '../domain/refusal.ts'
import type { Order } from '../engine/engine.ts'
import { travelling } from './travelling.ts'

export type Packed = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly refusal: Refusal }

export function pack(plan: string | null, order: Order, beside: object): Packed {
  try {
    return { ok: true, text: JSON.stringify({ plan, order: travelling(order), ...beside }) }
  } catch (error) {
    // Whoever writes JavaScript may hand over anything; the types say what is missing, we can only say that something is.
    const why = error instanceof Error ? error.message : String(error)
    const type = (order as { readonly type?: unknown } | null)?.type
    const what = typeof type === 'string' ? `the order '${type}'` : 'this'
    return { ok: false, refusal: refuse('invalid', `${what} cannot be sent as it is: ${why}`, HINT) }
  }
}

const HINT = 'a definition has a name and tasks, each with an id and an action; a document goes to `plans.create`'
