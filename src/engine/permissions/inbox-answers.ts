// Inbox items are shown to everyone who may read; answers are offered only to callers who may give them.

import type { InboxItem } from '../../domain/views/inbox.ts'
import type { AnyQuery } from '../engine.ts'
import type { AnswerOf, InboxEntry } from '../queries.ts'
import type { Caller, Right } from '../roles.ts'

/** By the kind of question. An answer is an order like any other, see operations/answer-inbox.ts. */
export const ANSWER_RIGHTS: { readonly [T in InboxItem['asks']['type']]: Right } = {
  approval: 'decide',
  consent: 'decide',
  decision: 'decide',
  question: 'decide',
  verdict: 'decide',
  'unknown-outcome': 'decide',
  recovery: 'decide',
  replan: 'decide',
  edits: 'decide',
  'agent-question': 'decide',
  proposal: 'decide',
  work: 'operate',
  rollback: 'operate',
}

export function offerAnswers({ rights }: Caller, { type }: AnyQuery, found: unknown): unknown {
  const offered = (item: InboxEntry): InboxEntry =>
    rights.has(ANSWER_RIGHTS[item.asks.type]) ? item : { ...item, answers: [] }
  if (type === 'inbox') {
    const inbox = found as AnswerOf<'inbox'>
    return { ...inbox, items: inbox.items.map(offered) }
  }
  if (type !== 'reviews') return found
  const reviews = found as AnswerOf<'reviews'>
  return reviews?.map(review => ({ ...review, items: review.items.map(offered) })) ?? null
}
