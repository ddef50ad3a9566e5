// PATCH bodies of plans and tasks: what was sent, what is new, and whether the caller saw the latest version.

import { defined, isMap, type Json, type JsonObject } from '../../domain/json.ts'
import type { Refusal } from '../../domain/refusal.ts'
import { invalidRequest, type Problem, problem, refused } from '../problem.ts'
import type { Asking } from '../submit-order.ts'

// The changes in a PATCH. Clients may send the whole body back: unchanged fields are ignored, and changes of read-only fields are
// refused. Keys of `extra` may be sent inside or outside of it.

export interface News<F> {
  readonly fields: F
  /** Unknown keys; null removes one. */
  readonly others: JsonObject
}

interface Known {
  readonly fields: ReadonlySet<string>
  readonly always: ReadonlySet<string>
}

export function changedFields<F extends object>(body: F, shown: object, { fields, always }: Known): News<F> | Problem {
  const before = shown as JsonObject
  const { extra = {}, ...said } = body as JsonObject
  const isNew = ([key, value]: readonly [string, Json]): boolean =>
    always.has(key) || !Object.hasOwn(before, key) || !isSame(value, before[key])
  const news = Object.entries(said).filter(isNew)
  const kept = (before.extra ?? {}) as JsonObject
  const inside = Object.entries(isMap(extra) ? extra : {}).filter(([key, value]) => !isSame(value, kept[key]))
  const faults = [
    ...(isMap(extra) ? [] : [{ path: 'extra', message: 'is not an object', hint: 'write {"key": "value"}' }]),
    ...news.flatMap(([path]) =>
      Object.hasOwn(before, path) && !fields.has(path)
        ? [{ path, message: 'cannot be changed', hint: 'leave it out, or make another one' }]
        : [],
    ),
    ...inside.flatMap(([key]) =>
      fields.has(key) || Object.hasOwn(before, key)
        ? [{ path: `extra.${key}`, message: 'is a field of its own', hint: `say '${key}' outside of extra` }]
        : [],
    ),
  ]
  if (faults.length > 0) return invalidRequest('body', faults)
  const outside = news.filter(([key]) => !fields.has(key))
  return {
    fields: Object.fromEntries(news.filter(([key]) => fields.has(key))) as F,
    others: Object.fromEntries([...inside, ...outside]),
  }
}

/** A body with an unchanged `state` is an echo: its unchanged fields, even the status, are not requests. */
export function withoutEcho<S, F extends { readonly status?: S | undefined }>(
  body: F,
  shown: object,
  word: (status: S) => string = String,
): F {
  const [said, before] = [body as unknown as JsonObject, shown as JsonObject]
  if (said.state === undefined || said.state !== before.state) return body
  const isAsShown = ([key, value]: readonly [string, Json]): boolean =>
    key === 'status' ? word(value as S) === before.status : isSame(value, before[key])
  return Object.fromEntries(Object.entries(said).filter(entry => !isAsShown(entry))) as unknown as F
}

export function merged(before: JsonObject, set: JsonObject): JsonObject {
  const entries = new Map<string, Json>(Object.entries(before))
  for (const [key, value] of Object.entries(set)) {
    if (value === null) entries.delete(key)
    else if (value !== undefined) entries.set(key, value)
  }
  return Object.fromEntries(entries)
}

/** Removed keys that the definition contains, as nulls. */
export function removedKeys(extra: JsonObject | undefined, others: JsonObject): JsonObject {
  const gone = Object.keys(others).filter(key => others[key] === null && Object.hasOwn(extra ?? {}, key))
  return Object.fromEntries(gone.map(key => [key, null]))
}

/** Client-supplied times are stored under `client`, beside ours. */
export function clientSaid(
  before: JsonObject,
  said: { readonly started_at: string | null | undefined; readonly completed_at: string | null | undefined },
): JsonObject {
  const times = defined(said)
  if (Object.keys(times).length === 0) return {}
  return { client: merged((isMap(before.client) ? before.client : {}) as JsonObject, times as JsonObject) }
}

const isSame = (a: Json | undefined, b: Json | undefined): boolean => JSON.stringify(a) === JSON.stringify(b)

// Detects concurrent changes by version and revision, before anything is written.

export function stale(
  { expectedVersion }: Asking,
  { version, revision }: { readonly version: number; readonly revision: number },
  expectedRevision: number | undefined,
): Problem | null {
  if (expectedVersion !== undefined && expectedVersion !== version)
    return problem(409, 'conflict', `the plan is at version ${version}, not ${expectedVersion}`, {
      hint: 'read it again, then decide anew',
      more: { version },
    })
  if (expectedRevision !== undefined && expectedRevision !== revision)
    return problem(409, 'conflict', `the plan is at revision ${revision}, not ${expectedRevision}`, {
      hint: 'read it again, then decide anew',
      more: { revision },
    })
  return null
}

/** Drops `allowed`, whose words belong to the command line. */
export function unsaid({ allowed: _, ...refusal }: Refusal): Problem {
  return refused(refusal)
}
