// One finding of the lint.

import type { TaskName } from '../id.ts'
import { wordList } from '../json.ts'

export interface Finding {
  /** One of the codes in docs/guide/analyze.md, which programs compare. */
  readonly code: FindingCode
  readonly severity: Severity
  /** Absent for a finding about the whole plan. */
  readonly task?: TaskName
  readonly key?: string
  readonly at?: readonly (string | number)[]
  readonly message: string
  readonly hint: string
}

/** `error`: it cannot work, or breaks the policy of the plan. `warning`: it may go wrong. `info`: worth knowing. */
export type Severity = 'error' | 'warning' | 'info'
export const SEVERITIES: readonly Severity[] = ['error', 'warning', 'info']

export const FINDING_CODES = [
  ...wordList('empty limit duplicate unknown-reference cycle policy structure unreachable impossible-outcome'),
  ...wordList('default-visits too-many-tasks too-few-tasks several-agents unclear-task unknown-output'),
  ...wordList('output-too-early scope-overlap scope-whole scope-unusable scope-too-wide edit-outside cwd-outside'),
  ...wordList('reserved-variable secret-name secret-without-command network-beyond no-compensation'),
  ...wordList('confidential-prompt label-like-another not-enforced gate-required ungated gates-off unknown-role'),
  ...wordList('quorum-impossible option-without-edge dead-rule remedy-circle effects-beyond no-acceptance'),
  ...wordList('no-rollback no-goal no-done no-owner no-stakeholders deadline-past deadline-missed deadline-order'),
  ...wordList('over-budget long-task timeout-short priority-inversion output-word unknown-artifact'),
]
export type FindingCode = (typeof FINDING_CODES)[number]
