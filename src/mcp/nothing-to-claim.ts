// Explains why no task can be claimed: the plan has ended, is paused or not started, needs a decision, or others hold the tasks.

import type { PlanId } from '../domain/id.ts'
import { openPlans } from '../operations/find-target.ts'
import { hintText } from './hint-text.ts'
import { clean, PLAN_WORDS } from './plan-text.ts'
import { type Room, whyStopped } from './room.ts'

const NAMES_MAX = 5
const WHY_MAX = 3

export async function nothingToClaim(room: Room, plan?: PlanId): Promise<string> {
  const plans = plan === undefined ? (await openPlans(room.engine)).map(({ id }) => id) : [plan]
  const whys = await Promise.all(plans.slice(0, WHY_MAX).map(async one => await whyNothing(room, one)))
  return `error: nothing can be claimed: ${whys.join('; ') || 'no plan is unfinished'}\nhint: ${LOOK}`
}

const LOOK = 'report what you have claimed; for people see plan_read {"what":"inbox"}, for the rest {"what":"blocked"}'

export async function whyNothing(room: Room, plan: PlanId): Promise<string> {
  const summary = await room.engine.ask({ type: 'summary', plan })
  if (summary === null) return 'the plan is gone'
  const { name, status, progress } = summary
  const stopped = await whyStopped(room, summary)
  if (stopped !== null) return stopped
  if (status !== 'active' && status !== 'blocked')
    return `${clean(name)} is ${PLAN_WORDS[status]}, ${progress.done} of ${progress.total} done`
  const next = await room.engine.ask({ type: 'next', plan, explain: true, limit: WHY_MAX })
  const whys = (next?.explained ?? []).map(({ why }) => clean(hintText(why)))
  return `${clean(name)}: ${whys.join(', ') || 'nothing is ready'}`
}

export function names(all: readonly string[]): string {
  const first = all.slice(0, NAMES_MAX).map(one => clean(one, 100))
  return `${first.join(', ')}${all.length > NAMES_MAX ? ` and ${all.length - NAMES_MAX} more` : ''}`
}
