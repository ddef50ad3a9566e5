// Forks whose work is in no other plan yet. Neither they nor the plans it would go to may be tidied away: with their journals
// the stored files would go.

import type { PlanId } from '../domain/id.ts'
import type { Engine } from '../engine/engine.ts'
import type { PlanRow } from '../stores/store.ts'

export interface Unadopted {
  /** Forks with unadopted work, and the plans they would be adopted into. */
  readonly keep: ReadonlySet<PlanId>
  /** The names of these forks. */
  readonly unadopted: readonly string[]
}

export async function unadoptedForks(
  engine: Pick<Engine, 'ask'>,
  rows: readonly Pick<PlanRow, 'id' | 'name'>[],
): Promise<Unadopted> {
  const keep = new Set<PlanId>()
  const unadopted: string[] = []
  for (const { id, name } of rows) {
    const summary = await engine.ask({ type: 'summary', plan: id })
    if (summary === null || summary.place === null || summary.origin === null) continue
    const adoption = await engine.ask({ type: 'adoption', plan: id })
    // What cannot be looked at is not tidied away either, apart from plans that are no forks.
    if (adoption === null || (adoption.ok ? adoption.changes.length === 0 : adoption.refusal.code === 'not-supported'))
      continue
    keep.add(id)
    unadopted.push(name)
    keep.add(adoption.ok ? adoption.into.plan : summary.origin)
  }
  return { keep, unadopted }
}
