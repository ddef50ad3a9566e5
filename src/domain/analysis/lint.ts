// Everything that is wrong or risky in a plan, before anything runs. Each rule says one thing; the worst comes first, then
// the order of the document.

import { type Finding, SEVERITIES } from './finding.ts'
import type { Ground, Look } from './lint-input.ts'
import { contracts, intake } from './rule-contract.ts'
import { agents, clarity, graphFaults, impossibleOutcomes, loops, size, unreachable } from './rule-graph.ts'
import { deadRules, effects, gatesOff, options, remedyCircles, roles } from './rule-recovery.ts'
import { accepted, gates, rolledBack } from './rule-safety.ts'
import { edits, environment, folders, networks, overlaps, patterns, recordedOnly } from './rule-scope.ts'
import { budgets, deadlines, lengths, priorities } from './rule-time.ts'

type Rule<L> = (look: L) => Iterable<Finding>

/** The rules that can find an error. They need no estimate and no schedule. */
const ERROR_RULES: readonly Rule<Ground>[] = [
  graphFaults,
  impossibleOutcomes,
  contracts,
  patterns,
  edits,
  folders,
  environment,
  networks,
  gates,
  roles,
  effects,
]

const RULES: readonly Rule<Look>[] = [
  ...ERROR_RULES,
  unreachable,
  loops,
  size,
  agents,
  clarity,
  overlaps,
  recordedOnly,
  gatesOff,
  options,
  deadRules,
  remedyCircles,
  accepted,
  rolledBack,
  deadlines,
  budgets,
  lengths,
  priorities,
  intake,
]

export function lint(look: Look): readonly Finding[] {
  return found(RULES, look)
}

/** What cannot work, and nothing else. */
export function lintErrors(ground: Ground): readonly Finding[] {
  return found(ERROR_RULES, ground).filter(({ severity }) => severity === 'error')
}

function found<L extends Ground>(rules: readonly Rule<L>[], look: L): readonly Finding[] {
  const findings: { readonly finding: Finding; readonly order: number }[] = []
  for (const rule of rules) for (const finding of rule(look)) findings.push({ finding, order: orderOf(finding, look) })
  return findings.sort((a, b) => a.order - b.order).map(({ finding }) => finding)
}

/** What is about the plan as a whole comes before its tasks. */
function orderOf({ severity, task }: Finding, { graph }: Ground): number {
  return SEVERITIES.indexOf(severity) * 1e6 + (task === undefined ? -1 : (graph.at.get(task) ?? graph.tasks.length))
}
