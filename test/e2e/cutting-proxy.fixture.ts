// A proxy that cuts connections: each after so many bytes of the answer, wherever that is.

import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface CuttingProxy {
  readonly port: number
  /** How many connections it has cut so far. */
  cuts(): number
  close(): Promise<void>
}

/** `upstream`: where to, now; null while nobody is there. `allow`: after how many bytes the next one is cut; null: never. */
export async function cuttingProxy(upstream: () => number | null, allow: () => number | null): Promise<CuttingProxy> {
  let cuts = 0
  const open = new Set<Socket>()
  const server = createServer(client => {
    const port = upstream()
    if (port === null) return void client.destroy()
    const service = connect(port, '127.0.0.1')
    for (const socket of [client, service]) {
      open.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
        client.destroy()
        service.destroy()
      })
    }
    client.pipe(service)
    let left = allow() ?? Number.POSITIVE_INFINITY
    service.on('data', (bytes: Buffer) => {
      const isLast = bytes.length >= left
      if (!client.write(isLast ? bytes.subarray(0, left) : bytes)) {
        service.pause()
        client.once('drain', () => service.resume())
      }
      left -= bytes.length
      if (!isLast) return
      cuts++
      service.destroy()
      // What was let through arrives; then nothing does.
      client.destroySoon()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    cuts: () => cuts,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of open) socket.destroy()
      }),
  }
}
