// Approvals that opened within one window of time are one review: looked at together, decided together, told of once. Without a
// window in the policy, everything that asks for approval now is one review.

import type { Millis } from '../id.ts'
import type { PlanState } from '../state.ts'
import { type InboxItem, inboxOf } from './inbox.ts'

export interface Review {
  /** What asks for approval in it, oldest first. */
  readonly items: readonly InboxItem[]
  readonly since: Millis
  /** When its window closes, or has closed; null where the policy knows no window. */
  readonly closesAt: Millis | null
  /** Nothing joins it any more. */
  readonly closed: boolean
}

/** All reviews that wait, oldest first. */
export function reviewsOf(state: PlanState, now: Millis): readonly Review[] {
  const items = inboxOf(state)
    .filter(({ asks }) => asks.type === 'approval' || asks.type === 'consent')
    .sort((a, b) => a.since - b.since)
  const { windowMs = null, max = Number.POSITIVE_INFINITY } = state.definition.policy?.review ?? {}
  const reviews: { items: InboxItem[]; since: Millis }[] = []
  for (const item of items) {
    const last = reviews.at(-1)
    const joins =
      last !== undefined && (windowMs === null || (item.since < last.since + windowMs && last.items.length < max))
    if (joins) last.items.push(item)
    else reviews.push({ items: [item], since: item.since })
  }
  return reviews.map(review => {
    const closesAt = windowMs === null ? null : review.since + windowMs
    return { ...review, closesAt, closed: closesAt === null || closesAt <= now || review.items.length >= max }
  })
}
