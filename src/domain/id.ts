// Identity. A plan's id is a UUIDv7 whose last eight digits are zero; the id of a task is its plan's id with the task's
// ordinal in those digits. So a task's id is derived, never stored, and sorts behind its plan in time.
// People use names: a plan's name is unique in its store, a task's name is unique in its plan.

declare const brand: unique symbol
type Branded<T, B extends string> = T & { readonly [brand]: B }

export type PlanId = Branded<string, 'PlanId'>
export type TaskId = Branded<string, 'TaskId'>
/** E.g. `retry-core`, or `check-db/1` for an expanded task. */
export type TaskName = Branded<string, 'TaskName'>
export type PlanName = Branded<string, 'PlanName'>
/** `cp-<task>-<time>` for automatic ones, else the given name; unique in its plan. */
export type CheckpointName = Branded<string, 'CheckpointName'>
/** Who acts: `ana@example.com`, `engine`, `agent:claude`. Free text, bounded, recorded on every entry. */
export type Actor = Branded<string, 'Actor'>
/** Milliseconds since the epoch, wall clock. */
export type Millis = number
export type Sha256 = Branded<string, 'Sha256'>

export const NAME_MAX = 100
export const ACTOR_MAX = 200
export const WORKER_LABEL_MAX = 64
const NAME = /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/i
const TASK_NAME = /^[a-z0-9](?:[a-z0-9._/-]*[a-z0-9])?$/i
const WORKER_LABEL = /^[A-Za-z0-9._/-]+$/
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const SHA256 = /^[0-9a-f]{64}$/
// Names that would collide with properties of JavaScript objects.
const RESERVED = new Set(['__proto__', 'constructor', 'prototype'])

export const isUuid = (text: string): boolean => UUID.test(text)
export const isSha256 = (text: string): text is Sha256 => SHA256.test(text)
export const isPlanId = (text: string): text is PlanId => UUID.test(text) && text.endsWith('00000000')

export function isPlanName(text: string): text is PlanName {
  return text.length <= NAME_MAX && NAME.test(text) && !text.includes('..') && !RESERVED.has(text) && !isUuid(text)
}

export function isTaskName(text: string): text is TaskName {
  return (
    text.length <= NAME_MAX &&
    TASK_NAME.test(text) &&
    !text.includes('..') &&
    !text.includes('//') &&
    !RESERVED.has(text) &&
    !isUuid(text)
  )
}

export const isCheckpointName = (text: string): text is CheckpointName => isTaskName(text)

export function checkpointName(task: TaskName, at: Millis): CheckpointName {
  return `cp-${task}-${new Date(at).toISOString().replace(/[-:.]/g, '')}` as CheckpointName
}

/** Upper and lower case differ. */
export const isWorkerLabel = (text: string): boolean => text.length <= WORKER_LABEL_MAX && WORKER_LABEL.test(text)

/** One line, without invisible characters, by which one name could pass for another. */
export function isActor(text: string): text is Actor {
  const isVisible =
    text.trim() === text && !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u.test(text)
  return text.length > 0 && text.length <= ACTOR_MAX && isVisible
}

/** Names with the same key belong to one person, in any spelling. */
export const nameKey = (name: string): string => name.normalize('NFKC').trim().toLowerCase().normalize('NFKC')

/** `ordinal` counts from 1. */
export function taskId(plan: PlanId, ordinal: number): TaskId {
  return (plan.slice(0, -8) + ordinal.toString(16).padStart(8, '0')) as TaskId
}

export function parseTaskId(text: string): { readonly plan: PlanId; readonly ordinal: number } | null {
  if (!UUID.test(text) || text.endsWith('00000000')) return null
  return { plan: `${text.slice(0, -8)}00000000` as PlanId, ordinal: Number.parseInt(text.slice(-8), 16) }
}

/** A UUIDv7 from a time and ten random bytes, of which the last four become zero for ordinals. */
export function planId(now: Millis, random: Uint8Array): PlanId {
  const time = Math.max(0, Math.floor(now)).toString(16).padStart(12, '0').slice(-12)
  const hex = Array.from(random.slice(0, 6), byte => byte.toString(16).padStart(2, '0')).join('')
  const variant = '89ab'[Number.parseInt(hex[3] ?? '0', 16) & 3]
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex.slice(0, 3)}-${variant}${hex.slice(4, 7)}-${hex.slice(7, 11)}00000000` as PlanId
}
