// Finds a plan by UUID or name, and a task by UUID, by `plan:task`, or by name within a plan. Anything outside the token's scope
// is reported as not found.

import { lookUpPlan, lookUpTask, type PlanTarget, type TaskTarget } from '../operations/find-target.ts'
import { isProblem, notFound, type Problem } from './problem.ts'
import type { Call } from './request.ts'

type Asking = Pick<Call<unknown, unknown>, 'engine'>

export async function findPlan({ engine }: Asking, reference: string): Promise<PlanTarget | Problem> {
  const looked = await lookUpPlan(engine, reference)
  // A task id does not address its plan.
  const found = looked.ok && looked.target.task === null ? looked.target : null
  if (found === null) return notFound(`there is no plan ${quoted(reference)}`, 'list them: GET /plans')
  return { plan: found.plan, name: found.name }
}

export async function findTask(call: Asking, reference: string, within?: string): Promise<TaskTarget | Problem> {
  const plan = within === undefined ? null : await findPlan(call, within)
  if (plan !== null && isProblem(plan)) return plan
  const looked = await lookUpTask(call.engine, reference, plan?.plan)
  if (looked.ok) return looked.target
  return notFound(`there is no task ${quoted(reference)}`, 'list them: GET /tasks?plan_id=…')
}

const quoted = (text: string): string => `'${text.slice(0, 100)}'`
