// Changes of plans and tasks in the shape of the PlanStore: what was given, what is new, and whether the caller saw the latest.

import { isMap, type Json, type JsonObject } from '../../domain/json.ts'
import type { Refusal } from '../../domain/refusal.ts'
import { invalidRequest, type Problem, problem, refused } from '../problem.ts'
import type { Asking } from '../submit-order.ts'

type Given<T> = { readonly [K in keyof T]: Exclude<T[K], undefined> }

export function presentFields<T extends object>(value: T): Given<T> {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as Given<T>
}

// What a PATCH says that is new. Clients send back whole bodies as they were shown to them: what is as it was says nothing, and what
// only we can say is refused when it is said otherwise. `extra` is what is kept beside; its keys may be sent in it or outside.

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

/** A body with an unchanged `state` was sent back whole: its unchanged fields, even the status, ask for nothing. */
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

/** Of the keys that are taken away, those that a definition holds: with null, so that it holds them no more. */
export function removedKeys(extra: JsonObject | undefined, others: JsonObject): JsonObject {
  const gone = Object.keys(others).filter(key => others[key] === null && Object.hasOwn(extra ?? {}, key))
  return Object.fromEntries(gone.map(key => [key, null]))
}

/** Times that a client says stand together under `client`, beside ours. */
export function clientSaid(
  before: JsonObject,
  said: { readonly started_at: string | null | undefined; readonly completed_at: string | null | undefined },
): JsonObject {
  const times = presentFields(said)
  if (Object.keys(times).length === 0) return {}
  return { client: merged((isMap(before.client) ? before.client : {}) as JsonObject, times as JsonObject) }
}

const isSame = (a: Json | undefined, b: Json | undefined): boolean => JSON.stringify(a) === JSON.stringify(b)

// Has the plan moved on since the caller looked at it? Told before anything is written, by version and by revision.

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

/** A refusal whose `allowed` are words of the command line, which mean nothing to a client. */
export function unsaid({ allowed: _, ...refusal }: Refusal): Problem {
  return refused(refusal)
}
