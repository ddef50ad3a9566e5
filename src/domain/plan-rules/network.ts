// What a plan says about the network, read in one place: which addresses a task may reach, and what becomes of any other.

import type { Network } from '../plan-values.ts'
import { coversRule, parseNetworkRule } from './network-rule.ts'

export interface NetworkUse {
  /** Rules, as they were written. */
  readonly allow: readonly string[]
  /** What is done about an address that no rule covers. */
  readonly unknown: 'ask' | 'deny'
}

/** Null: nothing is said, by the task or by the plan. */
export function networkOf(
  { policy }: { readonly policy?: { readonly network?: Network } },
  task: { readonly network?: Network },
): NetworkUse | null {
  const said = task.network ?? policy?.network
  return said === undefined ? null : readNetwork(said)
}

/** A list allows what it names and nothing else. */
export function readNetwork(network: Network): NetworkUse {
  return 'allow' in network ? network : { allow: network, unknown: 'deny' }
}

/** It says that it reaches nothing, and that nobody is to be asked. */
export function isOffline(network: NetworkUse | null): boolean {
  return network !== null && network.allow.length === 0 && network.unknown === 'deny'
}

/** With the person's own rules. Who says that it reaches nothing is taken at its word. */
export function withOwnRules(use: NetworkUse, own: readonly string[]): NetworkUse {
  return isOffline(use) || own.length === 0 ? use : { ...use, allow: [...new Set([...use.allow, ...own])] }
}

/** For people: the addresses, and that others are asked about. */
export function networkWords({ allow, unknown }: NetworkUse): readonly string[] {
  return unknown === 'ask' ? [...allow, OTHERS] : allow
}

const OTHERS = 'others when a person allows them'

/** The first thing that the second one may reach and the first one may not; null when there is none. */
export function reachedBeyond(limit: NetworkUse | null, use: NetworkUse | null): string | null {
  if (limit === null) return null
  if (use === null) return 'anywhere'
  const rules = limit.allow.map(parseNetworkRule).flatMap(parsed => (parsed.ok ? [parsed.rule] : []))
  const beyond = use.allow.find(text => {
    const parsed = parseNetworkRule(text)
    // What cannot be read is the same only when it is written the same.
    return parsed.ok ? !rules.some(rule => coversRule(rule, parsed.rule)) : !limit.allow.includes(text)
  })
  if (beyond !== undefined) return beyond
  return use.unknown === 'ask' && limit.unknown === 'deny' ? OTHERS : null
}
