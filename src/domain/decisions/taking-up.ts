// Work that had ended is taken up again: by hand, or because the plan was revised.

import type { TaskState } from '../state.ts'
import type { Draft } from './draft.ts'
import { reopen } from './routing.ts'

/** What was undone when the plan failed is done again when its work is taken up. */
export function withCompensated({ state }: Draft, works: readonly TaskState[]): readonly TaskState[] {
  // Whoever an outcome led to is led to again when that is so.
  const isGone = ({ result, routedBy }: TaskState) => (result?.wrote?.changes ?? null) !== null && routedBy.length === 0
  const wrote = state.setBack ? state.order.filter(isGone) : []
  const undone = [...new Set([...state.compensated.flatMap(name => state.tasks.get(name) ?? []), ...wrote])]
  // Cancelled when the plan was given up, they had done nothing wrong.
  const cancelled = state.rules > 2 ? state.order.filter(({ status }) => status === 'cancelled') : []
  const taken = [...undone.filter(({ status }) => status === 'completed'), ...cancelled]
  return [...works, ...taken.filter(task => !works.includes(task))]
}

/** When work is taken up again, the definition of done is judged again at the end, however far its judging had come. */
export function redoDone(draft: Draft): void {
  const done = draft.state.order.at(-1)
  if (done?.definition.action.type !== 'verify' || done.status === 'pending') return
  reopen(draft, [done], 'work was taken up again')
}
