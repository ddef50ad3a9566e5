// The hash of a definition. Approvals are bound to it, so it covers the whole content and nothing else.

import { createHash } from 'node:crypto'
import type { Sha256 } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'

export function definitionHash(definition: PlanDefinition): Sha256 {
  return createHash('sha256')
    .update(canonicalJson(definition as unknown as Json))
    .digest('hex') as Sha256
}

const texts = new WeakMap<TaskDefinition, string>()

/**
 * The same hash, faster for a revision that shares most tasks with the one before: the text of each task is cached while the task
 * object lives. Definitions are immutable.
 */
export function revisionHash(definition: PlanDefinition): Sha256 {
  const { tasks, ...rest } = definition
  let text = ''
  for (const task of tasks) {
    const known = texts.get(task) ?? canonicalJson(task as unknown as Json)
    texts.set(task, known)
    text += `${text === '' ? '' : ','}${known}`
  }
  // Keys are sorted, so `tasks` has its place among the others.
  const keys = Object.keys(rest) as (keyof typeof rest)[]
  const parts = keys
    .filter(key => rest[key] !== undefined)
    .map(key => [key, `${JSON.stringify(key)}:${canonicalJson(rest[key] as unknown as Json)}`] as const)
  const all = [...parts, ['tasks', `"tasks":[${text}]`] as const].sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256')
    .update(`{${all.map(([, part]) => part).join(',')}}`)
    .digest('hex') as Sha256
}

/** JSON with sorted keys and without spaces, so equal values have equal text. Undefined keys count as absent. */
export function canonicalJson(value: Json): string {
  if (value === null || typeof value !== 'object') {
    if (typeof value === 'number' && !Number.isFinite(value))
      throw new TypeError('a number that is not finite has no JSON')
    return JSON.stringify(value)
  }
  // No intermediate lists: plans of 20,000 tasks are hashed while other requests wait.
  let text = ''
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) text += `${text === '' ? '' : ','}${canonicalJson(item)}`
    return `[${text}]`
  }
  const map = value as { readonly [key: string]: Json | undefined }
  for (const key of Object.keys(map).sort()) {
    const item = map[key]
    if (item !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(item)}`
  }
  return `{${text}}`
}
