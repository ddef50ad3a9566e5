// The settings file for models: providers, key sources, prices, rate limits, and budgets per drafting or task. It belongs to the
// user, never to a workspace.

import { z } from 'zod'
import { defined, mapValues } from '../../domain/json.ts'
import type { Diagnostic } from '../../format/text/diagnostic.ts'
import { readDocument } from '../../format/text/document.ts'
import { complaintsOf } from '../../format/text/schema-messages.ts'
import { readDuration, readMoney } from '../../format/text/units.ts'

export interface ModelSettings {
  readonly default?: string
  readonly embedding?: string
  readonly providers: { readonly [name: string]: ProviderSettings }
  readonly models: { readonly [name: string]: ModelEntry }
  readonly caps: { readonly calls?: number; readonly tokens?: number; readonly usd?: number }
}

export interface ProviderSettings {
  readonly type?: 'anthropic' | 'openai' | 'openai-chat' | 'google' | 'openai-compatible'
  readonly url?: string
  readonly key?: KeySource
}

export type KeySource = { readonly env: string } | { readonly file: string } | { readonly value: string }

export interface ModelEntry {
  readonly price?: {
    readonly input: number
    readonly output: number
    readonly cacheRead?: number
    readonly cacheWrite?: number
    readonly checked?: string
    readonly source?: string
  }
  readonly rate?: { readonly requests?: number; readonly tokens?: number }
  readonly outputTokens?: number
  /** Limit for one call, including its whole answer. */
  readonly timeoutMs?: number
}

export type ReadSettings =
  | { readonly ok: true; readonly settings: ModelSettings }
  | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] }

export function readModelSettings(text: string): ReadSettings {
  if (text.trim() === '') return { ok: true, settings: { providers: {}, models: {}, caps: {} } }
  const read = readDocument(text)
  if (!read.ok) return read
  const { document } = read
  const shaped = schema.safeParse(document.value)
  if (!shaped.success)
    return { ok: false, diagnostics: complaintsOf(schema, shaped.error, document).map(document.place) }
  const { providers, models, caps, ...rest } = shaped.data
  return {
    ok: true,
    settings: {
      ...defined(rest),
      providers: mapValues(providers ?? {}, ({ key, ...provider }) => ({
        ...provider,
        ...(key === undefined ? {} : { key: typeof key === 'string' ? { value: key } : key }),
      })),
      models: mapValues(models ?? {}, ({ price, rate, output_tokens, timeout }) => ({
        ...(price === undefined ? {} : { price: lowerPrice(price) }),
        ...defined({ rate, outputTokens: output_tokens, timeoutMs: timeout }),
      })),
      caps: {
        ...(caps?.calls === undefined ? {} : { calls: caps.calls }),
        ...(caps?.tokens === undefined ? {} : { tokens: caps.tokens }),
        ...(caps?.cost === undefined ? {} : { usd: caps.cost }),
      },
    },
  }
}

function durationOf(text: string): number | null {
  const read = readDuration(text, 86_400_000)
  return read.ok && read.value > 0 ? read.value : null
}

const count = z.int().min(1).max(1_000_000_000)
const perMillion = z.number().min(0).max(100_000)

const price = z.strictObject({
  input: perMillion,
  output: perMillion,
  cache_read: perMillion.optional(),
  cache_write: perMillion.optional(),
  checked: z.string().max(100).optional(),
  source: z.string().max(400).optional(),
})

const NAME = /^[a-z][a-z0-9-]{0,39}\/\S{1,200}$/
const modelName = z.string().regex(NAME, 'write PROVIDER/NAME')

const schema = z.strictObject({
  default: modelName.optional(),
  embedding: modelName.optional(),
  providers: z
    .record(
      z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'a provider is called by small letters, digits and -'),
      z.strictObject({
        type: z.enum(['anthropic', 'openai', 'openai-chat', 'google', 'openai-compatible']).optional(),
        url: z
          .string()
          .refine(isPlainUrl, 'write an http or https address without user, password and query')
          .optional(),
        key: z
          .union([
            z.strictObject({ env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,254}$/) }),
            z.strictObject({ file: z.string().min(1).max(4096) }),
            z.string().min(1).max(10_000),
          ])
          .optional(),
      }),
    )
    .optional(),
  models: z
    .record(
      modelName,
      z.strictObject({
        price: price.optional(),
        rate: z.strictObject({ requests: count.optional(), tokens: count.optional() }).optional(),
        output_tokens: count.optional(),
        timeout: z
          .string()
          .refine(text => durationOf(text) !== null, 'write a time of at most 1d: 5m')
          .transform(text => durationOf(text) ?? 0)
          .optional(),
      }),
    )
    .optional(),
  caps: z
    .strictObject({
      calls: count.optional(),
      tokens: count.optional(),
      cost: z
        .string()
        .refine(text => readMoney(text).ok && text.endsWith('USD'), 'write an amount in US dollars: 2 USD')
        .transform(text => Number.parseFloat(text))
        .optional(),
    })
    .optional(),
})

function lowerPrice({ cache_read, cache_write, ...rest }: z.infer<typeof price>): NonNullable<ModelEntry['price']> {
  return {
    ...rest,
    ...defined({ cacheRead: cache_read, cacheWrite: cache_write }),
  }
}

/** Checks for `provider/model`. */
export const isModelName = (text: string): boolean => NAME.test(text)

export function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, username, password, search, hash } = new URL(text)
  return /^https?:$/.test(protocol) && username === '' && password === '' && search === '' && hash === ''
}
