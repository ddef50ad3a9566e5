// Claims of external tasks over HTTP. The token identifies the actor; the agent a client names is recorded beside it without
// being trusted.

import type { PlanId, TaskName } from '../../domain/id.ts'
import { defined } from '../../domain/json.ts'
import { haltedBy } from '../../domain/phrases.ts'
import { claimable } from '../../operations/claim-task.ts'
import { findPlan } from '../find-plan.ts'
import { isProblem, type Problem, problem } from '../problem.ts'
import { type Accepted, type Asking, answerOf, gone, order, orderAlso } from '../submit-order.ts'
import { onWire } from '../wire-names.ts'
import { showTask } from './show-task.ts'

export interface ClaimAsk {
  readonly agent?: string | undefined
  readonly leaseSeconds?: number | undefined
}

export async function claimTask(call: Asking, plan: PlanId, task: TaskName, ask: ClaimAsk) {
  const claimed = await order(call, plan, {
    type: 'claim',
    task,
    leaseMs: ask.leaseSeconds === undefined ? undefined : ask.leaseSeconds * 1_000,
    ...((await isSequential(call, plan)) ? { alone: true } : {}),
  })
  return isProblem(claimed) ? claimed : await claimBody(call, claimed, ask)
}

/** Such a plan's steps run one after the other, regardless of their needs. */
async function isSequential({ engine }: Asking, plan: PlanId): Promise<boolean> {
  const current = await engine.ask({ type: 'definition', plan })
  return current?.definition.extra?.plan_type === 'sequential'
}

async function claimBody(call: Asking, claimed: Accepted, { agent }: ClaimAsk) {
  const { engine } = call
  const { plan, claim } = claimed
  if (claim === undefined) throw new Error('bug: a claim was accepted without a token')
  const { task, token, expiresInMs } = claim
  const kept = defined({ agent_id: agent, claim_key: call.once })
  if (Object.keys(kept).length > 0 && claimed.replayed === undefined) {
    const annotated = await orderAlso(call, plan, { type: 'annotate', task, set: kept }, 'agent')
    if (isProblem(annotated)) return annotated
  }
  const [shown, briefing] = [await showTask(call, plan, task), await engine.ask({ type: 'briefing', plan, task })]
  if (shown === null || briefing === null) return gone()
  return {
    token,
    expires_in_seconds: expiresInMs / 1_000,
    agent_id: agent ?? null,
    place: (await engine.ask({ type: 'summary', plan }))?.place ?? null,
    task: shown.body,
    briefing: onWire(briefing),
    ...(await answerOf(call, claimed)),
  }
}

export interface NextAsk extends ClaimAsk {
  readonly plan?: string | undefined
  readonly session?: string | undefined
  readonly kinds?: readonly string[] | undefined
}

/** The next ready task, oldest plan first; null if there is none. If another caller was faster, tries the one after it. */
export async function claimNext(call: Asking, ask: NextAsk) {
  const within = ask.plan === undefined ? null : await findPlan(call, ask.plan)
  if (within !== null && isProblem(within)) return within
  const halt = await call.engine.killSwitch.halted()
  if (halt !== null)
    return problem(409, 'not-ready', `everything was ${haltedBy(halt)}`, {
      hint: 'stop working; an authorised person will lift it, then you can continue',
    })
  const again = call.once === undefined ? null : await claimedBefore(call, call.once)
  if (again !== null) return await claimTask(call, again.plan, again.task, ask)
  let last: Problem | null = null
  const agents = [ask.agent, call.who.actor]
  const { session, kinds } = ask
  for await (const { plan, card } of claimable(call.engine, agents, call.rooms.now(), {
    plan: within?.plan,
    session,
    kinds,
  })) {
    const claimed = await claimTask(call, plan, card.name, ask)
    if (!isProblem(claimed)) return claimed
    last = claimed
    if (claimed.problem.status !== 409) return claimed
  }
  // The key belongs to an ended claim; another task must not be claimed under it.
  return last?.problem.detail.includes('Idempotency-Key') === true ? last : null
}

const PAGE = 500

async function claimedBefore(call: Asking, key: string): Promise<{ plan: PlanId; task: TaskName } | null> {
  const { engine } = call
  const { items } = await engine.ask({ type: 'tasks', status: 'running', assignee: call.who.actor, limit: PAGE })
  for (const { plan, name } of items) {
    const card = await engine.ask({ type: 'task', plan, task: name })
    if (card?.annotations.claim_key === key) return { plan, task: name }
  }
  return null
}
