// Text that no store keeps as it is: a NUL, or half of a character. In JSON both can only be written as escapes, in an address
// only a NUL can; so whoever writes neither is not looked at.

import type { Json } from '../domain/json.ts'
import { type Path, printPath } from '../format/diagnostic.ts'
import type { Fault } from '../format/wire/wire.ts'

/** The first place in a body; null when there is none. `value` is what the text says, and not nested deeply. */
export function unkeptIn(text: string, value: Json): Fault | null {
  return text.includes('\\u') ? look(value, []) : null
}

/** The first place in a query; null when there is none. */
export function unkeptInQuery(
  query: string,
  said: { readonly [name: string]: string | readonly string[] },
): Fault | null {
  return query.includes('%00') ? look(said, []) : null
}

function look(value: Json, at: (string | number)[]): Fault | null {
  if (typeof value === 'string') {
    const odd = oddIn(value)
    return odd === null ? null : fault(at, `the text contains ${odd}`)
  }
  if (value === null || typeof value !== 'object') return null
  if (Array.isArray(value)) {
    for (const [index, item] of (value as readonly Json[]).entries()) {
      const found = below(item, index, at)
      if (found !== null) return found
    }
    return null
  }
  for (const [key, item] of Object.entries(value)) {
    const odd = oddIn(key)
    const found = odd === null ? below(item as Json, key, at) : fault(at, `a key contains ${odd}`)
    if (found !== null) return found
  }
  return null
}

function below(item: Json, step: string | number, at: (string | number)[]): Fault | null {
  at.push(step)
  const found = look(item, at)
  at.pop()
  return found
}

function oddIn(text: string): string | null {
  if (text.includes('\0')) return 'a NUL character'
  return /\p{Surrogate}/u.test(text) ? 'half a character (a lone surrogate)' : null
}

const fault = (at: Path, message: string): Fault => ({ path: printPath(at), message, hint: 'remove it' })
