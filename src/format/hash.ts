// The fingerprint of a definition: approvals bind to it, so it covers every word of the content and nothing else.

import { createHash } from 'node:crypto'
import type { Sha256 } from '../domain/id.ts'
import type { Json } from '../domain/json.ts'
import type { PlanDefinition } from '../domain/plan.ts'

export function definitionHash(definition: PlanDefinition): Sha256 {
  return createHash('sha256')
    .update(canonicalJson(definition as unknown as Json))
    .digest('hex') as Sha256
}

/** JSON with sorted keys and no spaces: equal values have equal text. A key that is undefined counts as absent. */
export function canonicalJson(value: Json): string {
  if (value === null || typeof value !== 'object') {
    if (typeof value === 'number' && !Number.isFinite(value))
      throw new TypeError('a number that is not finite has no JSON')
    return JSON.stringify(value)
  }
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const members = Object.keys(value)
    .filter(key => (value as { [key: string]: Json | undefined })[key] !== undefined)
    .sort()
    .map(key => `${JSON.stringify(key)}:${canonicalJson((value as { [key: string]: Json })[key] as Json)}`)
  return `{${members.join(',')}}`
}
