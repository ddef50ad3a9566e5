// Work on plan documents that is slow for long documents: read, check, merge, analyse, print. Each job maps plain JSON to plain
// JSON, so it can run in this thread or in a worker thread (document-pool.ts).

import type { TaskName } from '../../domain/id.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import type { MergeMode, RunStatus } from '../../domain/revisions/merge.ts'
import type { PlanStatus, TaskStatus } from '../../domain/status.ts'
import { findExtra, openExtra } from '../../extras.ts'
import { tree } from '../../format/plan/tree.ts'
import { analyzed } from '../../operations/analyze-plan.ts'
import { checkPlan } from '../../operations/check-plan.ts'
import { printDocument, readDocument } from '../../operations/read-document.ts'
import { prepareRevision, readRevision } from '../../operations/revise-plan.ts'
import { hintText } from '../hint-text.ts'
import { isProblem, notInBuild, type Problem, problem, refused } from '../problem.ts'
import { JSON_TYPE, onWire } from '../wire-names.ts'
import { documentFrom, faulty, formatCalled, type ReadDocument } from './read-document.ts'

export type Statuses = readonly (readonly [task: string, status: TaskStatus])[]

export interface ReadPlanInput {
  readonly text: string
  readonly name: string
  /** The format to read it as, instead of detecting it. */
  readonly from?: string | undefined
}

export interface ReviseInput {
  readonly text: string
  readonly current: PlanDefinition
  readonly status: PlanStatus
  readonly standings: readonly (readonly [TaskName, RunStatus])[]
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
  readonly as: 'tree' | 'mermaid' | 'dot' | 'markdown' | 'svg'
}

export interface AroundInput {
  readonly definition: PlanDefinition
  readonly root: string
  readonly stateDir: string
  readonly environment: { readonly [name: string]: string | undefined }
}

export interface AnalyzeInput extends AroundInput {
  readonly plan: string
  readonly now: number
}

export interface CheckInput {
  readonly definition: PlanDefinition
}

export interface Printed {
  readonly type: string
  readonly text: string
}

/** Input and output are those of the extra, which sends its drafting here. */
const propose = async (input: object): Promise<unknown> => await (await openExtra('planners')).proposeHere(input)

export const JOBS = {
  'read-plan': readPlan,
  revise,
  print,
  draw,
  analyze,
  surroundings,
  check: ({ definition }: CheckInput) => checkPlan(definition),
  propose,
} as const

/** Returns the analysis as JSON text, ready to send: up to ten megabytes for a plan of maximum size. */
async function analyze(input: AnalyzeInput): Promise<Printed | Problem> {
  const { plan, definition, now } = input
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
    surroundings: await surroundings(input),
    ...(onWire(rest) as object),
  }
  return { type: JSON_TYPE, text: JSON.stringify(body) }
}

/** Checks against local policies, secrets and databases. Only the service process knows the runners, and checks those. */
async function surroundings({ definition, ...place }: AroundInput) {
  const { surroundingFaults } = await import('../../operations/policy/plan-surroundings.ts')
  return (await surroundingFaults(place, definition, null)).map(({ severity, task, message, hint }) => ({
    ...{ severity, message },
    ...(task === undefined ? {} : { task }),
    ...(hint === undefined ? {} : { hint: hintText(hint) }),
  }))
}

async function readPlan({ text, name, from }: ReadPlanInput): Promise<ReadDocument | Problem> {
  const format = from === undefined ? null : await formatCalled(from)
  if (format !== null && isProblem(format)) return format
  const dialect = format === null ? {} : { dialect: format }
  return await documentFrom(text, () => readDocument(text, { fallbackName: name, ...dialect }))
}

export type JobName = keyof typeof JOBS
export type JobInput<N extends JobName> = Parameters<(typeof JOBS)[N]>[0]
export type JobOutput<N extends JobName> = Awaited<ReturnType<(typeof JOBS)[N]>>
export type DocumentJob = Exclude<JobName, 'propose'>

/** Applies the document to the current plan. With `merge`, fields that the document omits stay. */
async function revise({ text, current, status, standings, mode }: ReviseInput) {
  const read = await documentFrom(text, () => readRevision(text, current, mode))
  if (isProblem(read)) return read
  const ended = new Map(read.imported?.map(({ task, status }) => [task, status]))
  const plan = { definition: current, status, standings: new Map(standings) }
  const prepared = prepareRevision(plan, { written: { definition: read.definition, ended, mode } })
  switch (prepared.status) {
    case 'prepared':
      return { ...prepared.revision, source: read.source }
    case 'refused':
      return refused(prepared.refusal)
    case 'unsound':
      return faulty(prepared.diagnostics)
    default:
      return prepared satisfies never
  }
}

async function print({ definition, statuses, as }: PrintInput): Promise<Printed | Problem> {
  const format = await formatCalled(as)
  if (isProblem(format)) return format
  const known = new Map(statuses)
  const printed = printDocument(definition, format, task => known.get(task) ?? 'pending')
  switch (printed.status) {
    case 'printed':
      return { type: format.name === 'planfold' ? 'application/yaml' : 'text/plain; charset=utf-8', text: printed.text }
    case 'read-only':
      return problem(422, 'not-supported', `'${as}' can be read here, but not written`, {
        hint: 'ask for another format',
      })
    case 'refused':
      return problem(422, 'not-supported', printed.message, { hint: printed.hint })
    default:
      return printed satisfies never
  }
}

async function draw({ definition, statuses, as }: DrawInput): Promise<Printed | Problem> {
  const known = new Map(statuses)
  const type = as === 'svg' ? 'image/svg+xml' : 'text/plain; charset=utf-8'
  if (as === 'tree') return { type, text: `${tree(definition, known).join('\n')}\n` }
  const pictures = await findExtra('pictures')
  return pictures === null ? notInBuild('pictures') : { type, text: pictures[as](definition, known) }
}
