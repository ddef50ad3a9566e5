// The one look-up: a plan by UUID or name, a task by UUID, by `plan:task`, or by its name within a plan. What lies outside the
// scope of a token answers as if it were not there.

import type { PlanId, TaskName } from '../domain/id.ts'
import { isProblem, notFound, type Problem } from './problem.ts'
import type { Call } from './request.ts'

export interface FoundPlan {
  readonly plan: PlanId
  readonly name: string
}
export interface FoundTask extends FoundPlan {
  readonly task: TaskName
}

type Asking = Pick<Call<unknown, unknown>, 'rooms' | 'engine' | 'who'>

export async function findPlan(call: Asking, reference: string): Promise<FoundPlan | Problem> {
  const found = await call.engine.ask({ type: 'find', reference })
  if (found?.task !== null) return notFound(`there is no plan ${quoted(reference)}`, 'list them: GET /plans')
  return { plan: found.plan, name: found.name }
}

/** `within`: the plan whose task it is, when the path says so. */
export async function findTask(call: Asking, reference: string, within?: string): Promise<FoundTask | Problem> {
  const inside = within ?? (reference.includes(':') ? reference.slice(0, reference.indexOf(':')) : undefined)
  const unknown = notFound(`there is no task ${quoted(reference)}`, 'list them: GET /tasks?plan_id=…')
  const found = await call.engine.ask({ type: 'find', reference })
  if (found !== null && found.task !== null) {
    const plan = within === undefined ? null : await findPlan(call, within)
    const isElsewhere = plan !== null && (isProblem(plan) || plan.plan !== found.plan)
    if (isElsewhere) return unknown
    return { plan: found.plan, name: found.name, task: found.task }
  }
  if (inside === undefined) return unknown
  const plan = await findPlan(call, inside)
  if (isProblem(plan)) return within === undefined ? unknown : plan
  const name = within === undefined ? reference.slice(inside.length + 1) : reference
  const card = await call.engine.ask({ type: 'task', plan: plan.plan, task: name })
  return card === null ? unknown : { ...plan, task: name as TaskName }
}

const quoted = (text: string): string => `'${text.slice(0, 100)}'`
