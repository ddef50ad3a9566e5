// `planfold plan --replan PLAN`: a planner drafts again what is left of a started plan. The draft becomes a proposal, shown as a diff.

import { type Context, printNote, refused, withState } from '../../../cli/command.ts'
import { submitProposal } from '../../../cli/commands/revisions/proposals.ts'
import { findPlan } from '../../../cli/find-target.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { earlierPlans } from '../goals/plan-goal.ts'
import { replanGoal } from '../goals/replan-goal.ts'
import { planningIn } from '../open-planners.ts'
import { type PlanOptions, plannerFor, proposed } from './plan.ts'

export interface ReplanOptions extends Pick<PlanOptions, 'planner' | 'model' | 'budget' | 'with' | 'look'> {
  readonly message?: string
}

export async function replan(context: Context, word: string, options: ReplanOptions): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    const { engine } = composed
    const { planners, repository } = planningIn(composed, context.environment)
    const plan = await findPlan(engine, word)
    const { message: why = '', planner, model, with: agent } = options
    const named = { planner, model, agent }
    const choice = Object.fromEntries(Object.entries(named).filter(([, one]) => one !== undefined))
    const asked = { plan: plan.plan, why, choice }
    const found = await replanGoal(engine, asked, async ({ goal, comments, draft, choice: chosen, progress }) => {
      const { agent: by, ...drafting } = { ...chosen, budget: options.budget, look: options.look }
      const drafted = { ...drafting, with: by } as PlanOptions
      const rooms = { planner: plannerFor(planners, drafted), repository, ...(await earlierPlans(engine)) }
      const { proposal } = await proposed(context, rooms, { goal, comments, options: drafted, draft, progress })
      return proposal
    })
    if (found.status === 'failed') return found.problem
    if (found.status === 'refused') throw refused(found.refusal)
    const { current, revision, rationale, unfollowed } = found.replanned
    for (const { comment, why: not } of unfollowed)
      printNote(context, `comment not applied: ${escapeForTerminal(`${comment.text} (${not})`)}`)
    return await submitProposal(context, composed, { plan, current, revision }, { rationale })
  })
}
