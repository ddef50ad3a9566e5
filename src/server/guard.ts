// The door of the house from outside: who may come in, asked before any route is looked at.

import type { IncomingMessage } from 'node:http'
import type { Browsers } from './browsers.ts'
import type { Problem } from './problem.ts'
import type { Right, Who } from './who.ts'

export interface Guard {
  /** Host, origin and token of a request; `right` is that of the route it wants, `nothing` where anybody may. */
  admit(request: IncomingMessage, right: Right | 'nothing'): Who | Problem
  /** May a body come without a JSON media type? Only where no browser can have sent it and nobody asks for a token. */
  takesAnyType(request: IncomingMessage): boolean
  /** How a browser comes by a cookie instead of a token; null where nobody is asked for one. */
  readonly browsers?: Browsers | null
}
