// What is remembered by key: what an item says, and what a plan reads of it when it starts.

import type { Actor, Millis, Sha256, TaskName } from '../id.ts'
import { isMap, type Json } from '../json.ts'
import type { PlanDefinition } from '../plan.ts'

export type MemoryScope = 'plan' | 'project' | 'user'
/** In this order a key is looked up. */
export const MEMORY_SCOPES: readonly MemoryScope[] = ['plan', 'project', 'user']

export interface MemoryItem {
  readonly scope: MemoryScope
  readonly key: string
  readonly value: Json
  readonly source: MemorySource
  /** `trusted`: a person wrote or accepted it. Expressions read nothing else. */
  readonly trust: 'trusted' | 'untrusted'
  readonly at: Millis
  readonly expiresAt: Millis | null
}

export interface MemorySource {
  readonly by: Actor
  readonly plan?: string
  readonly task?: TaskName
  /** The stored contents it was taken from. */
  readonly artifact?: Sha256
  /** A file of the workspace, with what it claims of itself. */
  readonly file?: string
  readonly claims?: { readonly [key: string]: Json }
  /** The question in which an agent proposed it. */
  readonly question?: string
}

/** An item that an agent wants to be remembered beyond its plan. */
export type ProposedMemory = Pick<MemoryItem, 'scope' | 'key' | 'value' | 'source' | 'expiresAt'> & {
  readonly owner: string
}

/** What a plan read, by key: recorded, so that a replay reads the same. */
export interface ReadMemory {
  readonly [key: string]: Pick<MemoryItem, 'value' | 'scope' | 'at'> & { readonly by: Actor }
}

/** One object, so that a stored state leaves it out. */
export const NO_MEMORY: ReadMemory = {}

export const MEMORY_KEY_MAX = 200
export const MEMORY_VALUE_MAX_BYTES = 64 * 1024
/** What a plan names under `memory.keys`. */
export const MEMORY_KEYS_MAX = 100

/** The joiner of emoji is none of them. */
const INVISIBLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]|(?!\u200d)\p{Cf}/u

/** One spelling for what looks the same. Null for what is no key: empty, too long, with invisible characters, or outside of Unicode. */
export function memoryKey(text: string): string | null {
  const key = text.trim().normalize('NFC')
  return key === '' || key.length > MEMORY_KEY_MAX || INVISIBLE.test(key) ? null : key
}

/** `memory: { keys: [...] }`. What else stands there is data of the plan's author. */
export function memoryKeys({ memory }: Pick<PlanDefinition, 'memory'>): readonly string[] {
  const keys = isMap(memory) ? memory.keys : undefined
  if (!Array.isArray(keys)) return []
  return [...new Set(keys.flatMap(key => (typeof key === 'string' ? (memoryKey(key) ?? []) : [])))].slice(
    0,
    MEMORY_KEYS_MAX,
  )
}
