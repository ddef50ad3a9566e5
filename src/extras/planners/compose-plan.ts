// Composes a plan for a goal: questions, a baseline of today's failures, the steps of its kind with scopes and checks, a review,
// an approval before anything irreversible, and final checks.

import { sandboxedCommand } from '../../domain/actions/actions.ts'
import { isPlanName, type PlanName, type TaskName } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { Criterion, PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { type Left, oneLine } from './draft/briefing-text.ts'
import * as frame from './draft/frame-tasks.ts'
import { opening } from './draft/plan-frame.ts'
import { ALL_TESTS_BEFORE, check, isChecked, isTested, tests, workTask } from './draft/work-tasks.ts'
import type { Toolchain } from './found-commands.ts'
import type { GoalWords } from './goal.ts'
import type { EndCheck } from './kinds/end-check.ts'
import type { RenameCommand } from './kinds/rename.ts'
import type { FoundCommand, GoalAnalysis, LookedCommand } from './planner.ts'
import type { Passage } from './ranking/passages.ts'
import { FIND_OUT, type FramedGoal, type WorkStep } from './work-steps.ts'

export { live, oneLine } from './draft/briefing-text.ts'

export interface PlanParts {
  readonly goal: GoalWords
  readonly judged: FramedGoal
  readonly analysis: GoalAnalysis
  readonly toolchain: Pick<Toolchain, 'installation' | 'reinstallation' | 'submodules'>
  readonly ends: readonly EndCheck[]
  readonly steps: readonly WorkStep[]
  /** Steps after the review: a staged deployment. */
  readonly release: readonly WorkStep[]
  readonly scopes: WriteScopes
  readonly places: GoalPlaces
  /** Test commands that print each test by name, if known: of the package, and of everything if that differs. */
  readonly suite: readonly string[] | null
  readonly allSuite: readonly string[] | null
  /** Ignored folders where the tests write reports. */
  readonly reports: readonly string[]
  readonly questions: readonly PlanQuestion[]
  readonly assumptions: readonly string[]
  /** A command that performs the rename, if one can. */
  readonly renaming: RenameCommand | null
  /** Comments on an earlier draft, by task; null for comments on all of it. */
  readonly remarks: ReadonlyMap<string | null, readonly string[]>
  /** Tasks of an earlier draft to leave out. */
  readonly dropped: ReadonlySet<string>
  /** The context of the draft, stored with the plan. */
  readonly context: JsonObject
}

/** Findings for the briefings, beside the ranked files. */
export interface GoalPlaces {
  readonly passages: readonly Passage[]
  /** The file for a new test. */
  readonly test: string | null
  /** How a single test file is run. */
  readonly oneTest: string | null
  /** The change log, if the repository uses one. */
  readonly changeLog: string | null
  /** Change logs that may be written. */
  readonly openLogs: readonly string[]
  /** Files that contain the word to remove or correct. */
  readonly holding: readonly string[]
  /** The commands that fail today and that the goal is about. */
  readonly causes: readonly LookedCommand[]
}

export interface WriteScopes {
  readonly sources: readonly string[]
  readonly tests: readonly string[]
  readonly docs: readonly string[]
  readonly manifest: readonly string[]
  readonly new: readonly string[]
}

export interface PlanQuestion {
  readonly text: string
  /** The default answer; without it, the question must be answered. */
  readonly otherwise?: string
}

export function composePlan(parts: PlanParts): PlanDefinition {
  const { goal, judged, context, dropped } = parts
  const done = doneOf(parts)
  return {
    name: planName(goal.headline, judged.kind),
    title: oneLine(goal.headline, 100),
    goal: goal.text,
    ...(done.length === 0 ? {} : { done }),
    tasks: inMilestones(withoutRepeats(without(composeTasks(parts, done), dropped)), parts),
    labels: ['planned', judged.kind],
    extra: { planning: context },
  }
}

const isChange = ({ scope }: WorkStep): boolean => scope !== 'nothing'

function composeTasks(parts: PlanParts, done: readonly Criterion[]): readonly TaskDefinition[] {
  const { analysis, judged, ends, questions, steps, release, dropped } = parts
  const { installation, reinstallation, submodules } = parts.toolchain
  const { test, allTests = test } = analysis.commands
  const tasks: TaskDefinition[] = []
  const add = (task: TaskDefinition): TaskName => {
    tasks.push(task)
    return task.id
  }
  const isCode = steps.some(isTested)
  const isFlaky = judged.kind === 'flaky-test' && test !== null
  const needed = ends.some(({ command }) => command !== undefined)
    ? ends.flatMap(({ command }) => command ?? [])
    : [test]
  const missing = needed.filter(command => command?.exists === false).flatMap(command => command ?? [])
  const afterwards = checksAfter(parts, allTests, missing)
  const tools = afterwards.flatMap(({ command }) => (command.exists ? [] : [command]))
  const prepared = isCode && missing.length > 0 ? [frame.setUp([...missing, ...tools])] : []
  const before = prepared.map(({ id }) => id)
  if (isCode && test !== null && submodules.length > 0) prepared.push(frame.fetchSubmodules(submodules, before))
  if (isCode && installation !== null)
    prepared.push(
      frame.install(
        installation,
        prepared.map(({ id }) => id),
      ),
    )
  const installed = prepared.slice(-1).map(({ id }) => id)
  const recorded: TaskDefinition[] = []
  const logs: Left[] = []
  const record = (task: TaskDefinition, prints = true): void => {
    recorded.push(task)
    if (prints && !dropped.has(task.id)) logs.push({ task: task.id, output: 'log', title: commandOf(task) })
  }
  if (ends.length > 0) record(frame.baseline(ends, installed), frame.printsMore(ends))
  const isRun = isChecked(ends, test) || isChecked(ends, allTests)
  if (isCode && test !== null && allTests !== null && !isRun) {
    const asNamed = (found: FoundCommand, run: readonly string[] | null): FoundCommand => ({
      ...found,
      run: run ?? found.run,
    })
    const hasBaseline = ends.length > 0
    record(frame.testsBefore(asNamed(test, parts.suite), installed, { hasBaseline }))
    if (allTests !== test)
      record(
        frame.testsBefore(asNamed(allTests, parts.allSuite), installed, {
          hasBaseline,
          isWhole: true,
        }),
      )
  }
  if (isFlaky) record(frame.repeatTests(test, 'repeat-before', installed))
  // A single step is covered by the plan's own rollback point.
  const isSaved = steps.length + release.length > 1 || judged.irreversible.length > 0
  const start = opening({ questions, prepared, recorded, isSaved })
  tasks.push(...start.tasks)
  // Work and tests need not wait for the tools of other checks.
  const aside = prepared.some(({ id }) => id === frame.SET_UP) || tools.length === 0 ? [] : [add(frame.setUp(tools))]
  const left: Left[] = []
  let needs = start.needs
  let back: TaskName | null = null
  const addStep = (step: WorkStep): TaskName => {
    const { approval, isAside } = step
    if (approval !== undefined) needs = [add(frame.approveStep({ ...step, approval }, needs, left))]
    const seen = isTested(step) || step.scope === 'nothing' ? logs : []
    const { needs: after, ...task } = workTask(parts, step, { needs, left: [...left], logs: seen })
    const id = add(isAside === true ? task : { ...task, needs: after })
    if (step.reports !== undefined && !dropped.has(id)) left.push({ task: id, output: step.reports, title: step.title })
    if (isAside !== true) needs = [step.id === 'specify' ? add(frame.approveSpecification(id)) : id]
    return id
  }
  for (const step of steps) {
    const id = addStep(step)
    if (isChange(step) || back === null) back = id
    if (reinstallation !== null && judged.kind === 'dependency-update' && step.scope === 'manifest')
      needs = [add(frame.installAgain(reinstallation, needs))]
  }
  const [work] = needs as readonly [TaskName]
  const checks: TaskName[] = []
  if (isFlaky) checks.push(add(frame.repeatTests(test, 'repeat-after', [work])))
  if (recorded.some(({ id }) => id === ALL_TESTS_BEFORE) && judged.kind !== 'failing-command')
    checks.push(add(frame.comparedAfter(tests(parts, 'whole'), allTests!, work)))
  for (const { id, title, command } of afterwards) {
    const passes = analysis.looked?.commands.some(
      ({ run, status }) => status === 'passes' && run.join(' ') === command.run.join(' '),
    )
    const needs = [work, ...(command.exists ? [] : aside)]
    const name = add(frame.ranAfter(id, title, command, { needs, passes: passes === true }))
    checks.push(name)
    if (passes !== true && !dropped.has(name)) left.push({ task: name, output: 'log', title: `${title}: how it ended` })
  }
  const changes = steps.some(isChange)
  needs = [
    add(frame.review(parts, { needs: [...new Set([work, ...checks])], back: back!, left: [...left], done, changes })),
  ]
  for (const step of release) addStep(step)
  for (const step of judged.irreversible) {
    const [approval, task] = frame.irreversibleTasks(step, needs)
    add(approval)
    needs = [add(task)]
  }
  return tasks
}

/** Also those whose tool is only missing on this machine, if the repository itself asks for it or it is installed anyway. */
function checksAfter(
  { analysis, judged, steps, ends }: PlanParts,
  allTests: FoundCommand | null,
  setUp: readonly FoundCommand[],
) {
  const { lint, types, build } = analysis.commands
  const isCode = steps.some(isTested)
  const isSettings = steps.some(({ kind }) => kind === 'ci')
  const all = [
    { id: 'lint', title: 'Lint', command: lint },
    { id: 'types', title: 'Check the types', command: types },
    { id: 'build', title: 'Build', command: build },
    // The goal is about other commands; whether the tests still pass is part of the review.
    { id: 'test', title: 'Run the tests', command: judged.kind === 'failing-command' ? allTests : null },
  ]
  return all.flatMap(({ command, ...one }) => {
    const isWanted = isCode || (one.id === 'lint' && isSettings)
    const isInstalled = setUp.some(({ missing }) => missing === command?.missing)
    const canInstall = / is not installed$/.test(command?.missing ?? '') && (command?.isGuess !== true || isInstalled)
    const canRun = command?.exists === true || canInstall
    return command !== null && isWanted && canRun && !isChecked(ends, command) ? [{ ...one, command }] : []
  })
}

/** As typed, without redirections that only record output. */
function commandOf({ id, action }: TaskDefinition): string {
  const command = sandboxedCommand(action)
  const line = command !== null && 'script' in command ? command.script.replace(/ 2>&1$/, '') : ''
  return line === '' || line.includes('\n') ? `'${id}'` : `'${line}'`
}

/** Only what commands can check; the review covers the rest. */
function doneOf(parts: PlanParts): readonly Criterion[] {
  const { ends, steps, judged } = parts
  const found: Criterion[] = ends.map(({ script, text }) => check(script, text))
  return steps.some(isTested) && judged.kind !== 'failing-command'
    ? [...found, ...tests(parts, 'kept'), ...tests(parts, 'whole')]
    : found
}

const MILESTONES_MIN = 5

/** Groups a longer plan into phases by the purpose of the tasks. */
function inMilestones(tasks: readonly TaskDefinition[], all: PlanParts): readonly TaskDefinition[] {
  if (tasks.length < MILESTONES_MIN) return tasks
  const steps = new Map(all.steps.map(step => [step.id, step]))
  let isChanged = false
  let isReviewed = false
  return tasks.map(task => {
    const step = steps.get(task.id)
    const isWork = step !== undefined && isChange(step)
    const milestone = isReviewed
      ? 'Release'
      : isWork
        ? 'Change'
        : isChanged
          ? 'Check'
          : (step !== undefined && step !== FIND_OUT) || task.id === 'approve-specification'
            ? 'Understand'
            : 'Prepare'
    isChanged ||= isWork
    isReviewed ||= task.id === frame.REVIEW
    return { ...task, milestone }
  })
}

/** Drops sentences of a rationale that an earlier task already has. */
function withoutRepeats(tasks: readonly TaskDefinition[]): readonly TaskDefinition[] {
  const written = new Set<string>()
  return tasks.map(task => {
    const sentences = (task.rationale ?? '').split(/(?<=\.)\s+(?=[A-Z])/)
    const fresh = sentences.filter(one => !written.has(one))
    for (const one of fresh) written.add(one)
    return fresh.length === 0 ? task : { ...task, rationale: fresh.join(' ') }
  })
}

/** Removes tasks; tasks that needed them inherit their needs. */
function without(tasks: readonly TaskDefinition[], dropped: ReadonlySet<string>): readonly TaskDefinition[] {
  if (dropped.size === 0) return tasks
  const needs = new Map(tasks.map(task => [task.id as string, task.needs ?? []]))
  const remaining = (name: TaskName): readonly TaskName[] =>
    dropped.has(name) ? (needs.get(name) ?? []).flatMap(remaining) : [name]
  return tasks
    .filter(({ id }) => !dropped.has(id))
    .map(task => {
      const on = Object.entries(task.on ?? {})
        .map(([outcome, to]) => [outcome, [...new Set(to.flatMap(remaining))]] as const)
        .filter(([, to]) => to.length > 0)
      return {
        ...task,
        ...(task.needs === undefined ? {} : { needs: [...new Set(task.needs.flatMap(remaining))] }),
        ...(task.on === undefined ? {} : { on: Object.fromEntries(on) }),
      }
    })
}

const NAME_WORDS_MAX = 6

export function planName(headline: string, kind: string): PlanName {
  const words = headline
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .match(/[a-z0-9]+/g)
  const name = (words ?? []).slice(0, NAME_WORDS_MAX).join('-').slice(0, 50).replace(/-+$/, '')
  return (name.length >= 3 && isPlanName(name) ? name : kind) as PlanName
}
