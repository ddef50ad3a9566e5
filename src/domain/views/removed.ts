// A task that an earlier revision had and the present one has not: when it went, and where it stood then. Found by folding
// the journal once, and only for a name that the plan does not know any more.

import type { Event } from '../event.ts'
import { evolve } from '../evolve.ts'
import { newState } from '../fold.ts'
import type { Millis, TaskName } from '../id.ts'
import type { TaskDefinition } from '../plan.ts'
import type { PlanState } from '../state.ts'
import type { TaskStatus } from '../status.ts'
import { type Card, card } from './board.ts'

export interface Removed {
  /** The first revision without it. */
  readonly revision: number
  readonly at: Millis
  readonly by: string
  readonly rationale: string
  /** Its status before that revision; one that ran is `abandoned` by it. */
  readonly was: TaskStatus
  /** As it stood last. */
  readonly card: Card
  readonly definition: TaskDefinition
}

interface Told {
  readonly now: Millis
  readonly actor: string
  readonly events: readonly Event[]
}

export class RemovedFinder {
  readonly #task: TaskName
  readonly #state: PlanState = newState()
  #found: Removed | null = null

  constructor(task: TaskName) {
    this.#task = task
  }

  /** Entries in order, from the first. */
  read({ now, actor, events }: Told): void {
    const was = this.#state.tasks.get(this.#task)?.status ?? 'pending'
    for (const event of events) {
      const before = event.type === 'plan.revised' ? this.#stood() : null
      evolve(this.#state, event, now)
      if (this.#state.tasks.has(this.#task)) this.#found = null
      else if (before !== null && event.type === 'plan.revised')
        this.#found = { revision: event.revision, at: now, by: actor, rationale: event.rationale, was, ...before }
    }
  }

  /** Null for a task that there never was, or is. */
  get found(): Removed | null {
    return this.#found
  }

  #stood(): Pick<Removed, 'card' | 'definition'> | null {
    const task = this.#state.tasks.get(this.#task)
    return task === undefined ? null : { card: card(this.#state, task), definition: task.definition }
  }
}
