// The effective policy for a person: each line with its source. Lines that a stricter layer overrides are left out.

import { defined, type Json } from '../../domain/json.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { type CommandRule, ruleWords } from '../../domain/policy/command-rules.ts'
import {
  inEffect,
  type LayerName,
  type LayerPolicy,
  type PolicyLayer,
  planLayer,
  taskLayer,
} from '../../domain/policy/policy-layer.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import { raisePolicy } from '../../format/plan/definition-to-document.ts'
import type { SettingsPlace } from '../../safety/files/user-settings.ts'
import { readPolicyLayers } from '../../safety/policy/policy-files.ts'
import { type PolicyChange, readChanges } from '../../safety/policy/policy-log.ts'
import { type Answer, answering } from '../../safety/safety-refusal.ts'

export interface PolicyLine {
  /** As it is written: `sandbox`, `commands.deny`, `budget.time`. */
  readonly key: string
  readonly value: string
  readonly from: LayerName
  readonly file?: string
  readonly line?: number
  readonly task?: string
}

export const currentLayers = (place: SettingsPlace): Promise<Answer<readonly PolicyLayer[]>> => readPolicyLayers(place)

export const policyChanges = (place: SettingsPlace): Promise<Answer<readonly PolicyChange[]>> =>
  answering('reading who changed your rules', () => readChanges(place))

/** `layers`: those around the plan, widest first. */
export function policyLines(layers: readonly PolicyLayer[], plan: PlanDefinition | null): readonly PolicyLine[] {
  const own = plan === null ? [] : [planLayer(plan)]
  const tasks = plan === null ? [] : allTasks(plan)
  return [
    ...inEffect([...layers, ...own]).flatMap(linesOf),
    ...tasks.flatMap(task => linesOf(taskLayer(task)).map(line => ({ ...line, task: task.id }))),
  ]
}

function linesOf({ from, file, lines, policy }: PolicyLayer): readonly PolicyLine[] {
  return wordsOf(policy).map(([key, value]) => {
    const line = lines?.[key] ?? lines?.[key.split('.')[0]!]
    return {
      key,
      value,
      from,
      ...defined({ file, line }),
    }
  })
}

function wordsOf({ network, commands, ...rest }: LayerPolicy): readonly (readonly [string, string])[] {
  const found: [string, string][] = []
  for (const [key, value] of Object.entries(raisePolicy(rest))) add(key, value)
  if (network !== undefined) {
    const { allow, unknown } = 'allow' in network ? network : { allow: network, unknown: 'deny' }
    for (const rule of allow) found.push(['network', rule])
    found.push(['network.unknown', unknown])
  }
  for (const key of ['allow', 'ask', 'deny'] as const)
    for (const rule of commands?.[key] ?? []) found.push([`commands.${key}`, ruleWords(rule as CommandRule)])
  const unknown = commands === undefined ? undefined : (commands.unknown ?? (commands.allow && 'deny'))
  if (unknown !== undefined && unknown !== 'allow') found.push(['commands.unknown', unknown])
  return found

  function add(key: string, value: Json | undefined): void {
    if (Array.isArray(value)) {
      if (value.length === 0) found.push([key, 'nothing'])
      for (const one of value) found.push([key, String(one)])
    } else if (typeof value === 'object' && value !== null) {
      for (const [inner, one] of Object.entries(value)) add(`${key}.${inner}`, one as Json)
    } else if (value !== undefined) found.push([key, String(value)])
  }
}
