// Compares two runs: their definitions, each task, duration, results. Tasks are matched by name and by renamings. Durations always differ,
// so they are shown but do not count as differences.

import { actionFacts } from '../actions/actions.ts'
import type { Millis, TaskName } from '../id.ts'
import { type Json, type JsonObject, same } from '../json.ts'
import { isEmpty, type SemanticDiff, semanticDiff, summarise } from '../revisions/semantic-diff.ts'
import { countedVisits, type PlanState, type TaskState } from '../state/state.ts'

import type { PlanStatus, TaskStatus } from '../status.ts'
import { planStatus } from './summary.ts'

export interface Tried {
  readonly task: TaskName
  readonly attempt: number
  readonly status: 'running' | 'succeeded' | 'failed' | 'lost'
  readonly startedAt: Millis
  readonly endedAt: Millis | null
  readonly durationMs: number | null
}

export interface Run {
  readonly state: PlanState
  readonly attempts: readonly Tried[]
  /** The files after the run, by path: a SHA-256, another type, or null for none. */
  readonly files?: ReadonlyMap<string, string | null>
}

export interface Comparison {
  readonly a: RunFacts
  readonly b: RunFacts
  readonly definition: { readonly same: boolean; readonly summary: string; readonly diff: SemanticDiff }
  /** In the order of the first plan, then tasks of the second only. */
  readonly tasks: readonly TaskPair[]
  /** Files whose recorded content after the run differs. */
  readonly files: readonly FilePair[]
}

export interface RunFacts extends Readonly<Pick<PlanState, 'id' | 'origin' | 'reason' | 'revision' | 'hash'>> {
  readonly name: string
  readonly status: PlanStatus
  readonly durationMs: number | null
  readonly workMs: number
  readonly tasks: number
  readonly attempts: number
  readonly retries: number
  readonly failures: number
  readonly lost: number
}

export interface TaskPair {
  readonly task: TaskName
  readonly renamed: TaskName | null
  readonly a: TaskFacts | null
  readonly b: TaskFacts | null
  /** The differences; empty for none. `missing`: only one of the plans has it. */
  readonly differs: readonly TaskDifference[]
  readonly outputs: readonly string[]
}

export type TaskDifference = 'missing' | 'status' | 'outcome' | 'visits' | 'attempts' | 'exit' | 'outputs'

export interface TaskFacts {
  readonly status: TaskStatus
  /** It had ended in the plan that this one was made from. */
  readonly brought: boolean
  readonly outcome: string | null
  readonly visits: number
  readonly attempts: number
  readonly durationMs: number
  readonly exit: number | null
  readonly reason: string | null
}

export interface FilePair {
  readonly path: string
  /** SHA-256 after the run, `folder` or `link to …`; null for a removed file, absent for one that the run did not touch. */
  readonly a?: string | null
  readonly b?: string | null
}

export function compareRuns(a: Run, b: Run): Comparison {
  // Two plans never have the same name, which is no difference between their runs.
  const { name } = a.state.definition
  const diff = semanticDiff(a.state.definition, { ...b.state.definition, name })
  const [tried, triedToo] = [sumOf(a), sumOf(b)]
  const renamed = new Map(diff.renamed.map(({ from, to }) => [from, to]))
  const tasks: TaskPair[] = []
  const matched = new Set<TaskName>()
  for (const task of a.state.order) {
    const { id } = task.definition
    const twin = b.state.tasks.get(id) ?? b.state.tasks.get(renamed.get(id) ?? id)
    if (twin !== undefined) matched.add(twin.definition.id)
    tasks.push(pairOf(factsOf(task, tried), twin === undefined ? null : factsOf(twin, triedToo), task, twin))
  }
  for (const task of b.state.order)
    if (!matched.has(task.definition.id)) tasks.push(pairOf(null, factsOf(task, triedToo), task, undefined))
  return {
    a: runFacts(a),
    b: runFacts(b),
    definition: { same: isEmpty(diff), summary: summarise(diff), diff },
    tasks,
    files: filesOf(leftBy(a), leftBy(b)),
  }
}

function runFacts({ state, attempts }: Run): RunFacts {
  const { id, definition, origin, reason, revision, hash, startedAt, endedAt, order } = state
  const count = (status: Tried['status']): number => attempts.filter(one => one.status === status).length
  return {
    id,
    name: definition.name,
    origin,
    status: planStatus(state),
    reason,
    revision,
    hash,
    durationMs: startedAt === null || endedAt === null ? null : endedAt - startedAt,
    workMs: attempts.reduce((sum, one) => sum + tookMs(one), 0),
    tasks: order.length,
    attempts: attempts.length,
    retries: attempts.filter(({ attempt }) => attempt > 1).length,
    failures: count('failed'),
    lost: count('lost'),
  }
}

type Sum = ReadonlyMap<TaskName, { readonly attempts: number; readonly durationMs: number }>

function sumOf({ attempts }: Run): Sum {
  const sum = new Map<TaskName, { attempts: number; durationMs: number }>()
  for (const one of attempts) {
    const { attempts, durationMs } = sum.get(one.task) ?? { attempts: 0, durationMs: 0 }
    sum.set(one.task, { attempts: attempts + 1, durationMs: durationMs + tookMs(one) })
  }
  return sum
}

const tookMs = ({ durationMs, startedAt, endedAt }: Tried): number =>
  durationMs ?? (endedAt === null ? 0 : endedAt - startedAt)

function factsOf(task: TaskState, sum: Sum): TaskFacts {
  const { definition, status, result, reason } = task
  const { attempts, durationMs } = sum.get(definition.id) ?? { attempts: 0, durationMs: 0 }
  const outcome = result?.status === 'succeeded' ? (result.outcome ?? null) : null
  const brought = reason === 'imported' && attempts === 0
  return {
    status,
    brought,
    outcome,
    visits: countedVisits(task),
    attempts,
    durationMs,
    exit: result?.exit ?? null,
    reason,
  }
}

function pairOf(a: TaskFacts | null, b: TaskFacts | null, task: TaskState, twin: TaskState | undefined): TaskPair {
  const outputs = a === null || b === null ? [] : differing(outputsOf(task), twin === undefined ? {} : outputsOf(twin))
  const name = task.definition.id
  return {
    task: name,
    renamed: twin === undefined || twin.definition.id === name ? null : twin.definition.id,
    a,
    b,
    differs: a === null || b === null ? ['missing'] : [...unequal(a, b), ...(outputs.length === 0 ? [] : OUTPUTS)],
    outputs,
  }
}

const OUTPUTS = ['outputs'] as const
const COMPARED = ['status', 'outcome', 'visits', 'attempts', 'exit'] as const

/** Without attempts and visits where they happened in another plan. */
const unequal = (a: TaskFacts, b: TaskFacts): readonly TaskDifference[] =>
  COMPARED.filter(key => a[key] !== b[key] && !((a.brought || b.brought) && (key === 'attempts' || key === 'visits')))

const outputsOf = ({ result }: TaskState): JsonObject => result?.outputs ?? {}

function differing(a: JsonObject, b: JsonObject): readonly string[] {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()
  // Absent is not null.
  return names.filter(name => Object.hasOwn(a, name) !== Object.hasOwn(b, name) || !same(a[name], b[name]))
}

type Left = ReadonlyMap<string, string | null>

/** Measured files, or the declared edits of older runs. */
const leftBy = ({ state, files }: Run): Left => new Map([...editedIn(state), ...(files ?? [])])

function filesOf(left: Left, right: Left): readonly FilePair[] {
  return [...new Set([...left.keys(), ...right.keys()])]
    .sort()
    .filter(path => left.get(path) !== right.get(path))
    .map(path => ({
      path,
      ...(left.has(path) ? { a: left.get(path) ?? null } : {}),
      ...(right.has(path) ? { b: right.get(path) ?? null } : {}),
    }))
}

/** The result of edits, by path; the last edit of a file counts. */
function editedIn({ order }: PlanState): Left {
  const files = new Map<string, string | null>()
  const edits = order.filter(
    ({ definition, result }) => actionFacts(definition.action).edits !== undefined && result !== null,
  )
  edits.sort((one, other) => (one.endedAt ?? 0) - (other.endedAt ?? 0))
  for (const task of edits) {
    const { files: listed } = outputsOf(task)
    for (const file of Array.isArray(listed) ? (listed as readonly Json[]) : []) {
      if (file === null || typeof file !== 'object' || !('path' in file) || !('after' in file)) continue
      if (typeof file.path !== 'string') continue
      files.set(file.path, typeof file.after === 'string' ? file.after : null)
    }
  }
  return files
}
