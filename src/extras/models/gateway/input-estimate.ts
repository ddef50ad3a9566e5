// How many tokens will a request be? The provider counts only afterwards. But an agent sends the whole conversation with every call, and
// all of it but the end was counted in an earlier one. So what is reserved is that count, and an estimate on the high side for what is new:
// half a token for each byte. Pictures are sent as base64, and cost far less than their length.

import { createHash } from 'node:crypto'
import { isMap, type Json, type JsonObject } from '../../../domain/json.ts'

const BYTES_PER_TOKEN = 2
/** More than any picture costs at the providers we know. */
const PICTURE_TOKENS_MAX = 5_000
const ITEM_TOKENS = 8
/** Conversations that are remembered, with their earlier states: those of agents and of their helpers. */
const KNOWN_MAX = 2_000
const IMAGE = /^image\//
const IMAGE_URL = /^data:image\/[^,]{0,100};base64,/

export interface InputEstimate {
  readonly tokens: number
  learn(inputTokens: number): void
}

interface Known {
  readonly inputTokens: number
  /** Of everything but the conversation: instructions, tools, settings. */
  readonly besides: number
}

export class InputEstimates {
  readonly #known = new Map<string, Known>()

  /** `model`: another model counts differently. */
  estimate(model: string, body: JsonObject): InputEstimate {
    const { items, besides } = partsOf(body)
    const hashes = hashesOf(model, items)
    const aside = tokensIn(besides)
    let at = items.length
    while (at > 0 && !this.#known.has(hashes[at]!)) at -= 1
    const known = this.#known.get(hashes[at]!)
    const added = items.slice(at).reduce<number>((sum, item) => sum + tokensIn(item) + ITEM_TOKENS, 0)
    const before = known === undefined ? aside : known.inputTokens + Math.max(0, aside - known.besides)
    return {
      tokens: Math.ceil(before + added),
      learn: inputTokens => {
        this.#known.set(hashes[items.length]!, { inputTokens, besides: aside })
        for (const oldest of this.#known.keys()) {
          if (this.#known.size <= KNOWN_MAX) break
          this.#known.delete(oldest)
        }
      },
    }
  }
}

function partsOf(body: JsonObject): { readonly items: readonly Json[]; readonly besides: JsonObject } {
  for (const name of ['messages', 'input', 'contents']) {
    const { [name]: items, ...besides } = body
    if (Array.isArray(items)) return { items: items as readonly Json[], besides }
  }
  return { items: [], besides: body }
}

/** The hash at a place covers everything before it. */
function hashesOf(model: string, items: readonly Json[]): readonly string[] {
  let last = model
  return [
    last,
    ...items.map(item => {
      last = createHash('sha256').update(last).update(JSON.stringify(item, unmarked)).digest('base64')
      return last
    }),
  ]
}

/** Agents move the marks of what is to be cached with every call. */
const unmarked = (name: string, value: unknown): unknown => (name === 'cache_control' ? undefined : value)

function tokensIn(value: Json): number {
  const pictures = picturesIn(value)
  const bytes = Buffer.byteLength(JSON.stringify(value)) - pictures.reduce((sum, length) => sum + length, 0)
  const shown = pictures.reduce((sum, length) => sum + Math.min(PICTURE_TOKENS_MAX, length / BYTES_PER_TOKEN), 0)
  return bytes / BYTES_PER_TOKEN + shown
}

function picturesIn(root: Json): readonly number[] {
  const found: number[] = []
  const left: Json[] = [root]
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    if (typeof value !== 'object' || value === null) continue
    const { media_type, mime_type, mimeType } = isMap(value) ? value : ({} as JsonObject)
    const isPicture = IMAGE.test(String(media_type ?? mime_type ?? mimeType ?? ''))
    for (const [name, item] of Object.entries(value) as [string, Json][]) {
      if (typeof item !== 'string') left.push(item)
      else if ((isPicture && name === 'data') || IMAGE_URL.test(item)) found.push(item.length)
    }
  }
  return found
}
