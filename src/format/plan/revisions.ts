// The revisions of a plan, found in its entries: every one that defined it. Each is immutable, because entries are; its hash is
// computed anew here, so that what is shown is what was agreed on.

import type { Event } from '../../domain/event.ts'
import type { Actor, Millis } from '../../domain/id.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { definitionHash } from './hash.ts'

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

interface Told {
  readonly actor: Actor
  readonly now: Millis
  readonly version: number
  readonly events: readonly Event[]
}

export function revisionsIn(entries: Iterable<Told>): readonly Revision[] {
  const found: Revision[] = []
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
  return found
}
