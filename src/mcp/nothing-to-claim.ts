// Why no task can be claimed: the plan is over, paused or not started, a person must decide first, or others are at work.

import type { PlanId } from '../domain/id.ts'
import { numberOf } from '../domain/phrases.ts'
import { openPlans } from '../operations/find-target.ts'
import { hintText } from './hint-text.ts'
import { clean, PLAN_WORDS } from './plan-text.ts'
import { claimedAmong, type Room, whyStopped } from './room.ts'

const PLANS_MAX = 3
const NAMES_MAX = 5

/** As an error with a hint; without a plan, for all that are open. */
export async function nothingToClaim(room: Room, plan?: PlanId): Promise<string> {
  const plans = plan === undefined ? (await openPlans(room.engine)).map(({ id }) => id) : [plan]
  const whys = await Promise.all(plans.slice(0, PLANS_MAX).map(async one => await whyNothing(room, one)))
  const more = plans.length > PLANS_MAX ? [`${numberOf(plans.length - PLANS_MAX, 'more plan')} likewise`] : []
  const all = [...whys.map(({ why }) => why), ...more].join('; ') || 'no plan is unfinished'
  const hints = new Set(whys.map(({ hint }) => hint))
  return `error: nothing can be claimed: ${all}\nhint: ${[...hints].join('; ') || DONE_HINT}`
}

const DONE_HINT = 'the work is done; plans: plan_read {"what":"list"}'

/** Of one plan. */
export async function whyNothing(room: Room, plan: PlanId): Promise<{ readonly why: string; readonly hint: string }> {
  const summary = await room.engine.ask({ type: 'summary', plan })
  if (summary === null) return { why: 'the plan is gone', hint: DONE_HINT }
  const { status, progress, waiting, running } = summary
  const name = clean(summary.name)
  const stopped = await whyStopped(room, summary)
  if (stopped !== null) return { why: stopped, hint: 'wait, or work on another plan' }
  const start = `plan_write {"action":"start","plan":"${name}"}`
  if (status === 'draft') return { why: `${name} is a ${PLAN_WORDS.draft}`, hint: `start it: ${start}` }
  if (status === 'completed' || status === 'failed' || status === 'cancelled')
    return { why: `${name} is ${status}, ${progress.done} of ${progress.total} tasks are done`, hint: DONE_HINT }
  const mine = await claimedAmong(room, plan, running)
  const others = running.filter(one => !mine.includes(one))
  const parts = [
    ...(mine.length === 0 ? [] : [`you have ${names(mine)} in hand`]),
    ...(waiting.length === 0 ? [] : [`${names(waiting.map(({ task }) => task))}: waiting for a person`]),
    ...(others.length === 0 ? [] : [`${names(others)}: running, or claimed by others`]),
  ]
  const look = `plan_read {"what":"blocked","plan":"${name}"}`
  const hint =
    mine.length > 0 ? 'work on what you have, and report it' : waiting.length > 0 ? INBOX : `wait, or see ${look}`
  if (parts.length > 0) return { why: `${name}: ${parts.join(', ')}`, hint }
  const next = await room.engine.ask({ type: 'next', plan, explain: true, limit: NAMES_MAX })
  const explained = (next?.explained ?? []).map(({ why }) => clean(hintText(why)))
  return { why: `${name}: ${explained.join(', ') || 'nothing is ready'}`, hint }
}

const INBOX = 'a person decides in the inbox: plan_read {"what":"inbox"}'

/** The first few by name. */
export function names(all: readonly string[]): string {
  const more = all.length - NAMES_MAX
  return `${all
    .slice(0, NAMES_MAX)
    .map(one => clean(one, 100))
    .join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
