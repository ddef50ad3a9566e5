// The paths that the gateway serves, and no others: what is not listed here never reaches a provider.

import type { Json, JsonObject } from '../../../domain/json.ts'
import type { GatewayWire } from '../../../runners/model-gateway.ts'

export type GatewayRoute =
  | { readonly is: 'call'; readonly wire: GatewayWire; readonly path: string; readonly model: string | null }
  /** A question that the provider answers for nothing: how many tokens would it be? */
  | { readonly is: 'count'; readonly wire: GatewayWire; readonly path: string; readonly model: string | null }
  /** Answered by us. `id`: one of them. */
  | { readonly is: 'models'; readonly form: 'openai' | 'gemini'; readonly id: string | null }

const POSTS: { readonly [path: string]: GatewayRoute } = {
  '/v1/messages': { is: 'call', wire: 'anthropic', path: '/messages', model: null },
  '/v1/messages/count_tokens': { is: 'count', wire: 'anthropic', path: '/messages/count_tokens', model: null },
  '/v1/chat/completions': { is: 'call', wire: 'openai-chat', path: '/chat/completions', model: null },
  '/v1/responses': { is: 'call', wire: 'openai-responses', path: '/responses', model: null },
}

const GEMINI = /^\/v1(?:beta)?\/models\/([\w.@-]{1,200}):(generateContent|streamGenerateContent|countTokens)$/
const LISTING = /^\/(v1|v1beta)\/models(?:\/([\w.@:/-]{1,200}))?$/

export function routeOf(method: string, path: string): GatewayRoute | null {
  if (method === 'POST') {
    const [, model, verb] = GEMINI.exec(path) ?? []
    if (model !== undefined && verb !== undefined)
      return { is: verb === 'countTokens' ? 'count' : 'call', wire: 'gemini', path: `/models/${model}:${verb}`, model }
    return Object.hasOwn(POSTS, path) ? (POSTS[path] ?? null) : null
  }
  const listing = method === 'GET' ? LISTING.exec(path) : null
  return listing === null
    ? null
    : { is: 'models', form: listing[1] === 'v1' ? 'openai' : 'gemini', id: listing[2] ?? null }
}

/** For a refusal before anything is known but the path: whose shape would the client understand? */
export function wireOfPath(path: string): GatewayWire {
  if (path.startsWith('/v1/messages')) return 'anthropic'
  if (path.startsWith('/v1/responses')) return 'openai-responses'
  return path.startsWith('/v1beta/') || GEMINI.test(path) ? 'gemini' : 'openai-chat'
}

/** The query that is passed on: nothing that could identify or authorise the caller. */
export function passedQuery(query: URLSearchParams): string {
  const kept = [...query].filter(([name]) => name === 'alt' || name === 'beta')
  return kept.length === 0 ? '' : `?${new URLSearchParams(kept)}`
}

/** Read by clients of OpenAI and of Anthropic alike. */
const openaiModel = (id: string): JsonObject => ({
  id,
  object: 'model',
  created: 0,
  owned_by: 'planfold',
  type: 'model',
  display_name: id,
  created_at: '1970-01-01T00:00:00Z',
})

const geminiModel = (id: string): JsonObject => ({
  name: `models/${id}`,
  displayName: id,
  supportedGenerationMethods: ['generateContent', 'countTokens'],
})

export function modelListing(route: Extract<GatewayRoute, { is: 'models' }>, ids: readonly string[]): Json {
  const shown = route.form === 'gemini' ? geminiModel : openaiModel
  if (route.id !== null) return shown(route.id)
  if (route.form === 'gemini') return { models: ids.map(geminiModel) }
  return {
    object: 'list',
    data: ids.map(openaiModel),
    // Codex looks here, and has a list of its own when it finds nothing.
    models: [],
    has_more: false,
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null,
  }
}
