// What was judged, one line each: the part of the timeline that tells of recovery, gates, questions and proposals.

import type { EventOf } from '../event.ts'
import type { JudgementEvent } from '../judgement-event.ts'
import { numberOf } from '../number-of.ts'

export function judgementLine(event: JudgementEvent): string {
  switch (event.type) {
    case 'recovery.chosen': {
      const to = event.to === undefined || event.to.length === 0 ? '' : ` ${event.to.join(', ')}`
      return `${event.task}: ${event.choice}${to}: ${event.reason}`
    }
    case 'task.substituted':
      return `${event.task} is done: ${event.by} did its work`
    case 'plan.aborted':
      return `the plan is given up: ${event.reason}`
    case 'breaker.opened':
      return `nothing that needs '${event.capability}' begins for a while: ${event.failures} failures in a row`
    case 'breaker.closed':
      return `'${event.capability}' works again`
    case 'task.escalated':
      return `${event.task}: ${event.to ?? 'somebody'} is called (${ESCALATED[event.why]})`
    case 'gate.voted':
      return `${event.task} approved by ${event.by}, who is not the last that must${because(event.rationale)}`
    case 'consent.voided':
      return `${event.task}: what was approved does not hold any more: ${event.reason}`
    case 'question.asked':
      return `${event.by} asks: ${event.text}`
    case 'question.answered':
      return `${event.by} answers question ${event.id}${Object.keys(event.answers).length === 0 ? '' : `: ${JSON.stringify(event.answers)}`}`
    case 'revision.proposed':
      return `${event.by} proposes a revision (${event.hash.slice(0, 12)})${because(event.rationale)}`
    case 'revision.declined':
      return `${event.by} declines the proposed revision ${event.id}${because(event.rationale)}`
    case 'assessment.made': {
      const unmet = event.verdicts.filter(({ holds }) => holds !== true).length
      return `round ${event.round}: ${unmet === 0 ? 'all of the definition of done holds' : `${unmet} of ${numberOf(event.verdicts.length, 'criterion', 'criteria')} ${unmet === 1 ? 'does' : 'do'} not hold`}`
    }
    case 'notice.sent':
      return event.failure === undefined
        ? `${event.to} was told: ${event.kind}`
        : `${event.to} could not be told (${event.kind}): ${event.failure}`
    default:
      return event satisfies never
  }
}

/** Who decided what at a gate; what else was said with it. */
export function decidedLine({ task, verdict, rationale, by, option, to }: EventOf<'gate.decided'>): string {
  const what =
    verdict === 'chosen' ? `chosen: ${option ?? ''}` : verdict === 'pushed-back' ? `sent back to ${to}` : verdict
  const who = by === undefined ? '' : ` by ${by}`
  return `${task} ${what}${who}${because(rationale)}`
}

const because = (rationale: string): string => (rationale === '' ? '' : `: ${rationale}`)

const ESCALATED = {
  waiting: 'nobody has answered',
  expired: 'the time to answer is over',
  deadline: 'its deadline has passed',
  timebox: 'its time is used up',
  heartbeat: 'whoever had it fell silent',
} as const
