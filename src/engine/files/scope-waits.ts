// The tasks of one plan that wait because other plans hold their files, for the loop that drives it. They hold nothing meanwhile,
// and whoever is behind them in line goes first. They are looked at again after a commit of anybody, and once in a while, since
// the process that holds the files may die without a word.

import type { TaskName } from '../../domain/id.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { isStartable } from '../../domain/state/task-index.ts'

import type { ScopeWait } from '../queries.ts'
import type { Rooms } from '../rooms.ts'
import { stillWaits } from './scope-reservation.ts'

/** So often it is looked whether the process that holds the files still lives. */
const LOOK_MS = 1_000

export interface ScopeWaits {
  /** The tasks that are passed over. */
  readonly names: ReadonlySet<TaskName>
  /** After so long they want to be looked at without anything happening; null when nobody waits. */
  readonly lookMs: number | null
  /** Does a process drive one of the plans that hold the files? Then they are let go without a person. */
  readonly isMoving: boolean
  readonly list: readonly ScopeWait[]
  /** Found while it was prepared. */
  add(wait: ScopeWait): void
  /** Somebody has written to the store. */
  changed(): void
  /** Drops whoever waits no longer. */
  look(state: PlanState): Promise<void>
}

export class ScopeWaitsLocal implements ScopeWaits {
  readonly #rooms: Rooms
  readonly #tell: ((waits: readonly ScopeWait[]) => void) | undefined
  readonly #waits = new Map<TaskName, ScopeWait>()
  readonly names = new Set<TaskName>()
  #isDue = false
  #lookedAt = 0

  constructor(rooms: Rooms, tell?: (waits: readonly ScopeWait[]) => void) {
    this.#rooms = rooms
    this.#tell = tell
  }

  get lookMs(): number | null {
    return this.#waits.size === 0 ? null : LOOK_MS
  }

  get isMoving(): boolean {
    return this.list.some(({ by }) => by.some(({ driven }) => driven))
  }

  get list(): readonly ScopeWait[] {
    return [...this.#waits.values()]
  }

  add(wait: ScopeWait): void {
    this.#waits.set(wait.task, wait)
    this.names.add(wait.task)
    this.#tell?.(this.list)
  }

  changed(): void {
    this.#isDue = true
  }

  async look(state: PlanState): Promise<void> {
    if (this.#waits.size === 0) return
    const now = this.#rooms.clock.monotonic()
    if (!this.#isDue && now - this.#lookedAt < LOOK_MS) return
    this.#isDue = false
    this.#lookedAt = now
    const before = JSON.stringify(this.list)
    for (const { task: name, visit } of this.list) {
      const task = state.tasks.get(name)
      const isOpen = task !== undefined && task.visit === visit && isStartable(task)
      const wait = isOpen ? await stillWaits(this.#rooms, state, task) : null
      if (wait !== null) this.#waits.set(name, wait)
      else {
        this.#waits.delete(name)
        this.names.delete(name)
      }
    }
    if (JSON.stringify(this.list) !== before) this.#tell?.(this.list)
  }
}
