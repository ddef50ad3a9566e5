// What a plan says about the network: the addresses a task may reach, and what happens with any other.

import type { Network } from '../plan-values.ts'
import { coversRule, parseNetworkRule } from './network-rule.ts'

export interface NetworkUse {
  readonly allow: readonly string[]
  readonly unknown: 'ask' | 'deny'
}

/** Null: neither the task nor the plan says anything. */
export function networkOf(
  { policy }: { readonly policy?: { readonly network?: Network } },
  task: { readonly network?: Network },
): NetworkUse | null {
  const network = task.network ?? policy?.network
  return network === undefined ? null : readNetwork(network)
}

/** A plain list allows its entries and nothing else. */
export function readNetwork(network: Network): NetworkUse {
  return 'allow' in network ? network : { allow: network, unknown: 'deny' }
}

/** It reaches nothing, and nobody is to be asked. */
export function isOffline(network: NetworkUse | null): boolean {
  return network !== null && network.allow.length === 0 && network.unknown === 'deny'
}

/** Adds the user's own rules, unless the task declares that it reaches nothing. */
export function withOwnRules(use: NetworkUse, own: readonly string[]): NetworkUse {
  return isOffline(use) || own.length === 0 ? use : { ...use, allow: [...new Set([...use.allow, ...own])] }
}

export function networkWords({ allow, unknown }: NetworkUse): readonly string[] {
  return unknown === 'ask' ? [...allow, OTHERS] : allow
}

const OTHERS = 'others when a person allows them'

/** The first address that `use` may reach and `limit` does not allow; null for none. */
export function reachedBeyond(limit: NetworkUse | null, use: NetworkUse | null): string | null {
  if (limit === null) return null
  if (use === null) return 'anywhere'
  const rules = limit.allow.map(parseNetworkRule).flatMap(parsed => (parsed.ok ? [parsed.rule] : []))
  const beyond = use.allow.find(text => {
    const parsed = parseNetworkRule(text)
    // Unreadable rules are compared as text.
    return parsed.ok ? !rules.some(rule => coversRule(rule, parsed.rule)) : !limit.allow.includes(text)
  })
  if (beyond !== undefined) return beyond
  return use.unknown === 'ask' && limit.unknown === 'deny' ? OTHERS : null
}
