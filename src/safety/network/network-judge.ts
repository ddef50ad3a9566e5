// Decides whether a target may be reached, and at which addresses. A name is resolved once, after a rule has allowed it; every address is
// checked, and the connection uses one of those, so that a later answer of the name server changes nothing.

import { lookup as resolveName } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { NetworkDecision } from '../../domain/network-decision.ts'
import {
  covers,
  isAddress,
  type NetworkRule,
  type NetworkTarget,
  parseNetworkRule,
  ruleFor,
} from '../../domain/plan-rules/network-rule.ts'
import { refuse } from '../safety-refusal.ts'
import { deniedAs, hostOfAddress, isLoopback } from './address-check.ts'

/** A person's answer about a target; `over`: it can no longer be given. */
export type Ask = (target: NetworkTarget) => Promise<boolean | 'over'>

export type Lookup = (host: string) => Promise<readonly string[]>

export interface JudgeOptions {
  readonly rules: readonly NetworkRule[]
  /** Limits of policy layers, which must all allow the target as well. */
  readonly within?: readonly NetworkLimit[]
  /** The rules by a person: they answer for layers that ask. */
  readonly person?: readonly NetworkRule[]
  /** False: targets without a rule are refused; only layers ask. */
  readonly asksBeyond?: boolean
  /** Called once for each target without a rule, or that a layer asks about; null: such a target is refused. */
  readonly ask: Ask | null
  readonly holdMs: number
  readonly lookup: Lookup
}

export interface NetworkLimit {
  readonly rules: readonly NetworkRule[]
  readonly unknown: 'ask' | 'deny'
  readonly who: string
}

export type Verdict =
  | {
      readonly is: 'allowed'
      readonly rule: string
      readonly addresses: readonly string[]
      readonly byPerson?: true
      /** A tunnel that is allowed only by https rules, here or in a layer. */
      readonly tlsOnly?: true
    }
  /** Allowed, but the name does not resolve. */
  | { readonly is: 'unknown-name'; readonly rule: string }
  | { readonly is: 'refused'; readonly why: string; readonly allowWith?: string; readonly asked?: true }

/** So that a program that tries ever new hosts cannot fill the inbox. */
const QUESTIONS_MAX = 20

export class NetworkJudge {
  readonly #options: JudgeOptions
  readonly #answered: NetworkRule[] = []
  /** Open and answered questions, each with the promise that connections wait for. */
  readonly #asked = new Map<string, Promise<boolean | 'over' | null>>()

  constructor(options: JudgeOptions) {
    this.#options = options
  }

  async judge(target: NetworkTarget): Promise<Verdict> {
    const allowWith = ruleFor(target)
    const { within = [], asksBeyond = true, ask: asker, holdMs } = this.#options
    const uncovered = within.filter(({ rules }) => !rules.some(one => covers(one, target)))
    const closed = uncovered.find(({ unknown }) => unknown === 'deny')
    if (closed !== undefined) return { is: 'refused', why: `${closed.who} does not allow it` }
    let rule = this.#ruleFor(target)
    if (rule === null || (uncovered.length > 0 && !this.#hasWord(target))) {
      const ask = rule === null && !asksBeyond ? null : asker
      if (ask === null) return { is: 'refused', why: 'no rule allows it', allowWith }
      if (this.#asked.size >= QUESTIONS_MAX && !this.#asked.has(allowWith))
        return { is: 'refused', why: `${QUESTIONS_MAX} other addresses were asked about already`, allowWith }
      const answer = await this.#answer(ask, target, holdMs)
      if (answer === null)
        return { is: 'refused', why: 'a person was asked, and has not answered yet', allowWith, asked: true }
      if (answer === 'over') return { is: 'refused', why: 'the plan no longer wants it', allowWith }
      if (!answer) return { is: 'refused', why: 'a person was asked, and said no', allowWith }
      rule = this.#ruleFor(target)
      if (rule === null) return { is: 'refused', why: 'no rule allows it', allowWith }
    }
    const addresses = await this.#addressesOf(target.host)
    if (addresses.length === 0) return { is: 'unknown-name', rule: rule.text }
    for (const address of addresses) {
      const is = deniedAs(address)
      if (is === null || this.#isNamed(target, address)) continue
      const host = hostOfAddress(address)
      const why =
        host === target.host
          ? `it is ${is}, and no rule names the address`
          : `it leads to ${address} (${is}), and no rule names that address`
      return { is: 'refused', why, allowWith: ruleFor({ ...target, host }) }
    }
    return {
      is: 'allowed',
      rule: rule.text,
      addresses,
      ...(this.#answered.includes(rule) ? { byPerson: true } : {}),
      ...(this.#isTlsOnly(target) ? { tlsOnly: true } : {}),
    }
  }

  #isTlsOnly(target: NetworkTarget): boolean {
    const { rules, within = [] } = this.#options
    return [[...rules, ...this.#answered], ...within.map(layer => layer.rules)].some(layer => {
      const covering = layer.filter(rule => covers(rule, target))
      return covering.length > 0 && covering.every(({ scheme }) => scheme === 'https')
    })
  }

  #ruleFor(target: NetworkTarget): NetworkRule | null {
    const rules = [...this.#options.rules, ...this.#answered]
    // A rule with the host's name is preferred to one with a wildcard.
    const found = rules.filter(rule => covers(rule, target))
    return found.find(rule => rule.host.is === 'exactly') ?? found[0] ?? null
  }

  #hasWord(target: NetworkTarget): boolean {
    return [...(this.#options.person ?? []), ...this.#answered].some(rule => covers(rule, target))
  }

  /** By its address, or as `localhost`, which has no other meaning. */
  #isNamed(target: NetworkTarget, address: string): boolean {
    const exact = [...this.#options.rules, ...this.#answered].filter(rule => rule.host.is === 'exactly')
    if (exact.some(rule => covers(rule, { ...target, host: hostOfAddress(address) }))) return true
    const isLocalName = target.host === 'localhost' || target.host.endsWith('.localhost')
    return isLocalName && isLoopback(address) && exact.some(rule => covers(rule, target))
  }

  /** Asks once for each target. Connections wait for a while, then get null; a late answer applies to the next try. */
  #answer(ask: Ask, target: NetworkTarget, holdMs: number): Promise<boolean | 'over' | null> {
    const text = ruleFor(target)
    const open = this.#asked.get(text)
    if (open !== undefined) return open
    const asked = (async () => {
      let answer: boolean | 'over' = false
      try {
        answer = await ask(target)
      } catch {
        // If the question cannot be asked, the answer is no.
      }
      const parsed = parseNetworkRule(text)
      if (answer === true && parsed.ok) this.#answered.push(parsed.rule)
      this.#asked.set(text, Promise.resolve(answer))
      return answer
    })()
    const held = within(asked, holdMs)
    this.#asked.set(text, held)
    return held
  }

  async #addressesOf(host: string): Promise<readonly string[]> {
    if (isAddress(host)) return [host.replace(/^\[|\]$/g, '')]
    try {
      const found = await this.#options.lookup(host)
      return [...new Set(found)].filter(address => isIP(address) !== 0)
    } catch {
      return []
    }
  }
}

export async function allAddresses(host: string): Promise<readonly string[]> {
  return (await resolveName(host, { all: true, verbatim: true })).map(({ address }) => address)
}

export function decidedBy(verdict: Verdict): Pick<NetworkDecision, 'allowed' | 'why' | 'rule' | 'allowWith' | 'asked'> {
  switch (verdict.is) {
    case 'allowed':
      return {
        allowed: true,
        why: verdict.byPerson === true ? 'a person was asked, and allowed it' : 'a rule allows it',
        rule: verdict.rule,
      }
    case 'unknown-name':
      return { allowed: true, why: 'a rule allows it, but there is no such host', rule: verdict.rule }
    case 'refused':
      return {
        allowed: false,
        why: verdict.why,
        ...(verdict.allowWith === undefined ? {} : { allowWith: verdict.allowWith }),
        ...(verdict.asked === true ? { asked: true } : {}),
      }
    default:
      verdict satisfies never
      return { allowed: false, why: '' }
  }
}

async function within<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>(resolve => {
    timer = setTimeout(resolve, ms, null)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** An unreadable rule refuses the whole list: skipping it would silently allow less than was approved. */
export const readRules = (texts: readonly string[]): readonly NetworkRule[] =>
  texts.map(text => {
    const parsed = parseNetworkRule(text)
    return parsed.ok ? parsed.rule : refuse('policy', `network: ${parsed.message}`, parsed.hint)
  })
