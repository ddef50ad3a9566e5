// What agents ticked of the checks that a person is asked to confirm: whose word it is, and what they gave as evidence. Nobody has
// checked it for that.

import type { GateAsks } from '../event.ts'
import type { Json } from '../json.ts'
import type { Verdict } from '../result.ts'
import type { TaskState } from '../state/state.ts'

/** Nothing where something else is asked. */
export function tickedChecks({ annotations }: Pick<TaskState, 'annotations'>, asks: GateAsks): readonly Verdict[] {
  if (asks.type !== 'verdict') return []
  return asks.criteria.flatMap(criterion => {
    const said = tickWords(annotations.ticked, criterion)
    return said === null ? [] : [{ criterion, holds: null, evidence: said }]
  })
}

/** `agent-7 ticked it: I saw it`; null when nobody did. */
function tickWords(ticked: Json | undefined, criterion: string): string | null {
  const mark = isRecord(ticked) && Object.hasOwn(ticked, criterion) ? ticked[criterion] : null
  if (!isRecord(mark) || typeof mark.by !== 'string') return null
  const evidence = typeof mark.evidence === 'string' && mark.evidence.trim() !== '' ? `: ${mark.evidence}` : ''
  return `${mark.by} ticked it${evidence}`
}

const isRecord = (value: Json | undefined): value is { readonly [name: string]: Json } =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
