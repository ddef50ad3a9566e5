// Reads the revisions of a plan from its journal. Entries are immutable; the hash is computed again, so that what is shown is
// what was approved.

import type { PlanEntry } from '../../domain/event.ts'
import type { Actor, Millis } from '../../domain/id.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { definitionHash } from './hash.ts'

export interface Revision {
  readonly revision: number
  readonly hash: string
  /** Does the hash match the definition? */
  readonly verified: boolean
  readonly actor: Actor
  readonly at: Millis
  readonly version: number
  readonly rationale: string | null
  readonly definition: PlanDefinition
  /** The original text, if it was stored. */
  readonly source: { readonly dialect: string; readonly text: string } | null
}

type RevisionEntry = Pick<PlanEntry, 'now' | 'version' | 'events'> & { readonly actor: Actor }

export function revisionsIn(entries: Iterable<RevisionEntry>): readonly Revision[] {
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
