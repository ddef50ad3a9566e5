// The revisions of a plan, read from its journal page by page, and one of them by its number.

import type { PlanId } from '../../domain/id.ts'
import type { Engine } from '../../engine/engine.ts'
import { type Revision, revisionsIn } from '../../format/revisions.ts'
import { notFound } from '../exit.ts'
import type { MeantPlan } from '../meant.ts'

export type { Revision } from '../../format/revisions.ts'

const PAGE = 500

/** All of them, the first first. */
export async function revisionsOf(engine: Engine, plan: PlanId): Promise<readonly [Revision, ...Revision[]]> {
  const found: Revision[] = []
  for (let after = 0; ; ) {
    const entries = (await engine.ask({ type: 'entries', plan, after, limit: PAGE })) ?? []
    found.push(...revisionsIn(entries))
    if (entries.length < PAGE) break
    after = entries.at(-1)!.version
  }
  const [first, ...others] = found
  if (first === undefined) throw new Error(`the plan ${plan} has no revision`)
  return [first, ...others]
}

export function revisionNumbered(plan: MeantPlan, revisions: readonly Revision[], number: number): Revision {
  const found = revisions.find(({ revision }) => revision === number)
  if (found !== undefined) return found
  const last = revisions.at(-1)?.revision ?? 0
  throw notFound(
    `plan '${plan.name}' has no revision ${number}`,
    last === 1 ? 'it has only one, number 1' : `it has the revisions 1 to ${last}`,
  )
}
