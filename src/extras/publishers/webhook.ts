// Tells by a POST of JSON to an address. Redirects are not followed: the plan says whom to tell, not whoever answers there. Of the
// answer only the status counts, and little of the rest is read. With a secret, a header proves that the message is ours.

import { createHmac } from 'node:crypto'
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { type Message, PUBLISH_MAX_MS, type Published } from '../../engine/notifications/publisher.ts'

export interface WebhookOptions {
  readonly secret?: string
  readonly about: string
  readonly timeoutMs?: number
}

const ANSWER_MAX_BYTES = 64 * 1024
/** Busy or broken for now; anything else that is no success stays so. */
const PASSING = new Set([408, 425, 429])

export async function sendToWebhook(
  address: string,
  { id, kind, body }: Message,
  signal: AbortSignal,
  { secret, about, timeoutMs = PUBLISH_MAX_MS }: WebhookOptions,
): Promise<Published> {
  const url = addressOf(address)
  if (typeof url === 'string') return { ok: false, failure: url, again: false }
  if (signal.aborted) return { ok: false, failure: 'stopped before it was told', again: true }
  const bytes = Buffer.from(body)
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(bytes.length),
    'user-agent': about.replace(/[^\x20-\x7e]/g, '?'),
    'x-planfold-notice': id,
    'x-planfold-kind': kind,
    ...(secret === undefined ? {} : { 'x-planfold-signature': signatureOf(secret, bytes) }),
  }
  return await new Promise(resolve => {
    let asked: ClientRequest | null = null
    const end = (published: Published): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      asked?.destroy()
      resolve(published)
    }
    const stop = (): void => end({ ok: false, failure: 'stopped before it was told', again: true })
    const late = { ok: false, failure: `no answer within ${timeoutMs / 1000} s`, again: true } as const
    const timer = setTimeout(() => end(late), timeoutMs)
    signal.addEventListener('abort', stop, { once: true })
    try {
      // No agent: nothing is kept open afterwards, so nobody waits for an idle connection.
      const send = url.protocol === 'https:' ? requestHttps : requestHttp
      asked = send(url, { method: 'POST', headers, agent: false, timeout: timeoutMs }, answer => read(answer, end))
    } catch (error) {
      return end({ ok: false, failure: wordsOf(error), again: false })
    }
    asked.on('error', error => end({ ok: false, failure: wordsOf(error), again: true }))
    asked.end(bytes)
  })
}

/** `sha256=` and the HMAC-SHA-256 of the body, in hex. */
export function signatureOf(secret: string, body: string | Uint8Array): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
}

function addressOf(address: string): URL | string {
  const url = URL.canParse(address) ? new URL(address) : null
  if (url === null) return 'the webhook is not an address'
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return `a webhook is http or https, not ${url.protocol}`
  if (url.username !== '' || url.password !== '')
    return 'the address of the webhook contains a password; keep secrets out of plans'
  return url
}

function read(answer: IncomingMessage, end: (published: Published) => void): void {
  const { statusCode: status = 0 } = answer
  const published = judged(status)
  let bytes = 0
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > ANSWER_MAX_BYTES) end(published)
  })
  answer.on('end', () => end(published))
  // The status has been said; how the rest ends changes nothing.
  answer.on('error', () => end(published))
  answer.on('close', () => end(published))
}

function judged(status: number): Published {
  if (status >= 200 && status < 300) return { ok: true }
  if (status >= 300 && status < 400)
    return { ok: false, failure: `answered ${status}; redirects are not followed`, again: false }
  return { ok: false, failure: `answered ${status}`, again: status >= 500 || PASSING.has(status) }
}

const wordsOf = (error: unknown): string =>
  error instanceof Error && 'code' in error
    ? String(error.code)
    : error instanceof Error
      ? error.message
      : String(error)
