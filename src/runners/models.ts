// The interface of language models, implemented by `extras/models`: every call is recorded, metered and capped. A model never throws: it
// answers with a value or with a failure whose `code` says what kind it is. It sends each request once; retries belong to the engine.
//
// A planner or a runner opens one session for one drafting or one task. The caps cover all calls of the session together:
//
//   const opened = await models.open({ use: 'anthropic/NAME', purpose: 'draft', caps: { calls: 8, usd: 1 } })
//   if (!opened.ok) return opened.failure
//   const answer = await opened.model.object({ messages: [{ role: 'user', text: goal }], schema, signal })
//   if (answer.ok) use(answer.value, answer.usage, answer.cost)
//   const recording = opened.model.recording()          // plain JSON: keep it with the plan
//
// To replay, open with that recording and ask the same again. Nothing is sent, nothing is added to the list of calls, and values,
// tokens and cost are the same. A question that was not recorded is answered with the failure `model:not-recorded`:
//
//   await models.open({ purpose: 'draft', replay: recording })

import type { SettingsCaps, Spend } from '../domain/budget/amounts.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import type { ModelCost, ModelUsage } from '../domain/model-use.ts'
import type { Failure } from '../domain/result.ts'
import type { GatewayOpened, GatewayRequest, GatewayWire } from './model-gateway.ts'
import type { Runner } from './runner.ts'

export type { ModelCost, ModelUsage } from '../domain/model-use.ts'
export type {
  Allowance,
  GatewayOpened,
  GatewayParked,
  GatewayReport,
  GatewayRequest,
  GatewayWire,
  Spending,
  SpentAmount,
} from './model-gateway.ts'

export interface Models {
  /** The models of the settings, the default, and `besides`. Sends and throws nothing: bad settings are in `faults`. */
  list(besides?: readonly string[]): Promise<ModelList>
  /** One drafting or one task with one model. Sends nothing yet. */
  open(request: OpenRequest): Promise<Opened>
  /** What a coding agent speaks to instead of a provider, for one attempt. */
  openGateway(request: GatewayRequest): Promise<GatewayOpened>
  /** Every call that was sent from this state folder, oldest first. A call that was cut off has no end. */
  calls(): Promise<readonly ModelCallRecord[]>
  /** What the tasks of one plan asked, by model. */
  usageOf(plan: string): Promise<readonly (ModelUsageSum & { readonly model: string })[]>
}

/** The extra that asks language models. */
export interface ModelsExtra {
  modelsAt(place: ModelsPlace): Models
  modelRunner(options: { readonly models: Models }): Runner
}

export interface ModelsPlace {
  readonly environment: { readonly [name: string]: string | undefined }
  readonly root: string
  readonly stateDir: string
}

export interface ModelUsageSum {
  readonly calls: number
  readonly failed: number
  /** Calls whose end nobody saw; they count with what was said of them, else with the most they can have used. */
  readonly cutOff: number
  /** Tokens in `usage` that nobody counted: of calls that were cut off, and of answers without a count. */
  readonly assumedTokens: number
  readonly usage: ModelUsage
  /** US dollars of all calls whose price is known. */
  readonly usd: number
  /** Calls whose price is not known. */
  readonly unpriced: number
}

export interface OpenRequest {
  /** `provider/name`; the default of the settings when absent. */
  readonly use?: string
  /** What it is for, in one or two words: `draft`, `task`, `test`. Shown by `planfold models usage`. */
  readonly purpose: string
  /** Who pays, for instance the key of a task's visit. Calls of one payer count against one cap, also after a crash or a retry. */
  readonly payer?: string
  /** The limits of the session, where they are lower than those of the settings. */
  readonly caps?: ModelCaps
  /** What a person allows in place of our own limits; never more than those of the settings and `caps`. */
  readonly allowed?: ModelCaps
  /** Asks a person whether more may be used than our own limits say. */
  readonly more?: (question: string) => Promise<boolean>
  /** Answers are kept on disk under this name as they come. Whoever asks the same under it does not pay again, until `Model.forget`. */
  readonly keepAs?: string
  /** The budget of a plan: asked before each request, told after it. */
  readonly budget?: CallBudget
  /** Answer from this recording, and send nothing. */
  readonly replay?: ModelRecording
}

/** As `AttemptBudget` of the runners: what a request can use at most is held before it is sent. */
export interface CallBudget {
  reserve(
    most: Spend,
    options: { readonly signal: AbortSignal | undefined; readonly settings: () => Promise<SettingsCaps | undefined> },
  ): Promise<{ readonly ok: true; readonly id: string } | { readonly ok: false; readonly failure: Failure }>
  settle(id: string, actual: Spend): Promise<void>
}

export type Opened = { readonly ok: true; readonly model: Model } | { readonly ok: false; readonly failure: Failure }

/** One conversation with one model, under one cap. */
export interface Model {
  readonly name: string
  /** Asks for text. With `onText` the answer is streamed, and each part is told as it arrives. */
  text(question: TextQuestion): Promise<ModelAnswer<string>>
  /** Asks for JSON that follows a JSON Schema. An answer that does not is sent back with what is wrong, `repairsMax` times. */
  object(question: ObjectQuestion): Promise<ModelAnswer<Json>>
  /** Vectors of these texts, one each, in one request. Fails for a model that makes none. */
  embed(question: EmbeddingQuestion): Promise<ModelAnswer<readonly (readonly number[])[]>>
  /** May `object` be asked with tools? Gemini refuses both at once, and of servers of their own kind nobody knows. */
  readonly callsTools: boolean
  spent(): ModelSpending
  /** All requests and responses of this session so far: redacted, plain JSON, ready for `replay`. */
  recording(): ModelRecording
  /** So many answers of earlier sessions with the same `keepAs` are there. */
  readonly earlier: number
  /** What is kept for the next session with the same `keepAs` goes: this one came to its end. */
  forget(): void
}

export interface EmbeddingQuestion extends Pick<TextQuestion, 'purpose' | 'signal'> {
  readonly texts: readonly string[]
}

export interface TextQuestion {
  /** What this one question is for, in the list of calls; the purpose of the session when absent. */
  readonly purpose?: string
  readonly system?: string
  readonly messages: readonly ModelMessage[]
  /** Tools that the model may call. Each round of calls is a further request and counts against the caps. */
  readonly tools?: readonly ModelTool[]
  readonly stepsMax?: number
  /** The longest answer, in tokens; less when the caps leave less. */
  readonly outputTokensMax?: number
  /** Tighter limits for this one question, with its repairs and tool calls. */
  readonly caps?: ModelCaps
  readonly signal?: AbortSignal
  readonly onText?: (part: string) => void
  /** Called with the time when a provider is busy and the caller can wait. Absent: busy is a failure at once. */
  readonly onWait?: (note: string) => void
}

export interface ObjectQuestion extends Omit<TextQuestion, 'onText'> {
  /** JSON Schema, with the keywords that `format/expression/json-validation.ts` knows. */
  readonly schema: JsonObject
  /** What the answer is called, for the provider: letters, digits, `_` and `-`. */
  readonly schemaName?: string
  readonly repairsMax?: number
  /** A check beyond the schema: what is wrong, one sentence each. Such an answer is repaired as well. */
  readonly check?: (value: Json) => readonly string[]
}

export interface ModelMessage {
  readonly role: 'user' | 'assistant'
  readonly text: string
}

export interface ModelTool {
  readonly name: string
  readonly description: string
  /** JSON Schema of its input. An input that does not follow it is told to the model, and the tool is not run. */
  readonly input: JsonObject
  /** What it answers with is given to the model. One that throws is told to the model as an error. */
  run(input: Json, signal: AbortSignal): Promise<Json>
}

export type ModelAnswer<T> =
  | ({
      readonly ok: true
      readonly value: T
      readonly repairs: number
    } & ModelSpending)
  | ({
      readonly ok: false
      readonly failure: Failure
      readonly text?: string
    } & ModelSpending)

export interface ModelSpending {
  readonly calls: number
  /** Normalised: `inputTokens` includes what was read from a cache. */
  readonly usage: ModelUsage
  readonly cost: ModelCost
}

/** Hard limits. The next request is not sent when it could pass one of them. */
export interface ModelCaps {
  readonly calls?: number
  readonly tokens?: number
  /** US dollars. A model whose price is not known is refused when this is asked for. */
  readonly usd?: number
}

export interface ModelList {
  readonly default: string | null
  /** The model for vectors, if the settings name one. */
  readonly embedding: string | null
  readonly models: readonly ListedModel[]
  /** Those that have a key: the variable or the file it comes from, never the key. */
  readonly providers: readonly { readonly name: string; readonly key: string }[]
  readonly file: string | null
  readonly faults: readonly { readonly message: string; readonly hint: string }[]
}

export interface ListedModel {
  readonly name: string
  readonly provider: ProviderType
  /** Without user, password and query. */
  readonly url: string
  /** Where the key comes from; the key itself is never shown. */
  readonly key: 'not needed' | 'missing' | { readonly from: string }
  readonly price: PriceRow | null
  /** The protocols in which an agent can ask it. */
  readonly wires: readonly GatewayWire[]
  readonly rate: { readonly requestsPerMinute: number | null; readonly tokensPerMinute: number | null }
}

/** `openai` speaks the responses protocol, `openai-chat` chat completions; `openai-compatible` is any other server with chat completions. */
export type ProviderType = 'anthropic' | 'openai' | 'openai-chat' | 'google' | 'openai-compatible'

/** US dollars for a million tokens. */
export interface PriceRow {
  readonly input: number
  readonly output: number
  /** Input read from a cache; as `input` when absent. */
  readonly cacheRead?: number
  /** Input written to a cache; as `input` when absent. */
  readonly cacheWrite?: number
  readonly checked: string
  readonly source: string
}

export interface ModelCallRecord {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly model: string
  readonly purpose: string
  readonly payer: string | null
  readonly status: 'answered' | 'failed' | 'cut off'
  readonly code: string | null
  readonly durationMs: number | null
  /** Of a call that was cut off: the most it can have used, by what is known. */
  readonly usage: ModelUsage
  readonly assumedTokens: number
  readonly cost: ModelCost
}

/** What went over the wire, in order. Keys and other known secrets are replaced before anything is sent or stored. */
export interface ModelRecording {
  readonly planfold: 'model-recording'
  readonly version: 1
  readonly model: string
  readonly provider: ProviderType
  /** The address it was asked at, without user, password and query. */
  readonly url: string
  /** The price of that day, so that a replay costs the same. */
  readonly price: PriceRow | null
  readonly exchanges: readonly ModelExchange[]
}

export interface ModelExchange {
  readonly request: { readonly path: string; readonly body: Json }
  readonly response: {
    readonly status: number
    readonly headers: { readonly [name: string]: string }
    /** The text as it came; of a stream, all of it. */
    readonly body: string
  }
  /** The provider's own count, and what else it said about the answer. */
  readonly wireUsage?: Json
  readonly providerMetadata?: Json
}
