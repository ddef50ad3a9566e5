// A route as a value: what it is called, who may call it, what it takes and answers. The table of them makes the router, the
// checks, the OpenAPI document and the test that tries every route with every token.

import type { Right } from '../engine/roles.ts'
import type { Schema } from '../format/wire/wire.ts'
import type { Outlet } from './live/sse.ts'
import type { Problem } from './problem.ts'
import type { Call } from './request.ts'
import { JSON_TYPE } from './wire-names.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface Route<Query, Body> {
  readonly method: Method
  /** `/plans/:plan/tasks/:task`; without `/api` and without a slash at the end. */
  readonly path: string
  /** `nothing`: anybody may call it, also without a token. */
  readonly right: Right | 'nothing'
  readonly about: string
  /** Query keys; without a schema none is taken. */
  readonly query?: Schema<Query>
  /** The JSON body; without a schema none is read. A body that is left out is read as `{}`. */
  readonly body?: Schema<Body>
  /** Also takes plain text of these media types; `call.text` has it, and `call.body` is then the text itself, not checked. */
  readonly texts?: readonly string[]
  readonly bodyMaxBytes?: number
  readonly isRaw?: true
  /** Of a POST that takes no notice of an `Idempotency-Key`: what it answers is a secret, or the second time changes nothing. */
  readonly once?: false
  /** Headers it reads beside those that all routes do, with what they are for. */
  readonly headers?: { readonly [name: string]: string }
  /** What it answers when all is well; problems are the same everywhere. */
  readonly answers: {
    readonly [status: number]: {
      readonly about: string
      /** A type in `format/wire/answers`, from which its schema is generated. */
      readonly body?: string
      /** The media type of what is not JSON: a page, bytes, a stream. */
      readonly type?: string
      /** Beside the body, when the query asks for it: text of these media types. */
      readonly texts?: readonly string[]
      /** Has an ETag: the version of what it shows, and more where the body tells more. A GET then honours If-None-Match. */
      readonly tag?: true
    }
  }
  handle(call: Call<Query, Body>): Promise<Answer>
}

export type AnyRoute = Route<never, never>

export type ListedRoute = AnyRoute & { readonly noun: string }

export const under = (noun: string, ...routes: readonly (readonly AnyRoute[])[]): readonly ListedRoute[] =>
  routes.flat().map(one => ({ ...one, noun }))

/** Keeps the types of query and body together while a route is written. */
export const route = <Query = undefined, Body = undefined>(one: Route<Query, Body>): AnyRoute =>
  one as unknown as AnyRoute

export interface RawRoute
  extends Pick<Route<undefined, Request>, 'method' | 'path' | 'right' | 'about' | 'bodyMaxBytes' | 'answers'> {
  /** Guard, body limit and stop apply as for every route. Query, headers and body are passed on unchecked. */
  respond(
    request: Request,
    call: Pick<Call, 'rooms' | 'engine' | 'who' | 'params' | 'signal'>,
  ): Promise<Response | Problem>
}

export const rawRoute = ({ respond, ...one }: RawRoute): AnyRoute =>
  route<undefined, Request>({
    ...one,
    isRaw: true,
    once: false,
    handle: async ({ body, rooms, engine, who, params, signal }) => {
      const answer = await respond(body, { rooms, engine, who, params, signal })
      return answer instanceof Response ? { response: answer } : answer
    },
  })

export type Answer = Reply | Stream | Raw | Problem

export interface Reply {
  readonly status: number
  readonly body?: unknown
  /** Of the plan, session or goal it shows; it begins the entity tag. */
  readonly version?: number
  /** The version counts everything the body tells, so the tag needs nothing more. */
  readonly isVersioned?: true
  readonly location?: string
  readonly headers?: { readonly [name: string]: string }
  /** Instead of `body`: these bytes or this text, as this media type. */
  readonly raw?: { readonly type: string; readonly data: Uint8Array | string }
}

export interface Stream {
  readonly stream: (out: Outlet) => Promise<void>
}

export interface Raw {
  readonly response: Response
}

export const ok = (body: unknown, version?: number): Reply => ({
  status: 200,
  body,
  version,
})
/** A body that is JSON text already, and the same whenever it is shown at this version. */
export const asText = (data: string, version: number): Reply => ({
  status: 200,
  raw: { type: JSON_TYPE, data },
  version,
  isVersioned: true,
})
export const created = (body: unknown, at: string, version?: number): Reply => ({
  status: 201,
  body,
  location: at,
  version,
})
export const nothing: Reply = { status: 204 }
