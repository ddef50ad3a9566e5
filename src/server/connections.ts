// The connections of the service, and which of them must go when there are too many. Somebody who opens thousands and says nothing
// must not keep others out: the one that has been idle longest makes room, then one whose request does not come to its end.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** `idle`: between requests, or before the first. Both sets keep the order in which their members came. */
export class Connections {
  readonly #max: number
  readonly #sockets = new Map<string, Socket>()
  readonly #idle = new Set<string>()
  readonly #asking = new Map<string, IncomingMessage>()
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
    if (this.#closing) response.setHeader('connection', 'close')
    this.#idle.delete(key)
    this.#asking.set(key, request)
    response.once('close', () => {
      if (this.#asking.get(key) === request) this.#asking.delete(key)
      const socket = this.#sockets.get(key)
      if (socket === undefined) return
      if (this.#closing && !this.#asking.has(key)) socket.end()
      else this.#idle.add(key)
    })
  }

  /** From now on no connection outlives its answer. */
  close(): void {
    this.#closing = true
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
    for (const [key, request] of this.#asking) if (!request.complete) return key
    return undefined
  }
}

const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress}|${remotePort}`
