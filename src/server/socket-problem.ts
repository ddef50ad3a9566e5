// What cannot be read as a request at all is answered with a problem document too, written to the bare socket.

import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TOO_SLOW } from './body.ts'
import { type Problem, problem } from './problem.ts'

export function answerBrokenRequest(error: Error & { readonly code?: string }, socket: Duplex): void {
  if (error.code === TIMEOUT && tellTimeout(answerOf(socket))) return
  if (error.code === 'ECONNRESET') socket.destroy()
  else write(socket, problemOf(error.code ?? ''))
}

/** We are no proxy. Node hands out the bare socket, and nobody listens to its errors any more. */
export function answerConnect(socket: Duplex): void {
  socket.on('error', () => {})
  write(socket, NO_PROXY)
}

const TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT'

const NO_PROXY = problem(405, 'method', 'CONNECT is answered nowhere here: this is no proxy', {
  hint: 'call the service itself',
  headers: { allow: '' },
})

/** Whoever waits for the rest of the body answers that it does not come; false when nobody does. */
const tellTimeout = (answer: ServerResponse | null | undefined): boolean =>
  answer != null && !answer.headersSent && !answer.req.complete && answer.req.emit('timeout')

/** The one that is under way. */
const answerOf = (socket: Duplex): ServerResponse | null | undefined =>
  (socket as Socket & { readonly _httpMessage?: ServerResponse | null })._httpMessage

function write(socket: Duplex, { problem: document, headers = {} }: Problem): void {
  // An answer that is under way, or a socket that is gone, cannot be given another one.
  if (!socket.writable || answerOf(socket) != null) {
    socket.destroy()
    return
  }
  const text = JSON.stringify(document)
  const head = [
    `HTTP/1.1 ${document.status} ${document.title}`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(text)}`,
    'cache-control: no-store',
    'x-content-type-options: nosniff',
    "content-security-policy: default-src 'none'; frame-ancestors 'none'",
    ...Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy())
}

function problemOf(code: string): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return problem(431, 'headers-too-large', 'the headers are too large', { hint: 'send fewer or shorter ones' })
    case TIMEOUT:
      return TOO_SLOW
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return problem(413, 'too-large', 'the chunk extensions are too large', { hint: 'leave them out' })
    default:
      return problem(400, 'not-http', 'this is not a request in HTTP/1.1', {
        hint: 'check the client, or http against https',
      })
  }
}
