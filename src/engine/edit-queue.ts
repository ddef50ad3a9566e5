// Orders that change the tasks of a plan which has begun, one queue for each plan. Whoever comes while a batch is written waits for
// the next one, so that many writers share one look at the workspace and one commit, and nobody is refused because another was
// quicker: each order is worked out from the plan as the one before it left it, inside the transaction.
//
//   empty ─order→ batch of one: stamp ─→ written, one commit ─→ the orders that came meanwhile are the next batch ─→ … ─→ empty

import type { PlanId } from '../domain/id.ts'
import type { Standing } from '../domain/result.ts'
import type { Store } from '../stores/store.ts'
import { stampOf } from './drift.ts'
import type { Submitted } from './engine.ts'
import type { Rooms } from './rooms.ts'

export type Stamp = { readonly stamp?: Standing }

/** Must reach the store before it first awaits anything: orders of one batch then share a commit. */
type Write = (stamp: Stamp) => Promise<Submitted>

interface Waiting {
  readonly write: Write
  readonly resolve: (submitted: Submitted) => void
  readonly reject: (error: unknown) => void
}

/** A transaction holds up everybody else for as long as it takes to work out what is in it. */
const BATCH_MAX = 32

const queues = new WeakMap<Store, Map<PlanId, Waiting[]>>()

/** Settles when the order is durable or refused. */
export function queueEdit(rooms: Rooms, plan: PlanId, write: Write): Promise<Submitted> {
  const plans = queues.get(rooms.store) ?? new Map<PlanId, Waiting[]>()
  queues.set(rooms.store, plans)
  return new Promise((resolve, reject) => {
    const waiting = plans.get(plan)
    if (waiting !== undefined) {
      waiting.push({ write, resolve, reject })
      return
    }
    const begun: Waiting[] = [{ write, resolve, reject }]
    plans.set(plan, begun)
    void writeBatches(rooms, plan, begun, () => plans.delete(plan))
  })
}

/** Never rejects: what goes wrong is told to those it happened to. */
async function writeBatches(rooms: Rooms, plan: PlanId, waiting: Waiting[], emptied: () => void): Promise<void> {
  while (waiting.length > 0) {
    const batch = waiting.splice(0, BATCH_MAX)
    try {
      const stamp = await stampOf(rooms, plan, 'begun')
      await Promise.all(batch.map(({ write, resolve, reject }) => write(stamp).then(resolve, reject)))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
  // In the same step as the look at the queue: nobody can have come in between.
  emptied()
}
