// The user's own rules as a person changes and reads them. A command that a task runs is no person: it may not widen its own wall.

import type { TaskName } from '../../domain/id.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { type NetworkUse, networkOf, readNetwork } from '../../domain/plan-rules/network.ts'
import { parseNetworkRule } from '../../domain/plan-rules/network-rule.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import {
  changeUserRules,
  readUserRules,
  rememberWithoutSandbox,
  type UserRules,
  type UserRulesPlace,
} from '../../safety/network/user-rules.ts'
import { type Answer, failure } from '../../safety/safety-refusal.ts'

export interface RuleOrder {
  readonly address: string
  /** For this workspace only, or for all of them. */
  readonly for: 'user' | 'project'
}

/** True when it was not there before. */
export async function allowNetwork(place: UserRulesPlace, order: RuleOrder): Promise<Answer<boolean>> {
  const parsed = parseNetworkRule(order.address)
  if (!parsed.ok) return { ok: false, failure: failure('logic', parsed.message, parsed.hint) }
  return await change(place, 'add', order)
}

/** True when it was there. What plans allow themselves stays as it is. */
export async function forbidNetwork(place: UserRulesPlace, order: RuleOrder): Promise<Answer<boolean>> {
  return await change(place, 'remove', order)
}

/** Commands of the person's own plans may run where there is no sandbox. True when that is new. */
export async function setWithoutSandbox(place: UserRulesPlace, isAllowed: boolean): Promise<Answer<boolean>> {
  return refuseTask(place) ?? (await rememberWithoutSandbox(place, isAllowed))
}

export interface PlanNetwork {
  /** What the plan says for all its tasks; null when it says nothing. */
  readonly policy: NetworkUse | null
  /** Tasks that say something of their own. */
  readonly tasks: readonly (NetworkUse & { readonly task: TaskName })[]
}

/** What a plan says about the network, and where. */
export function planNetwork(plan: PlanDefinition): PlanNetwork {
  const saying = allTasks(plan).flatMap(({ id, network }) =>
    network === undefined ? [] : [{ task: id, ...readNetwork(network) }],
  )
  return { policy: networkOf(plan, {}), tasks: saying }
}

export const showNetwork = (place: UserRulesPlace): Promise<Answer<UserRules>> => readUserRules(place)

async function change(place: UserRulesPlace, what: 'add' | 'remove', order: RuleOrder): Promise<Answer<boolean>> {
  return refuseTask(place) ?? (await changeUserRules(place, { do: what, rule: order.address, for: order.for }))
}

export function refuseTask({
  environment,
}: Pick<UserRulesPlace, 'environment'>): Extract<Answer<never>, { readonly ok: false }> | null {
  if (environment.PLANFOLD_KEY === undefined && environment.PLANFOLD_OWNER === undefined) return null
  return {
    ok: false,
    failure: failure('policy', 'a task may not change your rules', 'run the command yourself, in a terminal'),
  }
}
