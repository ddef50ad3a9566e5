// How many tokens will a request be? The provider counts only afterwards, so what is reserved before is an estimate on the high side: a
// third of the bytes. Pictures are sent as base64, and cost far less than their length.

import type { Json, JsonObject } from '../../domain/json.ts'
import { isObject } from './wire-rules.ts'

const BYTES_PER_TOKEN = 3
/** More than any picture costs at the providers we know. */
const PICTURE_TOKENS_MAX = 5_000
const IMAGE = /^image\//
const IMAGE_URL = /^data:image\/[^,]{0,100};base64,/

export function estimateInput(body: JsonObject, bytes: number): number {
  const pictures = picturesIn(body)
  const text = bytes - pictures.reduce((sum, length) => sum + length, 0)
  const shown = pictures.reduce((sum, length) => sum + Math.min(PICTURE_TOKENS_MAX, length / BYTES_PER_TOKEN), 0)
  return Math.ceil(text / BYTES_PER_TOKEN + shown)
}

/** The lengths of what is no text. */
function picturesIn(root: JsonObject): readonly number[] {
  const found: number[] = []
  const left: Json[] = [root]
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    if (typeof value !== 'object' || value === null) continue
    const { media_type, mime_type, mimeType } = isObject(value) ? value : ({} as JsonObject)
    const isPicture = IMAGE.test(String(media_type ?? mime_type ?? mimeType ?? ''))
    for (const [name, item] of Object.entries(value) as [string, Json][]) {
      if (typeof item !== 'string') left.push(item)
      else if ((isPicture && name === 'data') || IMAGE_URL.test(item)) found.push(item.length)
    }
  }
  return found
}
