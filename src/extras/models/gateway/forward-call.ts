// One request of the agent, from the budget to the bill:
//
//   recorded? ─► reserve (waits, or parks) ─► its turn ─► listed ─► sent once ─► passed on, drained ─► settled, recorded, told
//
// What is reserved is counted as spent unless something better is known: the provider's own count, or that nothing was sent.

import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { SettingsCaps } from '../../../domain/budget/amounts.ts'
import { isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import { type ModelUsage, NO_USAGE, tokensOf } from '../../../domain/model-use.ts'
import { isModelAllowed } from '../../../domain/plan-rules/agent-request.ts'
import type {
  GatewayCall,
  GatewayLimits,
  GatewayParked,
  GatewayWire,
  Spending,
  SpendingAnswer,
  SpentAmount,
} from '../../../runners/model-gateway.ts'
import type { ModelExchange, PriceRow } from '../../../runners/models.ts'
import type { Redaction } from '../../../safety/secrets/redaction.ts'
import type { CallList } from '../call-list.ts'
import type { Reservation } from '../meter.ts'
import { failureOfCall, isUnsent } from '../model-failure.ts'
import { costOf } from '../price-table.ts'
import type { RateClock, RateLimit } from '../rate-limit.ts'
import { KEPT_HEADERS } from '../wire.ts'
import type { InputEstimates } from './input-estimate.ts'
import type { AskedModel, GatewayLedger } from './ledger.ts'
import { type PassedResponse, passOn } from './passed-response.ts'
import type { GatewayRoute } from './routes.ts'
import {
  type ProviderPlace,
  passedRequestHeaders,
  type RecordedAnswers,
  sendToProvider,
  UpstreamSilent,
} from './upstream.ts'
import type { Counted } from './usage-meter.ts'
import { type RefusalKind, WIRE_RULES } from './wire-rules.ts'

export interface GatewayRoom {
  readonly payer: string
  readonly purpose: string
  readonly spending: Spending
  readonly caps: () => Promise<SettingsCaps | undefined>
  readonly ledger: GatewayLedger
  readonly estimates: InputEstimates
  readonly limits: GatewayLimits
  /** Who is asked over a protocol, by the name in the settings; null in a replay. */
  provider(wire: GatewayWire): { readonly word: string; readonly place: ProviderPlace } | null
  readonly allowed: readonly string[] | null
  modelOf(
    word: string,
    id: string,
  ): { readonly price: PriceRow | null; readonly outputTokens: number | null; readonly limit: RateLimit }
  readonly recorded: { readonly answers: RecordedAnswers; readonly else: 'refuse' | 'ask' } | null
  /** Null in a replay: nothing is sent, so nothing is listed. */
  readonly calls: CallList | null
  keep(asked: AskedModel, exchange: ModelExchange): void
  /** Replaces keys, other secrets and the token, in both directions. */
  readonly redaction: Redaction
  readonly clock: RateClock & { readonly now: () => number }
  readonly newId: () => string
  readonly ending: AbortSignal
  readonly breaking: AbortSignal
  parked(): GatewayParked | null
  park(parked: GatewayParked): void
  told(call: GatewayCall): void
}

export interface AskedCall {
  readonly route: Extract<GatewayRoute, { is: 'call' | 'count' }>
  readonly query: string
  readonly headers: IncomingHttpHeaders
  readonly body: JsonObject
  readonly gone: AbortSignal
}

const OUTPUT_TOKENS = 32_000
const NO_RETRY = { 'x-should-retry': 'false' }

export async function forwardCall(room: GatewayRoom, asked: AskedCall, agent: ServerResponse): Promise<void> {
  const { route } = asked
  const rules = WIRE_RULES[route.wire]
  const id = route.model ?? asked.body.model
  if (typeof id !== 'string' || !/^[\x21-\x7e]{1,200}$/.test(id))
    return refuseTo(agent, route.wire, 'request', 'the request names no model')
  if (asked.body.background === true)
    return refuseTo(agent, route.wire, 'request', 'answers in the background are not forwarded: they cannot be metered')
  const isStreamedChat = route.wire === 'openai-chat' && asked.body.stream === true
  const options = isMap(asked.body.stream_options) ? asked.body.stream_options : {}
  const dropsUsage = isStreamedChat && options.include_usage !== true
  // Without it a streamed chat does not say what was used.
  const metered = dropsUsage
    ? { ...asked.body, stream_options: { ...options, include_usage: true } }
    : { ...asked.body }
  const body = JSON.parse(room.redaction.text(JSON.stringify(metered))) as JsonObject
  const path = `${route.path}${asked.query}`
  const passing = { rules, redaction: room.redaction, dropsUsage, bytesMax: room.limits.responseBytes }
  const known = room.recorded?.answers.take({ path, body }) ?? null
  if (known !== null) {
    const { exchanges: _, planfold: __, version: ___, ...of } = known.recording
    const passed = await passOn(known.response, agent, passing)
    room.ledger.record(of, known.exchange)
    const { counted } = passed
    // What was paid before is not counted again; a replay counts as it was counted.
    if (room.recorded?.else === 'refuse' && route.is === 'call' && counted !== null && passed.status < 400)
      room.ledger.settle('', of, { usage: counted.usage, cost: costOf(counted.usage, of.price) })
    return
  }
  const provider = room.provider(route.wire)
  if (room.recorded?.else === 'refuse' || provider === null)
    return refuseTo(agent, route.wire, 'request', 'this request was not recorded, and nothing is sent in a replay')
  const name = `${provider.word}/${id}`
  if (room.allowed !== null && !isModelAllowed(room.allowed, name)) {
    const only = room.allowed.join(', ')
    return refuseTo(agent, route.wire, 'request', `this task may not ask the model ${id}, only ${only}`)
  }
  const { price, outputTokens, limit } = room.modelOf(provider.word, id)
  const of: AskedModel = { model: name, provider: provider.place.type, url: provider.place.url, price }
  const call = { room, asked, agent, rules, name, of, place: provider.place, path, passing, limit }
  if (route.is === 'count') return await countTokens(call, body)
  await pay(call, body, outputTokens)
}

interface Call {
  readonly room: GatewayRoom
  readonly asked: AskedCall
  readonly agent: ServerResponse
  readonly rules: (typeof WIRE_RULES)[GatewayWire]
  readonly name: string
  readonly of: AskedModel
  readonly place: ProviderPlace
  readonly path: string
  readonly passing: Parameters<typeof passOn>[2]
  readonly limit: RateLimit
}

async function countTokens(call: Call, body: JsonObject): Promise<void> {
  try {
    const passed = await send(call, body)
    if (passed.isWhole) record(call, body, passed)
  } catch (error) {
    refuseUnanswered(call, error)
  }
}

async function pay(call: Call, body: JsonObject, outputTokensMax: number | null): Promise<void> {
  const { room, asked, rules, of, place, name } = call
  const estimate = room.estimates.estimate(name, body)
  // What the provider keeps of a conversation is not in the request, and counts all the same.
  const isContinued = typeof body.previous_response_id === 'string' || (body.conversation ?? null) !== null
  const input = estimate.tokens + (isContinued ? room.ledger.largestCall : 0)
  const answers = rules.answers(body)
  const wanted = Math.min(rules.outputLimit(body) ?? OUTPUT_TOKENS, outputTokensMax ?? Number.POSITIVE_INFINITY)
  const least = Math.min(rules.leastOutput(body), wanted)
  const most = (output: number) => mostFor(input, output * answers, of.price)
  const granted = await reserve(call, most(wanted), most(least))
  if (granted === null) return
  const output = Math.min(wanted, Math.floor(granted.outputTokens(input) / answers))
  const reserved = most(output)
  const release = async (): Promise<void> => await settled(call, granted.id, NOTHING)
  if (output < least) room.park({ reason: 'the budget granted less than the shortest answer', model: name })
  const parked = room.parked()
  if (parked !== null || asked.gone.aborted || room.ending.aborted) {
    await release()
    return parked === null ? undefined : refuseBudget(call, parked.reason)
  }
  const id = room.newId()
  room.ledger.hold(id, reserved)
  let counted: (tokens: number) => void
  try {
    const waiting = AbortSignal.any([asked.gone, room.ending])
    counted = await call.limit.turn(tokensOf(reserved.usage), waiting)
  } catch {
    room.ledger.release(id)
    return await release()
  }
  const { clock, payer, purpose } = room
  const began = clock.monotonic()
  if (!written(call, () => room.calls?.begin({ id, at: clock.now(), model: name, purpose, payer, ...reserved }))) {
    counted(0)
    room.ledger.release(id)
    await release()
    return refuseBudget(call, room.parked()?.reason ?? '')
  }
  const sent = rules.withOutputLimit(body, output, place.type)
  // Written down as it comes: if this process is killed, the most it can have used is known better than by the reservation.
  const onCounted = (counted: Counted, bytes: number): void => {
    const so = usedBy(sent, reserved.usage, counted, bytes)
    written(call, () => room.calls?.said(id, { ...so, cost: costOf(so.usage, of.price) }))
  }
  const ended = await carryOut({ ...call, passing: { ...call.passing, onCounted } }, sent, reserved.usage)
  const { status, code, usage, assumedTokens, httpStatus } = ended
  const isCounted = assumedTokens === 0
  const used = { usage, cost: costOf(usage, of.price) }
  counted(tokensOf(usage))
  if (status === 'answered' && isCounted && !isContinued) estimate.learn(usage.inputTokens)
  room.ledger.settle(id, of, used)
  const durationMs = Math.round(clock.monotonic() - began)
  written(call, () => room.calls?.end(id, { status, code, durationMs, assumedTokens, ...used }))
  await settled(call, granted.id, { calls: 1, tokens: tokensOf(usage), cost: used.cost })
  room.told({ id, model: name, wire: asked.route.wire, status, httpStatus, isCounted, ...used })
}

const NOTHING: SpentAmount = { calls: 0, tokens: 0, cost: { known: true, usd: 0, by: 'local' } }

/** All of the input may be written to a cache, which can cost more than reading it. */
function mostFor(inputTokens: number, outputTokens: number, price: PriceRow | null): Reservation {
  const usage = { ...NO_USAGE, inputTokens, outputTokens }
  const isCacheDearer = price?.cacheWrite !== undefined && price.cacheWrite > price.input
  return { usage, cost: costOf({ ...usage, cacheWriteTokens: isCacheDearer ? inputTokens : 0 }, price) }
}

interface Granted {
  readonly id: string
  outputTokens(input: number): number
}

async function reserve(call: Call, most: Reservation, least: Reservation): Promise<Granted | null> {
  const { room, asked, name, of } = call
  const before = room.parked()
  if (before !== null) {
    refuseBudget(call, before.reason)
    return null
  }
  const amount = ({ usage, cost }: Reservation): SpentAmount => ({ calls: 1, tokens: tokensOf(usage), cost })
  const unwanted = AbortSignal.any([asked.gone, room.ending])
  const asking = room.spending
    .reserve({ ...amount(most), least: amount(least), settings: room.caps }, unwanted)
    .catch((error): SpendingAnswer => ({ granted: false, reason: `the budget cannot be asked: ${messageOf(error)}` }))
  const answer = await Promise.race([asking, aborted(unwanted)])
  if (answer === null) {
    // The caller has gone; a later grant is given back.
    void asking.then(late => (late.granted ? settled(call, late.id, NOTHING) : undefined))
    return null
  }
  if (!answer.granted) {
    if (unwanted.aborted) return null
    const { reason, hint } = answer
    room.park({ reason, model: name, ...(hint === undefined ? {} : { hint }) })
    refuseBudget(call, reason)
    return null
  }
  const { id, tokens = Number.POSITIVE_INFINITY, usd = Number.POSITIVE_INFINITY } = answer
  return {
    id,
    outputTokens: input => {
      const byTokens = tokens - input
      const { price } = of
      if (price === null || price.output === 0) return byTokens
      const inputCost = mostFor(input, 0, price).cost
      const usdLeft = usd - (inputCost.known ? inputCost.usd : 0)
      // Money is kept to a billionth of a dollar, so a whole token may seem to lack a little.
      return Math.min(byTokens, (usdLeft * 1e6) / price.output + 1e-3)
    },
  }
}

const aborted = (signal: AbortSignal): Promise<null> =>
  new Promise(resolve => {
    if (signal.aborted) resolve(null)
    else signal.addEventListener('abort', () => resolve(null), { once: true })
  })

async function settled({ room, name }: Call, id: string, actual: SpentAmount): Promise<void> {
  try {
    await room.spending.settle(id, actual)
  } catch (error) {
    room.park({ reason: `the budget cannot be written: ${messageOf(error)}`, model: name })
  }
}

/** What cannot be written down any more is not spent any more. */
function written({ room, name }: Call, write: () => void): boolean {
  try {
    write()
    return true
  } catch (error) {
    room.park({ reason: `the calls of the model cannot be written down: ${messageOf(error)}`, model: name })
    return false
  }
}

interface Ended {
  readonly status: GatewayCall['status']
  readonly code: string | null
  readonly httpStatus: number | null
  readonly usage: ModelUsage
  readonly assumedTokens: number
}

async function carryOut(call: Call, body: JsonObject, reserved: ModelUsage): Promise<Ended> {
  const { room, name } = call
  let passed: PassedResponse
  try {
    passed = await send(call, body)
  } catch (error) {
    refuseUnanswered(call, error)
    const isFree = isUnsent(error)
    const { code = null } = failureOfCall(error, name, room.clock.now())
    const usage = isFree ? NO_USAGE : reserved
    const status = room.breaking.aborted ? 'cut off' : 'failed'
    return { status, code, httpStatus: null, usage, assumedTokens: tokensOf(usage) }
  }
  const { status: httpStatus, counted, isWhole, bytes } = passed
  if (isWhole) record(call, body, passed)
  if (httpStatus >= 400) {
    const error = { statusCode: httpStatus, responseHeaders: passed.headers, responseBody: passed.body }
    const { code = null, retryAfterMs } = failureOfCall(error, name, room.clock.now())
    if (retryAfterMs !== undefined) call.limit.pause(retryAfterMs)
    return { status: 'failed', code, httpStatus, usage: NO_USAGE, assumedTokens: 0 }
  }
  if (isWhole && counted?.isFinal === true)
    return { status: 'answered', code: null, httpStatus, usage: counted.usage, assumedTokens: 0 }
  const isSaid = isWhole && counted === null
  return {
    status: isSaid ? 'answered' : 'cut off',
    code: isSaid ? null : 'model:malformed',
    httpStatus,
    ...usedBy(body, reserved, counted, bytes),
  }
}

/**
 * What a call used whose end was not heard: what the provider said of it, and for an answer that had only begun the most that fits into
 * what came: no token of a stream takes less than four bytes. What a model thinks need not be sent, so there the reservation counts, as
 * it does where nothing was said.
 */
function usedBy(
  { thinking }: JsonObject,
  reserved: ModelUsage,
  counted: Counted | null,
  bytes: number,
): { readonly usage: ModelUsage; readonly assumedTokens: number } {
  if (counted === null) return { usage: reserved, assumedTokens: tokensOf(reserved) }
  const { usage, isFinal } = counted
  if (isFinal) return { usage, assumedTokens: 0 }
  const isThinking = isMap(thinking) && thinking.type !== 'disabled'
  const most = isThinking ? reserved.outputTokens : Math.min(reserved.outputTokens, Math.ceil(bytes / 4))
  const outputTokens = Math.max(usage.outputTokens, most)
  return { usage: { ...usage, outputTokens }, assumedTokens: outputTokens - usage.outputTokens }
}

class LedElsewhere extends Error {
  override readonly name = 'LedElsewhere'
}

async function send(call: Call, body: JsonObject): Promise<PassedResponse> {
  const { room, asked, agent, place, path, passing } = call
  const upstream = await sendToProvider(
    place,
    {
      path,
      headers: redactedHeaders(passedRequestHeaders(asked.headers), room.redaction),
      body: JSON.stringify(body),
      signal: room.breaking,
    },
    room.limits.idleMs,
  )
  if (upstream.status >= 300 && upstream.status < 400) {
    upstream.body.destroy()
    // A provider has no reason to redirect, and the agent must not follow.
    throw new LedElsewhere(`the provider answered with ${upstream.status}`)
  }
  return await passOn(upstream, agent, passing)
}

function redactedHeaders(
  headers: { readonly [name: string]: string },
  redaction: Redaction,
): { readonly [name: string]: string } {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, redaction.text(value)]))
}

function record(call: Call, body: Json, { status, headers, body: text, counted }: PassedResponse): void {
  const { room, of, path, place } = call
  const kept = Object.entries(headers).filter(([name]) => KEPT_HEADERS.includes(name))
  const exchange: ModelExchange = {
    request: { path: `${new URL(place.url).pathname.replace(/\/$/, '')}${path}`, body },
    response: { status, headers: Object.fromEntries(kept), body: text },
    ...(counted === null ? {} : { wireUsage: counted.wireUsage }),
  }
  if (room.ledger.record(of, exchange)) written(call, () => room.keep(of, exchange))
}

function refuseUnanswered({ agent, asked, name }: Call, error: unknown): void {
  if (error instanceof UpstreamSilent)
    return refuseTo(agent, asked.route.wire, 'timeout', `${name} did not answer in time`)
  const code = (error as { readonly code?: unknown } | null)?.code
  const why = error instanceof LedElsewhere ? error.message : typeof code === 'string' ? code : 'no answer'
  refuseTo(agent, asked.route.wire, 'provider', `${name} cannot be reached: ${why}`)
}

const refuseBudget = ({ agent, asked }: Call, reason: string): void =>
  refuseTo(agent, asked.route.wire, 'budget', `${reason}. The task is paused, and a person is asked for more`)

export function refuseTo(agent: ServerResponse, wire: GatewayWire, kind: RefusalKind, message: string): void {
  if (agent.destroyed) return
  if (agent.headersSent) return void agent.destroy()
  const { status, body } = WIRE_RULES[wire].refusal(kind, `planfold: ${message}`)
  const text = JSON.stringify(body)
  agent.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    // Another try would end the same; where the provider was at fault, it might not.
    ...(kind === 'provider' || kind === 'timeout' ? {} : NO_RETRY),
  })
  agent.end(text)
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
