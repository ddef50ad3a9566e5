// Everything that is wrong or risky in a plan, before anything runs. Each rule says one thing; the worst comes first, then
// the order of the document.

import { type Finding, SEVERITIES } from './finding.ts'
import type { Look } from './look.ts'
import { accepted, rolledBack } from './rules/care.ts'
import { contracts } from './rules/contract.ts'
import { gates } from './rules/gates.ts'
import { graphFaults, impossibleOutcomes, loops, size, unreachable } from './rules/graph.ts'
import { intake } from './rules/intake.ts'
import { deadRules, effects, gatesOff, options, remedyCircles, roles } from './rules/judgement.ts'
import { edits, networks, overlaps, patterns } from './rules/scope.ts'
import { budgets, deadlines, lengths, priorities } from './rules/time.ts'

type Rule = (look: Look) => Iterable<Finding>

const RULES: readonly Rule[] = [
  graphFaults,
  unreachable,
  impossibleOutcomes,
  loops,
  size,
  contracts,
  patterns,
  edits,
  networks,
  overlaps,
  gates,
  gatesOff,
  roles,
  options,
  deadRules,
  remedyCircles,
  effects,
  accepted,
  rolledBack,
  deadlines,
  budgets,
  lengths,
  priorities,
  intake,
]

export function lint(look: Look): readonly Finding[] {
  const found: { readonly finding: Finding; readonly order: number }[] = []
  for (const rule of RULES) for (const finding of rule(look)) found.push({ finding, order: orderOf(finding, look) })
  return found.sort((a, b) => a.order - b.order).map(({ finding }) => finding)
}

/** What is about the plan as a whole comes before its tasks. */
function orderOf({ severity, task }: Finding, { graph }: Look): number {
  return SEVERITIES.indexOf(severity) * 1e6 + (task === undefined ? -1 : (graph.at.get(task) ?? graph.tasks.length))
}
