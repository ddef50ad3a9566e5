// Changes of a plan that need no work, made for plans without an owner: gates that are reached ask their question, due alarms are raised.
// Done before such a plan is shown or answered.

import type { Actor, PlanId } from '../../domain/id.ts'
import { commandOf } from '../../domain/plan-rules/criterion-text.ts'
import { askable } from '../../domain/rules/scheduling.ts'
import { hasDueAlarm, nextAlarm } from '../../domain/state/alarms.ts'
import type { PlanState, TaskState } from '../../domain/state/state.ts'
import { StoreRefused } from '../../stores/store.ts'
import { prepare } from '../attempts/prepare.ts'
import { isGone, roomsOf } from '../git/plan-worktree.ts'
import type { Rooms } from '../rooms.ts'
import { PendingResults } from './pending-results.ts'

const ENGINE = 'engine' as Actor
/** One gate may lead to the next. */
const ROUNDS_MAX = 100

export async function raiseDueQuestions(rooms: Rooms, plan: PlanId): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const state = await rooms.store.state(plan)
    if (state === null || !hasDueAlarm(state, rooms.clock.now())) return
    if (!(await raiseDueOnce(rooms, state))) return
  }
}

async function raiseDueOnce(rooms: Rooms, state: PlanState): Promise<boolean> {
  const { store, clock } = rooms
  const { id, version } = state
  // The owner does it.
  if ((await store.leases.holder(id))?.alive === true) return false
  const own = roomsOf(rooms, state)
  const results = new PendingResults()
  if (!isGone(own)) {
    for (const task of askable(state).filter(runsNothing))
      results.prepared.push(await prepare(own, state, task, async () => true))
  }
  const isDue = (nextAlarm(state)?.at ?? Number.POSITIVE_INFINITY) <= clock.now()
  if (results.isNone && !isDue) return false
  try {
    // Refused if the version has moved: then somebody else is at work on the plan.
    const updated = await store.update(id, results.turn(true), { actor: ENGINE, expectedVersion: version })
    return updated.ok && updated.events.length > 0
  } catch (error) {
    // The store is open for reading only.
    if (error instanceof StoreRefused) return false
    throw error
  }
}

/** Commands are run only by the owner of the plan. */
function runsNothing({ definition: { action, preconditions = [] } }: TaskState): boolean {
  const checks = action.type === 'gate' ? (action.checks ?? []) : []
  return ![...preconditions, ...checks].some(one => commandOf(one) !== null)
}
