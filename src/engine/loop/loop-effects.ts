// The side effects of the loop: perform, prepare, commit, roll back. A replay replaces them.

import type { TaskName } from '../../domain/id.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { isStartable } from '../../domain/state/task-index.ts'
import { perform } from '../attempts/perform.ts'
import { prepare } from '../attempts/prepare.ts'
import type { lostOutputs } from '../files/lost-outputs.ts'
import { stillWaits } from '../files/scope-reservation.ts'
import type { commit } from '../git/task-commits.ts'
import { lazy } from '../lazy-imports.ts'
import { type Notices, Notifier, type NotifierOptions } from '../notifications/notifier.ts'
import type { ScopeWait } from '../queries.ts'
import type { propose } from '../revisions/propose-after-failure.ts'
import type { rollBack } from '../rollback/perform-rollback.ts'
import type { Rooms } from '../rooms.ts'

/** A process that reserved files may die without writing an entry, so waiting tasks look again this often. */
const LOOK_MS = 1_000

interface ScopeWaits {
  readonly names: ReadonlySet<TaskName>
  /** Check again after this time even without a change; null if no task waits. */
  readonly lookMs: number | null
  /** Does a process drive one of the plans that reserved the files? Then they will be released without a person's help. */
  readonly isMoving: boolean
  readonly list: readonly ScopeWait[]
  add(wait: ScopeWait): void
  changed(): void
  look(state: PlanState): Promise<void>
}

/** Tasks that wait for files reserved by other plans. They reserve nothing meanwhile, and later tasks may pass them. */
class ScopeWaitsLocal implements ScopeWaits {
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

/** A replay passes effects that only return what was recorded. */
export interface LoopEffects {
  readonly perform: typeof perform
  readonly prepare: typeof prepare
  readonly commit: typeof commit
  readonly rollBack: typeof rollBack
  readonly propose: typeof propose
  readonly lostOutputs: typeof lostOutputs
  readonly scopeWaits: (rooms: Rooms, tell: ((waits: readonly ScopeWait[]) => void) | undefined) => ScopeWaits
  readonly notices: (rooms: Rooms, options: NotifierOptions) => Notices
}

export const LOOP_EFFECTS: LoopEffects = {
  perform,
  prepare,
  commit: async (...args) => await (await lazy.taskCommits()).commit(...args),
  rollBack: async (...args) => await (await lazy.performRollback()).rollBack(...args),
  lostOutputs: async (...args) => await (await lazy.lostOutputs()).lostOutputs(...args),
  scopeWaits: (rooms, tell) => new ScopeWaitsLocal(rooms, tell),
  notices: (rooms, options) => new Notifier(rooms, options),
  propose: async (...args) => await (await lazy.proposeAfterFailure()).propose(...args),
}
