// The work on plan documents that takes long when a document is long: reading, checking, merging, analysing, printing. Each job is a
// function from plain JSON to plain JSON, so that it gives the same answer in this thread and in a worker thread (document-pool.ts).

import type { TaskName } from '../../domain/id.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { type MergeMode, mergeDefinitions, type Standing } from '../../domain/revisions/merge.ts'
import { semanticDiff, summarise } from '../../domain/revisions/semantic-diff.ts'
import { allTasks } from '../../domain/state/task-index.ts'
import type { TaskStatus } from '../../domain/status.ts'
import { dot } from '../../format/pictures/dot.ts'
import { markdown } from '../../format/pictures/markdown.ts'
import { mermaid } from '../../format/pictures/mermaid.ts'
import { tree } from '../../format/pictures/tree.ts'
import { parsePlan } from '../../format/plan/parse.ts'
import { printJson, printYaml } from '../../format/plan/print.ts'
import { renameTasks } from '../../format/plan/rename-tasks.ts'
import { analyzed } from '../../operations/analyze-plan.ts'
import { checkPlan } from '../../operations/check-plan.ts'
import { isProblem, type Problem, problem } from '../problem.ts'
import { JSON_TYPE, onWire } from '../wire-names.ts'
import { faulty, formatCalled, readPlanDocument } from './read-document.ts'

/** The status of each task, by name. */
export type Statuses = readonly (readonly [task: string, status: TaskStatus])[]

export interface ReadPlanInput {
  readonly text: string
  /** The name of a plan that does not say one. */
  readonly name: string
  /** The format it is read as, whatever it looks like. */
  readonly from?: string | undefined
}

export interface ReviseInput {
  readonly text: string
  /** The name of a text that does not say one. */
  readonly name: string
  readonly current: PlanDefinition
  readonly standings: readonly (readonly [TaskName, Standing])[]
  readonly mode: MergeMode
}

export interface PrintInput {
  readonly definition: PlanDefinition
  readonly statuses: Statuses
  readonly as: string
}

export interface DrawInput {
  readonly definition: PlanDefinition
  readonly statuses: Statuses
  readonly as: keyof typeof PICTURES
}

export interface AnalyzeInput {
  readonly plan: string
  readonly definition: PlanDefinition
  readonly now: number
}

export interface CheckInput {
  readonly definition: PlanDefinition
}

/** Text, as it is sent. */
export interface Printed {
  readonly type: string
  readonly text: string
}

export const JOBS = {
  'read-plan': ({ text, name, from }: ReadPlanInput) => readPlanDocument(text, { name, from }),
  revise,
  print,
  draw: ({ definition, statuses, as }: DrawInput): Printed | Problem => ({
    type: 'text/plain; charset=utf-8',
    text: PICTURES[as](definition, new Map(statuses)),
  }),
  analyze,
  check: ({ definition }: CheckInput) => checkPlan(definition),
} as const

/** What can be known without running it, as the JSON text that is sent: of a plan at the cap it has ten megabytes. */
function analyze({ plan, definition, now }: AnalyzeInput): Printed | Problem {
  const { criticalPath, waves, groups, estimate, parallelism, tasks, findings, ...rest } = analyzed(definition, { now })
  const body = {
    plan_id: plan,
    total_steps: tasks,
    max_parallelism: parallelism.waves,
    critical_path: criticalPath.tasks,
    critical_path_ms: criticalPath.ms,
    parallel_groups: waves,
    independent_groups: groups,
    estimated_speedup: estimate.speedUp,
    parallelism: onWire(parallelism),
    estimate: onWire(estimate),
    findings: onWire(findings),
    ...(onWire(rest) as object),
  }
  return { type: JSON_TYPE, text: JSON.stringify(body) }
}

export type JobName = keyof typeof JOBS
export type JobInput<N extends JobName> = Parameters<(typeof JOBS)[N]>[0]
export type JobOutput<N extends JobName> = ReturnType<(typeof JOBS)[N]>

/** Lays the document over the plan as it stands. With `merge`, what the document does not mention stays. */
function revise({ text, name, current, standings, mode }: ReviseInput) {
  const merging = mode === 'merge'
  const known = new Map(standings)
  const laid = (written: PlanDefinition, claimed?: ReadonlyMap<TaskName, TaskStatus>) =>
    mergeDefinitions(
      { current, written, mode, standings: known, ...(claimed === undefined ? {} : { claimed }) },
      renameTasks,
    )
  const read = readPlanDocument(text, {
    name,
    ...(merging ? { known: allTasks(current).map(({ id }) => id) } : {}),
    check: written => checkPlan(merging ? laid(written).definition : written),
  })
  if (isProblem(read)) return read
  const { definition, notes, fates } = laid(
    read.definition,
    new Map(read.imported?.map(({ task, status }) => [task, status])),
  )
  // The merged definition is checked like one that somebody wrote.
  const checked = parsePlan(printJson(definition), { check: checkPlan, lenient: true })
  if (!checked.ok) return faulty(checked.diagnostics)
  const diff = semanticDiff(current, definition)
  return { definition, source: read.source, notes, fates, diff, summary: summarise(diff) }
}

function print({ definition, statuses, as }: PrintInput): Printed | Problem {
  const dialect = formatCalled(as)
  if (isProblem(dialect)) return dialect
  if (dialect.name === 'planfold') return { type: 'application/yaml', text: printYaml(definition) }
  if (dialect.print === undefined)
    return problem(422, 'not-supported', `'${as}' can be read here, but not written`, {
      hint: 'ask for another format',
    })
  const known = new Map(statuses)
  const printed = dialect.print(definition, task => known.get(task) ?? 'pending')
  if (printed.refused !== undefined)
    return problem(422, 'not-supported', printed.refused.message, { hint: printed.refused.hint })
  return { type: 'text/plain; charset=utf-8', text: printed.text }
}

const PICTURES = {
  mermaid,
  dot,
  markdown,
  tree: (definition: PlanDefinition, statuses: ReadonlyMap<string, TaskStatus>) =>
    `${tree(definition, statuses).join('\n')}\n`,
} as const
