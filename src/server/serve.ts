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
import type { AddressInfo } from 'node:net'
import { type AppOptions, openApp } from './app.ts'
import { Connections } from './connections.ts'
import { type Problem, problem } from './problem.ts'
import type { ServerRooms } from './rooms.ts'
import { answerBrokenRequest, answerConnect } from './socket-problem.ts'

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

export interface ServeOptions extends AppOptions {
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
