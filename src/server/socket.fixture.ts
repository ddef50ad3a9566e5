// For tests: bytes to a port and back, with nothing in between that would mend them.

import { connect, type Socket } from 'node:net'

export interface Line {
  readonly socket: Socket
  send(bytes: string | Uint8Array): void
  /** All that came, when the other side has closed, or when it holds the text. */
  heard(until?: string): Promise<string>
  readonly closed: Promise<void>
}

export async function line(url: string): Promise<Line> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  let text = ''
  const waiting = new Set<() => void>()
  const tell = (): void => {
    for (const one of waiting) one()
  }
  let isOver = false
  socket.setNoDelay(true)
  socket.setEncoding('latin1').on('data', (part: string) => {
    text += part
    tell()
  })
  const closed = new Promise<void>(resolve => {
    socket.on('close', () => {
      isOver = true
      tell()
      resolve()
    })
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  // Cut off is what many of these lines are to be.
  socket.on('error', () => {})
  return {
    socket,
    closed,
    send: bytes => {
      if (!socket.destroyed) socket.write(bytes)
    },
    heard: until =>
      new Promise(resolve => {
        const look = (): void => {
          if (!isOver && (until === undefined || !text.includes(until))) return
          waiting.delete(look)
          resolve(text)
        }
        waiting.add(look)
        look()
      }),
  }
}

/** One request, written by hand, and what comes back until the other side closes. */
export async function exchange(url: string, bytes: string | Uint8Array): Promise<string> {
  const one = await line(url)
  one.send(bytes)
  const text = await one.heard()
  one.socket.destroy()
  return text
}
