// Real servers on the loopback, a proxy in front of them, and clients that send arbitrary bytes.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer as createHttp, type IncomingMessage, type RequestListener } from 'node:http'
import { type AddressInfo, connect, createServer as createTcp, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type NetworkDecision, type NetworkProxy, openProxy, type ProxyOptions } from './network-proxy.ts'

export interface Heard {
  readonly line: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export async function site(answer?: RequestListener, address = '127.0.0.1', port = 0) {
  const heard: Heard[] = []
  const server = createHttp((request, response) => {
    let body = ''
    request.on('data', chunk => {
      body += String(chunk)
    })
    request.on('end', () => {
      heard.push({ line: `${request.method} ${request.url}`, headers: request.headers, body })
      if (answer === undefined) response.end('hello\n')
      else answer(request, response)
    })
  })
  return { heard, port: await listening(server, address, port) }
}

export async function echo(address = '127.0.0.1') {
  let count = 0
  const server = createTcp({ allowHalfOpen: true }, socket => {
    count += 1
    socket.on('error', () => {})
    socket.pipe(socket)
  })
  return { port: await listening(server, address, 0), connections: () => count }
}

export async function listening(server: Server, address: string, port: number): Promise<number> {
  const open = new Set<Socket>()
  server.on('connection', socket => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, address, resolve)
  })
  onTestFinished(async () => {
    for (const socket of open) socket.destroy()
    await new Promise(resolve => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

export interface Opened {
  readonly proxy: NetworkProxy
  readonly socket: string
  readonly told: readonly NetworkDecision[]
  /** Sends the text and returns everything until the connection ends. */
  say(text: string): Promise<string>
  get(url: string, more?: string): Promise<string>
  tunnel(place: string): Promise<Tunnel>
}

export interface Tunnel {
  readonly head: string
  readonly socket: Socket
  ask(text: string): Promise<string>
}

export async function opened(options: Omit<ProxyOptions, 'folder' | 'onDecision'>): Promise<Opened> {
  const parent = mkdtempSync(join(tmpdir(), 'proxy-'))
  const told: NetworkDecision[] = []
  const answer = await openProxy({
    ...options,
    folder: join(parent, 'p'),
    onDecision: decision => told.push(decision),
    howToAllow: rule => `\`allow ${rule}\``,
  })
  if (!answer.ok) throw new Error(answer.failure.message)
  const proxy = answer.value
  onTestFinished(async () => {
    await proxy.close()
    rmSync(parent, { recursive: true, force: true })
  })
  const socket = join(proxy.folder, 'proxy.sock')
  const say = async (text: string): Promise<string> => {
    const client = connect(socket)
    let said = ''
    client.setEncoding('utf8')
    client.on('data', chunk => {
      said += String(chunk)
    })
    client.on('error', () => {})
    const closed = new Promise<void>(resolve => client.once('close', () => resolve()))
    client.write(text)
    await closed
    return said
  }
  return {
    proxy,
    socket,
    told,
    say,
    get: (url, more = '') => say(`GET ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${more}\r\n`),
    async tunnel(place) {
      const client = connect({ path: socket, allowHalfOpen: true })
      client.on('error', () => {})
      client.setEncoding('utf8')
      client.write(`CONNECT ${place} HTTP/1.1\r\nHost: ${place}\r\n\r\n`)
      const head = await heardUntil(client, text => text.includes('\r\n\r\n'))
      onTestFinished(() => {
        client.destroy()
      })
      return {
        head,
        socket: client,
        async ask(text) {
          client.write(text)
          return await heardUntil(client, said => said.length >= text.length)
        },
      }
    },
  }
}

async function heardUntil(client: Socket, isAll: (text: string) => boolean): Promise<string> {
  return await new Promise(resolve => {
    let said = ''
    const end = (): void => {
      client.off('data', hear)
      client.off('close', end)
      resolve(said)
    }
    const hear = (chunk: string): void => {
      said += chunk
      if (isAll(said)) end()
    }
    client.on('data', hear)
    client.once('close', end)
  })
}
