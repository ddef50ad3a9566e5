// Stands between a store and its server, and cuts the connection at a byte.

import { type AddressInfo, connect, createServer, type NetConnectOpts, type Socket } from 'node:net'

export interface Cut {
  readonly towards: 'server' | 'store'
  /** So many bytes still pass, counted from the call of `cut` over all connections. */
  readonly after: number
  /** Nobody is let in afterwards, until `open`. */
  readonly stays?: true
}

export interface Proxy {
  readonly port: number
  /** What passed since the last `cut`. */
  readonly passed: { server: number; store: number }
  /** Null: only counts. */
  cut(next: Cut | null): void
  open(): void
  stop(): Promise<void>
}

export async function startProxy(server: NetConnectOpts): Promise<Proxy> {
  let armed: Cut | null = null
  let isClosed = false
  const passed = { server: 0, store: 0 }
  const sockets = new Set<Socket>()
  const listener = createServer(store => {
    if (isClosed) return void store.destroy()
    const behind = connect(server)
    const both = [store, behind]
    const end = () => both.forEach(socket => void socket.destroy())
    for (const socket of both) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', end).on('close', () => {
        sockets.delete(socket)
        end()
      })
    }
    const pass = (to: Socket, towards: Cut['towards']) => (bytes: Buffer) => {
      const most = armed?.towards === towards ? armed.after - passed[towards] : Number.POSITIVE_INFINITY
      passed[towards] += bytes.length
      if (bytes.length < most) return void to.write(bytes)
      isClosed = armed?.stays === true
      armed = null
      if (most > 0) to.write(bytes.subarray(0, most), end)
      else end()
    }
    store.on('data', pass(behind, 'server'))
    behind.on('data', pass(store, 'store'))
  })
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
  return {
    port: (listener.address() as AddressInfo).port,
    passed,
    cut(next) {
      armed = next
      passed.server = 0
      passed.store = 0
    },
    open() {
      isClosed = false
    },
    stop: () =>
      new Promise(resolve => {
        listener.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
