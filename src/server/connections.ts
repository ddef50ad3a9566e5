// The connections of the service, and which of them must go when there are too many. Somebody who opens thousands and says nothing
// must not keep others out: the one that has been idle longest makes room, then one whose request does not come to its end.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** A connection that has asked this often is closed with the answer; its client opens another. */
const REQUESTS_MAX = 10_000

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
  /** Called on a response when it is out, or cut off. */
  readonly answered: (this: ServerResponse) => void
}

export class Connections {
  readonly #max: number
  /** Under TLS this is the bare socket, and a request knows only the one around it; both know the two addresses. */
  readonly #all = new Map<string, Connection>()
  readonly #known = new WeakMap<Socket, Connection>()
  #count = 0
  #closing = false

  constructor(server: Server, max: number) {
    this.#max = max
    server.on('connection', (socket: Socket) => this.#come(socket))
  }

  get count(): number {
    return this.#all.size
  }

  /** A request has come; its connection is idle again when the answer is out. */
  answering(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#of(request.socket)
    // It had to make room, and its socket is gone.
    if (connection === undefined) return
    connection.asked++
    if (this.#closing || connection.asked >= REQUESTS_MAX) response.setHeader('connection', 'close')
    if (connection.request === null) connection.since = ++this.#count
    connection.request = request
    connection.response = response
    response.on('close', connection.answered)
  }

  /** From now on no connection outlives its answer. */
  close(): void {
    this.#closing = true
    for (const { socket, response } of this.#all.values()) {
      if (response === null) socket.destroy()
      else if (!response.headersSent) response.setHeader('connection', 'close')
    }
  }

  #of(socket: Socket): Connection | undefined {
    const known = this.#known.get(socket)
    if (known !== undefined) return known
    const found = this.#all.get(keyOf(socket))
    if (found !== undefined) this.#known.set(socket, found)
    return found
  }

  #come(socket: Socket): void {
    if (this.#all.size >= this.#max && !this.#makeRoom()) {
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
      answered() {
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
    for (const one of this.#all.values()) {
      const { request, since } = one
      if (request === null && (idle === null || since < idle.since)) idle = one
      if (request?.complete === false && (slow === null || since < slow.since)) slow = one
    }
    const victim = idle ?? slow
    if (victim === null) return false
    this.#all.delete(victim.key)
    victim.socket.destroy()
    return true
  }
}

const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress}|${remotePort}`
