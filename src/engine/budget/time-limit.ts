// Stops an attempt when the time of a budget around it is used up. The attempts of an account share its time, which passes while any of
// them runs. So each may run for as long as was left when it started, without knowing of the others. Measured by a clock that stands still
// while the machine sleeps.

import { timeLimitOf } from '../../domain/budget/judge-spend.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import type { Stop } from '../../runners/runner.ts'
import { Stopper } from '../attempts/stop.ts'
import type { Rooms } from '../rooms.ts'

/** Time for a command to clean up before it is killed; two seconds after the limit nothing may be alive. */
const GRACE_MS = 500
/** The longest time that a timer can wait. */
const TIMER_MAX_MS = 2 ** 31 - 1

export interface TimeLimit {
  readonly stop: Stop
  readonly exceeded: 'ask' | 'fail' | null
  clear(): void
}

export function timeLimit(rooms: Rooms, state: PlanState, task: TaskState, stop: Stop): TimeLimit | null {
  const { clock, store } = rooms
  const { id } = task.definition
  const startedAt = task.startedAt ?? state.updatedAt
  const first = timeLimitOf(state, id, startedAt)
  if (first === null) return null
  const began = clock.monotonic()
  const stopper = new Stopper()
  let exceeded: 'ask' | 'fail' | null = null
  let cancel = () => {}
  let isCleared = false
  const arm = (leftMs: number): void => {
    if (!isCleared) cancel = clock.after(Math.min(Math.max(0, leftMs), TIMER_MAX_MS), look)
  }
  // Reads the state again: a person may have added time.
  const look = (): void => {
    store.state(state.id).then(
      now => {
        const limit = now === null ? first : timeLimitOf(now, id, startedAt)
        const left = limit === null ? TIMER_MAX_MS : limit.leftMs - (clock.monotonic() - began)
        if (left > 0) return arm(left)
        exceeded = limit?.exceeded ?? 'ask'
        stopper.abort()
      },
      () => {
        exceeded = first.exceeded
        stopper.abort()
      },
    )
  }
  arm(first.leftMs)
  const unwanted = () => stopper.abort()
  if (stop.aborted) stopper.abort()
  else stop.signal.addEventListener('abort', unwanted, { once: true })
  return {
    stop: {
      get aborted() {
        return stopper.aborted
      },
      get signal() {
        return stopper.signal
      },
      get graceMs() {
        return exceeded === null ? undefined : GRACE_MS
      },
    } as Stop,
    get exceeded() {
      return exceeded
    },
    clear() {
      isCleared = true
      cancel()
      stop.signal.removeEventListener('abort', unwanted)
    },
  }
}
