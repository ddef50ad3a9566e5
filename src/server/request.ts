// One request as its handler sees it: caller, target and inputs, validated and typed, without the socket.

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
  /** Aborts when the client disconnects. Created on demand. */
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
