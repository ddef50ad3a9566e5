// Asks a service as fast as it answers, over a number of connections that are kept open. It reads no more of an answer than its
// status and length, so that it costs little beside what it measures.

import { connect, type Socket } from 'node:net'

export interface Loaded {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly max: number
  readonly statuses: { readonly [status: string]: number }
}

export interface Load {
  readonly port: number
  readonly connections: number
  readonly ms: number
  /** The whole request of a connection, head and body. */
  readonly request: (connection: number) => string
}

export async function load({ port, connections, ms, request }: Load): Promise<Loaded> {
  const times: number[] = []
  const statuses: Record<string, number> = {}
  const began = performance.now()
  const until = began + ms
  await Promise.all(
    Array.from({ length: connections }, (_, at) =>
      keepAsking(
        port,
        () => (performance.now() < until ? request(at) : null),
        (status, took) => {
          times.push(took)
          statuses[status] = (statuses[status] ?? 0) + 1
        },
      ),
    ),
  )
  const seconds = (performance.now() - began) / 1_000
  times.sort((a, b) => a - b)
  const at = (share: number): number =>
    Number((times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0).toFixed(2))
  return { perSecond: Math.round(times.length / seconds), p50: at(0.5), p99: at(0.99), max: at(1), statuses }
}

/** Whoever says nothing for so long will not say anything: better no figure than one nobody waits for. */
const SILENT_MS = 30_000

/** Over one connection after another: a service may close one with an answer, and says so. */
async function keepAsking(
  port: number,
  next: () => string | null,
  answered: (status: string, ms: number) => void,
): Promise<void> {
  while ((await askOver(port, next, answered)) === 'closed');
}

function askOver(
  port: number,
  next: () => string | null,
  answered: (status: string, ms: number) => void,
): Promise<'over' | 'closed'> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, '127.0.0.1')
    socket.setNoDelay(true)
    let sent = 0
    let held = Buffer.alloc(0)
    const ask = (): void => {
      const text = next()
      if (text === null) {
        socket.end()
        return resolve('over')
      }
      sent = performance.now()
      socket.write(text)
    }
    socket.once('connect', ask)
    socket.once('error', reject)
    // Settled before, unless it was cut off while we waited for an answer.
    socket.once('close', () => reject(new Error('the service closed a connection without an answer')))
    socket.setTimeout(SILENT_MS, () => socket.destroy(new Error(`the service said nothing for ${SILENT_MS} ms`)))
    socket.on('data', chunk => {
      held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
      const end = held.indexOf('\r\n\r\n')
      if (end === -1) return
      const head = held.toString('latin1', 0, end)
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN)
      if (Number.isNaN(length)) return reject(new Error(`no length in ${head.slice(0, 200)}`))
      if (held.length < end + 4 + length) return
      held = held.subarray(end + 4 + length)
      answered(head.slice(9, 12), performance.now() - sent)
      if (!/^connection: close\r?$/im.test(head)) return ask()
      socket.destroy()
      resolve('closed')
    })
  })
}

export function requestOf(method: string, path: string, body?: unknown, token?: string): string {
  const text = body === undefined ? '' : JSON.stringify(body)
  const head = [
    `${method} ${path} HTTP/1.1`,
    'Host: 127.0.0.1:PORT',
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    ...(body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`]),
  ]
  return `${head.join('\r\n')}\r\n\r\n${text}`
}
