// What the proxy of a sandbox answered, and what a person is asked about it and answers.

import type { TaskName } from './id.ts'
import type { Field } from './plan.ts'

/** One answer to a command that wanted to reach something. */
export interface NetworkDecision {
  readonly host: string
  /** 0 when what was asked for could not be read. */
  readonly port: number
  /** CONNECT for a tunnel, whose inside is not seen. */
  readonly method: string
  /** Of plain HTTP, without its query. */
  readonly path?: string
  readonly allowed: boolean
  readonly why: string
  readonly rule?: string
  readonly allowWith?: string
  /** Nobody has answered yet, so it waits for a person. */
  readonly asked?: true
}

export interface CountedDecision extends NetworkDecision {
  readonly count: number
}

/** What an attempt's commands asked for: each answer first with method and path, then once more with how often. Counts add up. */
export interface NetworkDecided {
  readonly task: TaskName
  readonly visit: number
  /** 0: a check before the first attempt. */
  readonly attempt: number
  readonly decisions: readonly CountedDecision[]
  /** How many further answers are not listed: too many different addresses were asked for. */
  readonly more?: number
}

/** What a question about the network is about. */
export interface AskedAddress {
  readonly rule: string
  readonly host: string
  readonly port: number
}

/** What a person answered about an address: for one task, or for all tasks of the plan that ask. */
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

/** The answer that counts for a task; null when nobody has answered. What was said of the task itself counts first. */
export function permitFor(permits: readonly NetworkPermit[], task: TaskName, rule: string): NetworkPermit | null {
  const found = permits.filter(one => one.rule === rule && (one.task ?? task) === task)
  return found.findLast(one => one.task !== undefined) ?? found.at(-1) ?? null
}

/** "asked for example.org:443 3 times: not allowed (no rule allows it)". */
export function decisionWords({ host, port, method, path, allowed, why, rule, count }: CountedDecision): string {
  const what = port === 0 ? `something unusable (${host})` : `${host}:${port}`
  // Of several only the first is known.
  const request = path === undefined || count > 1 ? '' : ` (${method} ${path})`
  const times = count === 1 ? '' : ` ${count} times`
  return `asked for ${what}${request}${times}: ${allowed ? `allowed${rule === undefined ? '' : ` by ${rule}`}` : `not allowed (${why})`}`
}
