// All proposed revisions of a plan, and their fate: open, accepted, declined, or void because another revision came first.

import type { PlanEntry, Proposal } from '../event.ts'
import type { Millis } from '../id.ts'

export type ProposalFate =
  | { readonly status: 'waiting' }
  | { readonly status: 'accepted'; readonly at: Millis; readonly by: string; readonly revision: number }
  | { readonly status: 'declined'; readonly at: Millis; readonly by: string; readonly rationale: string }
  /** Made for an outdated definition. */
  | { readonly status: 'void'; readonly at: Millis; readonly revision: number }

export interface ProposalCard extends Proposal {
  readonly since: Millis
  /** The revision it was made for. */
  readonly on: number
  readonly fate: ProposalFate
}

type Entry = Pick<PlanEntry, 'now' | 'actor' | 'events'>

/** Entries in order, from the first. Oldest proposal first. */
export function proposalsOf(entries: Iterable<Entry>): readonly ProposalCard[] {
  const cards: ProposalCard[] = []
  let revision = 1
  const end = (matches: (card: ProposalCard) => boolean, fate: ProposalFate): void => {
    for (const [at, card] of cards.entries())
      if (card.fate.status === 'waiting' && matches(card)) cards[at] = { ...card, fate }
  }
  for (const { now, actor, events } of entries) {
    for (const event of events) {
      if (event.type === 'revision.proposed') {
        const { type: _, ...proposal } = event
        cards.push({ ...proposal, since: now, on: revision, fate: { status: 'waiting' } })
      } else if (event.type === 'revision.declined') {
        const { id, by, rationale } = event
        end(card => card.id === id, { status: 'declined', at: now, by, rationale })
      } else if (event.type === 'plan.revised') {
        revision = event.revision
        end(card => card.id === event.proposal, { status: 'accepted', at: now, by: actor, revision })
        end(() => true, { status: 'void', at: now, revision })
      }
    }
  }
  return cards
}

export function fateWords({ id, fate, on }: ProposalCard): string {
  switch (fate.status) {
    case 'waiting':
      return `proposal ${id} waits for a decision`
    case 'accepted':
      return `proposal ${id} was accepted by ${fate.by}: it is revision ${fate.revision}`
    case 'declined':
      return `proposal ${id} was declined by ${fate.by}: ${fate.rationale}`
    case 'void':
      return `proposal ${id} is void: it was made for revision ${on}, and the plan became revision ${fate.revision} meanwhile`
    default:
      return fate satisfies never
  }
}
