// Opens and closes the listening socket. Limits on time and connections are set here. A graceful stop ends streams, lets pending
// responses finish, and then closes the listener.

import { createServer, type RequestListener, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { getRequestListener, type HttpBindings, RequestError } from '@hono/node-server'
import { BUG } from '../domain/phrases.ts'
import { type AppOptions, openApp } from './app.ts'
import { TOO_SLOW } from './body.ts'
import { type Problem, problem } from './problem.ts'
import { problemResponse } from './reply.ts'
import type { ServerRooms } from './service.ts'
import { textOf } from './trouble.ts'

// Serialises the responses of one connection: a pipelined request starts only when the response before it was sent, so a client
// that does not read costs one response and not all. A client that pipelines too far is disconnected, since its queue is our
// memory.

/** After this many requests, the response closes the connection. Node's own limit only announces that. */
const REQUESTS_MAX = 10_000
/** Responses not yet sent; a client that reads does not pipeline this far. */
const UNANSWERED_MAX = 64

type Begin = () => void

class Answers {
  readonly #all = new Map<Duplex, Map<ServerResponse, Begin>>()
  readonly #asked = new WeakMap<Duplex, number>()
  #closing = false

  add(response: ServerResponse, begin: Begin): void {
    const { socket } = response.req
    // Node parses all received requests before it notices that the socket is destroyed.
    if (socket.destroyed) return
    const waiting = this.#of(socket).set(response, begin)
    if (waiting.size > UNANSWERED_MAX) {
      socket.destroy()
      return
    }
    response.once('close', () => {
      waiting.delete(response)
      if (!socket.destroyed) waiting.values().next().value?.()
    })
    const asked = (this.#asked.get(socket) ?? 0) + 1
    this.#asked.set(socket, asked)
    if (this.#closing || asked >= REQUESTS_MAX) response.setHeader('connection', 'close')
    if (waiting.size === 1) begin()
  }

  current(socket: Duplex): ServerResponse | undefined {
    return this.#all.get(socket)?.keys().next().value
  }

  /** Settles when all pending responses are sent. Later responses close their connection. */
  async out(): Promise<void> {
    this.#closing = true
    const last = [...this.#all].flatMap(([socket, waiting]) => {
      for (const response of waiting.keys()) if (!response.headersSent) response.setHeader('connection', 'close')
      return [...waiting.keys()].slice(-1).map(response => Promise.race([closed(response), closed(socket)]))
    })
    await Promise.all(last)
  }

  #of(socket: Duplex): Map<ServerResponse, Begin> {
    const known = this.#all.get(socket)
    if (known !== undefined) return known
    const made = new Map<ServerResponse, Begin>()
    this.#all.set(socket, made)
    socket.once('close', () => this.#all.delete(socket))
    return made
  }
}

const closed = (stream: Duplex | ServerResponse): Promise<void> => new Promise(resolve => stream.once('close', resolve))

// A request that Node cannot parse also gets a problem document, written to the bare socket.

function answerBrokenRequest(
  error: Error & { readonly code?: string },
  socket: Duplex,
  current: ServerResponse | undefined,
): void {
  if (error.code === TIMEOUT && reportTimeout(current)) return
  // A pending response or a closed socket cannot take another one.
  if (error.code === 'ECONNRESET' || current !== undefined) socket.destroy()
  else write(socket, problemOf(error.code ?? ''))
}

/** CONNECT is not supported. Node hands over the bare socket and stops handling its errors. */
function answerConnect(socket: Duplex): void {
  socket.on('error', () => {})
  write(socket, NO_PROXY)
}

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT'

const NO_PROXY = problem(405, 'method', 'CONNECT is answered nowhere here: this is not a proxy', {
  hint: 'call the service itself',
  headers: { allow: '' },
})

/** Makes the pending read of the body answer with a timeout; false if there is none. */
const reportTimeout = (answer: ServerResponse | undefined): boolean =>
  answer !== undefined && !answer.headersSent && !answer.req.complete && answer.req.emit('timeout')

function write(socket: Duplex, { problem: document, headers = {} }: Problem): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const text = JSON.stringify(document)
  const head = [
    `HTTP/1.1 ${document.status} ${document.title}`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(text)}`,
    'cache-control: no-store',
    'x-content-type-options: nosniff',
    "content-security-policy: default-src 'none'; frame-ancestors 'none'",
    ...Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy())
}

function problemOf(code: string): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return problem(431, 'headers-too-large', 'the headers are too large', { hint: 'send fewer or shorter ones' })
    case TIMEOUT:
      return TOO_SLOW
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return problem(413, 'too-large', 'the chunk extensions are too large', { hint: 'leave them out' })
    default:
      return problem(400, 'not-http', 'this is not a request in HTTP/1.1', {
        hint: 'check the client, or http against https',
      })
  }
}

export interface Serving {
  readonly port: number
  readonly host: string
  connections(): Promise<number>
  close(graceMs: number): Promise<void>
  cut(): void
}

interface ServeOptions extends AppOptions {
  readonly host: string
  readonly port: number
  readonly tls?: { readonly cert: string; readonly key: string }
}

/** Longer than most clients and proxies reuse a connection: they would write into a closed one. */
const KEEP_ALIVE_MS = 75_000
const HEADER_BYTES = 16_384
const EXPECTATION = problem(417, 'expectation', 'nothing but 100-continue can be expected here', {
  hint: 'leave the header Expect out',
})

/** Host or path cannot be parsed, so the guard has nothing to check. */
const MISDIRECTED = problem(421, 'misdirected', 'the request names no host or path that can be read', {
  hint: 'send a path, and the name of the service as Host',
  headers: { connection: 'close' },
})
const FAILED = problem(500, 'bug', BUG, { hint: 'tell us what you asked for' })

/** Rejects with the system's error if the address is not available. */
export async function serve(rooms: ServerRooms, options: ServeOptions): Promise<Serving> {
  const { limits, log } = rooms
  const app = openApp(rooms, options)
  const answers = new Answers()
  const listener = (refusal?: Problem): RequestListener => {
    const fetch = (request: Request, env: object) => app.fetch(request, { ...(env as HttpBindings), refusal })
    const answer = getRequestListener(fetch, {
      // For requests without a Host header; the guard refuses them.
      hostname: 'nowhere.invalid',
      errorHandler: error => {
        if (error instanceof RequestError) return problemResponse(MISDIRECTED)
        log.error({ error: textOf(error) }, 'answer failed')
        return problemResponse(FAILED)
      },
    })
    return (request, response) => answers.add(response, () => void answer(request, response))
  }
  const server = open(limits, options, listener())
  server.maxConnections = limits.connections
  // Node would silently drop headers beyond its limit; the app counts them itself.
  server.maxHeadersCount = 0
  server.timeout = limits.answerSilentMs
  // The connection has been idle; the reason may be a slow response of ours.
  server.on('timeout', (socket: Socket) => {
    if (answers.current(socket) === undefined || socket.writableLength > 0) socket.destroy()
  })
  server.on('clientError', (error, socket) => answerBrokenRequest(error, socket, answers.current(socket)))
  server.on('checkExpectation', listener(EXPECTATION))
  server.on('connect', (_, socket) => answerConnect(socket))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: options.host, port: options.port }, resolve)
    server.once('listening', () => server.off('error', reject))
  })
  // For instance too many open files; connected clients are still answered.
  server.on('error', error => log.error({ error: error.message }, 'the socket gives errors'))
  const { port, address } = server.address() as AddressInfo
  return {
    port,
    host: address,
    connections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)))
      }),
    cut: () => server.closeAllConnections(),
    close: async graceMs => {
      const cut = setTimeout(() => server.closeAllConnections(), graceMs)
      // Until they are sent, `/ready` reports that the service is not ready.
      await answers.out()
      const ended = new Promise<void>(resolve => server.close(() => resolve()))
      // Responses that started meanwhile. Connections still open after this have no pending request.
      await answers.out()
      server.closeAllConnections()
      await ended
      clearTimeout(cut)
    },
  }
}

function open(limits: ServerRooms['limits'], { tls }: ServeOptions, listener: RequestListener): Server {
  const options: ServerOptions = {
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: Math.min(1_000, limits.headersMs),
    maxHeaderSize: HEADER_BYTES,
    requireHostHeader: false,
    noDelay: true,
  }
  if (tls === undefined) return createServer(options, listener)
  return createTlsServer({ ...options, ...tls, minVersion: 'TLSv1.2', handshakeTimeout: limits.headersMs }, listener)
}
