// A route as a value: name, rights, inputs and answers. The table of routes produces the router, the checks, the OpenAPI document
// and the test that tries every route with every kind of token.

import type { Right } from '../engine/roles.ts'
import type { Schema } from '../format/wire/wire.ts'
import type { Outlet } from './live/sse.ts'
import type { Problem } from './problem.ts'
import type { Call } from './request.ts'
import { JSON_TYPE } from './wire-names.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface Route<Query, Body> {
  readonly method: Method
  /** For example `/plans/:plan/tasks/:task`; without `/api` and trailing slash. */
  readonly path: string
  /** `nothing`: public, no token needed. */
  readonly right: Right | 'nothing'
  /** No token is needed on the machine of the service. Only for what holds no plan and no secret. */
  readonly isOpenHere?: true
  readonly about: string
  /** Without a schema, query keys are rejected. */
  readonly query?: Schema<Query>
  /** Without a schema no body is read. A missing body is read as `{}`. */
  readonly body?: Schema<Body>
  /** Also accepts plain text of these media types. `call.text` has it, and `call.body` is then the unvalidated text. */
  readonly texts?: readonly string[]
  readonly bodyMaxBytes?: number
  readonly isRaw?: true
  /** A POST that ignores `Idempotency-Key`: its answer is a secret, or repeating it changes nothing. */
  readonly once?: false
  /** Request headers that it reads beside the usual ones, and what they are for. */
  readonly headers?: { readonly [name: string]: string }
  /** Successful answers; problems are the same for all routes. */
  readonly answers: {
    readonly [status: number]: {
      readonly about: string
      /** A type in `format/wire/answers`, from which its schema is generated. */
      readonly body?: string
      /** The media type, if not JSON. */
      readonly type?: string
      /** Text media types available beside JSON when the query asks for them. */
      readonly texts?: readonly string[]
      /** Has an ETag: the version of the resource, plus a hash where the body depends on more. GET then honours If-None-Match. */
      readonly tag?: true
    }
  }
  handle(call: Call<Query, Body>): Promise<Answer>
}

export type AnyRoute = Route<never, never>

export type ListedRoute = AnyRoute & { readonly noun: string }

export const under = (noun: string, ...routes: readonly (readonly AnyRoute[])[]): readonly ListedRoute[] =>
  routes.flat().map(one => ({ ...one, noun }))

/** Infers the types of query and body where a route is defined. */
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
  /** The version of the plan, session or goal; it begins the ETag. */
  readonly version?: number
  /** The version alone determines the body, so the ETag needs no hash. */
  readonly isVersioned?: true
  readonly location?: string
  readonly headers?: { readonly [name: string]: string }
  /** Instead of `body`: bytes or text with this media type. */
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
/** A body that is already JSON text and depends on this version alone. */
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
