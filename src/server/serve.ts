// Opens the socket and closes it again. Limits of time and number are set here, where connections are; a graceful stop tells streams
// that it is over, lets answers under way end, and then closes the listener.

import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type AppOptions, openApp } from './app.ts'
import { TOO_SLOW } from './body.ts'
import { type Problem, problem } from './problem.ts'
import type { ServerRooms } from './service.ts'

// Random bytes, drawn many at once: asking the system for a few costs as much as asking it for thousands.

const POOL_BYTES = 4_096
/** Marks and the like. Longer ones are secrets, and those are never kept before they are used. */
const SMALL_BYTES = 8

export function pooled(random: (bytes: number) => Uint8Array): (bytes: number) => Uint8Array {
  let pool: Uint8Array = new Uint8Array(0)
  let used = 0
  return bytes => {
    if (bytes > SMALL_BYTES) return random(bytes)
    if (used + bytes > pool.length) {
      pool = random(POOL_BYTES)
      used = 0
    }
    used += bytes
    return pool.subarray(used - bytes, used)
  }
}

// What cannot be read as a request at all is answered with a problem document too, written to the bare socket.

function answerBrokenRequest(error: Error & { readonly code?: string }, socket: Duplex): void {
  if (error.code === TIMEOUT && tellTimeout(answerOf(socket))) return
  if (error.code === 'ECONNRESET') socket.destroy()
  else write(socket, problemOf(error.code ?? ''))
}

/** We are no proxy. Node hands out the bare socket, and nobody listens to its errors any more. */
function answerConnect(socket: Duplex): void {
  socket.on('error', () => {})
  write(socket, NO_PROXY)
}

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT'

const NO_PROXY = problem(405, 'method', 'CONNECT is answered nowhere here: this is no proxy', {
  hint: 'call the service itself',
  headers: { allow: '' },
})

/** Whoever waits for the rest of the body answers that it does not come; false when nobody does. */
const tellTimeout = (answer: ServerResponse | null | undefined): boolean =>
  answer != null && !answer.headersSent && !answer.req.complete && answer.req.emit('timeout')

/** The one that is under way. */
const answerOf = (socket: Duplex): ServerResponse | null | undefined =>
  (socket as Socket & { readonly _httpMessage?: ServerResponse | null })._httpMessage

function write(socket: Duplex, { problem: document, headers = {} }: Problem): void {
  // An answer that is under way, or a socket that is gone, cannot be given another one.
  if (!socket.writable || answerOf(socket) != null) {
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

// The connections of the service, and which of them must go when there are too many. Somebody who opens thousands and says nothing
// must not keep others out: the one that has been idle longest makes room, then one whose request does not come to its end, then
// one that takes none of its answers. Whoever asks and never listens is cut off, room or not: what waits for them is memory of ours.

/** A connection that has asked this often is closed with the answer; its client opens another. */
const REQUESTS_MAX = 10_000
/** Answers that have not left; nobody who listens asks so far ahead. */
const UNANSWERED_MAX = 64
const LOOK_MS = 1_000

/** Every request only writes into the record of its connection: who makes room is looked for when room must be made. */
interface Connection {
  readonly key: string
  readonly socket: Socket
  /** The newest one that is not answered; null when it is idle: between requests, or before the first. */
  request: IncomingMessage | null
  response: ServerResponse | null
  /** Counts up over all connections: when it became idle, or when it began to ask. */
  since: number
  asked: number
  /** How many requests wait for their answers to leave. */
  unanswered: number
  /** Those behind the one that is being answered; null when there never were any. */
  waiting: Begin[] | null
  /** Where answers are written: under TLS the socket around the bare one. */
  outlet: Socket
  taken: Taken | null
  /** Called on a response when it is out, or cut off. */
  readonly answered: (this: ServerResponse) => void
}

/** What the client had taken of what waits for it, and since when it takes no more. */
interface Taken {
  readonly bytes: number
  readonly queued: number
  readonly at: number
}

type Begin = () => void

interface ConnectionsOptions {
  readonly max: number
  /** A client that takes nothing of its answers for so long is cut off. */
  readonly silentMs: number
  readonly monotonic: () => number
}

class Connections {
  readonly #options: ConnectionsOptions
  /** Under TLS this is the bare socket, and a request knows only the one around it; both know the two addresses. */
  readonly #all = new Map<string, Connection>()
  readonly #known = new WeakMap<Socket, Connection>()
  #count = 0
  #closing = false

  constructor(server: Server, options: ConnectionsOptions) {
    this.#options = options
    server.on('connection', (socket: Socket) => this.#come(socket))
    server.once('listening', () => {
      const looking = setInterval(() => this.#cutSilent(), Math.min(LOOK_MS, options.silentMs / 4))
      looking.unref()
      server.once('close', () => clearInterval(looking))
    })
  }

  get count(): number {
    return this.#all.size
  }

  /**
   * A request has come; its connection is idle again when the answer is out. One that came behind another begins when the answer
   * before it has left: whoever does not listen makes us work for one answer, not for all they asked for.
   */
  answering(request: IncomingMessage, response: ServerResponse, begin: Begin): void {
    const connection = this.#of(request.socket)
    // It had to make room, and its socket is gone.
    if (connection === undefined) return begin()
    if (++connection.unanswered > UNANSWERED_MAX) return this.#cut(connection)
    connection.asked++
    if (this.#closing || connection.asked >= REQUESTS_MAX) response.setHeader('connection', 'close')
    if (connection.request === null) connection.since = ++this.#count
    connection.request = request
    connection.response = response
    response.on('close', connection.answered)
    if (connection.unanswered === 1) begin()
    else if (connection.waiting === null) connection.waiting = [begin]
    else connection.waiting.push(begin)
  }

  /**
   * From now on no connection outlives its answer. Settles when all that was being answered has left; whoever comes meanwhile is
   * not waited for.
   */
  async drain(): Promise<void> {
    this.#closing = true
    const leaving: Promise<unknown>[] = []
    for (const { response } of this.#all.values()) {
      if (response === null) continue
      if (!response.headersSent) response.setHeader('connection', 'close')
      if (!response.closed) leaving.push(new Promise(resolve => response.once('close', resolve)))
    }
    await Promise.all(leaving)
  }

  /** Those that ask for nothing are cut off. */
  close(): void {
    for (const { socket, response } of this.#all.values()) if (response === null) socket.destroy()
  }

  #of(socket: Socket): Connection | undefined {
    const known = this.#known.get(socket)
    if (known !== undefined) return known
    const found = this.#all.get(keyOf(socket))
    if (found !== undefined) {
      found.outlet = socket
      this.#known.set(socket, found)
    }
    return found
  }

  #come(socket: Socket): void {
    if (this.#all.size >= this.#options.max && !this.#makeRoom()) {
      socket.destroy()
      return
    }
    const connection = this.#newConnection(socket)
    const { key } = connection
    this.#all.set(key, connection)
    socket.once('close', () => {
      if (this.#all.get(key) === connection) this.#all.delete(key)
    })
  }

  #newConnection(socket: Socket): Connection {
    const isClosing = (): boolean => this.#closing
    const count = (): number => ++this.#count
    const connection: Connection = {
      key: keyOf(socket),
      socket,
      request: null,
      response: null,
      since: count(),
      asked: 0,
      unanswered: 0,
      waiting: null,
      outlet: socket,
      taken: null,
      answered() {
        connection.unanswered--
        if (connection.waiting !== null && !connection.outlet.destroyed) connection.waiting.shift()?.()
        // Another request may have come behind this one before it was answered.
        if (connection.response !== this) return
        connection.request = null
        connection.response = null
        connection.since = count()
        if (isClosing()) socket.end()
      },
    }
    return connection
  }

  #makeRoom(): boolean {
    let idle: Connection | null = null
    // Its request has not all come.
    let slow: Connection | null = null
    let silent: Connection | null = null
    const now = this.#options.monotonic()
    for (const one of this.#all.values()) {
      const { request, since } = one
      if (request === null && (idle === null || since < idle.since)) idle = one
      if (request?.complete === false && (slow === null || since < slow.since)) slow = one
      const at = silentSince(one, now)
      if (at !== null && (silent === null || at < silent.taken!.at)) silent = one
    }
    const victim = idle ?? slow ?? silent
    if (victim === null) return false
    this.#cut(victim)
    return true
  }

  #cutSilent(): void {
    const now = this.#options.monotonic()
    for (const one of this.#all.values()) {
      const at = silentSince(one, now)
      if (at !== null && now - at >= this.#options.silentMs) this.#cut(one)
    }
  }

  #cut({ key, socket, outlet }: Connection): void {
    this.#all.delete(key)
    socket.destroy()
    // Node goes through all that has come before it looks at the socket, and makes a request of each: 2 means no more HTTP here.
    const { parser } = outlet as Socket & { readonly parser?: { onIncoming: unknown } | null }
    if (parser != null) parser.onIncoming = () => 2
  }
}

/** Since when the client has taken nothing of what waits for it; null when nothing waits. */
function silentSince(connection: Connection, now: number): number | null {
  const { outlet, taken } = connection
  if (connection.unanswered === 0 || outlet.writableLength === 0) {
    connection.taken = null
    return null
  }
  const bytes = outlet.bytesWritten - outlet.writableLength
  // A large answer is one write, done when all of it has left; only this tells that part of it has.
  const queued = queuedIn(connection.socket)
  if (taken !== null && taken.bytes === bytes && taken.queued === queued) return taken.at
  connection.taken = { bytes, queued, at: now }
  return now
}

const queuedIn = (bare: Socket & { readonly _handle?: { readonly writeQueueSize?: number } | null }): number =>
  bare._handle?.writeQueueSize ?? 0

const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress}|${remotePort}`

export interface Serving {
  readonly port: number
  readonly host: string
  /** How many are connected now. */
  connections(): number
  /** Lets what is under way end for so long, then cuts it off. */
  close(graceMs: number): Promise<void>
  /** Cuts everything off. */
  cut(): void
}

interface ServeOptions extends AppOptions {
  readonly host: string
  /** 0: any that is free. */
  readonly port: number
  /** Certificate and key, in PEM. */
  readonly tls?: { readonly cert: string; readonly key: string }
}

/** Longer than most clients and proxies keep one they may use again: whoever writes into one we have just closed is cut off. */
const KEEP_ALIVE_MS = 75_000
const HEADER_BYTES = 16_384
const EXPECTATION = problem(417, 'expectation', 'nothing but 100-continue can be expected here', {
  hint: 'leave the header Expect out',
})

/** Rejects with what the system said when the address cannot be had. */
export async function serve(rooms: ServerRooms, options: ServeOptions): Promise<Serving> {
  const { limits, log } = rooms
  const app = openApp(rooms, options)
  const answer = (request: IncomingMessage, response: ServerResponse, refusal?: Problem): void =>
    connections.answering(request, response, () => {
      app(request, response, refusal).catch(error => {
        log.error({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }, 'answer failed')
        response.destroy()
      })
    })
  const server = open(limits, options, (request, response) => answer(request, response))
  const { monotonic } = options
  const connections = new Connections(server, { max: limits.connections, silentMs: limits.answerSilentMs, monotonic })
  // Node would leave out those beyond a number, and say nothing; the app counts them itself.
  server.maxHeadersCount = 0
  server.on('clientError', answerBrokenRequest)
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    answer(request, response, EXPECTATION),
  )
  server.on('connect', (_, socket) => answerConnect(socket))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: options.host, port: options.port }, resolve)
    server.once('listening', () => server.off('error', reject))
  })
  // Too many open files, for instance: whoever is connected is still answered.
  server.on('error', error => log.error({ error: error.message }, 'the socket gives errors'))
  const { port, address } = server.address() as AddressInfo
  return {
    port,
    host: address,
    connections: () => connections.count,
    cut: () => server.closeAllConnections(),
    close: async graceMs => {
      const cut = setTimeout(() => server.closeAllConnections(), graceMs)
      // Until they are out, somebody who asks `/ready` is answered, and told that it is not.
      await connections.drain()
      const closed = new Promise<void>(resolve => server.close(() => resolve()))
      connections.close()
      await closed
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
