// A decision being made: events are applied as they are emitted, so every rule below sees the state as it then is.

import type { Event } from '../event.ts'
import { evolve } from '../evolve.ts'
import type { Millis } from '../id.ts'
import type { PlanState } from '../state.ts'

export interface Draft {
  readonly state: PlanState
  readonly now: Millis
  readonly events: Event[]
}

export function emit(draft: Draft, event: Event): void {
  draft.events.push(event)
  evolve(draft.state, event, draft.now)
}
