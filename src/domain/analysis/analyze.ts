// Entry point of `analysis/`: everything that can be known about a plan without running it: waves, critical path, estimates, and the lint.
// Pure, without recursion, near-linear in the size of the plan; a broken graph is analysed as far as possible.

import type { TaskName } from '../id.ts'
import type { PlanDefinition } from '../plan.ts'
import { effectOf, heldScope } from '../plan-rules/effect.ts'
import { expandTasks } from '../plan-rules/expand.ts'
import { concurrencyOf } from '../rules/scheduling.ts'
import { Ancestry } from './ancestry.ts'
import { ASSUMED_MS, type Costs, costsOf, type LengthSource, lengthsOf } from './estimates.ts'
import { type Finding, SEVERITIES } from './finding.ts'
import type { AnalyzeOptions, Ground, Look } from './lint-input.ts'
import { artifacts, confidential, contracts, intake, labels } from './rule-contract.ts'
import { agents, clarity, graphFaults, impossibleOutcomes, loops, size, unreachable } from './rule-graph.ts'
import { deadRules, effects, gatesOff, options, remedyCircles, roles } from './rule-recovery.ts'
import { accepted, gates, rolledBack } from './rule-safety.ts'
import {
  databases,
  edits,
  environment,
  folders,
  networks,
  overlaps,
  patterns,
  recordedOnly,
  secrets,
} from './rule-scope.ts'
import { budgets, deadlines, lengths, priorities } from './rule-time.ts'
import { criticalPath, scheduleOf } from './schedule.ts'
import { pathsOf } from './scope-index.ts'
import { groupsOf, wavesOf } from './waves.ts'
import { isUndoing, workGraph } from './work-graph.ts'

type Rule<L> = (look: L) => Iterable<Finding>

/** The rules that can find errors. They need no estimates and no schedule, so they run for every plan. */
const ERROR_RULES: readonly Rule<Ground>[] = [
  graphFaults,
  impossibleOutcomes,
  contracts,
  patterns,
  edits,
  folders,
  environment,
  secrets,
  databases,
  confidential,
  networks,
  gates,
  roles,
  effects,
]

const RULES: readonly Rule<Look>[] = [
  ...ERROR_RULES,
  labels,
  artifacts,
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

function lint(look: Look): readonly Finding[] {
  return found(RULES, look)
}

function lintErrors(ground: Ground): readonly Finding[] {
  return found(ERROR_RULES, ground).filter(({ severity }) => severity === 'error')
}

function found<L extends Ground>(rules: readonly Rule<L>[], look: L): readonly Finding[] {
  const findings: { readonly finding: Finding; readonly order: number }[] = []
  for (const rule of rules) for (const finding of rule(look)) findings.push({ finding, order: orderOf(finding, look) })
  return findings.sort((a, b) => a.order - b.order).map(({ finding }) => finding)
}

/** Findings about the whole plan come before those about tasks. */
function orderOf({ severity, task }: Finding, { graph }: Ground): number {
  return SEVERITIES.indexOf(severity) * 1e6 + (task === undefined ? -1 : (graph.at.get(task) ?? graph.tasks.length))
}

export type { Finding, FindingCode, Severity } from './finding.ts'
export type { AnalyzeOptions, OutputRead } from './lint-input.ts'

export interface Analysis {
  readonly tasks: number
  readonly topLevel: number
  readonly waves: readonly (readonly TaskName[])[]
  readonly groups: readonly (readonly TaskName[])[]
  /** Tasks without a wave: in a cycle, behind one, or unreachable. */
  readonly unplaced: readonly TaskName[]
  readonly conditional: readonly TaskName[]
  readonly compensating: readonly TaskName[]
  readonly criticalPath: { readonly tasks: readonly TaskName[]; readonly ms: number }
  readonly parallelism: Parallelism
  readonly estimate: Estimate
  readonly cost: Costs
  readonly counts: {
    readonly kind: Counts
    readonly action: Counts
    readonly effect: Counts
  }
  readonly findings: readonly Finding[]
}

type Counts = Readonly<Record<string, number>>

interface Parallelism {
  readonly waves: number
  /** The highest parallelism under `concurrency` and the write scopes. */
  readonly effective: number
  readonly engine: number
  readonly concurrency: number
  readonly average: number
}

interface Estimate {
  readonly totalMs: number
  readonly elapsedMs: number
  /** Total by elapsed, and total by critical path: what a higher concurrency could bring. */
  readonly speedUp: number
  readonly speedUpMax: number
  /** False when the schedule was too complex to simulate to its end. */
  readonly exact: boolean
  readonly from: Readonly<Record<LengthSource, number>>
  readonly assumedMs: number
}

export function analyze(definition: PlanDefinition, options: AnalyzeOptions = {}): Analysis {
  const graph = workGraph(definition, expandTasks(definition))
  const waves = wavesOf(graph)
  const lengths = lengthsOf(graph, options.assumedMs ?? ASSUMED_MS)
  const path = criticalPath(graph, waves, lengths.ms)
  const scopes = graph.tasks.map((task, at) => pathsOf(isUndoing(graph, at) ? [] : heldScope(definition, task)))
  const schedule = scheduleOf(graph, waves, lengths.ms, scopes)
  const costs = costsOf(graph)
  const ancestry = new Ancestry(graph, waves)
  const named = (tasks: readonly number[]): readonly TaskName[] => tasks.map(task => graph.tasks[task]!.id)
  const totalMs = waves.order.reduce((sum, task) => sum + lengths.ms[task]!, 0)
  return {
    tasks: graph.tasks.length,
    topLevel: definition.tasks.length,
    waves: waves.waves.map(named),
    groups: groupsOf(graph).map(named),
    unplaced: named(
      graph.tasks.flatMap((_, task) => (waves.waveOf[task] === -1 && !isUndoing(graph, task) ? [task] : [])),
    ),
    conditional: named(graph.dormant.flatMap((sleeps, task) => (sleeps && !isUndoing(graph, task) ? [task] : []))),
    compensating: named(
      graph.tasks.flatMap((_, task) => (isUndoing(graph, task) && waves.waveOf[task] === -1 ? [task] : [])),
    ),
    criticalPath: { tasks: named(path.tasks), ms: path.ms },
    parallelism: {
      waves: waves.waves.reduce((most, wave) => Math.max(most, wave.length), 0),
      effective: schedule.peak,
      engine: schedule.enginePeak,
      concurrency: concurrencyOf(definition),
      average: ratio(totalMs, schedule.elapsedMs),
    },
    estimate: {
      totalMs,
      elapsedMs: schedule.elapsedMs,
      speedUp: ratio(totalMs, schedule.elapsedMs),
      speedUpMax: ratio(totalMs, path.ms),
      exact: schedule.exact,
      from: lengths.from,
      assumedMs: lengths.assumedMs,
    },
    cost: costs,
    counts: {
      kind: counted(graph.tasks.map(task => task.kind ?? 'unsaid')),
      action: counted(graph.tasks.map(task => task.action.type)),
      effect: counted(graph.tasks.map(task => effectOf(definition, task))),
    },
    findings: lint({ graph, waves, ancestry, path, lengths, schedule, scopes, costs, options }),
  }
}

/** Only the errors, when a plan is created or started: without estimates and schedule. */
export function planErrors(definition: PlanDefinition, options: AnalyzeOptions = {}): readonly Finding[] {
  const graph = workGraph(definition, expandTasks(definition))
  const waves = wavesOf(graph)
  return lintErrors({ graph, waves, ancestry: new Ancestry(graph, waves), options })
}

const ratio = (whole: number, part: number): number => (part === 0 ? 1 : Math.round((whole / part) * 100) / 100)

/** Most frequent first. Built with `Object.fromEntries`, because a kind can be any text, `__proto__` included. */
function counted(words: readonly string[]): Counts {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return Object.fromEntries([...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)))
}
