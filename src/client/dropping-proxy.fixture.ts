// For tests: stands between client and service, hands every request on, and loses answers when told to: all of it, or behind some of
// its bytes. What was asked has then happened, and nobody heard.

import { request as ask, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface DroppingProxy {
  readonly url: string
  /** How many answers were lost. */
  lost(): number
  close(): Promise<void>
}

/** `drop` says for each answer how many bytes of its body get through: all of them when null, not even the head when -1. */
export async function droppingProxy(to: string, drop: (path: string) => number | null): Promise<DroppingProxy> {
  let lost = 0
  const server = createServer((incoming, outgoing) => {
    const { method, url, headers } = incoming
    const passed = ask(to + url, { method, headers }, response => {
      const through = drop(url ?? '')
      if (through === null) {
        outgoing.writeHead(response.statusCode!, response.headers)
        outgoing.flushHeaders()
        response.pipe(outgoing)
        return
      }
      lost++
      if (through < 0) {
        // All of it has been answered before it is lost.
        response.resume().once('end', () => outgoing.destroy())
        return
      }
      outgoing.writeHead(response.statusCode!, response.headers)
      let left = through
      response.on('data', (chunk: Buffer) => {
        const part = chunk.subarray(0, left)
        left -= part.length
        if (left > 0) outgoing.write(part)
        else outgoing.write(part, () => outgoing.destroy())
        if (left <= 0) response.destroy()
      })
      response.once('end', () => outgoing.destroy())
    })
    passed.on('error', () => outgoing.destroy())
    outgoing.on('close', () => passed.destroy())
    incoming.pipe(passed)
  })
  await new Promise<void>(resolve => server.listen({ host: '127.0.0.1', port: 0 }, resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lost: () => lost,
    close: async () => {
      const closed = new Promise<void>(resolve => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}
