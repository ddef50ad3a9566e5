// What the gateway knows of each protocol: how long an answer may be, what was used, how a refusal is written. Everything else in a
// request or a response is passed on unread.

import { defined, isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import type { ModelUsage } from '../../../domain/model-use.ts'
import type { GatewayWire } from '../../../runners/model-gateway.ts'
import type { ProviderType } from '../../../runners/models.ts'

export interface WireRules {
  readonly name: string
  readonly providers: readonly ProviderType[]
  readonly known: string
  /** How long each answer may be, in tokens; null when the request does not say. */
  outputLimit(body: JsonObject): number | null
  withOutputLimit(body: JsonObject, tokens: number, provider: ProviderType): JsonObject
  /** A shorter answer would be of no use, or be refused by the provider. */
  leastOutput(body: JsonObject): number
  /** So many answers are asked for at once, each as long as the limit allows. */
  answers(body: JsonObject): number
  /** What one event of a stream says about usage. Later ones complete earlier ones. `isFinal`: nothing is missing any more. */
  usageIn(event: JsonObject): { readonly usage: JsonObject | null; readonly isFinal: boolean }
  wholeUsage(body: JsonObject): JsonObject | null
  count(usage: JsonObject): ModelUsage | null
  refusal(kind: RefusalKind, message: string): { readonly status: number; readonly body: JsonObject }
  environment(url: string, token: string): { readonly [name: string]: string }
}

/** `budget` is the only one that parks the attempt. */
export type RefusalKind = 'request' | 'token' | 'path' | 'size' | 'budget' | 'provider' | 'timeout'

const STATUS: { readonly [kind in RefusalKind]: number } = {
  request: 400,
  token: 401,
  path: 404,
  size: 413,
  budget: 429,
  provider: 502,
  timeout: 504,
}

/** An answer shorter than this is of no use to anybody. */
const OUTPUT_MIN_TOKENS = 64
/** Anthropic refuses to think less. */
const THINKING_MIN_TOKENS = 1024

const anthropic: WireRules = {
  name: 'Anthropic messages',
  providers: ['anthropic'],
  known: 'anthropic',
  outputLimit: body => numberIn(body.max_tokens),
  withOutputLimit: (body, tokens) => {
    const { thinking } = body
    const budget = isMap(thinking) ? numberIn(thinking.budget_tokens) : null
    return {
      ...body,
      max_tokens: tokens,
      // It must stay below the limit of the whole answer.
      ...(budget === null || budget < tokens
        ? {}
        : { thinking: { ...(thinking as JsonObject), budget_tokens: tokens - OUTPUT_MIN_TOKENS } }),
    }
  },
  leastOutput: ({ thinking }) =>
    isMap(thinking) && numberIn(thinking.budget_tokens) !== null
      ? THINKING_MIN_TOKENS + OUTPUT_MIN_TOKENS
      : OUTPUT_MIN_TOKENS,
  answers: () => 1,
  usageIn: event => {
    const usage = isMap(event.message) ? event.message.usage : event.usage
    return { usage: isMap(usage) ? usage : null, isFinal: event.type === 'message_delta' && isMap(usage) }
  },
  wholeUsage: ({ usage }) => (isMap(usage) ? usage : null),
  count: usage => {
    const [plain, read, written, output] = [
      usage.input_tokens,
      usage.cache_read_input_tokens,
      usage.cache_creation_input_tokens,
      usage.output_tokens,
    ].map(countIn)
    return plain === undefined || output === undefined
      ? null
      : {
          inputTokens: plain + (read ?? 0) + (written ?? 0),
          cacheReadTokens: read ?? 0,
          cacheWriteTokens: written ?? 0,
          outputTokens: output,
          reasoningTokens: 0,
        }
  },
  refusal: (kind, message) => {
    const status = kind === 'budget' ? 402 : STATUS[kind]
    return { status, body: { type: 'error', error: { type: ANTHROPIC_TYPES[kind], message } } }
  },
  environment: (url, token) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: token }),
}

const ANTHROPIC_TYPES: { readonly [kind in RefusalKind]: string } = {
  request: 'invalid_request_error',
  token: 'authentication_error',
  path: 'not_found_error',
  size: 'request_too_large',
  budget: 'billing_error',
  provider: 'api_error',
  timeout: 'timeout_error',
}

const OPENAI_TYPES: { readonly [kind in RefusalKind]: string } = {
  request: 'invalid_request_error',
  token: 'invalid_api_key',
  path: 'not_found',
  size: 'request_too_large',
  budget: 'insufficient_quota',
  provider: 'server_error',
  timeout: 'timeout',
}

const openai = {
  providers: ['openai', 'openai-chat', 'openai-compatible'] as const,
  wholeUsage: ({ usage }: JsonObject) => (isMap(usage) ? usage : null),
  leastOutput: () => OUTPUT_MIN_TOKENS,
  refusal: (kind: RefusalKind, message: string) => {
    const type = OPENAI_TYPES[kind]
    return { status: STATUS[kind], body: { error: { message, type, param: null, code: type } } }
  },
  environment: (url: string, token: string) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: token }),
}

/** Some providers count what was thought beside the output, and only the total holds both. */
function openaiCount(usage: JsonObject, names: { input: string; output: string }): ModelUsage | null {
  const input = countIn(usage[names.input])
  const output = countIn(usage[names.output])
  if (input === undefined || output === undefined) return null
  const detail = (side: string, name: string): number => {
    const details = usage[`${side}_details`]
    return (isMap(details) ? countIn(details[name]) : undefined) ?? 0
  }
  return {
    inputTokens: input,
    cacheReadTokens: detail(names.input, 'cached_tokens'),
    cacheWriteTokens: 0,
    outputTokens: Math.max(output, (countIn(usage.total_tokens) ?? 0) - input),
    reasoningTokens: detail(names.output, 'reasoning_tokens'),
  }
}

const chat: WireRules = {
  ...openai,
  name: 'OpenAI chat completions',
  known: 'openai-chat',
  // Where both are given, which of them holds is the provider's choice.
  outputLimit: body => {
    const given = [body.max_completion_tokens, body.max_tokens].map(numberIn).filter(value => value !== null)
    return given.length === 0 ? null : Math.max(...given)
  },
  withOutputLimit: (body, tokens, provider) => {
    const names = ['max_completion_tokens', 'max_tokens'].filter(name => (body[name] ?? null) !== null)
    const own = provider === 'openai-compatible' ? 'max_tokens' : 'max_completion_tokens'
    const limits = (names.length === 0 ? [own] : names).map(name => [
      name,
      Math.min(tokens, numberIn(body[name]) ?? tokens),
    ])
    return { ...body, ...Object.fromEntries(limits) }
  },
  answers: ({ n }) => Math.max(1, numberIn(n) ?? 1),
  usageIn: ({ usage }) => ({ usage: isMap(usage) ? usage : null, isFinal: isMap(usage) }),
  count: usage => openaiCount(usage, { input: 'prompt_tokens', output: 'completion_tokens' }),
}

const RESPONSE_ENDED = new Set(['response.completed', 'response.incomplete', 'response.failed'])

const responses: WireRules = {
  ...openai,
  name: 'OpenAI responses',
  known: 'openai',
  outputLimit: body => numberIn(body.max_output_tokens),
  withOutputLimit: (body, tokens) => ({ ...body, max_output_tokens: tokens }),
  answers: () => 1,
  usageIn: ({ type, response }) => {
    const usage = RESPONSE_ENDED.has(String(type)) && isMap(response) ? response.usage : null
    return { usage: isMap(usage) ? usage : null, isFinal: isMap(usage) }
  },
  count: usage => openaiCount(usage, { input: 'input_tokens', output: 'output_tokens' }),
}

const GEMINI_STATUS: { readonly [kind in RefusalKind]: string } = {
  request: 'INVALID_ARGUMENT',
  token: 'UNAUTHENTICATED',
  path: 'NOT_FOUND',
  size: 'INVALID_ARGUMENT',
  budget: 'RESOURCE_EXHAUSTED',
  provider: 'UNAVAILABLE',
  timeout: 'DEADLINE_EXCEEDED',
}

const gemini: WireRules = {
  name: 'Gemini generateContent',
  providers: ['google'],
  known: 'google',
  outputLimit: body => numberIn(configOf(body).maxOutputTokens),
  withOutputLimit: (body, tokens) => ({
    ...without(body, 'generation_config'),
    generationConfig: { ...configOf(body), maxOutputTokens: tokens },
  }),
  leastOutput: () => OUTPUT_MIN_TOKENS,
  answers: body => Math.max(1, numberIn(configOf(body).candidateCount) ?? 1),
  usageIn: ({ usageMetadata, candidates, promptFeedback }) => ({
    usage: isMap(usageMetadata) ? usageMetadata : null,
    isFinal:
      (Array.isArray(candidates) && candidates.some(one => isMap(one) && typeof one.finishReason === 'string')) ||
      (isMap(promptFeedback) && promptFeedback.blockReason !== undefined),
  }),
  wholeUsage: ({ usageMetadata }) => (isMap(usageMetadata) ? usageMetadata : null),
  count: usage => {
    const prompt = countIn(usage.promptTokenCount)
    if (prompt === undefined) return null
    const thoughts = countIn(usage.thoughtsTokenCount) ?? 0
    return {
      inputTokens: prompt + (countIn(usage.toolUsePromptTokenCount) ?? 0),
      cacheReadTokens: countIn(usage.cachedContentTokenCount) ?? 0,
      cacheWriteTokens: 0,
      outputTokens: (countIn(usage.candidatesTokenCount) ?? 0) + thoughts,
      reasoningTokens: thoughts,
    }
  },
  refusal: (kind, message) => ({
    status: STATUS[kind],
    body: { error: { code: STATUS[kind], message, status: GEMINI_STATUS[kind] } },
  }),
  environment: (url, token) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: token }),
}

/** Google reads two spellings of every name; afterwards there is one. */
function configOf({ generationConfig, generation_config }: JsonObject): JsonObject {
  const { max_output_tokens, candidate_count, ...config } = {
    ...(isMap(generation_config) ? generation_config : {}),
    ...(isMap(generationConfig) ? generationConfig : {}),
  } as JsonObject
  return {
    ...defined({ maxOutputTokens: max_output_tokens, candidateCount: candidate_count }),
    ...config,
  }
}

function without(body: JsonObject, name: string): JsonObject {
  const { [name]: _, ...rest } = body
  return rest
}

export const WIRE_RULES: { readonly [wire in GatewayWire]: WireRules } = {
  anthropic,
  'openai-chat': chat,
  'openai-responses': responses,
  gemini,
}

const numberIn = (value: Json | undefined): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.floor(value) : null

const countIn = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
