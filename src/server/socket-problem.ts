// What cannot be read as a request at all is answered with a problem document too, written to the bare socket.

import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type Problem, problem } from './problem.ts'

export function answerBrokenRequest(error: Error & { readonly code?: string }, socket: Duplex): void {
  // An answer that is under way, or a socket that is gone, cannot be given another one.
  const isBusy = (socket as Socket & { readonly _httpMessage?: unknown })._httpMessage != null
  if (!socket.writable || isBusy || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const { problem: document } = problemOf(error.code ?? '')
  const text = JSON.stringify(document)
  const head = [
    `HTTP/1.1 ${document.status} ${document.title}`,
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(text)}`,
    'cache-control: no-store',
    'x-content-type-options: nosniff',
    "content-security-policy: default-src 'none'; frame-ancestors 'none'",
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy())
}

function problemOf(code: string): Problem {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return problem(431, 'headers-too-large', 'the headers are too large', { hint: 'send fewer or shorter ones' })
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return problem(408, 'timeout', 'the request did not come to its end in time', { hint: 'send it at once' })
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return problem(413, 'too-large', 'the chunk extensions are too large', { hint: 'leave them out' })
    default:
      return problem(400, 'not-http', 'this is not a request in HTTP/1.1', {
        hint: 'check the client, or http against https',
      })
  }
}
