// A decision in progress: events are applied as they are emitted, so every rule sees the current state.

import type { Event } from '../event.ts'
import { advise, quoted } from '../hint.ts'
import type { Millis, TaskName } from '../id.ts'
import { suggest } from '../phrases.ts'
import { type Refusal, refuse } from '../refusal.ts'
import { evolve } from '../state/evolve.ts'
import type { PlanState } from '../state/state.ts'

// The refusal for an unknown name, with the nearest known one.

export function unknownTask(draft: DecisionDraft, name: TaskName): Refusal {
  const near = suggest(name, draft.state.tasks.keys())
  return refuse(
    'not-found',
    `the plan has no task '${name}'`,
    near === null ? advise`see ${quoted('show')}` : `did you mean '${near}'?`,
  )
}

export interface DecisionDraft {
  readonly state: PlanState
  readonly now: Millis
  readonly events: Event[]
}

export function emit(draft: DecisionDraft, event: Event): void {
  draft.events.push(event)
  evolve(draft.state, event, draft.now)
}
