// Lets a plan be carried out: a draft is started, a paused one goes on, and one that is under way is only attached to. It is never
// run twice, however often and by however many it is asked for.

import type { AnswerOf, Order } from '../engine/engine.ts'
import { type Accepted, type Asking, gone, movedOf } from './ordering.ts'
import { startPlan } from './plan-status.ts'
import { isProblem, type Problem, problem, refused } from './problem.ts'

type Summary = NonNullable<AnswerOf<'summary'>>

export async function execute(call: Asking, plan: string) {
  const { engine } = call.rooms
  const summary = await engine.ask({ type: 'summary', plan })
  if (summary === null) return gone()
  if (summary.status === 'draft') {
    const started = await startPlan(call, plan)
    if (!isProblem(started)) return await told(call, started, false)
    // Somebody was faster: then it is under way, and this call goes on as one that comes later.
    const now = await engine.ask({ type: 'summary', plan })
    if (now === null || now.status === 'draft') return started
  }
  const resumed = await engine.submit(plan, { type: 'resume' } satisfies Order, call.who.actor, again(call))
  if (resumed.ok) return await told(call, resumed, resumed.events.length === 0)
  if (resumed.refusal.code !== 'illegal-transition') return refused(resumed.refusal)
  const ended = await engine.ask({ type: 'summary', plan })
  return ended === null ? gone() : over(ended)
}

/** The key of a start is not that of a resume. */
function again({ once, expectedVersion }: Asking) {
  return {
    ...(once === undefined ? {} : { once: `${once}/resume` }),
    ...(expectedVersion === undefined ? {} : { expectedVersion }),
  }
}

async function told(call: Asking, accepted: Accepted, attached: boolean) {
  return { status: 'execution_started', attached, ...(await movedOf(call, accepted)) } as const
}

function over({ name, status }: Summary): Problem {
  const allowed = status === 'failed' ? ['clone', 'retry', 'rollback'] : ['clone', 'rollback']
  return problem(409, 'illegal-transition', `'${name}' has ended: ${status}`, {
    hint: `run it again as a plan of its own: POST /plans/${name}/clone`,
    allowed,
  })
}
