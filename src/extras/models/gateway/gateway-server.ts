// The server of a gateway: listens, checks the token, reads requests, and hands them to `forward-call.ts`. Nothing it is sent can end
// the process that runs the plans.

import { createHash, timingSafeEqual } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { chmod, mkdir, rm, rmdir } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { isMap, type Json } from '../../../domain/json.ts'
import type {
  Gateway,
  GatewayParked,
  GatewayRequest,
  GatewaySide,
  GatewayWire,
} from '../../../runners/model-gateway.ts'
import { type AskedCall, forwardCall, type GatewayRoom, refuseTo } from './forward-call.ts'
import { modelListing, passedQuery, routeOf, wireOfPath } from './routes.ts'
import { parsed } from './usage-meter.ts'
import { type RefusalKind, WIRE_RULES } from './wire-rules.ts'

export const GATEWAY_SOCKET = 'models.sock'
/** Of the sandbox's own loopback, where nobody else listens. */
const SANDBOX_PORT = 41_888
/** What `sockaddr_un` has room for on Linux. */
const SOCKET_PATH_MAX = 107
/** A client that is busy for long finds its connection as it left it. */
const KEEP_ALIVE_MS = 10 * 60_000
/** How long a client may go on sending what is not read any more, to hear why. */
const LINGER_MS = 5_000

export interface ServerOptions {
  readonly request: GatewayRequest
  readonly wires: readonly GatewayWire[]
  readonly unserved: ReadonlyMap<GatewayWire, string>
  readonly token: string
  readonly models: readonly string[]
  readonly room: Omit<GatewayRoom, 'ending' | 'breaking' | 'parked' | 'park' | 'told'>
}

export async function startGateway(options: ServerOptions): Promise<Gateway> {
  const { folder, listen } = options.request
  const path = join(folder, GATEWAY_SOCKET)
  if (Buffer.byteLength(path) > SOCKET_PATH_MAX) throw new Error(`the path of the model gateway is too long (${path})`)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  const gateway = new GatewayServer(options, path)
  await gateway.listen(listen ?? 'socket')
  return gateway
}

const unservedText = (method: string | undefined, path: string, why: string | undefined): string =>
  `${method} ${path.slice(0, 200)} is not served by the model gateway${why === undefined ? '' : `: ${why}`}`

class GatewayServer implements Gateway {
  readonly folder: string
  readonly socketPath: string
  readonly token: string
  readonly sandboxDoor: Gateway['sandboxDoor']
  readonly #wires: readonly GatewayWire[]
  readonly #unserved: ReadonlyMap<GatewayWire, string>
  readonly #models: readonly string[]
  readonly #room: GatewayRoom
  readonly #hash: Buffer
  readonly #servers: Server[] = []
  readonly #ending = new AbortController()
  readonly #breaking = new AbortController()
  readonly #open = new Set<Promise<void>>()
  #port: number | null = null
  #parked: GatewayParked | null = null
  #closing: Promise<void> | null = null

  constructor({ request, wires, unserved, token, models, room }: ServerOptions, path: string) {
    this.folder = request.folder
    this.socketPath = path
    this.token = token
    this.sandboxDoor = { folder: request.folder, socket: GATEWAY_SOCKET, port: SANDBOX_PORT }
    this.#wires = wires
    this.#unserved = unserved
    this.#models = models
    this.#hash = hashOf(token)
    setMaxListeners(0, this.#ending.signal, this.#breaking.signal)
    this.#room = {
      ...room,
      ending: this.#ending.signal,
      breaking: this.#breaking.signal,
      parked: () => this.#parked,
      park: parked => {
        if (this.#parked !== null) return
        this.#parked = parked
        request.onParked?.(parked)
      },
      told: call => request.onCall?.(call),
    }
  }

  async listen(where: 'socket' | 'loopback'): Promise<void> {
    await rm(this.socketPath, { force: true })
    await this.#listenOn({ path: this.socketPath })
    await chmod(this.socketPath, 0o600)
    if (where === 'loopback') {
      const server = await this.#listenOn({ host: '127.0.0.1', port: 0 })
      this.#port = (server.address() as AddressInfo).port
    }
  }

  async #listenOn(place: { readonly path: string } | { readonly host: string; readonly port: number }) {
    const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
      this.#serve(request, response).catch(() => response.destroy())
    })
    server.maxConnections = this.#room.limits.connections
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(place, resolve)
    })
    this.#servers.push(server)
    return server
  }

  get port(): number | null {
    return this.#port
  }

  url(side: GatewaySide): string {
    const port = side === 'sandbox' ? SANDBOX_PORT : this.#port
    if (port === null) throw new Error('the gateway was opened for a sandbox only')
    return `http://127.0.0.1:${port}`
  }

  environmentFor(wire: GatewayWire, side: GatewaySide): { readonly [name: string]: string } {
    return WIRE_RULES[wire].environment(this.url(side), this.token)
  }

  spent() {
    return this.#room.ledger.spent()
  }

  parked(): GatewayParked | null {
    return this.#parked
  }

  reports() {
    return this.#room.ledger.reports()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#ending.abort()
    const timer = setTimeout(() => this.#breaking.abort(), this.#room.limits.drainMs)
    while (this.#open.size > 0) await Promise.all(this.#open)
    clearTimeout(timer)
    this.#breaking.abort()
    await Promise.all(
      this.#servers.map(
        server =>
          new Promise<void>(resolve => {
            server.close(() => resolve())
            server.closeAllConnections()
          }),
      ),
    )
    await rm(this.socketPath, { force: true })
    // Whatever else lies in it is not ours.
    await rmdir(this.folder).catch(() => {})
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {})
    request.on('error', () => {})
    const [path = '', search = ''] = (request.url ?? '').split('?', 2)
    const query = new URLSearchParams(search)
    const no = (kind: RefusalKind, message: string): void => refuseTo(response, wireOfPath(path), kind, message)
    if (this.#closing !== null || !this.#isToken(request, query))
      return no('token', 'this token is unknown, or its task has ended')
    const route = routeOf(request.method ?? '', path)
    if (route === null || (route.is !== 'models' && !this.#wires.includes(route.wire)))
      return no('path', unservedText(request.method, path, route === null ? undefined : this.#unserved.get(route.wire)))
    if (route.is === 'models') return json(response, modelListing(route, this.#models))
    if ((request.headers['content-encoding'] ?? 'identity') !== 'identity')
      return no('request', 'a compressed request cannot be read; send it as it is')
    const text = await bodyOf(request, this.#room.limits.requestBytes)
    if (text === null) {
      response.setHeader('connection', 'close')
      no('size', `a request may have ${this.#room.limits.requestBytes} bytes`)
      return linger(request, response)
    }
    const body = parsed(text)
    if (!isMap(body)) return no('request', 'the body of the request is not a JSON object')
    await this.#forward({ route, query: passedQuery(query), headers: request.headers, body }, response)
  }

  async #forward(asked: Omit<AskedCall, 'gone'>, response: ServerResponse): Promise<void> {
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    if (response.destroyed) gone.abort()
    // Who does not read must not keep us from reading to the end.
    const hangUp = (): void => void response.destroy()
    this.#ending.signal.addEventListener('abort', hangUp, { once: true })
    const call = forwardCall(this.#room, { ...asked, gone: gone.signal }, response).catch(() => {
      response.destroy()
    })
    this.#open.add(call)
    await call
    this.#ending.signal.removeEventListener('abort', hangUp)
    this.#open.delete(call)
  }

  #isToken({ headers }: IncomingMessage, query: URLSearchParams): boolean {
    const bearer = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1]
    const given = [bearer, headers['x-api-key'], headers['x-goog-api-key'], query.get('key')]
    return given.some(one => typeof one === 'string' && timingSafeEqual(hashOf(one), this.#hash))
  }
}

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest()

function json(response: ServerResponse, body: Json): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

/** Null when it is longer than allowed. Rejects when the client goes away in the middle. */
async function bodyOf(request: IncomingMessage, bytesMax: number): Promise<string | null> {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return null
  const parts: Buffer[] = []
  let bytes = 0
  return await new Promise((resolve, reject) => {
    const end = (answer: string | null): void => {
      request.removeAllListeners('data')
      resolve(answer)
    }
    request.on('data', (part: Buffer) => {
      bytes += part.length
      if (bytes > bytesMax) end(null)
      else parts.push(part)
    })
    request.once('end', () => end(Buffer.concat(parts).toString('utf8')))
    request.once('close', () => reject(new Error('the client went away')))
  })
}

/** Reads and drops what the client still sends, for a while, so that it hears the answer. */
function linger(request: IncomingMessage, response: ServerResponse): void {
  request.resume()
  const timer = setTimeout(() => request.destroy(), LINGER_MS)
  response.once('close', () => clearTimeout(timer))
}
