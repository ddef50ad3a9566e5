// A question whose plan has ended: nobody is asked it any more, and whoever waits for the answer must know.

import type { PlanId } from '../domain/id.ts'
import { PLAN_ENDED } from '../domain/status.ts'
import type { AskedQuestion, Engine } from '../engine/engine.ts'
import { Complaint, EXIT } from './exit.ts'

export interface AskedIn {
  readonly plan: PlanId
  readonly name: string
  readonly question: AskedQuestion
}

/** Null when it was answered, or still can be. */
export async function endedUnanswered(engine: Engine, { plan, name, question }: AskedIn): Promise<Complaint | null> {
  const status = (await engine.ask({ type: 'summary', plan }))?.status
  if (status === undefined || !PLAN_ENDED.has(status) || question.answer !== null) return null
  const { id } = question
  return new Complaint(
    EXIT.refused,
    'ended',
    `plan '${name}' has ended (${status}); question '${id}' was not answered`,
    `it is left open in: planfold handoff ${name}`,
    [],
    { question },
  )
}
