// How large a value is as JSON, in UTF-8; and no answer for one so deep that writing it could exhaust the stack.

import type { Json } from './json.ts'
import { DEPTH_MAX } from './limits.ts'

/** Infinity when it stands deeper in itself than `DEPTH_MAX`. */
export function jsonBytes(value: Json): number {
  return isTooDeep(value) ? Number.POSITIVE_INFINITY : utf8Bytes(JSON.stringify(value))
}

function isTooDeep(value: Json): boolean {
  let level: readonly Json[] = [value]
  for (let depth = 0; depth <= DEPTH_MAX; depth++) {
    level = level.flatMap(one => (one !== null && typeof one === 'object' ? (Object.values(one) as Json[]) : []))
    if (level.length === 0) return false
  }
  return true
}

function utf8Bytes(text: string): number {
  let bytes = text.length
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    // A pair of surrogates is four bytes, two for each half; any other unit above these bounds is three or two.
    if (unit >= 0x800 && (unit < 0xd800 || unit > 0xdfff)) bytes += 2
    else if (unit >= 0x80) bytes += 1
  }
  return bytes
}
