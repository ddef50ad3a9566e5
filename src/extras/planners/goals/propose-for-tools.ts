// A draft for an agent that asks for one with `plan_write`, in the process of `planfold mcp`.

import type { ToolPlanning } from '../../../cli/commands/service/mcp.ts'
import { hintText } from '../../../mcp/hint-text.ts'
import { planningIn } from '../open-planners.ts'
import { PlanningFailure } from '../planner.ts'
import { choosePlanner } from './choose-planner.ts'
import { checksOnCopy, LOOK_MS, lookFirst } from './look-first.ts'
import { earlierPlans, proposedPlan } from './plan-goal.ts'

export const proposeForTools: ToolPlanning['proposeForTools'] = async (
  composed,
  environment,
  goal,
  { look, ...choice } = {},
  { comments = [], ...earlier } = {},
) => {
  const { engine, root, stateDir, now } = composed
  // Looked at afresh for each goal: files change while an agent works.
  const { planners, repository } = planningIn(composed, environment)
  const chosen = choosePlanner(planners, choice)
  if (chosen.status !== 'chosen') return { problem: { detail: 'no planner drafts this here', hint: 'name a `model`' } }
  try {
    const place = { root, stateDir, environment, now, repository }
    const maxMs = LOOK_MS.plan
    const looked = look === true ? await lookFirst(place, { maxMs }) : undefined
    const runCheck = look === true && choice.model !== undefined ? await checksOnCopy(place, { maxMs }) : undefined
    const rooms = { planner: chosen.planner, repository, ...(await earlierPlans(engine)) }
    return await proposedPlan(rooms, goal, { ...choice, ...earlier, comments, looked, runCheck })
  } catch (error) {
    if (!(error instanceof PlanningFailure)) throw error
    const { message, hint } = error.failure
    return { problem: { detail: message, ...(hint === undefined ? {} : { hint: hintText(hint) }) } }
  }
}
