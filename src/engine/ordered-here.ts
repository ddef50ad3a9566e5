// Who wants to know which plans are given orders in this process. Whoever attends drives those at once; what another process sets
// going is left to that process for a moment, because it is most likely about to drive it itself.

import type { PlanId } from '../domain/id.ts'
import type { Store } from '../stores/store.ts'

type Listener = (plan: PlanId) => void

const listeners = new WeakMap<Store, Listener>()

/** Said before it is written, so that nobody sees the entry first. */
export function noteOrder(store: Store, plan: PlanId): void {
  listeners.get(store)?.(plan)
}

export function listenForOrders(store: Store, listener: Listener): void {
  listeners.set(store, listener)
}
