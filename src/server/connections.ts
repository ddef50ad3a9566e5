// The connections of the service, and which of them must go when there are too many. Somebody who opens thousands and says nothing
// must not keep others out: the one that has been idle longest makes room, then one whose request does not come to its end.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** A connection that has asked this often is closed with the answer; its client opens another. */
const REQUESTS_MAX = 10_000

/** `idle`: between requests, or before the first. Both sets keep the order in which their members came. */
export class Connections {
  readonly #max: number
  readonly #sockets = new Map<string, Socket>()
  readonly #idle = new Set<string>()
  readonly #asking = new Map<string, Asking>()
  readonly #asked = new WeakMap<Socket, number>()
  #closing = false

  constructor(server: Server, max: number) {
    this.#max = max
    // Under TLS this is the bare socket, and a request knows only the one around it; both know the two addresses.
    server.on('connection', (socket: Socket) => this.#come(socket))
  }

  get count(): number {
    return this.#sockets.size
  }

  /** A request has come; its connection is idle again when the answer is out. */
  answering(request: IncomingMessage, response: ServerResponse): void {
    const key = keyOf(request.socket)
    const asked = (this.#asked.get(request.socket) ?? 0) + 1
    this.#asked.set(request.socket, asked)
    if (this.#closing || asked >= REQUESTS_MAX) response.setHeader('connection', 'close')
    this.#idle.delete(key)
    this.#asking.set(key, { request, response })
    response.once('close', () => {
      if (this.#asking.get(key)?.request === request) this.#asking.delete(key)
      const socket = this.#sockets.get(key)
      // Another request may have come behind this one before it was answered.
      if (socket === undefined || this.#asking.has(key)) return
      if (this.#closing) socket.end()
      else this.#idle.add(key)
    })
  }

  /** From now on no connection outlives its answer. */
  close(): void {
    this.#closing = true
    for (const { response } of this.#asking.values())
      if (!response.headersSent) response.setHeader('connection', 'close')
    for (const key of this.#idle) this.#sockets.get(key)?.destroy()
  }

  #come(socket: Socket): void {
    const key = keyOf(socket)
    if (this.#sockets.size >= this.#max && !this.#makeRoom()) {
      socket.destroy()
      return
    }
    this.#sockets.set(key, socket)
    this.#idle.add(key)
    socket.once('close', () => {
      if (this.#sockets.get(key) !== socket) return
      this.#sockets.delete(key)
      this.#idle.delete(key)
      this.#asking.delete(key)
    })
  }

  #makeRoom(): boolean {
    const victim = this.#idle.values().next().value ?? this.#slow()
    if (victim === undefined) return false
    const socket = this.#sockets.get(victim)
    this.#sockets.delete(victim)
    this.#idle.delete(victim)
    this.#asking.delete(victim)
    socket?.destroy()
    return true
  }

  /** The oldest request whose body has not all come. */
  #slow(): string | undefined {
    for (const [key, { request }] of this.#asking) if (!request.complete) return key
    return undefined
  }
}

interface Asking {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress}|${remotePort}`
