// The seat of the planner that asks the person's own agent. It drafts nothing until agents can be started from here, and says so.

import { type Planner, PlanningFailure } from './planner.ts'

export function agentPlanner(): Planner {
  const absent = async (): Promise<never> => {
    throw new PlanningFailure({
      class: 'logic',
      code: 'planner:agent',
      retryable: false,
      message: 'drafting by your own agent is not there yet: it comes with the agents',
      hint: "use the planner heuristic, model or template; an agent can already write a plan itself, with the tool 'plan_write'",
    })
  }
  return { name: 'agent', propose: absent, split: absent }
}
