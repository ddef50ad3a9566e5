// One request as its handler sees it: who asks, what for, checked and typed. Nothing of the socket is left.

import type { IncomingHttpHeaders } from 'node:http'
import type { EngineInProcess } from '../engine/engine.ts'
import type { Who } from './auth/guard.ts'
import type { RouteRooms } from './service.ts'

export interface Call<Query = undefined, Body = undefined> {
  readonly rooms: RouteRooms
  readonly engine: EngineInProcess
  readonly who: Who
  readonly params: { readonly [name: string]: string }
  readonly query: Query
  readonly body: Body
  readonly text: string
  readonly type: string
  readonly headers: IncomingHttpHeaders
  readonly once: string | undefined
  readonly expectedVersion: number | undefined
  /** Fires when the client has gone; made when it is asked for. */
  readonly signal: () => AbortSignal
}

export function options({ once, expectedVersion }: Pick<Call, 'once' | 'expectedVersion'>): {
  readonly once?: string
  readonly expectedVersion?: number
} {
  return {
    once,
    expectedVersion,
  }
}
