// The revisions of a plan, read from its journal: every entry that defined it. Each is immutable, because entries are; its hash
// is computed anew here, so that what is shown is what was agreed on.

import type { Actor, Millis, PlanId } from '../../domain/id.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import type { Engine } from '../../engine/engine.ts'
import { definitionHash } from '../../format/hash.ts'
import { notFound } from '../exit.ts'
import type { MeantPlan } from '../meant.ts'

export interface Revision {
  readonly revision: number
  /** The hash the journal holds. */
  readonly hash: string
  /** Is it the hash of the definition that stands beside it? */
  readonly verified: boolean
  readonly actor: Actor
  readonly at: Millis
  /** The entry of the journal it stands in. */
  readonly version: number
  readonly rationale: string | null
  readonly definition: PlanDefinition
  /** The text it was read from, verbatim, when it was kept. */
  readonly source: { readonly dialect: string; readonly text: string } | null
}

const PAGE = 500

/** All of them, the first first. */
export async function revisionsOf(engine: Engine, plan: PlanId): Promise<readonly [Revision, ...Revision[]]> {
  const found: Revision[] = []
  for (let after = 0; ; ) {
    const entries = (await engine.ask({ type: 'entries', plan, after, limit: PAGE })) ?? []
    for (const { actor, now: at, version, events } of entries) {
      for (const event of events) {
        if (event.type !== 'plan.created' && event.type !== 'plan.revised') continue
        const { definition, hash, source } = event
        found.push({
          revision: event.type === 'plan.created' ? 1 : event.revision,
          hash,
          verified: definitionHash(definition) === hash,
          actor,
          at,
          version,
          rationale: event.type === 'plan.created' ? null : event.rationale,
          definition,
          source: source ?? null,
        })
      }
    }
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
