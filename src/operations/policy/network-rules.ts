// The user's own rules, for a person to read and change. A command run by a task is refused: it must not widen its own sandbox.

import type { TaskName } from '../../domain/id.ts'
import { COMMAND_WORDS_MAX } from '../../domain/limits.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { type NetworkUse, networkOf, readNetwork } from '../../domain/plan-rules/network.ts'
import { parseNetworkRule } from '../../domain/plan-rules/network-rule.ts'
import { type CommandRule, ruleAgainst } from '../../domain/policy/command-rules.ts'
import { commandReason } from '../../domain/policy/policy-in-state.ts'
import { addressBeyond, type PolicyLayer } from '../../domain/policy/policy-layer.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import { programBehind } from '../../safety/environment.ts'
import {
  type CommandList,
  changeUserCommands,
  changeUserRules,
  readUserRules,
  type UserRules,
  type UserRulesPlace,
} from '../../safety/network/user-rules.ts'
import { readPolicyLayers } from '../../safety/policy/policy-files.ts'
import type { Person } from '../../safety/policy/policy-log.ts'
import { type Answer, failure } from '../../safety/safety-refusal.ts'

export interface RuleOrder {
  readonly address: string
  readonly for: 'user' | 'project'
  readonly person: Person
}

/** True if it is new. */
export async function allowNetwork(place: UserRulesPlace, order: RuleOrder): Promise<Answer<boolean>> {
  const parsed = parseNetworkRule(order.address)
  if (!parsed.ok) return { ok: false, failure: failure('logic', parsed.message, parsed.hint) }
  return (await beyondOrganisation(place, order.address)) ?? (await change(place, 'add', order))
}

/** True if it existed. Permissions in plans stay. */
export async function removeNetwork(place: UserRulesPlace, order: RuleOrder): Promise<Answer<boolean>> {
  return await change(place, 'remove', order)
}

/** Into one of the user's lists; null: out of all of them. True if that is a change. */
export async function setCommandRule(
  place: UserRulesPlace,
  { rule, into, person }: { readonly rule: CommandRule; readonly into: CommandList | null; readonly person: Person },
): Promise<Answer<boolean>> {
  const refused = refuseTask(place)
  if (refused !== null) return refused
  if (rule.length === 0 || rule.length > COMMAND_WORDS_MAX || rule.includes(''))
    return no('logic', 'which command?', `name its words, at most ${COMMAND_WORDS_MAX}; ** matches any further words`)
  if (into === 'allow') {
    const layers = await readPolicyLayers(place)
    if (!layers.ok) return layers
    const beyond = commandBeyond(layers.value, rule)
    if (beyond !== null) return no('policy', beyond, 'ask the administrator of this machine')
  }
  return await changeUserCommands(place, { rule, into }, person)
}

/** The objection of the organisation's policy, in a sentence; null if there is none. */
function commandBeyond(layers: readonly PolicyLayer[], rule: CommandRule): string | null {
  for (const layer of layers) {
    const against = layer.from === 'organisation' ? ruleAgainst(layer.policy.commands ?? {}, rule) : null
    if (against !== null) return commandReason({ ...against, by: layer })
  }
  return null
}

async function beyondOrganisation(place: UserRulesPlace, address: string): Promise<Answer<never> | null> {
  const refused = refuseTask(place)
  if (refused !== null) return refused
  const layers = await readPolicyLayers(place)
  if (!layers.ok) return layers
  const beyond = addressBeyond(layers.value, address)
  return beyond === null ? null : no('policy', beyond, 'ask the administrator of this machine')
}

const no = (kind: 'policy' | 'logic', message: string, hint: string) =>
  ({ ok: false, failure: failure(kind, message, hint) }) as const

export interface PlanNetwork {
  readonly policy: NetworkUse | null
  readonly tasks: readonly (NetworkUse & { readonly task: TaskName })[]
}

export function planNetwork(plan: PlanDefinition): PlanNetwork {
  const saying = allTasks(plan).flatMap(({ id, network }) =>
    network === undefined ? [] : [{ task: id, ...readNetwork(network) }],
  )
  return { policy: networkOf(plan, {}), tasks: saying }
}

export const showNetwork = (place: UserRulesPlace): Promise<Answer<UserRules>> => readUserRules(place)

async function change(place: UserRulesPlace, what: 'add' | 'remove', order: RuleOrder): Promise<Answer<boolean>> {
  return (
    refuseTask(place) ?? (await changeUserRules(place, { do: what, rule: order.address, for: order.for }, order.person))
  )
}

export function refuseTask({
  environment,
}: Pick<UserRulesPlace, 'environment'>): Extract<Answer<never>, { readonly ok: false }> | null {
  const who = programBehind(environment)
  if (who === null) return null
  return {
    ok: false,
    failure: failure('policy', `${who} may not change your rules`, 'run the command yourself, in a terminal'),
  }
}
