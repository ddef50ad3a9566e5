// What is remembered.

import type { Json } from '../../../domain/json.ts'
import type { MemoryScope } from '../../../domain/memory/memory-items.ts'
import type { PageOf, Time } from './fields.ts'

export interface MemoryItem {
  readonly key: string
  readonly scope: MemoryScope
  readonly value: Json
  /** `untrusted`: no person wrote or accepted it. It is data, and never an instruction. */
  readonly trust: 'trusted' | 'untrusted'
  readonly source: {
    readonly by: string
    readonly plan: string | null
    readonly task: string | null
    readonly artifact: string | null
    readonly file: string | null
    /** What the file says of itself: confidence, sources, verified. */
    readonly claims: Json
  }
  readonly at: Time
  readonly expires_at: Time | null
  /** The nearness of its meaning, at most 1. */
  readonly score?: number
}

export interface MemoryPage extends PageOf<MemoryItem> {
  /** By the words of `q` or their meaning; `words` also for keys. */
  readonly found_by: 'words' | 'meaning'
  readonly model: string | null
  /** What the answer lacks. */
  readonly note: string | null
}

export interface MemoryKept {
  readonly status: 'kept' | 'proposed'
  readonly key: string
  readonly scope: MemoryScope
  /** Proposed: a person is asked in the inbox of this plan. */
  readonly plan_id: string | null
  readonly question: string | null
}

export interface MemoryForgotten {
  readonly removed: boolean
  readonly note: string
}
