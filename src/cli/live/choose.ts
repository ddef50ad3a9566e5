// Which tasks the live view shows when there are more than rows: what needs a person first, then what moves, then what
// failed, then what comes next and what ended last. Shown in the order of the document; the rest is counted.

import { ENDED } from '../../domain/status.ts'
import type { Card } from '../../domain/views/board.ts'

export interface Chosen {
  /** What is left out and over: "37 ended". */
  readonly before: string | null
  readonly shown: readonly Card[]
  /** What is left out and still to come: "210 to come". */
  readonly after: string | null
}

const RANKS = 7

export function choose(cards: readonly Card[], rows: number): Chosen {
  if (cards.length <= rows) return { before: null, shown: cards, after: null }
  // With hardly any rows, tasks are worth more than counts.
  const room = rows < 4 ? Math.max(1, rows) : rows - 2
  const ranked: Card[][] = Array.from({ length: RANKS }, () => [])
  for (const card of cards) ranked[rank(card)]!.push(card)
  // The latest of what ended, the first of everything else.
  ranked[4]!.sort((a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0))
  const taken = new Set<Card>()
  for (const group of ranked) {
    for (const card of group) {
      if (taken.size >= room) break
      taken.add(card)
    }
  }
  let done = 0
  let left = 0
  const shown: Card[] = []
  for (const card of cards) {
    if (taken.has(card)) shown.push(card)
    else if (ENDED.has(card.status)) done++
    else left++
  }
  if (rows < 4) return { before: null, shown, after: null }
  return { before: done === 0 ? null : `${done} ended`, shown, after: left === 0 ? null : `${left} to come` }
}

function rank(card: Card): number {
  switch (card.status) {
    case 'waiting':
      return 0
    case 'running':
      return 1
    case 'failed':
      return 2
    case 'ready':
      return card.retryAt !== null || card.action === 'external' ? 3 : 5
    case 'completed':
      return 4
    case 'blocked':
    case 'pending':
      return 5
    case 'skipped':
    case 'abandoned':
    case 'cancelled':
      return 6
    default:
      return card.status satisfies never
  }
}
