// Criteria that agents marked as met, with their evidence. Nothing verifies them. Stored as the annotation `ticked`, with a mark for each
// criterion.

import type { GateAsks } from '../event.ts'
import { isMap, type Json, type JsonObject } from '../json.ts'
import type { Verdict } from '../result.ts'
import type { TaskState } from '../state/state.ts'

/** `time`: a counter over the marks of a task, so that the latest can be told from older ones. */
export interface TickMark {
  readonly by: string
  readonly evidence: string
  readonly time: number
}

export type Ticked = { readonly [criterion: string]: Json }

export function tickedIn({ annotations: { ticked } }: { readonly annotations: JsonObject }): Ticked {
  return isMap(ticked) ? ticked : {}
}

export const timesTicked = (ticked: Ticked): number => Math.max(0, ...Object.values(ticked).map(timeOf))

export function latestTicked(ticked: Ticked): readonly string[] {
  const last = timesTicked(ticked)
  return Object.keys(ticked).filter(criterion => timeOf(ticked[criterion]) === last)
}

const timeOf = (mark: Json | undefined): number => (isMap(mark) && typeof mark.time === 'number' ? mark.time : 0)

/** The marks on criteria that a person is asked to confirm. Empty for other questions. */
export function tickedChecks(task: Pick<TaskState, 'annotations'>, asks: GateAsks): readonly Verdict[] {
  if (asks.type !== 'verdict') return []
  const ticked = tickedIn(task)
  return asks.criteria.flatMap(criterion => {
    const words = tickWords(ticked, criterion)
    return words === null ? [] : [{ criterion, holds: null, evidence: words }]
  })
}

function tickWords(ticked: Ticked, criterion: string): string | null {
  const mark = Object.hasOwn(ticked, criterion) ? ticked[criterion] : null
  if (!isMap(mark) || typeof mark.by !== 'string') return null
  const evidence = typeof mark.evidence === 'string' && mark.evidence.trim() !== '' ? `: ${mark.evidence}` : ''
  return `${mark.by} ticked it${evidence}`
}
