// What waits for people is shown to everybody who may read; answers to it are offered to whoever may give them.

import type { InboxItem } from '../../domain/views/inbox.ts'
import type { AnyQuery } from '../engine.ts'
import type { AnswerOf, InboxEntry } from '../queries.ts'
import type { Caller, Right } from '../roles.ts'

/** By what is asked: an answer is an order like any other, see operations/answer-inbox.ts. */
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

/** What was found, with only those answers that the caller may give. */
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
