// Criteria about tests: which command they check, and which earlier run is their baseline.

import { sandboxedCommand } from '../actions/actions.ts'
import type { TaskName } from '../id.ts'
import type { CommandLine, Criterion, PlanDefinition, TaskDefinition } from '../plan.ts'
import type { TestsCriterion } from '../plan-values.ts'
import type { Result, TestRun } from '../result.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import { commandText } from './criterion-text.ts'
import type { GraphFault } from './structure.ts'

/** The same for a command whose output streams are joined. */
export const testCommand = (command: CommandLine): string => commandText(command).replace(/\s*2>&1$/, '')

const isTests = (one: Criterion): one is TestsCriterion => one.type === 'tests'

export const testsCriteriaOf = ({
  action,
  accept = [],
  preconditions = [],
  postconditions = [],
}: TaskDefinition): readonly TestsCriterion[] =>
  [...accept, ...preconditions, ...postconditions, ...(action.type === 'gate' ? (action.checks ?? []) : [])].filter(
    isTests,
  )

const compared = new WeakMap<PlanDefinition, ReadonlySet<string>>()

/** May a later task compare its tests with the output of this command? */
export function isCompared(plan: PlanDefinition, command: CommandLine): boolean {
  let commands = compared.get(plan)
  if (commands === undefined) {
    const criteria = [...plan.tasks.flatMap(testsCriteriaOf), ...(plan.done ?? []).filter(isTests)]
    commands = new Set(criteria.map(one => testCommand(one.command)))
    compared.set(plan, commands)
  }
  return commands.has(testCommand(command))
}

const runsIn = (result: Result, command: string): readonly TestRun[] =>
  [result.tests, ...(result.verdicts ?? []).map(({ tests }) => tests)].filter(
    (run): run is TestRun => run?.command === command,
  )

export interface Earlier {
  readonly task: TaskName
  readonly run: TestRun
}

/** The baseline of a criterion: the run of the named task, else the first accepted run of the plan. Null for none. */
export function baselineOf(state: PlanState, own: TaskName, criterion: TestsCriterion): Earlier | null {
  if (criterion.baseline === undefined) return earlierRuns(state, own, criterion)[0] ?? null
  const name = namedFrom(own, criterion.baseline, one => state.tasks.has(one))
  const task = name === null ? undefined : state.tasks.get(name)
  return task === undefined ? null : (runsOf(task, testCommand(criterion.command))[0] ?? null)
}

/** Runs of completed tasks, oldest first. A run that was not accepted proves nothing. */
export function earlierRuns({ order }: PlanState, own: TaskName, { command }: TestsCriterion): readonly Earlier[] {
  const wanted = testCommand(command)
  return order
    .filter(task => task.definition.id !== own && task.status === 'completed')
    .sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0))
    .flatMap(task => runsOf(task, wanted))
}

const runsOf = ({ definition, status, result }: TaskState, command: string): readonly Earlier[] =>
  status !== 'completed' || result === null ? [] : runsIn(result, command).map(run => ({ task: definition.id, run }))

/** The nearest task of this name: a sibling, or a sibling of an enclosing group. */
function namedFrom(own: TaskName, name: TaskName, has: (name: TaskName) => boolean): TaskName | null {
  for (let at = own.lastIndexOf('/'); ; at = own.lastIndexOf('/', at - 1)) {
    const full = `${own.slice(0, at + 1)}${name}` as TaskName
    if (has(full)) return full
    if (at < 0) return null
  }
}

/** The baseline must be an earlier task that runs the command. `flat`: the expanded tasks. */
export function* baselineFaults(
  plan: PlanDefinition,
  flat: readonly TaskDefinition[],
  byName: ReadonlyMap<TaskName, TaskDefinition>,
): Generator<GraphFault> {
  for (const task of flat) {
    if (
      task.accept === undefined &&
      task.postconditions === undefined &&
      task.preconditions === undefined &&
      task.action.type !== 'gate'
    )
      continue
    for (const criterion of testsCriteriaOf(task)) {
      const found = baselineFault(criterion, task.id, byName)
      if (found !== null)
        yield { code: found.code ?? 'structure', task: task.id, key: keyOf(task, criterion), ...found }
    }
  }
  for (const criterion of (plan.done ?? []).filter(isTests)) {
    const found = baselineFault(criterion, null, byName)
    if (found !== null) yield { code: found.code ?? 'structure', ...found }
  }
}

const keyOf = (
  { accept, preconditions, action }: TaskDefinition,
  criterion: TestsCriterion,
): GraphFault['key'] & string =>
  accept?.includes(criterion) === true
    ? 'accept'
    : preconditions?.includes(criterion) === true
      ? 'preconditions'
      : action.type === 'gate'
        ? 'gate'
        : 'postconditions'

/** `own`: the task of the criterion; null for the final check, which every task precedes. */
function baselineFault(
  { baseline, command }: TestsCriterion,
  own: TaskName | null,
  byName: ReadonlyMap<TaskName, TaskDefinition>,
): (Pick<GraphFault, 'message'> & { readonly hint: string; readonly code?: GraphFault['code'] }) | null {
  if (baseline === undefined) return null
  const who = own === null ? "a check of 'done'" : `a check of '${own}'`
  const name = namedFrom(own ?? baseline, baseline, one => byName.has(one))
  if (name === null)
    return {
      code: 'unknown-reference',
      message: `${who} compares tests with '${baseline}', which does not exist`,
      hint: "name a task of this plan, or leave 'baseline' out: then the plan's first run of the command counts",
    }
  if (own !== null && (name === own || !comesAfter(own, name, byName)))
    return {
      message: `${who} compares tests with '${baseline}', which does not come before it`,
      hint: `let '${own}' need '${baseline}', or name a task before it`,
    }
  const { action, ...task } = byName.get(name)!
  const ran = sandboxedCommand(action)
  const runs = [...(ran === null ? [] : [ran]), ...testsCriteriaOf({ ...task, action }).map(one => one.command)]
  const wanted = testCommand(command)
  if (runs.some(one => testCommand(one) === wanted)) return null
  return {
    message: `${who} compares '${wanted.slice(0, COMMAND_SHOWN_MAX)}' with '${baseline}', which does not run it`,
    hint: `let '${baseline}' run exactly this command: \`run: ${wanted.slice(0, COMMAND_SHOWN_MAX)}\` with \`expect: exit >= 0\``,
  }
}

const COMMAND_SHOWN_MAX = 100

/** Does it wait for the other, directly or through others? Visits each task once. */
export function comesAfter(name: TaskName, other: TaskName, byName: ReadonlyMap<TaskName, TaskDefinition>): boolean {
  const seen = new Set<TaskName>([name])
  for (const one of seen) {
    for (const need of byName.get(one)?.needs ?? []) {
      if (need === other) return true
      seen.add(need)
    }
  }
  return false
}
