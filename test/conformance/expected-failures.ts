// What the suite is expected to find, with the reason. Anything else that fails is a fault, and so is an entry here that fails no longer.

import type { Check, Outcome, Version } from './suite.ts'

/** `planfold` is the service as it is started; `fixture` the same route with the tools that the suite calls. */
export type ServerName = 'planfold' | 'fixture'

interface Expected {
  readonly servers: readonly ServerName[]
  readonly versions: readonly Version[]
  readonly reason: string
  /** What the failed checks say; anything when absent. */
  readonly says?: RegExp
  /** `scenario`: its checks may fail. `scenario:check`: only this one may. */
  readonly names: readonly string[]
}

const OLD = '2025-11-25'
const NEW = '2026-07-28'
const NOT_OFFERED = 'only the fixture server has the tool, prompt or resource that is called'

export const EXPECTED: readonly Expected[] = [
  {
    servers: ['planfold'],
    versions: [OLD, NEW],
    reason: NOT_OFFERED,
    says: /\b(?:Tool|Prompt) \S+ not found|Tool 'json_schema_2020_12_tool' not found|Resource not found: test:/,
    names: [
      'json-schema-2020-12',
      'prompts-get-embedded-resource',
      'prompts-get-simple',
      'prompts-get-with-args',
      'prompts-get-with-image',
      'resources-read-binary',
      'resources-read-text',
      'resources-templates-read',
      'tools-call-audio',
      'tools-call-embedded-resource',
      'tools-call-error',
      'tools-call-image',
      'tools-call-mixed-content',
      'tools-call-simple-text',
      'tools-call-with-progress',
    ],
  },
  {
    servers: ['planfold'],
    versions: [OLD],
    reason: NOT_OFFERED,
    says: /Tool \S+ not found/,
    names: [
      'elicitation-sep1034-defaults',
      'elicitation-sep1330-enums',
      'tools-call-elicitation',
      'tools-call-sampling',
    ],
  },
  {
    servers: ['planfold'],
    versions: [NEW],
    reason: NOT_OFFERED,
    says: /\b(?:Tool|Prompt) \S+ not found|could not get initial InputRequiredResult|Expected InputRequiredResult/,
    names: [
      'input-required-result-basic-elicitation',
      'input-required-result-basic-list-roots',
      'input-required-result-basic-sampling',
      'input-required-result-capability-check',
      'input-required-result-multi-round',
      'input-required-result-multiple-input-requests',
      'input-required-result-non-tool-request',
      'input-required-result-request-state',
      'input-required-result-result-type',
      'input-required-result-tampered-state',
    ],
  },
  {
    servers: ['planfold'],
    versions: [NEW],
    reason: NOT_OFFERED,
    says: /^Not testable: server (?:does not list the diagnostic tool|exposes no tool with x-mcp-header)/,
    names: [
      'http-custom-header-server-validation',
      'server-stateless:sep-2575-http-server-no-independent-requests-on-stream',
      'server-stateless:sep-2575-missing-capability-http-400',
      'server-stateless:sep-2575-server-no-log-without-loglevel',
      'server-stateless:sep-2575-server-rejects-undeclared-capability',
    ],
  },
  {
    servers: ['planfold'],
    versions: [OLD, NEW],
    reason: 'Planfold completes no arguments; the protocol does not ask for it',
    says: /Method not found/,
    names: ['completion-complete'],
  },
  {
    servers: ['planfold'],
    versions: [OLD],
    reason: 'Planfold sends no log messages (deprecated in 2026-07-28) and takes no subscriptions to resources',
    says: /Method not found/,
    names: ['logging-set-level', 'resources-subscribe', 'resources-unsubscribe', 'tools-call-with-logging'],
  },
  {
    servers: ['fixture'],
    versions: [OLD],
    reason:
      'a server of 2025 asks while the call waits, and the answer comes in another request: that needs a session, and /mcp keeps none. The question waits in the inbox',
    says: /Server did not request (?:elicitation|sampling) from client/,
    names: [
      'elicitation-sep1034-defaults',
      'elicitation-sep1330-enums',
      'tools-call-elicitation',
      'tools-call-sampling',
    ],
  },
  {
    servers: ['planfold', 'fixture'],
    versions: [NEW],
    reason:
      'the extension io.modelcontextprotocol/tasks is optional; @modelcontextprotocol/server 2.4.0 has no runtime for it',
    names: [
      'tasks-capability-negotiation',
      'tasks-dispatch-and-envelope',
      'tasks-lifecycle',
      'tasks-mrtr-composition',
      'tasks-mrtr-input',
      'tasks-request-headers',
      'tasks-request-state-removal',
      'tasks-required-task-error',
      'tasks-wire-fields',
    ],
  },
]

/** Scenarios that end without having checked anything of their own. */
export const UNCHECKED: readonly Omit<Expected, 'says'>[] = [
  {
    servers: ['planfold', 'fixture'],
    versions: [OLD],
    reason: 'the scenario is about sessions, and /mcp keeps none',
    names: ['server-session-lifecycle', 'server-sse-multiple-streams', 'server-sse-polling'],
  },
  {
    servers: ['planfold'],
    versions: [NEW],
    reason: NOT_OFFERED,
    names: ['input-required-result-ignore-extra-params', 'input-required-result-missing-input-response'],
  },
  {
    servers: ['planfold', 'fixture'],
    versions: [NEW],
    reason: 'the suite leaves it out until it is rewritten',
    names: ['tasks-status-notifications'],
  },
]

/** Every scenario also checks that the messages have the form of the protocol. */
const FORM = 'wire-schema-valid'

export interface Verdict {
  readonly scenario: string
  readonly unscored: string | null
  readonly passed: number
  readonly failed: number
  readonly warned: number
  /** Checked something of its own. */
  readonly isChecked: boolean
  /** How it was expected to end; null: with nothing failed. */
  readonly reason: string | null
  readonly faults: readonly string[]
}

export function judge(server: ServerName, version: Version, outcome: Outcome): Verdict {
  const { scenario, unscored, checks } = outcome
  const here = (one: Omit<Expected, 'says'>): boolean => one.servers.includes(server) && one.versions.includes(version)
  const names = (check: string): readonly string[] => [scenario, `${scenario}:${check}`]
  const count = (status: Check['status']): number => checks?.filter(one => one.status === status).length ?? 0
  const [passed, failed, warned] = [count('SUCCESS'), count('FAILURE'), count('WARNING')]
  const faults: string[] = checks === null ? ['the suite left no result'] : []

  const expected = EXPECTED.filter(here)
  const failures = checks?.filter(({ status }) => status === 'FAILURE') ?? []
  for (const { id, errorMessage = '' } of failures) {
    const isExpected = expected.some(
      one => names(id).some(name => one.names.includes(name)) && (one.says?.test(errorMessage) ?? true),
    )
    if (!isExpected) faults.push(`${id}: ${errorMessage}`)
  }
  const listed = expected.flatMap(one =>
    one.names.filter(name => name === scenario || name.startsWith(`${scenario}:`)).map(name => ({ name, one })),
  )
  for (const { name } of listed)
    if (!failures.some(({ id }) => names(id).includes(name)))
      faults.push(`${name} is expected to fail, and does not: take it off the list`)

  const unchecked = UNCHECKED.filter(here).find(one => one.names.includes(scenario))
  const isChecked =
    checks?.some(({ id, status }) => id !== FORM && (status === 'SUCCESS' || status === 'FAILURE')) ?? false
  if (checks !== null && !isChecked && unchecked === undefined) faults.push('it checked nothing')
  if (isChecked && unchecked !== undefined)
    faults.push('it is expected to check nothing, and does: take it off the list')
  const reason = unchecked === undefined ? (listed[0]?.one.reason ?? null) : `nothing checked: ${unchecked.reason}`
  return { scenario, unscored, passed, failed, warned, isChecked, reason, faults }
}

/** Names in the lists that the suite does not know. */
export function unknownNames(server: ServerName, version: Version, outcomes: readonly Outcome[]): readonly string[] {
  const known = new Set(outcomes.map(({ scenario }) => scenario))
  return [...EXPECTED, ...UNCHECKED]
    .filter(one => one.servers.includes(server) && one.versions.includes(version))
    .flatMap(({ names }) => names.map(name => name.split(':')[0]!))
    .filter(name => !known.has(name))
}
