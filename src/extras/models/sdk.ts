// The AI SDK, and the only file that knows it. Loaded when a model is called, because it takes a while. It speaks the protocol of each
// provider; what a request may use, what it used and what is kept of it is decided by whoever asks (`CallGuard`).

import {
  type EmbeddingModel,
  embedMany,
  generateText,
  jsonSchema,
  stepCountIs,
  streamText,
  type ToolSet,
  tool,
  wrapLanguageModel,
} from 'ai'
import type { Json, JsonObject } from '../../domain/json.ts'
import { type ModelUsage, NO_USAGE } from '../../domain/model-use.ts'
import { validateJson } from '../../format/expression/json-validation.ts'
import type { EmbeddingQuestion, ModelTool, ProviderType, TextQuestion } from '../../runners/models.ts'
import { ModelError, modelFailure } from './model-failure.ts'
import { CALL_HEADER } from './wire.ts'

type LanguageModel = Parameters<typeof wrapLanguageModel>[0]['model']
type Middleware = Exclude<Parameters<typeof wrapLanguageModel>[0]['middleware'], readonly unknown[]>
type CallOptions = Parameters<LanguageModel['doGenerate']>[0]
type SdkUsage = Awaited<ReturnType<LanguageModel['doGenerate']>>['usage']

export interface ModelPlace {
  readonly type: ProviderType
  readonly id: string
  readonly url: string
  readonly key: string | null
}

export interface CallGuard {
  begin(inputBytes: number, outputTokensMax: number): Promise<GuardedCall>
}

export interface GuardedCall {
  readonly id: string
  readonly outputTokens: number
  answered(read: {
    readonly usage: ModelUsage | null
    readonly wireUsage?: Json
    readonly providerMetadata?: Json
    readonly outputBytes: number
  }): void
  failed(error: unknown): void
}

export interface SdkQuestion extends TextQuestion {
  readonly outputTokensMax: number
  readonly stepsMax: number
  readonly answer?: { readonly schema: JsonObject; readonly name: string }
}

export interface SdkAnswer {
  readonly text: string
  readonly finish: 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other'
}
/** Our own failures say what is wrong; the library's warnings would only go to standard error. */
;(globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false

/** One question, with as many requests as its tools need. Throws what the library throws. */
export async function askModel(
  place: ModelPlace,
  fetch: typeof globalThis.fetch,
  guard: CallGuard,
  question: SdkQuestion,
): Promise<SdkAnswer> {
  const model = wrapLanguageModel({
    model: await languageModel(place, fetch),
    middleware: guarded(guard, question, place.type),
  })
  const options = {
    model,
    ...(question.system === undefined ? {} : { system: question.system }),
    messages: question.messages.map(({ role, text }) => ({ role, content: text })),
    tools: toolsOf(question.tools ?? []),
    stopWhen: stepCountIs(question.stepsMax),
    maxOutputTokens: question.outputTokensMax,
    maxRetries: 0,
    ...(question.signal === undefined ? {} : { abortSignal: question.signal }),
  }
  if (question.onText === undefined) {
    const { text, finishReason } = await generateText(options)
    return { text, finish: finishReason }
  }
  const stream = streamText({ ...options, onError: () => {} })
  for await (const part of stream.fullStream) {
    if (part.type === 'text-delta') question.onText(part.text)
    else if (part.type === 'error') throw part.error
    else if (part.type === 'abort') throw new DOMException('stopped', 'AbortError')
  }
  return { text: await stream.text, finish: await stream.finishReason }
}

/** The vectors of these texts, in one request. Throws what the library throws. */
export async function embedTexts(
  place: ModelPlace,
  fetch: typeof globalThis.fetch,
  guard: CallGuard,
  { texts, signal }: EmbeddingQuestion,
): Promise<readonly (readonly number[])[]> {
  const model = await embeddingModel(place, fetch)
  const call = await guard.begin(Buffer.byteLength(texts.join('')), 0)
  try {
    const { embeddings, usage } = await embedMany({
      model,
      values: [...texts],
      maxRetries: 0,
      headers: { [CALL_HEADER]: call.id },
      ...(signal === undefined ? {} : { abortSignal: signal }),
    })
    const isCounted = Number.isFinite(usage.tokens)
    call.answered({ usage: isCounted ? { ...NO_USAGE, inputTokens: usage.tokens } : null, outputBytes: 0 })
    return embeddings
  } catch (error) {
    call.failed(error)
    throw error
  }
}

async function embeddingModel(
  { type, id, url, key }: ModelPlace,
  fetch: typeof globalThis.fetch,
): Promise<EmbeddingModel> {
  const options = { baseURL: url, apiKey: key ?? '', fetch }
  switch (type) {
    case 'anthropic':
      throw new ModelError(
        modelFailure(
          'model:settings',
          'anthropic has no models for vectors',
          'name one of another provider in `embedding`',
        ),
      )
    case 'openai':
    case 'openai-chat':
      return (await import('@ai-sdk/openai')).createOpenAI(options).embeddingModel(id)
    case 'google':
      return (await import('@ai-sdk/google')).createGoogleGenerativeAI(options).embeddingModel(id)
    case 'openai-compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const { apiKey, ...rest } = options
      return createOpenAICompatible({
        ...rest,
        name: 'compatible',
        ...(apiKey === '' ? {} : { apiKey }),
      }).embeddingModel(id)
    }
    default:
      return type satisfies never
  }
}

async function languageModel(
  { type, id, url, key }: ModelPlace,
  fetch: typeof globalThis.fetch,
): Promise<LanguageModel> {
  const options = { baseURL: url, apiKey: key ?? '', fetch }
  switch (type) {
    case 'anthropic':
      return (await import('@ai-sdk/anthropic')).createAnthropic(options)(id)
    case 'openai':
      return (await import('@ai-sdk/openai')).createOpenAI(options).responses(id)
    case 'openai-chat':
      return (await import('@ai-sdk/openai')).createOpenAI(options).chat(id)
    case 'google':
      return (await import('@ai-sdk/google')).createGoogleGenerativeAI(options)(id)
    case 'openai-compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const { apiKey, ...rest } = options
      return createOpenAICompatible({
        ...rest,
        name: 'compatible',
        ...(apiKey === '' ? {} : { apiKey }),
        includeUsage: true,
        supportsStructuredOutputs: true,
      })(id)
    }
    default:
      return type satisfies never
  }
}

function guarded(guard: CallGuard, { answer, outputTokensMax }: SdkQuestion, type: ProviderType): Middleware {
  const asked = (params: CallOptions, call: GuardedCall): CallOptions => ({
    ...params,
    maxOutputTokens: call.outputTokens,
    headers: { ...params.headers, [CALL_HEADER]: call.id },
    ...(answer === undefined
      ? {}
      : {
          responseFormat: {
            type: 'json',
            schema: answer.schema as CallOptions['responseFormat'] & object,
            name: answer.name,
          } as never,
        }),
    // Any JSON Schema is allowed, not only the strict kind; what comes back is checked by us.
    providerOptions: { ...params.providerOptions, ...LENIENT[type] },
  })
  const begin = (params: CallOptions) =>
    guard.begin(Buffer.byteLength(JSON.stringify([params.prompt, params.tools ?? [], answer ?? null])), outputTokensMax)
  return {
    specificationVersion: 'v3',
    async wrapGenerate({ model, params }) {
      const call = await begin(params)
      try {
        const result = await model.doGenerate(asked(params, call))
        call.answered({ ...readOf(result), outputBytes: Buffer.byteLength(JSON.stringify(result.content)) })
        return result
      } catch (error) {
        call.failed(error)
        throw error
      }
    },
    async wrapStream({ model, params }) {
      const call = await begin(params)
      try {
        const result = await model.doStream(asked(params, call))
        return { ...result, stream: watched(call, result.stream) }
      } catch (error) {
        call.failed(error)
        throw error
      }
    },
  }
}

type StreamPart =
  Awaited<ReturnType<LanguageModel['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never

/** A stream ends with its usage, with an error, or is cut off. */
function watched(call: GuardedCall, stream: ReadableStream<StreamPart>): ReadableStream<StreamPart> {
  const reader = stream.getReader()
  let isEnded = false
  let outputBytes = 0
  const fail = (error: unknown) => {
    if (!isEnded) call.failed(error)
    isEnded = true
  }
  return new ReadableStream<StreamPart>({
    async pull(controller) {
      try {
        const { done, value: part } = await reader.read()
        if (done && isEnded) return controller.close()
        // Some protocols are closed by the library without a reason that the provider gave.
        const isReasonless =
          part?.type === 'finish' && part.finishReason.raw === undefined && part.finishReason.unified === 'other'
        if (done || (isReasonless && !isEnded))
          throw new ModelError(modelFailure('model:malformed', 'the answer broke off in the middle'))
        if (part.type === 'text-delta') outputBytes += Buffer.byteLength(part.delta)
        if (part.type === 'error') fail(part.error)
        if (part.type === 'finish' && !isEnded) {
          isEnded = true
          call.answered({ ...readOf(part), outputBytes })
        }
        controller.enqueue(part)
      } catch (error) {
        fail(error)
        controller.error(error)
      }
    },
    async cancel(reason) {
      fail(reason)
      await reader.cancel(reason)
    },
  })
}

const LENIENT: { readonly [type in ProviderType]: CallOptions['providerOptions'] } = {
  anthropic: {},
  google: {},
  openai: { openai: { strictJsonSchema: false } },
  'openai-chat': { openai: { strictJsonSchema: false } },
  'openai-compatible': { compatible: { strictJsonSchema: false } },
}

function readOf({ usage, providerMetadata }: { readonly usage: SdkUsage; readonly providerMetadata?: unknown }) {
  return {
    usage: usageOf(usage),
    ...(usage.raw === undefined ? {} : { wireUsage: usage.raw as Json }),
    ...(providerMetadata === undefined ? {} : { providerMetadata: providerMetadata as Json }),
  }
}

function usageOf({ inputTokens, outputTokens }: SdkUsage): ModelUsage | null {
  if (inputTokens.total === undefined && outputTokens.total === undefined) return null
  return {
    inputTokens: inputTokens.total ?? 0,
    cacheReadTokens: inputTokens.cacheRead ?? 0,
    cacheWriteTokens: inputTokens.cacheWrite ?? 0,
    outputTokens: outputTokens.total ?? 0,
    reasoningTokens: outputTokens.reasoning ?? 0,
  }
}

function toolsOf(tools: readonly ModelTool[]): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, input, run }) => [
      name,
      tool({
        description,
        inputSchema: jsonSchema<Json>(input as Parameters<typeof jsonSchema>[0], {
          validate: value => {
            const [fault] = validateJson(value, input)
            return fault === undefined
              ? { success: true, value: value as Json }
              : { success: false, error: new Error(`${fault.at}: ${fault.message}`) }
          },
        }),
        execute: async (value, { abortSignal }) => await run(value, abortSignal ?? new AbortController().signal),
      }),
    ]),
  )
}
