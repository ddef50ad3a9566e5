// A model whose answers are written down, behind the real protocols of Anthropic messages, OpenAI chat and responses, and Gemini. It
// listens on loopback, answers plain and streamed requests, and counts what it served by itself: tests compare that count with ours.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readRequest, type ScriptedRequest, writeReply } from './model-protocols.ts'

export type { ModelProtocol, ScriptedRequest } from './model-protocols.ts'

export interface ScriptedReply {
  readonly text?: string
  readonly call?: { readonly name: string; readonly input: unknown }
  readonly finish?: 'stop' | 'length' | 'refusal'
  /** Normalised: `input` includes what was read from the cache and written to it. */
  readonly usage?: ScriptedUsage
  readonly error?: {
    readonly status: number
    readonly message: string
    readonly type?: string
    readonly headers?: { readonly [name: string]: string }
  }
  /** Exactly this, whatever the protocol says. */
  readonly raw?: {
    readonly status: number
    readonly headers: { readonly [name: string]: string }
    readonly body: string
  }
  /** A streamed answer ends in its middle, without a word. */
  readonly breaksOff?: true
  /** Sends half of the answer, waits for this, and sends the rest. */
  readonly pausesFor?: Promise<unknown>
  /** Sent in pieces of so many bytes, wherever that cuts. */
  readonly pieceBytes?: number
  readonly silent?: true
}

export interface ScriptedUsage {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
  readonly reasoning?: number
}

/** A list answers the first request with its first reply; its last one serves all later requests. */
export type Script =
  | readonly ScriptedReply[]
  | ((request: ScriptedRequest, index: number) => ScriptedReply | Promise<ScriptedReply>)

export interface ScriptedModel {
  /** Without the version that each protocol adds. */
  readonly url: string
  readonly requests: readonly ScriptedRequest[]
  readonly served: Required<ScriptedUsage> & { readonly calls: number }
  /** The environment that makes Planfold ask this model under every provider it knows, with this key. */
  environment(key?: string): { readonly [name: string]: string }
  /** Resolves when so many requests have arrived. */
  asked(count: number): Promise<void>
  close(): Promise<void>
}

const USAGE: Required<ScriptedUsage> = { input: 1000, output: 50, cacheRead: 200, cacheWrite: 0, reasoning: 0 }

/** What coding agents ask on the side: which models there are, and how long a request is. */
function sideAnswer({ method, url = '' }: IncomingMessage): object | null {
  const path = url.split('?')[0] ?? ''
  if (method === 'GET' && /\/models(\/[^/:]+)?$/.test(path)) {
    const model = { id: 'scripted', object: 'model', created: 1, owned_by: 'test' }
    return path.endsWith('/models') ? { object: 'list', data: [model], models: [] } : model
  }
  return /count_?tokens$/i.test(path) ? { input_tokens: 100, totalTokens: 100 } : null
}

export async function scriptedModel(script: Script): Promise<ScriptedModel> {
  const requests: ScriptedRequest[] = []
  const waiting = new Set<() => void>()
  let served = { calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 }
  const server = createServer((request, response) => {
    void serve(request, response).catch(error => {
      response.writeHead(500, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { message: `the script failed: ${String(error)}` } }))
    })
  })
  // A client that is busy for long finds its connection as it left it.
  server.keepAliveTimeout = 0
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const side = sideAnswer(incoming)
    if (side !== null) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(side))
      return
    }
    const request = readRequest(incoming, await bodyOf(incoming))
    if (request === null) {
      response.writeHead(404, { 'content-type': 'application/json' })
      response.end('{"error":{"message":"no such path","type":"not_found_error"}}')
      return
    }
    const index = requests.push(request) - 1
    for (const look of waiting) look()
    const reply = typeof script === 'function' ? await script(request, index) : (script[index] ?? script.at(-1))
    if (reply === undefined) throw new Error('the script is empty')
    if (reply.silent === true) return
    if (reply.error === undefined && reply.raw === undefined) {
      const usage = { ...USAGE, ...reply.usage }
      served = {
        calls: served.calls + 1,
        input: served.input + usage.input,
        output: served.output + usage.output,
        cacheRead: served.cacheRead + usage.cacheRead,
        cacheWrite: served.cacheWrite + usage.cacheWrite,
        reasoning: served.reasoning + usage.reasoning,
      }
    }
    const { status, headers, body } = writeReply(request, { ...reply, usage: { ...USAGE, ...reply.usage } }, index)
    response.writeHead(status, headers)
    await send(response, reply, reply.breaksOff === true ? firstHalf(body) : body)
  }
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    requests,
    get served() {
      return served
    },
    environment: (key = 'sk-scripted-0123456789abcdef') => ({
      ANTHROPIC_API_KEY: key,
      ANTHROPIC_BASE_URL: url,
      OPENAI_API_KEY: key,
      OPENAI_BASE_URL: `${url}/v1`,
      GEMINI_API_KEY: key,
      GOOGLE_GEMINI_BASE_URL: url,
      PLANFOLD_MODEL_URL: `${url}/v1`,
    }),
    asked: count =>
      new Promise(resolve => {
        const look = () => {
          if (requests.length < count) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** What a recording holds, as far as it is needed to serve it: see `ModelRecording`. */
interface Recorded {
  readonly exchanges: readonly {
    readonly request: { readonly path: string }
    readonly response: {
      readonly status: number
      readonly headers: { readonly [name: string]: string }
      readonly body: string
    }
  }[]
}

/** A recorded model answers again behind its own protocol, each response once, in the order in which it was recorded. */
export async function recordedModel({ exchanges }: Recorded): Promise<ScriptedModel> {
  return await scriptedModel((_, index) => {
    const found = exchanges[index]
    return found === undefined
      ? { error: { status: 400, message: `the recording holds ${exchanges.length} exchanges` } }
      : { raw: found.response }
  })
}

async function send(response: ServerResponse, { pausesFor, pieceBytes }: ScriptedReply, body: string): Promise<void> {
  const bytes = Buffer.from(body)
  const first = pausesFor === undefined ? 0 : Buffer.byteLength(firstHalf(body))
  const length = pieceBytes ?? Math.max(1, bytes.length)
  for (const [from, to] of [
    [0, first],
    [first, bytes.length],
  ] as const) {
    for (let at = from; at < to && !response.destroyed; at += length) {
      response.write(bytes.subarray(at, Math.min(to, at + length)))
      if (pieceBytes !== undefined) await new Promise(setImmediate)
    }
    if (from === 0) await pausesFor
  }
  response.end()
}

/** Of the events of a stream, or of the bytes of a whole answer. */
function firstHalf(body: string): string {
  const events = body.split(/(?<=\n\n)/)
  return events.length < 2 ? body.slice(0, body.length / 2) : events.slice(0, Math.floor(events.length / 2)).join('')
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString('utf8')
}
