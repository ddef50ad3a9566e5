// A gateway on a scripted model, a budget in memory, and an agent that is a plain HTTP client: for tests.

import { mkdtempSync } from 'node:fs'
import { request as sendRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type {
  Gateway,
  GatewayCall,
  GatewayParked,
  GatewayRequest,
  GatewayWire,
  Spending,
  SpendingAnswer,
  SpendingRequest,
  SpentAmount,
} from '../../../runners/model-gateway.ts'
import type { Script } from '../../../testing/scripted-model.ts'
import { type Place, setup } from '../models.fixture.ts'

/** One budget for all who ask: it grants what fits, waits while others hold what would fit, and refuses what never will. */
export class SpendingMemory implements Spending {
  readonly #caps: { readonly tokens: number; readonly usd: number; readonly calls: number }
  readonly #held = new Map<string, { readonly calls: number; readonly tokens: number; readonly usd: number }>()
  readonly #waiting = new Set<() => void>()
  /** What was settled, in order. */
  readonly settled: { readonly id: string; readonly actual: SpentAmount }[] = []
  readonly requests: SpendingRequest[] = []
  /** The most that was ever spent and held together. */
  peakTokens = 0
  #made = 0

  constructor(caps: { readonly tokens?: number; readonly usd?: number; readonly calls?: number } = {}) {
    const none = Number.POSITIVE_INFINITY
    this.#caps = { tokens: caps.tokens ?? none, usd: caps.usd ?? none, calls: caps.calls ?? none }
  }

  get spent(): { readonly calls: number; readonly tokens: number; readonly usd: number } {
    return sumOf(this.settled.map(({ actual }) => plain(actual)))
  }

  get held(): { readonly calls: number; readonly tokens: number; readonly usd: number } {
    return sumOf([...this.#held.values()])
  }

  /** How many wait for others. */
  get waiting(): number {
    return this.#waiting.size
  }

  async reserve(request: SpendingRequest, signal?: AbortSignal): Promise<SpendingAnswer> {
    this.requests.push(request)
    for (;;) {
      if (signal?.aborted === true) return { granted: false, reason: 'nobody waits for it any more' }
      const { spent, held } = this
      const left = {
        calls: this.#caps.calls - spent.calls - held.calls,
        tokens: this.#caps.tokens - spent.tokens - held.tokens,
        usd: this.#caps.usd - spent.usd - held.usd,
      }
      const least = plain(request.least)
      if (this.#caps.usd !== Number.POSITIVE_INFINITY && !request.cost.known)
        return { granted: false, reason: 'the price of the model is not known' }
      if (fits(least, left)) {
        const most = plain(request)
        const granted = { calls: 1, tokens: Math.min(most.tokens, left.tokens), usd: Math.min(most.usd, left.usd) }
        const id = `reservation-${++this.#made}`
        this.#held.set(id, granted)
        this.peakTokens = Math.max(this.peakTokens, spent.tokens + this.held.tokens)
        return { granted: true, id, tokens: granted.tokens, usd: granted.usd }
      }
      const withoutOthers = {
        calls: left.calls + held.calls,
        tokens: left.tokens + held.tokens,
        usd: left.usd + held.usd,
      }
      if (!fits(least, withoutOthers))
        return { granted: false, reason: `the budget of ${this.#caps.tokens} tokens is used: ${spent.tokens}` }
      await new Promise<void>(resolve => {
        const look = (): void => {
          this.#waiting.delete(look)
          resolve()
        }
        this.#waiting.add(look)
        signal?.addEventListener('abort', look, { once: true })
      })
    }
  }

  async settle(id: string, actual: SpentAmount): Promise<void> {
    if (!this.#held.delete(id)) throw new Error(`there is no reservation ${id}`)
    this.settled.push({ id, actual })
    for (const look of [...this.#waiting]) look()
  }
}

type Amount = SpendingMemory['spent']

const plain = ({ calls, tokens, cost }: SpentAmount): Amount => ({ calls, tokens, usd: cost.known ? cost.usd : 0 })
const fits = (a: Amount, b: Amount): boolean => a.calls <= b.calls && a.tokens <= b.tokens && a.usd <= b.usd
const sumOf = (amounts: readonly Amount[]): Amount =>
  amounts.reduce((a, b) => ({ calls: a.calls + b.calls, tokens: a.tokens + b.tokens, usd: a.usd + b.usd }), {
    calls: 0,
    tokens: 0,
    usd: 0,
  })

export const WIRES: readonly GatewayWire[] = ['anthropic', 'openai-chat', 'openai-responses', 'gemini']

/** The model that is asked over each protocol. */
export const USE: { readonly [wire in GatewayWire]: string } = {
  anthropic: 'anthropic/scripted',
  'openai-chat': 'openai-chat/scripted',
  'openai-responses': 'openai/scripted',
  gemini: 'google/scripted',
}

export interface GatewayPlace extends Place {
  readonly gateway: Gateway
  readonly spending: SpendingMemory
  readonly calls: readonly GatewayCall[]
  readonly parkings: readonly GatewayParked[]
  /** Another gateway on the same room. */
  openGateway(more?: Partial<GatewayRequest>): Promise<Gateway>
}

export async function gatewayFor(
  wire: GatewayWire,
  script: Script,
  more: Partial<GatewayRequest> & { readonly spending?: SpendingMemory; readonly settings?: object } = {},
): Promise<GatewayPlace> {
  const { settings, ...request } = more
  const place = settings === undefined ? await setup(script) : await setup(script, settings)
  const spending = request.spending ?? new SpendingMemory()
  const calls: GatewayCall[] = []
  const parkings: GatewayParked[] = []
  const openGateway = async (other: Partial<GatewayRequest> = {}): Promise<Gateway> => {
    const opened = await place.models.openGateway({
      wires: [wire],
      use: USE[wire],
      payer: 'plan/task/1',
      folder: mkdtempSync(join(tmpdir(), 'pfg-')),
      spending,
      onCall: call => calls.push(call),
      onParked: parked => parkings.push(parked),
      ...request,
      ...other,
    })
    if (!opened.ok) throw new Error(opened.failure.message)
    onTestFinished(() => opened.gateway.close())
    return opened.gateway
  }
  return { ...place, gateway: await openGateway(), spending, calls, parkings, openGateway }
}

export interface Heard {
  readonly status: number
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined }
  readonly text: string
  readonly chunks: readonly string[]
}

export interface Asking {
  readonly done: Promise<Heard>
  /** Resolves with what has come when so many bytes are there. */
  heard(bytes: number): Promise<string>
  /** Goes away. */
  abort(): void
}

export interface Ask {
  readonly method?: string
  readonly path: string
  readonly headers?: { readonly [name: string]: string }
  readonly body?: string | Buffer | object
  /** Instead of the socket. */
  readonly port?: number
}

export function send(gateway: Pick<Gateway, 'socketPath' | 'token'>, ask: Ask): Asking {
  const { method = 'POST', path, headers = {}, body, port } = ask
  const bytes =
    body === undefined
      ? Buffer.alloc(0)
      : Buffer.from(typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body))
  const chunks: string[] = []
  const waiting = new Set<() => void>()
  let text = ''
  const request = sendRequest({
    ...(port === undefined ? { socketPath: gateway.socketPath } : { host: '127.0.0.1', port }),
    agent: false,
    method,
    path,
    headers: {
      'x-api-key': gateway.token,
      'content-type': 'application/json',
      ...(headers['transfer-encoding'] === undefined ? { 'content-length': bytes.length } : {}),
      ...headers,
    },
  })
  const done = new Promise<Heard>((resolve, reject) => {
    request.once('error', reject)
    request.once('response', response => {
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        chunks.push(chunk)
        text += chunk
        for (const look of [...waiting]) look()
      })
      response.once('error', reject)
      response.once('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text, chunks }))
    })
  })
  done.catch(() => {})
  request.end(bytes)
  return {
    done,
    heard: count =>
      new Promise(resolve => {
        const look = (): void => {
          if (text.length < count) return
          waiting.delete(look)
          resolve(text)
        }
        waiting.add(look)
        look()
      }),
    abort: () => request.destroy(),
  }
}

/** What an agent would send over each protocol. */
export function question(
  wire: GatewayWire,
  text: string,
  {
    stream = false,
    max,
    model = 'scripted',
  }: { readonly stream?: boolean; readonly max?: number; readonly model?: string } = {},
): Ask {
  const limit = (name: string) => (max === undefined ? {} : { [name]: max })
  switch (wire) {
    case 'anthropic':
      return {
        path: '/v1/messages?beta=true',
        body: { model, max_tokens: max ?? 500, stream, messages: [{ role: 'user', content: text }] },
      }
    case 'openai-chat':
      return {
        path: '/v1/chat/completions',
        body: { model, stream, messages: [{ role: 'user', content: text }], ...limit('max_tokens') },
      }
    case 'openai-responses':
      return {
        path: '/v1/responses',
        body: { model, stream, input: [{ role: 'user', content: text }], ...limit('max_output_tokens') },
      }
    case 'gemini':
      return {
        path: `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
        body: {
          contents: [{ role: 'user', parts: [{ text }] }],
          generationConfig: { temperature: 0, ...limit('maxOutputTokens') },
        },
      }
    default:
      return wire satisfies never
  }
}
