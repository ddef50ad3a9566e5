// The events of questions to people and their answers: gates, questions, proposals, checks.

import type { EventOf } from '../event.ts'
import { UNANSWERED } from '../gates/gate-timeouts.ts'
import { defined } from '../json.ts'
import { numberOf } from '../phrases.ts'
import type { RowsOf } from './event-row.ts'
import { because, names } from './event-words.ts'

export const GATE_EVENTS: RowsOf<'gate' | 'consent' | 'question' | 'revision' | 'assessment' | 'notice' | 'criterion'> =
  {
    'gate.opened': {
      kind: 'decision',
      sentence: ({ task, asks }) =>
        asks.type === 'edits'
          ? `${task} needs your decision: ${names(asks.paths)} edited outside the plan; the next attempt would revert it`
          : `${task} ${WAITS_FOR[asks.type]}`,
      facts: ({ asks, hash }) => defined({ asks: asks.type, on: hash }),
      rows: () => 'tasks',
      notice: () => 'waiting',
    },
    'gate.voted': {
      kind: 'decision',
      sentence: ({ task, by, rationale }) =>
        `${task} approved by ${by}; more approvals are needed${because(rationale)}`,
      facts: ({ by, rationale, hash, unseen }) => defined({ by, rationale, on: hash, unseen }),
    },
    'gate.decided': {
      kind: 'decision',
      sentence: decidedLine,
      shows: ['verdict', 'rationale', 'by', 'option', 'answers', 'to', 'until', 'unseen'],
      rows: () => 'tasks',
      notice: ({ by, verdict, rationale }) =>
        by === 'engine' && verdict === 'rejected' && rationale.startsWith(UNANSWERED) ? 'expired' : null,
    },
    'consent.voided': {
      kind: 'decision',
      sentence: ({ task, reason }) => `${task}: the approval is no longer valid: ${reason}`,
      shows: ['reason'],
    },
    'question.asked': {
      kind: 'decision',
      sentence: ({ by, text }) => `${by} asks: ${text}`,
      facts: ({ id, by, text, form }) => ({ id, by, text, fields: form.map(({ name }) => name) }),
      notice: () => 'waiting',
    },
    'question.answered': {
      kind: 'decision',
      sentence: ({ id, by, answers }) => {
        const isEmpty = Object.keys(answers).length === 0
        if (by === 'planfold' && isEmpty) return `question ${id} was withdrawn: nobody needs to answer it any more`
        return `${by} answered question ${id}${isEmpty ? '' : `: ${JSON.stringify(answers)}`}`
      },
      shows: ['id', 'by', 'answers'],
    },
    'revision.proposed': {
      kind: 'revision',
      sentence: ({ by, hash, rationale }) => `${by} proposes a revision (${hash.slice(0, 12)})${because(rationale)}`,
      shows: ['id', 'hash', 'base', 'by', 'rationale', 'cause'],
      notice: () => 'waiting',
    },
    'revision.declined': {
      kind: 'decision',
      sentence: ({ by, id, rationale }) => `${by} declined the proposed revision ${id}${because(rationale)}`,
      shows: ['id', 'by', 'rationale'],
    },
    'assessment.made': {
      kind: 'decision',
      sentence: ({ round, verdicts }) => {
        const unmet = verdicts.filter(({ holds }) => holds !== true).length
        return `round ${round}: ${unmet === 0 ? 'all final checks passed' : `${unmet} of ${numberOf(verdicts.length, 'final check')} did not pass`}`
      },
    },
    'notice.sent': {
      kind: 'note',
      sentence: ({ to, kind, failure }) =>
        failure === undefined ? `notified ${to}: ${kind}` : `could not notify ${to} (${kind}): ${failure}`,
      shows: ['id', 'kind', 'to', 'failure'],
    },
    'criterion.judged': {
      kind: 'decision',
      sentence: ({ task, holds, criterion }) => `${task}: check ${holds ? 'passed' : 'failed'}: ${criterion}`,
      shows: ['criterion', 'holds', 'stage'],
      failure: ({ holds, criterion }) => (holds ? null : criterion),
      setback: true,
    },
  }

function decidedLine({ task, verdict, rationale, by, option, to }: EventOf<'gate.decided'>): string {
  const who = by === undefined ? '' : ` by ${by}`
  const why = because(rationale)
  switch (verdict) {
    case 'chosen':
      return by === undefined ? `${task}: ${option ?? ''} chosen${why}` : `${task}: ${by} chose ${option ?? ''}${why}`
    case 'pushed-back':
      return `${task}: changes requested${who}, back to ${to}${why}`
    case 'done':
      return `${task} confirmed as completed${who}${why}`
    case 'again':
      return `${task}: retry ordered${who}${why}`
    default:
      return `${task} ${verdict}${who}${why}`
  }
}

/** What a task waits for, worded alike in every view. */
const WAITS_FOR: { readonly [asks in Exclude<EventOf<'gate.opened'>['asks']['type'], 'edits'>]: string } = {
  approval: 'waits for approval',
  consent: 'waits for approval',
  verdict: 'waits for a person to confirm its checks',
  decision: 'waits for a decision',
  question: 'waits for an answer',
  'unknown-outcome': 'needs your decision',
  recovery: 'failed and waits for a decision',
  replan: 'failed and waits for a changed plan',
}
