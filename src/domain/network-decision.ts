// Decisions of the sandbox proxy, and the questions to people about them.

import type { TaskName } from './id.ts'
import type { Field } from './plan.ts'

export interface NetworkDecision {
  readonly host: string
  /** 0 when the request could not be parsed. */
  readonly port: number
  /** CONNECT for a tunnel, whose content is not visible. */
  readonly method: string
  /** For plain HTTP, without its query. */
  readonly path?: string
  readonly allowed: boolean
  readonly why: string
  readonly rule?: string
  readonly allowWith?: string
  readonly asked?: true
}

export interface CountedDecision extends NetworkDecision {
  readonly count: number
}

/** The requests of an attempt: each decision first with method and path, then once more with its count. Counts add up. */
export interface NetworkDecided {
  readonly task: TaskName
  readonly visit: number
  /** 0: a check before the first attempt. */
  readonly attempt: number
  readonly decisions: readonly CountedDecision[]
  /** How many decisions are omitted because there were too many addresses. */
  readonly more?: number
}

export interface AskedAddress {
  readonly rule: string
  readonly host: string
  readonly port: number
}

/** The answer of a person: for one task, or for all tasks of the plan that ask. */
export interface NetworkPermit {
  readonly rule: string
  readonly allowed: boolean
  readonly task?: TaskName
}

const ANSWERS = ['task', 'plan', 'machine', 'no'] as const
export type NetworkAnswer = (typeof ANSWERS)[number]

export const NETWORK_FORM: readonly Field[] = [
  {
    name: 'allow',
    label: 'for this task, for all tasks of this plan that ask, on this machine (becomes a rule of yours), or no',
    type: 'choice',
    choices: ANSWERS,
  },
]

export const SANDBOX_FORM: readonly Field[] = [
  {
    name: 'run',
    label: 'yes: commands of your own plans run with your permissions on this machine; no: only in a sandbox',
    type: 'choice',
    choices: ['yes', 'no'],
  },
]

export const AGENT_FORM: readonly Field[] = [
  { name: 'allow', label: 'yes: this once, in this task; no', type: 'choice', choices: ['yes', 'no'] },
]

/** The answer that applies to a task, its own first; null for none. */
export function permitFor(permits: readonly NetworkPermit[], task: TaskName, rule: string): NetworkPermit | null {
  const found = permits.filter(one => one.rule === rule && (one.task ?? task) === task)
  return found.findLast(one => one.task !== undefined) ?? found.at(-1) ?? null
}

export function decisionWords({ host, port, method, path, allowed, why, rule, count }: CountedDecision): string {
  const what = port === 0 ? `something unusable (${host})` : `${host}:${port}`
  // A combined decision keeps only the first path.
  const request = path === undefined || count > 1 ? '' : ` (${method} ${path})`
  const times = count === 1 ? '' : ` ${count} times`
  return `asked for ${what}${request}${times}: ${allowed ? `allowed${rule === undefined ? '' : ` by ${rule}`}` : `not allowed (${why})`}`
}
