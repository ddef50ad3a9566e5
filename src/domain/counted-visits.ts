// How many visits of a task count. A rollback opens a visit of its own for every task it resets; that is no retry, and nobody
// counts it as one. Everything that tells how often a task was done asks here.

import type { PlanState, TaskState } from './state.ts'

export const countedVisits = ({ visit, goneBack }: Pick<TaskState, 'visit' | 'goneBack'>): number => visit - goneBack

/** For events of an attempt, so that whoever reads only the event can count as well. Journals of older rules have none. */
export function goneBackIn(state: PlanState, { goneBack }: TaskState): { readonly goneBack?: number } {
  return state.rules > 3 && goneBack > 0 ? { goneBack } : {}
}
