// Starts, continues or attaches to the execution of a plan (operations/start-plan.ts) and words the result for clients.

import type { UnsafeWork } from '../../domain/command.ts'
import type { PlanId } from '../../domain/id.ts'
import { continuationText, type WentOn } from '../../operations/run-plan.ts'
import { type Summary, setGoing } from '../../operations/start-plan.ts'
import { type Problem, problem } from '../problem.ts'
import { type Accepted, type Asking, answerOf, engineOf, gone } from '../submit-order.ts'
import { stale } from './patch.ts'
import { checker, notStarted } from './set-plan-status.ts'

/** `unsafe`: what to do, in a failed plan, about completed unsafe work that would run again. */
export async function execute(call: Asking, plan: PlanId, unsafe: UnsafeWork = 'refuse') {
  const { check, problem: found } = checker(call)
  const { once, expectedVersion } = call
  const goOn = { rationale: 'executed again after it failed', unsafe }
  const going = await setGoing(engineOf(call), plan, { check, once, expectedVersion, goOn })
  switch (going.status) {
    case 'started':
    case 'resumed':
    case 'attached':
      return await executionBody(call, going.accepted, going.status === 'attached')
    case 'went-on':
      return { ...(await executionBody(call, going.went.submitted, false)), ...wentOn(going.plan.name, going.went) }
    case 'ended':
      return over(going.plan)
    case 'moved':
      return stale(call, going.plan, undefined) ?? gone()
    default:
      return found() ?? (await notStarted(call, plan, going))
  }
}

const wentOn = (name: string, { counts: { stay, again, added, open } }: WentOn) => ({
  message: `plan ${name} failed; continuing: ${continuationText({ stay, again, added, open })}`,
  went_on: { stay_done: stay, run_again: [...again], added: [...added], not_run_yet: open },
})

async function executionBody(call: Asking, accepted: Accepted, attached: boolean) {
  return { status: 'execution_started', attached, ...(await answerOf(call, accepted)) } as const
}

function over({ name, status, archived }: Summary): Problem {
  const allowed = archived ? ['clone'] : ['clone', 'rollback']
  return problem(409, 'illegal-transition', archived ? `'${name}' is archived` : `'${name}' has ended: ${status}`, {
    hint: `run it again as a plan of its own: POST /plans/${name}/clone`,
    allowed,
  })
}
