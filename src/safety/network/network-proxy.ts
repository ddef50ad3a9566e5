// The only way out of a sandbox: an HTTP proxy on a Unix socket, one for each attempt, with its own rules.
//
//   CONNECT host:port          judged by host and port; its content is not visible, except that it must begin as TLS when only https
//                              rules allow it
//   GET http://host/path       judged by host, port, method and path; redirects are returned to the client, which asks again
//
// Everything else is refused with a sentence that names the request and what would allow it.

import { chmod, mkdir, rm, rmdir } from 'node:fs/promises'
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
  request as sendRequest,
} from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { orElse } from '../../domain/json.ts'
import type { CountedDecision, NetworkDecision } from '../../domain/network-decision.ts'
import { type NetworkRule, type NetworkTarget, plainHost } from '../../domain/plan-rules/network-rule.ts'
import { type Answer, answering, refuse } from '../safety-refusal.ts'
import { DecisionList } from './decision-list.ts'
import {
  type Ask,
  allAddresses,
  decidedBy,
  type Lookup,
  NetworkJudge,
  readRules,
  type Verdict,
} from './network-judge.ts'

export type { NetworkDecision } from '../../domain/network-decision.ts'

export interface ProxyOptions {
  /** Created with mode 0700; for the socket and nothing else. */
  readonly folder: string
  readonly allow: readonly string[]
  /** The policy layers, which must all allow the target as well. `who`: the layer. */
  readonly within?: readonly {
    readonly allow: readonly string[]
    readonly unknown: 'ask' | 'deny'
    readonly who: string
  }[]
  /** The allowed rules that a person made: they answer for layers that ask. */
  readonly person?: readonly string[]
  /** False: targets beyond `allow` are refused; only layers ask. */
  readonly asksBeyond?: boolean
  /** Decides about targets without a rule. Absent: they are refused. */
  readonly ask?: Ask
  readonly holdMs?: number
  readonly onDecision?: (decision: NetworkDecision) => void
  /** Called for every decision, repeated ones included. */
  readonly onEach?: (decision: NetworkDecision) => void
  readonly howToAllow?: (rule: string) => string
  readonly lookup?: Lookup
  readonly limits?: Partial<ProxyLimits>
}

export interface ProxyLimits {
  readonly connections: number
  readonly headerBytes: number
  readonly headerMs: number
  readonly idleMs: number
  readonly connectMs: number
  readonly bytes: number
}

export const PROXY_LIMITS: ProxyLimits = {
  connections: 256,
  headerBytes: 64 * 1024,
  headerMs: 10_000,
  idleMs: 10 * 60_000,
  connectMs: 15_000,
  bytes: 16 * 1024 ** 3,
}

export interface NetworkProxy {
  readonly folder: string
  /** The ports that the sandbox forwards on its own loopback. */
  readonly tcp: readonly { readonly host: string; readonly port: number }[]
  decisions(): readonly CountedDecision[]
  close(): Promise<void>
}

const HOLD_MS = 60_000
/** What fits into the path of a `sockaddr_un` on Linux, without the final NUL. */
const SOCKET_PATH_MAX = 107

export const PROXY_SOCKET = 'proxy.sock'

/** For tasks with network access, because programs without proxy support cannot use it. */
export function proxyNotice(allow: readonly string[]): string {
  const what = allow.length === 0 ? 'what a person allows' : allow.join(', ')
  return `this task may reach ${what} only through the proxy in HTTP_PROXY and HTTPS_PROXY; a program that ignores these variables reaches nothing`
}

/** An unreadable rule refuses the whole list: skipping it would silently allow less than was approved. */
export async function openProxy(options: ProxyOptions): Promise<Answer<NetworkProxy>> {
  return await answering('opening the network proxy', async () => {
    const rules = readRules(options.allow)
    const path = join(options.folder, PROXY_SOCKET)
    if (Buffer.byteLength(path) > SOCKET_PATH_MAX)
      refuse('logic', `the path of the proxy is too long (${path})`, 'set TMPDIR to a folder with a shorter path')
    await mkdir(options.folder, { recursive: true, mode: 0o700 })
    await chmod(options.folder, 0o700)
    const proxy = new FilteringProxy(options, rules)
    await proxy.listen(path)
    return proxy
  })
}

interface Asked {
  readonly target: NetworkTarget
  readonly path: string
}

class FilteringProxy implements NetworkProxy {
  readonly folder: string
  readonly tcp: NetworkProxy['tcp']
  readonly #options: ProxyOptions
  readonly #limits: ProxyLimits
  readonly #judge: NetworkJudge
  readonly #decisions: DecisionList
  readonly #server: Server
  readonly #open = new Set<Duplex>()
  #path = ''
  #bytes = 0

  constructor(options: ProxyOptions, rules: readonly NetworkRule[]) {
    this.folder = options.folder
    this.#options = options
    this.#limits = { ...PROXY_LIMITS, ...options.limits }
    this.tcp = forwardedPorts(rules)
    this.#judge = new NetworkJudge({
      rules,
      within: (options.within ?? []).map(({ allow, ...limit }) => ({ ...limit, rules: readRules(allow) })),
      person: readRules(options.person ?? []),
      asksBeyond: options.asksBeyond,
      ask: options.ask ?? null,
      holdMs: options.holdMs ?? HOLD_MS,
      lookup: options.lookup ?? allAddresses,
    })
    this.#decisions = new DecisionList(
      decision => options.onDecision?.(decision),
      decision => options.onEach?.(decision),
    )
    const { headerBytes, headerMs, idleMs, connections } = this.#limits
    this.#server = createServer({
      maxHeaderSize: headerBytes,
      headersTimeout: headerMs,
      // A body may take as long as it keeps moving; the idle timeout applies.
      requestTimeout: 0,
      connectionsCheckingInterval: Math.min(headerMs, 5_000),
      keepAliveTimeout: Math.min(idleMs, 60_000),
    })
    this.#server.maxConnections = connections
    this.#server.timeout = idleMs
    this.#server.on('connection', socket => this.#track(socket))
    // Errors caused by a hostile program end its own connection, never this process.
    this.#server.on('request', (request, response) => {
      this.#plain(request, response).catch(() => response.destroy())
    })
    this.#server.on('connect', (request, socket, head) => {
      this.#tunnel(request, socket, head).catch(() => socket.destroy())
    })
    this.#server.on('clientError', (error, socket) => {
      // The client disconnected.
      if ('code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')) return void socket.destroy()
      const status =
        'code' in error && error.code === 'HPE_HEADER_OVERFLOW' ? '431 Header Too Large' : '400 Bad Request'
      this.#unusable('', '', 'the request cannot be understood')
      this.#hangUp(socket, message(status, 'the proxy does not understand this request'))
    })
  }

  async listen(path: string): Promise<void> {
    this.#path = path
    await rm(path, { force: true })
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(path, resolve)
    })
    await chmod(path, 0o600)
  }

  decisions(): readonly CountedDecision[] {
    return this.#decisions.all()
  }

  async close(): Promise<void> {
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()))
    for (const socket of this.#open) socket.destroy()
    await closed
    await rm(this.#path, { force: true })
    // Other contents are not ours.
    await rmdir(this.folder).catch(() => {})
  }

  #track(socket: Duplex): void {
    this.#open.add(socket)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => this.#open.delete(socket))
  }

  async #tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const target = placeIn(request.url ?? '')
    if (target === null) {
      this.#unusable('CONNECT', request.url ?? '', 'CONNECT needs a host and a port')
      return this.#hangUp(client, message('400 Bad Request', 'CONNECT needs a host and a port'))
    }
    const verdict = await this.#decide({ ...target, request: null }, 'CONNECT')
    if (verdict.is !== 'allowed')
      return this.#hangUp(client, message(...this.#refusal({ ...target, request: null }, verdict)))
    if (client.destroyed) return
    const server = await this.#connect(verdict.addresses, target.port)
    if (server === null)
      return this.#hangUp(client, message('502 Bad Gateway', `${place(target)} is allowed, but does not answer`))
    if (client.destroyed) return void server.destroy()
    client.write('HTTP/1.1 200 Connection established\r\n\r\n')
    client.once('close', () => server.destroy())
    const first = verdict.tlsOnly === true ? await tlsHello(client, head) : head
    if (first === 'closed') return void server.destroy()
    if (first === null) {
      server.destroy()
      const why = `${verdict.rule} allows only TLS connections, and this one is not encrypted`
      const allowWith = place(target)
      this.#decisions.note({ ...target, method: 'CONNECT', allowed: false, why, allowWith })
      return this.#hangUp(
        client,
        message(...this.#refusal({ ...target, request: null }, { is: 'refused', why, allowWith })),
      )
    }
    if (first.length > 0) server.write(first)
    this.#count(first.length, client, server)
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.on('data', (chunk: Buffer) => this.#count(chunk.length, client, server))
      from.once('close', () => to.destroy())
      from.pipe(to)
    }
  }

  async #plain(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {})
    request.on('error', () => {})
    const asked = plainTarget(request)
    if (typeof asked === 'string') {
      this.#unusable(request.method ?? '', request.url ?? '', asked)
      return answer(response, '400 Bad Request', asked)
    }
    const { target, path } = asked
    const verdict = await this.#decide(target, request.method ?? 'GET')
    if (verdict.is !== 'allowed') return answer(response, ...this.#refusal(target, verdict))
    if (response.destroyed) return
    const server = await this.#connect(verdict.addresses, target.port)
    if (server === null) return answer(response, '502 Bad Gateway', `${place(target)} is allowed, but does not answer`)
    if (response.destroyed) return void server.destroy()
    const { socket } = request
    const onward = sendRequest({
      createConnection: () => server,
      method: request.method ?? 'GET',
      path,
      setHost: false,
      headers: {
        ...passedOn(request),
        ...framing(request),
        host: target.port === 80 ? target.host : place(target),
        connection: 'close',
      },
      maxHeaderSize: this.#limits.headerBytes,
    })
    request.on('data', (chunk: Buffer) => this.#count(chunk.length, socket, server))
    const broken = (): void => {
      server.destroy()
      if (response.headersSent) response.destroy()
      else answer(response, '502 Bad Gateway', `${place(target)} is allowed, but its answer cannot be understood`)
    }
    onward.once('error', broken)
    onward.once('upgrade', broken)
    onward.once('response', incoming => {
      incoming.once('error', () => response.destroy())
      incoming.once('aborted', () => response.destroy())
      try {
        response.writeHead(incoming.statusCode ?? 502, passedOn(incoming))
      } catch {
        return broken()
      }
      incoming.on('data', (chunk: Buffer) => this.#count(chunk.length, socket, server))
      incoming.pipe(response)
    })
    response.once('close', () => server.destroy())
    request.pipe(onward)
  }

  async #decide(target: NetworkTarget, method: string): Promise<Verdict> {
    const verdict = this.#bytes > this.#limits.bytes ? this.#used(target) : await this.#judge.judge(target)
    const { host, port, request } = target
    this.#decisions.note({
      host,
      port,
      method,
      ...(request === null ? {} : { path: request.path }),
      ...decidedBy(verdict),
    })
    return verdict
  }

  #unusable(method: string, text: string, why: string): void {
    const host = text.slice(0, 200).replace(/[^\x21-\x7e]/g, '?')
    this.#decisions.note({ host, port: 0, method, allowed: false, why })
  }

  /** Sends the text and ends; drains what the client still sends, so that it reads the answer. */
  #hangUp(client: Duplex, text: string): void {
    client.end(text)
    client.resume()
    const timer = setTimeout(() => client.destroy(), this.#limits.headerMs)
    client.once('close', () => clearTimeout(timer))
  }

  #used(target: NetworkTarget): Verdict {
    const gib = Math.max(1, Math.round(this.#limits.bytes / 1024 ** 3))
    return { is: 'refused', why: `the task has used up its ${gib} GiB of traffic`, allowWith: place(target) }
  }

  #refusal(target: NetworkTarget, verdict: Exclude<Verdict, { is: 'allowed' }>): readonly [string, string] {
    if (verdict.is === 'unknown-name')
      return ['502 Bad Gateway', `${place(target)} is allowed, but there is no such host`]
    const { allowWith } = verdict
    const reason = `asked for ${place(target)}: not allowed (${verdict.why})`
    if (allowWith === undefined) return ['403 Forbidden', reason]
    const how = this.#options.howToAllow?.(allowWith) ?? `a rule for ${allowWith} in \`network\``
    const then = verdict.asked === true ? 'it waits in the inbox; try again when it is answered' : `allow with ${how}`
    return ['403 Forbidden', `${reason}; ${then}`]
  }

  /** The first of these addresses that answers. */
  async #connect(addresses: readonly string[], port: number): Promise<Socket | null> {
    for (const address of addresses) {
      const socket = await connected(address, port, this.#limits.connectMs)
      if (socket === null) continue
      this.#track(socket)
      socket.setTimeout(this.#limits.idleMs, () => socket.destroy())
      return socket
    }
    return null
  }

  #count(bytes: number, ...sockets: readonly Duplex[]): void {
    this.#bytes += bytes
    if (this.#bytes > this.#limits.bytes) for (const socket of sockets) socket.destroy()
  }
}

/** Programs do not use a proxy for loopback addresses, so rules with such an address and port are forwarded too. */
function forwardedPorts(rules: readonly NetworkRule[]): NetworkProxy['tcp'] {
  const found = new Map<string, { readonly host: string; readonly port: number }>()
  const places = rules.flatMap(({ scheme, host, ports }) =>
    host.is === 'exactly' && ports !== 'all' ? ports.map(port => ({ scheme, host: host.host, port })) : [],
  )
  for (const { scheme, host, port } of places) if (scheme === 'tcp') found.set(`${host}:${port}`, { host, port })
  for (const { scheme, host, port } of places) {
    const isTaken = [...found.values()].some(other => other.port === port)
    if (scheme === 'http' || port < PORT_MIN || isTaken || !LOOPBACK.test(host)) continue
    found.set(`${host}:${port}`, { host, port })
  }
  return [...found.values()]
}

const LOOPBACK = /^(localhost|127\..*|\[::1\])$/
/** Lower ports need privileges. */
const PORT_MIN = 1024

async function connected(host: string, port: number, timeoutMs: number): Promise<Socket | null> {
  return await new Promise(resolve => {
    const socket = connect({ host, port, allowHalfOpen: true })
    const end = (found: Socket | null): void => {
      clearTimeout(timer)
      socket.off('error', failed)
      if (found === null) socket.destroy()
      resolve(found)
    }
    const failed = (): void => end(null)
    const timer = setTimeout(end, timeoutMs, null)
    socket.once('error', failed)
    socket.once('connect', () => end(socket))
  })
}

/** Every TLS connection begins with a handshake record of major version 3. */
const TLS_START = Buffer.from([0x16, 0x03])

/** The first bytes of the client; null when they are not TLS, 'closed' when there are none. */
async function tlsHello(client: Duplex, head: Buffer): Promise<Buffer | null | 'closed'> {
  for (let received = head; ; ) {
    const known = Math.min(received.length, TLS_START.length)
    if (!received.subarray(0, known).equals(TLS_START.subarray(0, known))) return null
    if (known === TLS_START.length) return received
    const chunk = await new Promise<Buffer | null>(resolve => {
      // Paused at once, so that data of the same turn waits for the next reader.
      client.once('data', (received: Buffer) => {
        client.pause()
        resolve(received)
      })
      for (const end of ['end', 'close']) client.once(end, () => resolve(null))
    })
    if (chunk === null) return 'closed'
    received = Buffer.concat([received, chunk])
  }
}

/** `host:port`, as in CONNECT. */
function placeIn(text: string): { readonly host: string; readonly port: number } | null {
  const found = /^(\[[^\]]*\]|[^:]*):([0-9]{1,5})$/.exec(text)
  const host = found === null ? null : plainHost(utf8(found[1] ?? ''))
  const port = Number(found?.[2])
  return host === null || port < 1 || port > 65_535 ? null : { host, port }
}

/** Node decodes a request line as Latin-1. */
const utf8 = (text: string): string => Buffer.from(text, 'latin1').toString('utf8')

function plainTarget({ url: written = '', method = 'GET' }: IncomingMessage): Asked | string {
  if (/^https:/i.test(written)) return 'https is reached through a tunnel: use CONNECT'
  const found = /^http:\/\/([^/?#\\]*)(.*)$/is.exec(utf8(written))
  if (found === null) return 'this is a proxy: ask for a whole address, http://host/path'
  const [, authority = '', rest = ''] = found
  if (authority.includes('@')) return 'an address with a user in it is refused'
  const place = placeIn(/:\d+$/.test(authority) ? authority : `${authority}:80`)
  if (place === null) return 'the address names no host'
  const url = orElse(() => new URL(`http://${place.host}${rest.startsWith('/') ? '' : '/'}${rest}`), null)
  if (url === null) return 'the address cannot be read'
  const request = { method, path: url.pathname }
  return { target: { ...place, request }, path: `${url.pathname}${url.search}` }
}

const place = ({ host, port }: { readonly host: string; readonly port: number }): string => `${host}:${port}`

/** Hop-by-hop headers; the others are forwarded. A body keeps its length or is chunked. */
const OF_ONE_CONNECTION = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'http2-settings', 'expect', 'host'],
])

function passedOn(message: IncomingMessage): OutgoingHttpHeaders {
  const named = (message.headers.connection ?? '').split(',').map(name => name.trim().toLowerCase())
  const isChunked = message.headers['transfer-encoding'] !== undefined
  const headers: OutgoingHttpHeaders = {}
  for (const [name, values] of Object.entries(message.headersDistinct)) {
    if (values === undefined || OF_ONE_CONNECTION.has(name) || named.includes(name)) continue
    if (name !== 'content-length' || !isChunked) headers[name] = values
  }
  return headers
}

/** Node frames bodies only for some methods; otherwise a body would be parsed as another request. */
const framing = ({ headers }: IncomingMessage): OutgoingHttpHeaders =>
  headers['transfer-encoding'] === undefined ? {} : { 'transfer-encoding': 'chunked' }

function message(status: string, text: string): string {
  const body = `planfold: ${text}\n`
  return `HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
}

function answer(response: ServerResponse, status: string, text: string): void {
  const body = `planfold: ${text}\n`
  response.writeHead(Number(status.slice(0, 3)), {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  })
  response.end(body)
}
