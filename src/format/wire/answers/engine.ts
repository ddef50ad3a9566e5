// Answers of the Engine interface over HTTP.

import type { Base64, Int } from './fields.ts'

export interface EngineSubmitted {
  readonly plan: string
  readonly name: string
  /** @minimum 0 */
  readonly version: Int
  readonly events: readonly { readonly type: string; readonly [key: string]: unknown }[]
  readonly claim?: { readonly task: string; readonly token: string; readonly expiresInMs: number }
  readonly fork?: {
    /** @minimum 0 */
    readonly from: Int
    readonly [key: string]: unknown
  }
  readonly adopted?: { readonly status: 'ordered' | 'settled'; readonly [key: string]: unknown }
  readonly replayed?: true
}

export type EngineAnswer =
  | {
      /** As the Engine door types it; null where there is none. */
      readonly answer: unknown
    }
  | { readonly bytes: Base64 }

export interface EngineStreamAnswer {
  /** As the Engine door types it; null where there is none. */
  readonly answer: unknown
}
