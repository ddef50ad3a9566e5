// (being written)
import type { Command } from './command.ts'
import type { Event } from './event.ts'
import type { Millis } from './id.ts'
import type { Refusal } from './refusal.ts'
import type { PlanState } from './state.ts'
export type Decision = { readonly ok: true; readonly events: readonly Event[] } | { readonly ok: false; readonly refusal: Refusal }
/**
 * Decides, and applies each event to `state` as it is emitted, so that afterwards `state` is the fold with them. The state must
 * be the caller's own: when the append then fails, throw it away. A refusal leaves the state untouched. An empty list of
 * events means there is nothing to write. For `create`, pass `newState()`.
 */
export declare function decide(state: PlanState, command: Command, now: Millis): Decision
