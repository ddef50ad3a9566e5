// One drafting or one task with one model: every request is limited, listed, sent once, recorded and counted here.

import type { SettingsCaps, Spend } from '../../domain/budget/amounts.ts'
import { defined, type Json, type JsonObject } from '../../domain/json.ts'
import { type ModelUsage, NO_USAGE, tokensOf } from '../../domain/model-use.ts'
import type { Failure } from '../../domain/result.ts'
import { validateJson } from '../../format/expression/json-validation.ts'
import { RESERVED_KEYS } from '../../format/text/json.ts'
import { printDuration } from '../../format/text/units.ts'
import type {
  CallBudget,
  EmbeddingQuestion,
  Model,
  ModelAnswer,
  ModelCaps,
  ModelExchange,
  ModelMessage,
  ModelRecording,
  ModelSpending,
  ObjectQuestion,
  PriceRow,
  TextQuestion,
} from '../../runners/models.ts'
import { redactor, streamRedactor } from '../../safety/secrets/redaction.ts'
import type { CallList } from './call-list.ts'
import { Meter, type Reservation, type Reserved } from './meter.ts'
import { failureOfCall, isUnsent, ModelError, modelFailure } from './model-failure.ts'
import { costOf } from './price-table.ts'
import type { Raising } from './raise-caps.ts'
import type { RateClock, RateLimit } from './rate-limit.ts'
import type { CallGuard, GuardedCall, ModelPlace, SdkAnswer } from './sdk.ts'
import type { Wire } from './wire.ts'

export interface SessionRoom {
  readonly name: string
  readonly place: ModelPlace
  readonly price: PriceRow | null
  readonly purpose: string
  readonly payer: string | null
  readonly wire: Wire
  readonly limit: RateLimit | null
  /** Null in a replay: nothing is sent, so nothing is listed. */
  readonly calls: CallList | null
  readonly caps: ModelCaps
  readonly before: ModelSpending
  readonly outputTokens: number
  readonly clock: RateClock & { readonly now: () => number }
  readonly newId: () => string
  readonly raising?: Raising
  /** Stores answers as they come, for a repeat of the same questions. Absent: they are not needed again. */
  readonly kept?: { append(exchange: ModelExchange): void; drop(): void; readonly earlier: number }
  /** Absent in a replay, and where no plan pays. `settings`: what the user wrote, as it is now. */
  readonly budget?: CallBudget & { readonly settings: () => Promise<SettingsCaps | undefined> }
}

const STEPS_MAX = 8
const REPAIRS_MAX = 2
const BYTES_PER_TOKEN = 3

export function openSession(room: SessionRoom): Model {
  const session = new Meter(room.caps, room.price, room.before)
  return {
    name: room.name,
    text: question => askText(room, session, question),
    object: question => askObject(room, session, question),
    embed: question => askVectors(room, session, question),
    callsTools: room.place.type !== 'google' && room.place.type !== 'openai-compatible',
    spent: () => session.spent,
    recording: () => recordingOf(room),
    earlier: room.kept?.earlier ?? 0,
    forget: () => room.kept?.drop(),
  }
}

function recordingOf({ name, place, price, wire }: SessionRoom): ModelRecording {
  return {
    planfold: 'model-recording',
    version: 1,
    model: name,
    provider: place.type,
    url: place.url,
    price,
    exchanges: wire.exchanges(),
  }
}

async function askText(room: SessionRoom, session: Meter, question: TextQuestion): Promise<ModelAnswer<string>> {
  const own = new Meter(question.caps ?? {}, room.price)
  const said = await ask(room, [session, own], question)
  if (!said.ok) return { ok: false, failure: said.failure, ...own.spent }
  const failure = endedBadly(room, question, said)
  return failure === null
    ? { ok: true, value: said.answer.text, repairs: 0, ...own.spent }
    : { ok: false, failure, text: said.answer.text, ...own.spent }
}

async function askObject(room: SessionRoom, session: Meter, question: ObjectQuestion): Promise<ModelAnswer<Json>> {
  const own = new Meter(question.caps ?? {}, room.price)
  const { schema, schemaName = 'answer', repairsMax = REPAIRS_MAX, check } = question
  const asked = { ...question, answer: { schema, name: schemaName }, ...(await describeTo(room, question)) }
  let messages: readonly ModelMessage[] = question.messages
  for (let repairs = 0; ; repairs++) {
    const said = await askPatiently(room, [session, own], { ...asked, messages })
    if (!said.ok) return { ok: false, failure: said.failure, ...own.spent }
    const { text } = said.answer
    const ended = endedBadly(room, question, said)
    // The next answer would be paid for and cut off as well.
    const isHopeless = ended?.code === 'model:refused' || ended?.code === 'model:truncated'
    const read = isHopeless ? ({ ok: false, faults: [] } as const) : readAnswer(text, schema, check)
    if (read.ok) return { ok: true, value: read.value, repairs, ...own.spent }
    if (isHopeless || repairs >= repairsMax) {
      const failure =
        ended ??
        modelFailure(
          'model:malformed',
          `${room.name} did not answer as asked, also after ${repairs} repairs: ${read.faults[0]}`,
          'look at what it said, ask more simply, or use another model',
        )
      return { ok: false, failure, text, ...own.spent }
    }
    const repair = repairRequest(read.faults)
    // A provider may refuse an empty message.
    const before: ModelMessage[] = text.trim() === '' ? [] : [{ role: 'assistant', text: clipped(text) }]
    messages = [...question.messages, ...before, { role: 'user', text: repair }]
  }
}

async function askVectors(
  room: SessionRoom,
  session: Meter,
  question: EmbeddingQuestion,
): Promise<ModelAnswer<readonly (readonly number[])[]>> {
  const own = new Meter({}, room.price)
  const { embedTexts } = await import('./sdk.ts')
  const said = await sent(room, [session, own], { messages: [], ...question }, async guard => ({
    vectors: await embedTexts(room.place, room.wire.fetch, guard, question),
  }))
  if ('failure' in said) return { ok: false, failure: said.failure, ...own.spent }
  const { vectors } = said.answer
  const isWhole =
    vectors.length === question.texts.length &&
    vectors.every(one => one.length > 0 && one.length === vectors[0]!.length && one.every(Number.isFinite))
  return isWhole
    ? { ok: true, value: vectors, repairs: 0, ...own.spent }
    : { ok: false, failure: modelFailure('model:malformed', `${room.name} did not answer with vectors`), ...own.spent }
}

/** Compatible servers may not know JSON Schema, so the prompt has the schema too. */
async function describeTo({ place }: SessionRoom, { system, schema }: ObjectQuestion): Promise<{ system?: string }> {
  if (place.type !== 'openai-compatible') return {}
  const words = `Answer only with JSON that follows this JSON Schema:\n${JSON.stringify(schema)}`
  return { system: system === undefined ? words : `${system}\n\n${words}` }
}

const REPAIR_TEXT_MAX = 20_000
const clipped = (text: string): string => (text.length > REPAIR_TEXT_MAX ? `${text.slice(0, REPAIR_TEXT_MAX)}…` : text)

function endedBadly(
  { name, wire }: SessionRoom,
  { stepsMax = STEPS_MAX }: TextQuestion,
  { answer, outputTokens }: Extract<Said, { readonly ok: true }>,
): Failure | null {
  const refusal = refusalIn(wire.of(answer.call))
  if (answer.finish === 'content-filter' || refusal !== null)
    return modelFailure('model:refused', `${name} declined to answer${refusal === null ? '' : `: ${refusal}`}`)
  if (answer.finish === 'length')
    return modelFailure(
      'model:truncated',
      `the answer of ${name} was cut off after ${outputTokens} tokens`,
      'raise `output_tokens` of the model in your settings, or the limit of tokens (`caps`, `--budget`), or ask for less',
    )
  if (answer.finish === 'tool-calls')
    return modelFailure('model:malformed', `${name} called tools ${stepsMax} times and did not answer`)
  return answer.text.trim() === '' ? modelFailure('model:malformed', `the answer of ${name} is empty`) : null
}

type Asked = SdkAnswer & { readonly call: string }

type Said =
  | { readonly ok: true; readonly answer: Asked; readonly outputTokens: number }
  | { readonly ok: false; readonly failure: Failure }

type Question = TextQuestion & {
  readonly answer?: { readonly schema: ObjectQuestion['schema']; readonly name: string }
}

const BUSY: ReadonlySet<string> = new Set(['model:rate-limit', 'model:overloaded'])
const WAITS_MAX = 4
const WAIT_MAX_MS = 120_000
const WAIT_MS = 2_000

/** Asks a busy provider again after the time it names, if the caller can show that. The rate limit waits. */
async function askPatiently(room: SessionRoom, meters: readonly Meter[], question: Question): Promise<Said> {
  for (let waits = 0; ; waits++) {
    const said = await ask(room, meters, question)
    if (said.ok || question.onWait === undefined || !BUSY.has(said.failure.code ?? '')) return said
    const { message, retryAfterMs = WAIT_MS * 2 ** waits } = said.failure
    const wait = printDuration(Math.ceil(retryAfterMs / 1000) * 1000)
    const isTooLong = retryAfterMs > WAIT_MAX_MS
    if (isTooLong || waits >= WAITS_MAX) {
      const why = isTooLong
        ? `It asks to wait ${wait}; no longer than ${printDuration(WAIT_MAX_MS)} is waited`
        : `It was asked ${waits + 1} times`
      const failure = { ...said.failure, message: `${message}. ${why}`, hint: 'try again later, or use another model' }
      return { ok: false, failure }
    }
    question.onWait(`${message}; asking again in ${wait}`)
    room.limit?.pause(retryAfterMs)
  }
}

async function ask(room: SessionRoom, meters: readonly Meter[], question: Question): Promise<Said> {
  const { askModel } = await import('./sdk.ts')
  const said = await sent(room, meters, question, async (guard, last) => {
    // A server could send a secret in two parts of a stream, so the text is looked at as well.
    const parts = streamRedactor(room.wire.secrets)
    const { onText } = question
    const tell = (part: string) => part !== '' && onText?.(part)
    const answer = await askModel(room.place, room.wire.fetch, guard, {
      ...question,
      ...(onText === undefined ? {} : { onText: part => tell(parts.next(part)) }),
      stepsMax: question.stepsMax ?? STEPS_MAX,
      outputTokensMax: Math.min(question.outputTokensMax ?? room.outputTokens, room.outputTokens),
    })
    tell(parts.end())
    const text = redactor(room.wire.secrets)(answer.text)
    if (text !== answer.text) room.wire.drop(last().id)
    return { ...answer, text }
  })
  if ('failure' in said) return { ok: false, failure: said.failure }
  const { answer, last } = said
  return { ok: true, answer: { ...answer, call: last.id }, outputTokens: last.outputTokens }
}

type Sent = Pick<GuardedCall, 'id' | 'outputTokens'>

/** Each request that `work` sends is within the limits, in the list of calls, and counted. */
async function sent<T>(
  room: SessionRoom,
  meters: readonly Meter[],
  question: Question,
  work: (guard: CallGuard, last: () => Sent) => Promise<T>,
): Promise<{ readonly answer: T; readonly last: Sent } | { readonly failure: Failure }> {
  const { clock } = room
  let last: Sent = { id: '', outputTokens: 0 }
  const settling: Promise<void>[] = []
  const sent: string[] = []
  try {
    question.signal?.throwIfAborted()
    const guard: CallGuard = {
      begin: async (inputBytes, outputTokensMax) => {
        const call = await begin(room, meters, question, { inputBytes, outputTokensMax }, settling, sent)
        last = call
        return call
      },
    }
    const answer = await work(guard, () => last)
    keep(room, sent)
    return { answer, last }
  } catch (error) {
    const failure = failureOfCall(question.signal?.aborted === true ? abortOf(error) : error, room.name, clock.now())
    if (failure.retryAfterMs !== undefined) room.limit?.pause(failure.retryAfterMs)
    return { failure }
  } finally {
    // Before the result is reported: what is unsettled when the attempt ends counts as spent in full.
    await Promise.all(settling)
  }
}

/** A paid answer is on disk before it is used. */
function keep({ kept, wire }: SessionRoom, sent: readonly string[]): void {
  if (kept === undefined) return
  for (const call of sent) {
    const exchange = wire.of(call)
    if (exchange === null) continue
    const { request, response, wireUsage, providerMetadata } = exchange
    kept.append({
      ...{ request, response },
      ...defined({ wireUsage, providerMetadata }),
    })
  }
}

const abortOf = (error: unknown): unknown =>
  error instanceof ModelError ? error : new DOMException('stopped', 'AbortError')

/** Before a request is sent: the caps are asked, its turn is waited for, and it is listed with the most that it can use. */
async function begin(
  room: SessionRoom,
  meters: readonly Meter[],
  { signal, purpose = room.purpose }: TextQuestion,
  { inputBytes, outputTokensMax }: { readonly inputBytes: number; readonly outputTokensMax: number },
  settling: Promise<void>[],
  sent: string[],
): Promise<GuardedCall> {
  const { clock, wire, calls, price } = room
  const { outputTokens, most } = await holdWithin(room, meters, inputBytes, outputTokensMax)
  let counted: (tokens: number) => void = () => {}
  let reserved: string | null = null
  try {
    reserved = await reserveCall(room, inputBytes, outputTokens, signal)
    counted = (await room.limit?.turn(most.usage.inputTokens + outputTokens, signal)) ?? counted
  } catch (error) {
    for (const meter of meters) meter.release(most)
    if (reserved !== null) settling.push(room.budget!.settle(reserved, {}))
    throw error
  }
  const id = room.newId()
  const began = clock.monotonic()
  const { name: model, payer } = room
  let isSent = false
  wire.onSend(id, () => {
    isSent = true
    sent.push(id)
    calls?.begin({ id, at: clock.now(), model, purpose, payer, ...most })
  })
  const end = (
    status: 'answered' | 'failed' | 'cut off',
    code: string | null,
    usage: ModelUsage,
    isCounted: boolean,
  ) => {
    const used = { usage, cost: costOf(usage, price) }
    counted(usage.inputTokens + usage.outputTokens)
    for (const meter of meters) meter.settle(most, used)
    // If the usage is unknown, the whole reservation stays spent.
    // An answer that was kept was paid for when it was sent.
    const spent = isSent ? spendOf(used) : {}
    if (reserved !== null && (isCounted || !isSent)) settling.push(room.budget!.settle(reserved, spent))
    const durationMs = Math.round(clock.monotonic() - began)
    const assumedTokens = isCounted ? 0 : tokensOf(usage)
    if (isSent) calls?.end(id, { status, code, durationMs, assumedTokens, ...used })
  }
  return {
    id,
    outputTokens,
    answered: ({ usage, wireUsage, providerMetadata, outputBytes }) => {
      wire.note(id, {
        ...defined({ wireUsage, providerMetadata }),
      })
      // An answer for which nothing was counted was not counted.
      end('answered', null, usage ?? estimate(most, outputBytes), usage !== null && tokensOf(usage) > 0)
    },
    failed: error => {
      const failure = failureOfCall(signal?.aborted === true ? abortOf(error) : error, model, clock.now())
      // A refused call counts nothing. If the usage is unknown, the most counts.
      const isFree = FREE.has(failure.code ?? '') || isUnsent(error)
      end(
        failure.code === 'model:cancelled' ? 'cut off' : 'failed',
        failure.code ?? null,
        isFree ? NO_USAGE : most.usage,
        isFree,
      )
    },
  }
}

interface Held {
  readonly ok: true
  readonly outputTokens: number
  readonly most: Reservation
}

async function holdWithin(
  { price, raising }: SessionRoom,
  meters: readonly Meter[],
  inputBytes: number,
  outputTokensMax: number,
): Promise<Held> {
  for (;;) {
    const held = holdNow(price, meters, inputBytes, outputTokensMax)
    if (held.ok) return held
    const { failure, short, meter } = held
    // The second limit is that of the question; only its caller knows the reason for it.
    if (short === undefined || raising === undefined || meter !== meters[0]) throw new ModelError(failure)
    const raised = await raising.ask(short, failure)
    const hint = raising.hint(short)
    if (raised === null) throw new ModelError({ ...failure, ...(hint === undefined ? {} : { hint }) })
    meter.raise(raised)
  }
}

/** At once, so that questions asked at the same time cannot pass a cap together. */
function holdNow(
  price: PriceRow | null,
  meters: readonly Meter[],
  inputBytes: number,
  outputTokensMax: number,
): Held | (Extract<Reserved, { readonly ok: false }> & { readonly meter: Meter }) {
  let outputTokens = outputTokensMax
  let inputTokens = 0
  for (const meter of meters) {
    const reserved = meter.reserve(inputBytes, outputTokens)
    if (!reserved.ok) return { ...reserved, meter }
    // The longest input that any of them expects, and the shortest answer that any of them allows.
    outputTokens = reserved.outputTokens
    inputTokens = Math.max(inputTokens, reserved.reservation.usage.inputTokens)
  }
  const usage = { ...NO_USAGE, inputTokens, outputTokens }
  const most = { usage, cost: costOf(usage, price) }
  for (const meter of meters) meter.hold(most)
  return { ok: true, outputTokens, most }
}

/** Reserves from the plan's budget. No token is shorter than a byte, so the bytes of the input are an upper bound. */
async function reserveCall(
  { budget, price, calls }: SessionRoom,
  inputBytes: number,
  outputTokens: number,
  signal: AbortSignal | undefined,
): Promise<string | null> {
  if (budget === undefined || calls === null) return null
  const inputTokens = inputBytes + INPUT_EXTRA_TOKENS
  const usage = { ...NO_USAGE, inputTokens, outputTokens }
  const cost = costOf(price?.cacheWrite === undefined ? usage : { ...usage, cacheWriteTokens: inputTokens }, price)
  const plain = costOf(usage, price)
  const dearer = cost.known && plain.known && plain.usd > cost.usd ? plain : cost
  const held = await budget.reserve(spendOf({ usage, cost: dearer }), { signal, settings: budget.settings })
  if (!held.ok) throw new ModelError(held.failure)
  return held.id
}

const INPUT_EXTRA_TOKENS = 1_024

const spendOf = ({ usage, cost }: Reservation): Spend => ({
  calls: 1,
  tokens: tokensOf(usage),
  cost: cost.known ? cost.usd : null,
})

const FREE: ReadonlySet<string> = new Set([
  'model:rate-limit',
  'model:auth',
  'model:bad-request',
  'model:overloaded',
  'model:not-recorded',
])

function estimate({ usage }: Reservation, outputBytes: number): ModelUsage {
  return { ...usage, outputTokens: Math.min(usage.outputTokens, Math.ceil(outputBytes / BYTES_PER_TOKEN)) }
}

/** What a model said instead of an answer. Two protocols have a field for it that the library does not read. */
function refusalIn(exchange: ModelExchange | null): string | null {
  if (exchange === null || !exchange.response.body.includes('refusal')) return null
  try {
    const body = JSON.parse(exchange.response.body) as {
      readonly choices?: readonly { readonly message?: { readonly refusal?: unknown } }[]
      readonly output?: readonly { readonly content?: readonly { readonly refusal?: unknown }[] }[]
    }
    const said =
      body.choices?.[0]?.message?.refusal ?? body.output?.flatMap(({ content }) => content ?? []).at(-1)?.refusal
    return typeof said === 'string' && said !== '' ? said.slice(0, 300) : null
  } catch {
    return null
  }
}

// From what a model said to JSON that follows a schema, and what to tell the model when it does not.

type ReadAnswer =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly faults: readonly string[] }

const FAULTS_SHOWN = 12

function readAnswer(
  text: string,
  schema: JsonObject,
  check: (value: Json) => readonly string[] = () => [],
): ReadAnswer {
  const value = jsonIn(text)
  if (value === undefined)
    return { ok: false, faults: [text.trim() === '' ? 'the answer is empty' : 'the answer is not JSON'] }
  const faults = validateJson(value, schema).map(({ at, message }) => `${at}: ${message}`)
  const wrong = faults.length > 0 ? faults : check(value)
  return wrong.length === 0 ? { ok: true, value } : { ok: false, faults: wrong.slice(0, FAULTS_SHOWN) }
}

/** The answer itself, or the block of JSON in it: models like to say something before and after. */
function jsonIn(text: string): Json | undefined {
  const trimmed = text.trim()
  const fenced = /```(?:json)?\s*\n([\s\S]*?)\n\s*```/.exec(trimmed)?.[1]
  const from = trimmed.search(/[{[]/)
  const to = Math.max(trimmed.lastIndexOf('}'), trimmed.lastIndexOf(']'))
  for (const candidate of [trimmed, fenced, from < 0 ? undefined : trimmed.slice(from, to + 1)]) {
    const value = candidate === undefined ? undefined : parse(candidate)
    if (value !== undefined) return value
  }
  return undefined
}

/** Plain data only: a key that reaches into JavaScript's own objects makes it no JSON of ours. */
function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text, (key, value) => {
      if (RESERVED_KEYS.has(key)) throw new SyntaxError(key)
      return value
    })
  } catch {
    return undefined
  }
}

function repairRequest(faults: readonly string[]): string {
  const lines = [
    'Your answer cannot be used:',
    ...faults.map(fault => `- ${fault}`),
    'Answer again, with the whole JSON and nothing else.',
  ]
  return lines.join('\n')
}
