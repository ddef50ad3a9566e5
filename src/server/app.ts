// The path of every request: guard, route, checks, handler, and problems for everything that goes wrong. No route bypasses it.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { finished } from 'node:stream/promises'
import type { HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { type Context, Hono } from 'hono'
import type { EngineInProcess, OwnStreams } from '../engine/engine.ts'
import { NotAllowed, RIGHTS } from '../engine/roles.ts'
import type { Fault } from '../format/wire/wire.ts'
import type { Streams } from '../stores/store.ts'
import { inTokenWords, refuseRoute } from './auth/denial-text.ts'
import type { Guard, Who } from './auth/guard.ts'
import { isHere } from './auth/origins.ts'
import { checkBody, decode, readBytes, unkeptInQuery } from './body.ts'
import { SHORT_MAX } from './documents/document-pool.ts'
import { invalidRequest, isProblem, type Problem, problem, refused } from './problem.ts'
import { responseTo, streamTo } from './reply.ts'
import type { Answer, ListedRoute, Route, Stream } from './route.ts'
import type { RouteRooms, ServerRooms } from './service.ts'
import { textOf, troubleOf } from './trouble.ts'

// Wraps the engine for one request to detect replays: if any order was answered from its idempotency key, the response says so in
// a header, no matter how many orders the request makes.

const REPLAYED = 'idempotency-replayed'

interface Noting {
  readonly engine: EngineInProcess
  marked(answer: Answer): Answer
}

function noteReplays(engine: EngineInProcess): Noting {
  let isReplayed = false
  const seen = <T extends { readonly ok: boolean; readonly replayed?: true }>(done: T): T => {
    if (done.replayed === true) isReplayed = true
    return done
  }
  const stream = <E, R, F>(of: OwnStreams<Streams<E, R, F>>): OwnStreams<Streams<E, R, F>> => ({
    append: async (...asked) => seen(await of.append(...asked)),
    read: (...asked) => of.read(...asked),
    get: id => of.get(id),
    list: query => of.list(query),
  })
  const noting = (engine: EngineInProcess): EngineInProcess => ({
    caller: engine.caller,
    rightFor: order => engine.rightFor(order),
    as: caller => noting(engine.as(caller)),
    submit: async (...asked) => seen(await engine.submit(...asked)),
    answered: async (...asked) => {
      const done = await engine.answered(...asked)
      return done === null ? null : seen(done)
    },
    ask: query => engine.ask(query),
    watch: options => engine.watch(options),
    close: () => engine.close(),
    killSwitch: engine.killSwitch,
    sessions: stream(engine.sessions),
    memory: engine.memory,
    goals: stream(engine.goals),
  })
  return {
    engine: noting(engine),
    marked: answer =>
      !isReplayed || 'stream' in answer || 'response' in answer
        ? answer
        : { ...answer, headers: { ...answer.headers, [REPLAYED]: 'true' } },
  }
}

/** `route` is the path from the route table, never the path of the request, so that labels stay bounded. */
export interface Answered {
  readonly method: string
  readonly route: string | null
  readonly status: number
  readonly actor: string | null
  readonly ms: number
  readonly id: string
}

export interface AppOptions {
  readonly answered?: (answered: Answered) => void
  readonly monotonic: () => number
}

/** Responses that may contain secrets are not compressed: the length could reveal them (BREACH). */
const mayCompress = ({ method, path, noun }: Loose): boolean =>
  (method === 'GET' || path === '/engine/queries') && noun !== 'auth' && noun !== 'tokens'

type Loose = Route<unknown, unknown> & Pick<ListedRoute, 'noun'>

const METHODS_WITH_BODY = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])
const KEY_MAX = 255
const HEADERS_MAX = 100
const TOO_MANY_HEADERS = problem(431, 'headers-too-large', `there are more than ${HEADERS_MAX} headers`, {
  hint: 'send fewer',
  headers: { connection: 'close' },
})

/** `/health` and `/ready` are still answered. */
const STOPPING = problem(503, 'stopping', 'the service is stopping; nothing was changed', {
  hint: 'try again when it has been started again',
  headers: { 'retry-after': '1' },
})

/** Set by the server before Hono routes. `refusal`: every admitted caller gets this answer, on any route. */
export interface AppEnv {
  readonly Bindings: HttpBindings & { readonly refusal?: Problem }
}

type Asked = Context<AppEnv>

/** The route table as a Hono app. Hono only matches the path; guard, checks and problems are the same code for all routes. */
export function openApp(rooms: ServerRooms, options: AppOptions): Hono<AppEnv> {
  const app = new Hono<AppEnv>({ getPath: (_, given) => routedPath(given?.env?.incoming.url ?? '/') })
  const answer = openAnswers(rooms, options)
  for (const [path, routes] of byPath(rooms.routes)) app.all(path, asked => answer(asked, routes))
  app.notFound(asked => answer(asked, new Map()))
  // A bug of ours: Hono would answer it itself; the listener in serve.ts logs it and answers.
  app.onError(error => {
    throw error
  })
  return app
}

type ByMethod = ReadonlyMap<string, Loose>

/** Sorts static segments before parameters, because Hono takes the first registered match. */
function byPath(routes: readonly ListedRoute[]): ReadonlyMap<string, ByMethod> {
  const ranked = routes.map(route => ({ route, rank: route.path.replaceAll(/:\w+/g, '\u{10ffff}') }))
  const found = new Map<string, Map<string, Loose>>()
  for (const { route } of ranked.sort((a, b) => (a.rank < b.rank ? -1 : a.rank > b.rank ? 1 : 0))) {
    const known = found.get(route.path) ?? new Map<string, Loose>()
    if (known.has(route.method)) throw new Error(`bug: two routes for ${route.method} ${route.path}`)
    found.set(route.path, known.set(route.method, route as unknown as Loose))
  }
  return found
}

/** Normalises the path: every route also answers under `/api` and with a trailing slash. */
export function normalPath(url: string): string {
  const query = url.indexOf('?')
  let path = query === -1 ? url : url.slice(0, query)
  if (path.startsWith('/api/') || path === '/api') path = path.slice(4)
  while (path.length > 1 && path.endsWith('/')) path = path.slice(0, -1)
  return path === '' ? '/' : path
}

const NOWHERE = '/%'

/** A path that cannot be decoded, or has a NUL (where the store would cut a name off), matches no route. */
function routedPath(url: string): string {
  const path = normalPath(url)
  if (!path.includes('%')) return path
  try {
    return decodeURIComponent(path).includes('\0') ? NOWHERE : path
  } catch {
    return NOWHERE
  }
}

function openAnswers(
  rooms: ServerRooms,
  { answered, monotonic }: AppOptions,
): (asked: Asked, routes: ByMethod) => Promise<Response> {
  const { guard, meter } = rooms
  const { engine: own, ...shared } = rooms
  const process36 = process.pid.toString(36)
  let count = 0
  return async (asked, routes) => {
    const { incoming, refusal } = asked.env
    const method = incoming.method === 'HEAD' ? 'GET' : (incoming.method ?? '')
    const route = routes.get(method) ?? null
    const began = monotonic()
    const number = ++count
    // Generated lazily: most responses do not include it.
    const id = (): string => `${process36}-${number.toString(36)}`
    const disconnected = disconnectedOf(asked.env.outgoing)
    // The guard runs first, even for unknown paths, so that an unauthorised caller learns nothing.
    const who = incoming.rawHeaders.length > 2 * HEADERS_MAX ? TOO_MANY_HEADERS : admit(guard, incoming, route)
    let answer: Answer
    try {
      if (isProblem(who)) answer = who
      else if (refusal !== undefined) answer = refusal
      else if (rooms.stopping.aborted && route?.noun !== 'health') {
        await discardBody(incoming)
        answer = STOPPING
      } else if (route === null) answer = nowhere(incoming, [...routes.keys()])
      else {
        const { actor, role, scope, isPerson } = who
        const engine = own.as({ actor, rights: RIGHTS[role], scope, isPerson })
        answer = await answerOf(shared, engine, route, who, asked, disconnected)
      }
    } catch (error) {
      answer =
        error instanceof NotAllowed && !isProblem(who)
          ? refused(inTokenWords(who, error.refusal))
          : troubleOf(error, rooms, id())
    }
    const holds = (): boolean => !isProblem(admit(guard, incoming, route))
    if ('response' in answer) cutUnless(asked.env.outgoing, () => holds() && !rooms.stopping.aborted)
    const response =
      'stream' in answer
        ? await deliver(rooms, { asked, answer, disconnected, id, holds })
        : await responseTo(incoming, answer, { id, mayCompress: route !== null && mayCompress(route) })
    const status = 'stream' in answer ? asked.env.outgoing.statusCode : response.status
    const path = route?.path ?? null
    const ms = monotonic() - began
    // The duration of a stream is not a response time.
    if (!('stream' in answer)) meter.answered(method, path, status, ms)
    answered?.({ method, route: path, status, actor: isProblem(who) ? null : who.actor, ms, id: id() })
    return response
  }
}

/** The connection is closed with the answer. If the system had unread bytes then, it would reset the connection, and the answer might be lost. */
async function discardBody(incoming: IncomingMessage): Promise<void> {
  incoming.resume()
  await finished(incoming).catch(() => {})
}

function admit(guard: Guard, request: IncomingMessage, route: Loose | null): Who | Problem {
  const right = route?.right ?? 'read'
  if (route?.isOpenHere === true && request.headers.authorization === undefined) {
    const anybody = guard.admit(request, 'anybody')
    if (isProblem(anybody) || isHere(anybody.from)) return anybody
  }
  const who = guard.admit(request, right === 'nothing' ? 'anybody' : 'token')
  return isProblem(who) ? who : (refuseRoute(who, right) ?? who)
}

async function answerOf(
  rooms: RouteRooms,
  engine: EngineInProcess,
  route: Loose,
  who: Who,
  asked: Asked,
  disconnected: () => AbortSignal,
): Promise<Answer> {
  const { incoming } = asked.env
  const { headers } = incoming
  const query = route.isRaw === true ? NO_QUERY : readQuery(route, asked)
  if (isProblem(query)) return query
  const sent = await (route.isRaw === true ? wholeOf : bodyOf)(rooms, route, asked)
  if (isProblem(sent)) return sent
  const once = keyOf(route, headers['idempotency-key'])
  if (once !== undefined && typeof once !== 'string') return once
  const expectedVersion = versionOf(headers['if-match'])
  if (expectedVersion !== undefined && typeof expectedVersion !== 'number') return expectedVersion
  const noting = once === undefined ? null : noteReplays(engine)
  const answer = await route.handle({
    rooms,
    engine: noting?.engine ?? engine,
    who,
    params: asked.req.param(),
    query: query.value,
    body: sent.value,
    text: sent.text,
    type: sent.type,
    headers,
    once,
    expectedVersion,
    signal: disconnected,
  })
  return noting === null ? answer : noting.marked(answer)
}

/** Aborts when the client disconnects. Created on demand, since few handlers need it. */
function disconnectedOf(response: ServerResponse): () => AbortSignal {
  let disconnected: AbortController | null = null
  return () => {
    if (disconnected !== null) return disconnected.signal
    const made = new AbortController()
    disconnected = made
    if (response.closed) made.abort(GONE)
    else response.once('close', () => made.abort(GONE))
    return made.signal
  }
}

const GONE = new Error('the client has gone')

function readQuery({ query }: Loose, { req, env }: Asked): { readonly value: unknown } | Problem {
  const pairs: { readonly [name: string]: string | readonly string[] } = Object.fromEntries(
    Object.entries(req.queries()).map(([name, values]) => [name, values.length === 1 ? values[0]! : values]),
  )
  const unkept = unkeptInQuery(env.incoming.url ?? '', pairs)
  if (unkept !== null) return invalidRequest('query', [unkept])
  if (query === undefined) {
    const [name] = Object.keys(pairs)
    if (name === undefined) return NO_QUERY
    return invalidRequest('query', [{ path: name, message: 'is not known here', hint: 'leave it out' }])
  }
  const read = query.read(pairs)
  return read.ok ? { value: read.value } : invalidRequest('query', read.faults.map(inAddress))
}

function inAddress(fault: Fault): Fault {
  const key = /^add "(\w+)"$/.exec(typeof fault.hint === 'string' ? fault.hint : '')?.[1]
  return key === undefined ? fault : { ...fault, hint: `add ?${key}=… to the address` }
}

const NO_QUERY = { value: undefined }
const NO_BODY = { text: '', type: '', value: undefined }

interface Sent {
  readonly text: string
  readonly type: string
  readonly value: unknown
}

const bytesOf = (rooms: RouteRooms, route: Loose, { req, env }: Asked): Promise<Uint8Array | Problem> =>
  readBytes(req.raw, env.incoming, route.bodyMaxBytes ?? rooms.limits.bodyBytes)

async function wholeOf(rooms: RouteRooms, route: Loose, asked: Asked): Promise<Sent | Problem> {
  const body = METHODS_WITH_BODY.has(route.method) ? await bytesOf(rooms, route, asked) : undefined
  if (body !== undefined && isProblem(body)) return body
  const { url, method, headers, signal } = asked.req.raw
  return { ...NO_BODY, value: new Request(url, { method, headers, signal, body }) }
}

async function bodyOf(rooms: RouteRooms, route: Loose, asked: Asked): Promise<Sent | Problem> {
  if (!METHODS_WITH_BODY.has(route.method)) return NO_BODY
  const request = asked.env.incoming
  const bytes = await bytesOf(rooms, route, asked)
  const read = isProblem(bytes) ? bytes : decode(bytes)
  const coding = request.headers['content-encoding']
  if (coding !== undefined && coding.trim() !== '' && coding.trim().toLowerCase() !== 'identity')
    return problem(415, 'media-type', `a body compressed as '${coding.slice(0, 60)}' is not taken here`, {
      hint: 'send it as it is, without Content-Encoding',
      headers: { 'accept-encoding': 'identity' },
    })
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(request.headers['content-type'] ?? '')?.[1]
  if (
    charset !== undefined &&
    !/^(?:utf-?8|us-ascii)$/i.test(charset) &&
    (!isProblem(read) || read.problem.status === 400)
  )
    return problem(415, 'media-type', `a body in '${charset.slice(0, 60)}' is not taken here`, {
      hint: 'send it as UTF-8',
    })
  if (isProblem(read)) return read
  const { text } = read
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase()
  if (text !== '' && route.texts?.includes(type) === true) return { text, type, value: text }
  if (text !== '' && !isJsonType(type) && !rooms.guard.takesAnyType(request))
    return problem(415, 'media-type', type === '' ? 'the body has no media type' : `'${type}' is not taken here`, {
      hint: `send it with: Content-Type: ${['application/json', ...(route.texts ?? [])].join(' or ')}`,
    })
  if (text === '' && route.body === undefined) return NO_BODY
  const checked = await checkedBody(rooms, route, text === '' ? '{}' : text)
  return isProblem(checked) ? checked : { text, type, value: checked.value }
}

/** Parses long bodies in a worker thread, so that other requests are answered meanwhile. */
async function checkedBody(
  { documents, limits }: RouteRooms,
  { method, path, body }: Loose,
  text: string,
): Promise<{ readonly value: unknown } | Problem> {
  if (text.length > SHORT_MAX) {
    const read = await documents.readBody({ method, path, text, limits })
    if (!('unknownRoute' in read)) return isProblem(read) ? read : { value: read.value }
  }
  return checkBody(body, text, limits)
}

const isJsonType = (type: string): boolean => type === 'application/json' || /^application\/[\w.+-]+\+json$/.test(type)

function keyOf(route: Loose, header: string | string[] | undefined): string | undefined | Problem {
  if (route.method !== 'POST' || route.once === false || header === undefined) return undefined
  const key = typeof header === 'string' ? header.trim() : ''
  if (key !== '' && key.length <= KEY_MAX && /^[\x21-\x7e]+$/.test(key)) return key
  return problem(422, 'invalid', `an Idempotency-Key has 1 to ${KEY_MAX} visible ASCII characters`, {
    hint: 'a UUID will do',
  })
}

function versionOf(header: string | undefined): number | undefined | Problem {
  if (header === undefined || header.trim() === '*') return undefined
  const match = /^(?:W\/)?"?(\d{1,15})(?:-[\w-]{1,64})?"?$/.exec(header.trim())
  if (match !== null) return Number(match[1])
  return problem(422, 'invalid', `If-Match names one version, not ${JSON.stringify(header.slice(0, 60))}`, {
    hint: 'use the ETag of the answer you read',
  })
}

function nowhere(request: IncomingMessage, methods: readonly string[]): Problem {
  const path = normalPath(request.url ?? '').slice(0, 200)
  if (methods.length === 0)
    return problem(404, 'not-found', `there is nothing at ${path}`, { hint: 'all routes: GET /openapi.json' })
  return problem(405, 'method', `${request.method} is not answered at ${path}`, {
    hint: `use ${methods.join(' or ')}`,
    allowed: methods,
    headers: { allow: methods.join(', ') },
  })
}

interface Delivery {
  readonly asked: Asked
  readonly answer: Stream
  readonly disconnected: () => AbortSignal
  readonly id: () => string
  /** Would the caller still be admitted? Checked repeatedly while a stream is open. */
  readonly holds: () => boolean
}

/** A stream ends within this time after its token is revoked or expires, and a raw stream also after the service stops. */
const HOLDS_MS = 1_000

/** Writes to Node's response directly, so that its socket buffer applies backpressure to the stream. */
async function deliver(rooms: RouteRooms, { asked, answer, disconnected, id, holds }: Delivery): Promise<Response> {
  const { incoming, outgoing } = asked.env
  if (incoming.method === 'HEAD') return await responseTo(incoming, { status: 200 }, { id, mayCompress: false })
  rooms.meter.streams(1)
  cutUnless(outgoing, holds)
  try {
    await answer.stream(streamTo(outgoing, AbortSignal.any([disconnected(), rooms.stopping])))
  } catch (error) {
    rooms.log.error({ id: id(), error: textOf(error) }, 'stream')
    outgoing.destroy()
  } finally {
    rooms.meter.streams(-1)
  }
  return RESPONSE_ALREADY_SENT
}

function cutUnless(outgoing: ServerResponse, holds: () => boolean): void {
  const holding = setInterval(() => holds() || outgoing.destroy(), HOLDS_MS)
  outgoing.once('close', () => clearInterval(holding))
}
