// (being written) newState, evolve, packFold, unpackFold
import type { Event } from './event.ts'
import type { Millis } from './id.ts'
import type { JsonObject } from './json.ts'
import type { PlanDefinition } from './plan.ts'
import type { PlanState } from './state.ts'

export declare function newState(): PlanState
export declare function evolve(state: PlanState, event: Event, now: Millis): void
/** Everything but the definition, as JSON. */
export declare function packFold(state: PlanState): JsonObject
export declare function unpackFold(packed: JsonObject, definition: PlanDefinition): PlanState
