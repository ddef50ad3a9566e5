// The layers of a policy, widest first: organisation, user, project, plan, task. Each may only narrow the previous ones. The effective
// policy is computed here only.

import { defined, same } from '../json.ts'
import type { ReadMemory } from '../memory/memory-items.ts'
import type { Budget, DataRules, GatePolicy, PlanDefinition, Policy, SandboxMode, TaskDefinition } from '../plan.ts'
import { type NetworkUse, reachedBeyond, readNetwork } from '../plan-rules/network.ts'
import type { CommandRules } from './command-rules.ts'

export type LayerName = 'organisation' | 'user' | 'project' | 'plan' | 'task'

/** The keys of every layer. The rest of a plan's policy is about that plan only. */
export type LayerPolicy = Pick<
  Policy,
  'sandbox' | 'network' | 'commands' | 'write' | 'read' | 'budget' | 'gates' | 'limits' | 'retention' | 'data'
>

export interface PolicyLayer {
  readonly from: LayerName
  readonly file?: string
  readonly lines?: { readonly [key: string]: number }
  readonly policy: LayerPolicy
}

/** What a plan goes on with, if it changed: the policy layers around it, with the files that changed, and what it read of memory. */
export interface PolicyAgain {
  readonly memory?: ReadMemory
  readonly policy?: readonly PolicyLayer[]
  readonly changed?: readonly string[]
}

/** The layers that `others` lacks or states differently. Line numbers do not matter. */
export const layersBesides = (layers: readonly PolicyLayer[], others: readonly PolicyLayer[]): readonly PolicyLayer[] =>
  layers.filter(({ file, policy }) => !others.some(other => other.file === file && same(other.policy, policy)))

/** The statement of one layer, where the statements of all layers apply. */
export interface Limit<T> {
  readonly by: PolicyLayer
  readonly says: T
}

export interface EffectivePolicy {
  readonly sandbox?: SandboxMode
  /** An address must be allowed by every one of them. */
  readonly network: readonly Limit<NetworkUse>[]
  /** The strictest of their verdicts applies. */
  readonly commands: readonly Limit<CommandRules>[]
  /** A path must be in every one of them. */
  readonly write: readonly Limit<readonly string[]>[]
  readonly read: readonly Limit<readonly string[]>[]
  readonly budget: Budget
  readonly gates: GatePolicy
  readonly limits: NonNullable<Policy['limits']>
  readonly retention: NonNullable<Policy['retention']>
  readonly data: DataRules
}

/** `layers`: widest first. */
export function effectivePolicy(layers: readonly PolicyLayer[]): EffectivePolicy {
  const all = <K extends 'budget' | 'limits' | 'retention' | 'data'>(key: K): readonly NonNullable<LayerPolicy[K]>[] =>
    layers.flatMap(({ policy }): readonly NonNullable<LayerPolicy[K]>[] => {
      const says = policy[key]
      return says === undefined ? [] : [says]
    })
  const limits = <K extends keyof LayerPolicy, T>(
    key: K,
    read: (says: NonNullable<LayerPolicy[K]>) => T,
  ): readonly Limit<T>[] =>
    layers.flatMap(by => {
      const says = by.policy[key]
      return says === undefined ? [] : [{ by, says: read(says as NonNullable<LayerPolicy[K]>) }]
    })
  const sandbox = strictest(
    layers.flatMap(({ policy }) => policy.sandbox ?? []),
    SANDBOX,
  )
  return {
    ...(sandbox === undefined ? {} : { sandbox }),
    network: limits('network', readNetwork),
    commands: limits('commands', says => says),
    write: limits('write', says => says),
    read: limits('read', says => says),
    budget: all('budget').reduce<Budget>(narrowed, {}),
    gates: layers.reduce<GatePolicy>((gates, layer) => narrowGates(gates, layer), {}),
    limits: all('limits').reduce<EffectivePolicy['limits']>(narrowed, {}),
    retention: all('retention').reduce<EffectivePolicy['retention']>(narrowed, {}),
    data: all('data').reduce<DataRules>(narrowed, {}),
  }
}

const SANDBOX: readonly SandboxMode[] = ['off', 'preferred', 'required']
/** Ordered keywords, each list widest first. */
const WORDS: readonly (readonly string[])[] = [SANDBOX, ['allow', 'ask', 'deny', 'fail']]

function strictest<T extends string>(keywords: readonly T[], order: readonly string[]): T | undefined {
  return keywords.reduce<T | undefined>(
    (found, one) => (found === undefined || order.indexOf(one) > order.indexOf(found) ? one : found),
    undefined,
  )
}

/** Key by key: the smaller number, the smaller amount, the stricter keyword. */
function narrowed<T extends object>(outer: T, inner: T): T {
  const values = Object.entries(inner).map(([key, value]) => [key, narrower(outer[key as keyof T], value)] as const)
  return { ...outer, ...Object.fromEntries(values) }
}

function narrower(one: unknown, other: unknown): unknown {
  if (one === undefined || other === undefined) return one ?? other
  if (typeof one === 'number' && typeof other === 'number') return Math.min(one, other)
  if (typeof one === 'string' && typeof other === 'string') {
    const order = WORDS.find(words => words.includes(one) && words.includes(other))
    return order === undefined ? one : order[Math.max(order.indexOf(one), order.indexOf(other))]
  }
  if (isMoney(one) && isMoney(other)) {
    // They cannot be compared, so nothing may be spent; see `clashingCost`.
    if (one.currency !== other.currency) return { ...one, amount: 0 }
    return one.amount <= other.amount ? one : other
  }
  return one
}

type Money = NonNullable<Budget['cost']>
const isMoney = (value: unknown): value is Money => typeof value === 'object' && value !== null && 'currency' in value

/** Two layers whose currencies differ; null for none. */
export function clashingCost(layers: readonly PolicyLayer[]): readonly [PolicyLayer, PolicyLayer] | null {
  const saying = layers.filter(({ policy }) => policy.budget?.cost !== undefined)
  const [first] = saying
  const other = saying.find(({ policy }) => policy.budget?.cost?.currency !== first?.policy.budget?.cost?.currency)
  return first === undefined || other === undefined ? null : [first, other]
}

/** Gates of outer layers are added to the plan's own. A plan without a list has all of them. */
function narrowGates(outer: GatePolicy, { from, policy: { gates } }: PolicyLayer): GatePolicy {
  const isPlan = from === 'plan'
  if (gates === undefined) return isPlan ? withoutList(outer) : outer
  const { before, approvers, unknown, ...others } = gates
  // An outer layer may demand gates, not waive them.
  const rest = unknown === undefined || (!isPlan && unknown === 'allow') ? others : { ...others, unknown }
  const { before: demanded = [], approvers: demandedOf, ...demands } = outer
  const list = before === undefined ? (isPlan ? undefined : outer.before) : [...new Set([...demanded, ...before])]
  const count = Math.max(demandedOf?.count ?? 1, approvers?.count ?? 1)
  const who = { ...demandedOf, ...approvers, ...(count > 1 ? { count } : {}) }
  return {
    ...narrowed<GatePolicy>(demands, rest),
    ...(list === undefined ? {} : { before: list }),
    ...(Object.keys(who).length === 0 ? {} : { approvers: who }),
  }
}

const withoutList = ({ before: _, ...rest }: GatePolicy): GatePolicy => rest

/** The plan itself as a layer, before those of its tasks. */
export function planLayer({ policy = {} }: Pick<PlanDefinition, 'policy'>): PolicyLayer {
  const { sandbox, network, commands, write, read, budget, gates, limits, retention, data } = policy
  return {
    from: 'plan',
    policy: withoutUndefined({ sandbox, network, commands, write, read, budget, gates, limits, retention, data }),
  }
}

export function taskLayer({ network, write, read, budget }: Partial<TaskDefinition>): PolicyLayer {
  return { from: 'task', policy: withoutUndefined({ network, write, read, budget }) }
}

type Sparse<T> = { readonly [K in keyof T]: T[K] | undefined }

const withoutUndefined = (policy: Sparse<LayerPolicy>): LayerPolicy => defined(policy) as LayerPolicy

/** The layers without statements that a stricter layer overrides. */
export function inEffect(layers: readonly PolicyLayer[]): readonly PolicyLayer[] {
  const effective = effectivePolicy(layers)
  const taken = new Set<string>()
  /** Only the first layer with the effective statement is named. */
  const counts = (path: string, value: unknown, holds: unknown): boolean => {
    if (JSON.stringify(value) !== JSON.stringify(holds) || taken.has(path)) return false
    taken.add(path)
    return true
  }
  const kept = <T extends object>(path: string, value: T | undefined, holds: object): T | undefined => {
    if (value === undefined) return undefined
    const left = Object.entries(value).filter(
      ([key, one]) => one !== undefined && counts(`${path}.${key}`, one, (holds as Record<string, unknown>)[key]),
    )
    return left.length === 0 ? undefined : (Object.fromEntries(left) as T)
  }
  return layers.map(layer => {
    const { sandbox, gates, budget, limits, retention, data, ...lists } = layer.policy
    const { before, ...all } = gates ?? {}
    const rest = layer.from === 'plan' || all.unknown !== 'allow' ? all : { ...all, unknown: undefined }
    const others = kept('gates', rest, effective.gates) ?? {}
    const asked = { ...(before === undefined ? {} : { before }), ...others }
    return {
      ...layer,
      policy: {
        ...lists,
        ...withoutUndefined({
          sandbox: sandbox !== undefined && counts('sandbox', sandbox, effective.sandbox) ? sandbox : undefined,
          gates: Object.keys(asked).length === 0 ? undefined : asked,
          budget: kept('budget', budget, effective.budget),
          limits: kept('limits', limits, effective.limits),
          retention: kept('retention', retention, effective.retention),
          data: kept('data', data, effective.data),
        }),
      },
    }
  })
}

export function layerWords({ from, file, lines }: PolicyLayer, key?: string): string {
  const who = from === 'user' ? 'your own policy' : `the ${from}'s policy`
  if (file === undefined) return who
  const line = key === undefined ? undefined : (lines?.[key] ?? lines?.[key.split('.')[0] ?? ''])
  return `${who} (${file}${line === undefined ? '' : `:${line}`})`
}

/** Why a layer of the organisation does not allow an address, in a sentence; null when all do, or a person is asked. */
export function addressBeyond(layers: readonly PolicyLayer[], address: string): string | null {
  for (const layer of layers) {
    const { network } = layer.policy
    if (layer.from !== 'organisation' || network === undefined || readNetwork(network).unknown === 'ask') continue
    if (reachedBeyond(readNetwork(network), { allow: [address], unknown: 'deny' }) !== null)
      return `${layerWords(layer, 'network')} does not allow ${address}`
  }
  return null
}
