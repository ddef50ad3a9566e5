// The policy of a plan that has started: its own, and the layers recorded in its journal at the start.

import { actionFacts } from '../actions/actions.ts'
import type { Action, Approvers, CommandLine, Criterion, Impact, SandboxMode, TaskDefinition } from '../plan.ts'
import { commandOf } from '../plan-rules/criterion-text.ts'
import { gatedImpact } from '../plan-rules/impact.ts'
import type { NetworkUse } from '../plan-rules/network.ts'
import type { PlanState } from '../state/state.ts'
import { type CommandRule, type CommandVerdict, judgeCommand, ruleWords, stricter } from './command-rules.ts'
import {
  type EffectivePolicy,
  effectivePolicy,
  type Limit,
  layerWords,
  type PolicyLayer,
  planLayer,
} from './policy-layer.ts'

export type UnderPolicy = Pick<PlanState, 'definition' | 'layers'>

/** For the whole plan. Definition and layers are immutable, so this is cached. */
export function policyOf({ definition, layers }: UnderPolicy): EffectivePolicy {
  const known = remembered.get(definition)
  if (known?.layers === layers) return known.policy
  const policy = effectivePolicy([...layers, planLayer(definition)])
  remembered.set(definition, { layers, policy })
  return policy
}

const remembered = new WeakMap<object, { readonly layers: readonly PolicyLayer[]; readonly policy: EffectivePolicy }>()

export const hasLayers = ({ layers }: Pick<PlanState, 'layers'>): boolean => layers.length > 0

export const layeredSandbox = ({ layers }: Pick<PlanState, 'layers'>): SandboxMode | null =>
  layers.length === 0 ? null : (effectivePolicy(layers).sandbox ?? null)

/** The limits on a task's own network rules: the layers, and the plan if the task has rules of its own. */
export function networkAround(
  { definition, layers }: UnderPolicy,
  task: Pick<TaskDefinition, 'network'>,
): readonly Limit<NetworkUse>[] {
  const own = task.network === undefined ? [] : [planLayer(definition)]
  return layers.length + own.length === 0 ? [] : effectivePolicy([...layers, ...own]).network
}

/** Of the layers only; the plan's own list is checked before it starts. */
export const writeAround = ({ layers }: Pick<PlanState, 'layers'>): readonly (readonly string[])[] =>
  layers.flatMap(({ policy }) => (policy.write === undefined ? [] : [policy.write]))

export function readAround(state: UnderPolicy, { read }: Pick<TaskDefinition, 'read'>): readonly (readonly string[])[] {
  const around = policyOf(state).read.map(({ says }) => says)
  const below = read?.filter(pattern => !isBelowHome(pattern)) ?? []
  return around.length === 0 || below.length === 0 ? around : [...around, below]
}

/** A path below the user's home, which only `read` may name: the person's own sandboxed command sees it whole. */
export const isBelowHome = (pattern: string): boolean => pattern.startsWith('~/')

/** The impact that needs an approval before a task begins, by the policy of the plan and the layers; null for none. */
export function gatedIn(state: UnderPolicy, task: TaskDefinition): Impact | null {
  const { definition } = state
  const rules = hasLayers(state) ? { policy: { gates: policyOf(state).gates }, extra: definition.extra } : definition
  const impact = gatedImpact(definition, task, rules)
  if (impact !== null) return impact
  return askedCommand(state, task) === null ? null : 'command'
}

export const approversBy = (state: UnderPolicy): Approvers | undefined =>
  hasLayers(state) ? policyOf(state).gates.approvers : state.definition.policy?.gates?.approvers

export interface CommandAnswer {
  readonly verdict: CommandVerdict
  readonly rule: CommandRule | null
  readonly by: PolicyLayer | null
}

const FREE: CommandAnswer = { verdict: 'allow', rule: null, by: null }

export function commandAnswer(state: UnderPolicy, command: CommandLine): CommandAnswer {
  if (state.layers.length === 0 && state.definition.policy?.commands === undefined) return FREE
  return policyOf(state).commands.reduce<CommandAnswer>((answer, { by, says }) => {
    const judged = judgeCommand(says, command)
    return stricter(judged.verdict, answer.verdict) ? { ...judged, by } : answer
  }, FREE)
}

export function commandReason({ verdict, rule, by }: CommandAnswer): string {
  const key = rule === null ? 'commands' : `commands.${verdict}`
  const who = by === null ? 'the policy' : layerWords(by, key)
  if (rule === null) return `${who} ${verdict === 'ask' ? 'asks about' : 'denies'} commands it does not name`
  return `${who} ${verdict === 'ask' ? 'asks before' : 'denies'} '${ruleWords(rule)}'`
}

/** The first command of a task that needs an approval; null for none. A denied command is not asked about: it fails. */
export function askedCommand(state: UnderPolicy, task: TaskDefinition): CommandAnswer | null {
  if (state.layers.length === 0 && state.definition.policy?.commands === undefined) return null
  for (const command of commandsOf(task)) {
    const answer = commandAnswer(state, command)
    if (answer.verdict === 'ask') return answer
  }
  return null
}

/** All commands the engine would run for the task, git tasks included. Without preconditions, which run before anyone can be asked. */
export function commandsOf(task: TaskDefinition): readonly CommandLine[] {
  const { action, probe, compensate, tries, accept = [], postconditions = [] } = task
  const undo = compensate === undefined || compensate.type === 'task' ? null : commandIn(compensate)
  const checks = [...accept, ...postconditions].flatMap((one: Criterion) => commandOf(one) ?? [])
  return [commandIn(action), probe ?? null, tries?.prepare ?? null, undo, ...checks].flatMap(command => command ?? [])
}

export const commandIn = (action: Action): CommandLine | null => actionFacts(action).command?.(action) ?? null
