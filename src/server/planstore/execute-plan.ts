// Lets a plan be carried out: a draft is started, a paused one goes on, one that failed goes on with what failed, and one that is
// under way is only attached to. It is never run twice, however often and by however many it is asked for.

import type { UnsafeWork } from '../../domain/command.ts'
import type { PlanId } from '../../domain/id.ts'
import type { AnswerOf } from '../../engine/engine.ts'
import { goOnWithPlan, onwardWords, type WentOn } from '../../operations/run-plan.ts'
import { isProblem, type Problem, problem, refused } from '../problem.ts'
import { type Accepted, type Asking, gone, movedOf, submit } from '../submit-order.ts'
import { given, stale } from './patch.ts'
import { startPlan } from './set-plan-status.ts'

type Summary = NonNullable<AnswerOf<'summary'>>

/** `unsafe`: of a plan that failed, what becomes of completed work that is unsafe to repeat and would run again. */
export async function execute(call: Asking, plan: PlanId, unsafe: UnsafeWork = 'refuse') {
  const { engine } = call
  const summary = await engine.ask({ type: 'summary', plan })
  if (summary === null) return gone()
  const again = summary.status === 'draft' ? null : await startedBefore(call, plan)
  if (again !== null) return isProblem(again) ? again : await told(call, again, again.events.length === 0)
  const old = stale(call, summary, undefined)
  if (old !== null) return old
  if (summary.status === 'draft') {
    const started = await startPlan(call, plan)
    // Whoever was quicker has started it; this call is one that comes later.
    if (!isProblem(started)) return await told(call, started, started.events.length === 0)
    const now = await engine.ask({ type: 'summary', plan })
    if (now === null || now.status === 'draft') return started
  }
  // The key of a start is not that of a resume.
  const resumed = await submit(call, plan, { type: 'resume' }, keyed(call, 'resume'))
  if (resumed.ok) return await told(call, resumed, resumed.events.length === 0)
  if (resumed.refusal.code !== 'illegal-transition') return refused(resumed.refusal, { plan })
  const ended = await engine.ask({ type: 'summary', plan })
  if (ended === null) return gone()
  if (ended.status !== 'failed' || ended.archived) return over(ended)
  const went = await goOnWithPlan(
    { ask: query => engine.ask(query), submit: (to, order, options) => submit(call, to, order, options) },
    plan,
    {
      rationale: 'executed again after it failed',
      unsafe,
      expectedVersion: call.expectedVersion ?? ended.version,
      ...given({ once: call.once === undefined ? undefined : `${call.once}/go-on` }),
    },
  )
  if (!went.ok) return refused(went.refusal, { plan })
  return { ...(await told(call, went.submitted, false)), ...wentOn(ended.name, went) }
}

const wentOn = (name: string, { counts: { stay, again, added, open } }: WentOn) => ({
  message: `plan ${name} failed; going on with it: ${onwardWords({ stay, again, added, open })}`,
  went_on: { stay_done: stay, run_again: [...again], added: [...added], not_run_yet: open },
})

/** Who started the plan under this key asks for that again, however it stands by now. Null when it was started otherwise. */
async function startedBefore(call: Asking, plan: PlanId): Promise<Accepted | Problem | null> {
  if (call.once === undefined) return null
  // What has left the draft cannot be started: this is the first answer again, or nothing happens.
  const started = await submit(call, plan, { type: 'start' }, keyed(call, 'start'))
  if (started.ok) return started
  return started.refusal.code === 'conflict' ? refused(started.refusal, { plan }) : null
}

const keyed = ({ once }: Asking, verb: 'start' | 'resume') => (once === undefined ? {} : { once: `${once}/${verb}` })

async function told(call: Asking, accepted: Accepted, attached: boolean) {
  return { status: 'execution_started', attached, ...(await movedOf(call, accepted)) } as const
}

function over({ name, status, archived }: Summary): Problem {
  const allowed = archived ? ['clone'] : ['clone', 'rollback']
  return problem(409, 'illegal-transition', archived ? `'${name}' is archived` : `'${name}' has ended: ${status}`, {
    hint: `run it again as a plan of its own: POST /plans/${name}/clone`,
    allowed,
  })
}
