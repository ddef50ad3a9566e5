// Opens the socket and closes it again. Limits of time and number are set here, where connections are; a graceful stop lets
// answers under way end and tells streams that it is over.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type App, type AppOptions, openApp } from './app.ts'
import type { ServerRooms } from './rooms.ts'

export interface Serving {
  readonly port: number
  readonly host: string
  /** Lets what is under way end for so long, then cuts it off. */
  close(graceMs: number): Promise<void>
}

export interface ServeOptions extends AppOptions {
  readonly host: string
  /** 0: any that is free. */
  readonly port: number
}

const KEEP_ALIVE_MS = 5_000
const HEADER_BYTES = 16_384

export async function serve(rooms: ServerRooms, options: ServeOptions): Promise<Serving> {
  const app = openApp(rooms, options)
  const server = listenTo(app, rooms)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: options.host, port: options.port }, resolve)
  })
  const { port, address } = server.address() as AddressInfo
  return { port, host: address, close: graceMs => close(server, graceMs) }
}

function listenTo(app: App, { limits, log }: ServerRooms): Server {
  const server = createServer(
    {
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: HEADER_BYTES,
      requireHostHeader: false,
    },
    (request, response) => {
      app(request, response).catch(error => {
        log.error({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }, 'answer failed')
        response.destroy()
      })
    },
  )
  server.maxConnections = limits.connections
  return server
}

async function close(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>(resolve => server.close(() => resolve()))
  server.closeIdleConnections()
  const cut = setTimeout(() => server.closeAllConnections(), graceMs)
  await closed
  clearTimeout(cut)
}
