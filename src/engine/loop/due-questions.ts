// What becomes true of a plan while nobody drives it, without any work being done: gates that are reached get their question,
// alarms that are due are raised. Whoever looks at the plan or answers it next brings this about first.

import type { Actor, PlanId } from '../../domain/id.ts'
import { commandOf } from '../../domain/plan-rules/criterion-text.ts'
import { askable } from '../../domain/rules/scheduling.ts'
import { hasDueAlarm, nextAlarm } from '../../domain/state/alarms.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { StoreRefused } from '../../stores/store.ts'
import { prepare } from '../attempts/prepare.ts'
import { isGone, roomsOf } from '../git/plan-worktree.ts'
import type { Rooms } from '../rooms.ts'
import { News } from './turn-news.ts'

const ENGINE = 'engine' as Actor
/** One gate may lead to the next. */
const ROUNDS_MAX = 100

export async function raiseDueQuestions(rooms: Rooms, plan: PlanId): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const state = await rooms.store.state(plan)
    if (state === null || !hasDueAlarm(state, rooms.clock.now())) return
    if (!(await tendOnce(rooms, state))) return
  }
}

/** True when something became true by it. */
async function tendOnce(rooms: Rooms, state: PlanState): Promise<boolean> {
  const { store, clock } = rooms
  const { id, version } = state
  // Whoever drives it sees to it.
  if ((await store.leases.holder(id))?.alive === true) return false
  const own = roomsOf(rooms, state)
  const news = new News()
  if (!isGone(own)) {
    for (const task of askable(state).filter(runsNothing))
      news.prepared.push(await prepare(own, state, task, async () => true))
  }
  const isDue = (nextAlarm(state)?.at ?? Number.POSITIVE_INFINITY) <= clock.now()
  if (news.isNone && !isDue) return false
  try {
    // When the plan has moved meanwhile, somebody else is at it.
    const updated = await store.update(id, news.turn(true), { actor: ENGINE, expectedVersion: version })
    return updated.ok && updated.events.length > 0
  } catch (error) {
    // Opened only to be read.
    if (error instanceof StoreRefused) return false
    throw error
  }
}

/** Commands are run only by whoever drives the plan. */
function runsNothing({ definition: { action, preconditions = [] } }: TaskState): boolean {
  const checks = action.type === 'gate' ? (action.checks ?? []) : []
  return ![...preconditions, ...checks].some(one => commandOf(one) !== null)
}
