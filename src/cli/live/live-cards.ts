// The cards of a plan, kept current: of the tasks an entry names only those are asked for again, so that a redraw of a plan
// with ten thousand tasks costs what changed.

import { type Event, tasksOf } from '../../domain/event.ts'
import type { PlanId, TaskName } from '../../domain/id.ts'
import type { Card } from '../../domain/views/board.ts'
import type { Engine } from '../../engine/engine.ts'

/** Above this many touched tasks the whole board is asked for at once. */
const TOUCHED_MAX = 50

export class LiveCards {
  readonly #engine: Engine
  readonly #plan: PlanId
  readonly #index = new Map<TaskName, number>()
  #cards: Card[] = []
  #touched: Set<TaskName> | 'all' = 'all'

  constructor(engine: Engine, plan: PlanId) {
    this.#engine = engine
    this.#plan = plan
  }

  get all(): readonly Card[] {
    return this.#cards
  }

  get(task: TaskName): Card | undefined {
    return this.#cards[this.#index.get(task) ?? -1]
  }

  touch(event: Event): void {
    if (this.#touched === 'all') return
    for (const name of tasksOf(event)) this.#touched.add(name)
    // A revision changes any task, and an end cancels what was left.
    if (event.type.startsWith('plan.') || this.#touched.size > TOUCHED_MAX) this.#touched = 'all'
  }

  async refresh(): Promise<void> {
    const touched = this.#touched
    this.#touched = new Set()
    if (touched === 'all') {
      this.#cards = [...((await this.#engine.ask({ type: 'board', plan: this.#plan })) ?? [])]
      this.#index.clear()
      for (const [at, card] of this.#cards.entries()) this.#index.set(card.name, at)
      return
    }
    for (const task of touched) {
      const card = await this.#engine.ask({ type: 'task', plan: this.#plan, task })
      const at = this.#index.get(task)
      if (card !== null && at !== undefined) this.#cards[at] = card
    }
  }
}
