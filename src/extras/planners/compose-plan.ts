// Puts a plan together from what is known about a goal: questions first, a baseline that records what fails today, the steps of its
// kind with write scopes and checks, a review, an approval before whatever is irreversible, and a definition of done.

import { sandboxedCommand } from '../../domain/actions/actions.ts'
import { isPlanName, type PlanName, type TaskName } from '../../domain/id.ts'
import type { JsonObject } from '../../domain/json.ts'
import type { Criterion, PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { type Left, oneLine } from './draft/briefing-text.ts'
import * as frame from './draft/frame-tasks.ts'
import { opening } from './draft/plan-frame.ts'
import { check, isChecked, isTested, tests, workTask } from './draft/work-tasks.ts'
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
  readonly toolchain: Pick<Toolchain, 'installation' | 'reinstallation'>
  readonly ends: readonly EndCheck[]
  readonly steps: readonly WorkStep[]
  /** Steps after the review: a deployment in stages. */
  readonly release: readonly WorkStep[]
  readonly scopes: WriteScopes
  readonly places: GoalPlaces
  /** The tests, run so that each is printed by its name, where that is known; of the package, and all where that is another command. */
  readonly suite: readonly string[] | null
  readonly allSuite: readonly string[] | null
  /** Ignored folders in which the tests leave their reports. */
  readonly reports: readonly string[]
  readonly questions: readonly PlanQuestion[]
  readonly assumptions: readonly string[]
  /** A command that renames, where one can. */
  readonly renaming: RenameCommand | null
  /** What was said about single tasks of an earlier draft, and about all of it. */
  readonly remarks: ReadonlyMap<string | null, readonly string[]>
  /** Tasks of an earlier draft that somebody does not want. */
  readonly dropped: ReadonlySet<string>
  /** The context the plan is made in, kept with it. */
  readonly context: JsonObject
}

/** What was found for the briefings, beside the ranked files. */
export interface GoalPlaces {
  readonly passages: readonly Passage[]
  /** The file that a new test belongs into. */
  readonly test: string | null
  /** How one file of tests is run alone. */
  readonly oneTest: string | null
  /** Where changes are noted, as earlier ones were. */
  readonly changeLog: string | null
  /** Files with the word that is to go or to be corrected. */
  readonly holding: readonly string[]
  /** The commands that fail today, and that the goal is about. */
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
  /** What holds when nobody says otherwise; asked for an answer when absent. */
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
  const { installation, reinstallation } = parts.toolchain
  const { test, allTests = test, lint, types, build } = analysis.commands
  const tasks: TaskDefinition[] = []
  const add = (task: TaskDefinition): TaskName => {
    tasks.push(task)
    return task.id
  }
  const isCode = steps.some(isTested)
  const isSettings = steps.some(({ kind }) => kind === 'ci')
  const isFlaky = judged.kind === 'flaky-test' && test !== null
  const needed = ends.some(({ command }) => command !== undefined)
    ? ends.flatMap(({ command }) => command ?? [])
    : [test]
  const missing = needed.filter(command => command?.exists === false).flatMap(command => command ?? [])
  const prepared = isCode && missing.length > 0 ? [frame.setUp(missing)] : []
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
  // One step alone goes back with the plan itself.
  const isSaved = steps.length + release.length > 1 || judged.irreversible.length > 0
  const start = opening({ questions, prepared, recorded, isSaved })
  tasks.push(...start.tasks)
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
  for (const [id, title, command] of [
    ['lint', 'Lint', lint],
    ['types', 'Check the types', types],
    ['build', 'Build', build],
    // What the goal is about is other commands; that the tests still pass is for the review.
    ['test', 'Run the tests', judged.kind === 'failing-command' ? allTests : null],
  ] as const)
    if ((isCode || (id === 'lint' && isSettings)) && command?.exists === true && !isChecked(ends, command)) {
      const passes = analysis.looked?.commands.some(
        ({ run, status }) => status === 'passes' && run.join(' ') === command.run.join(' '),
      )
      const name = add(frame.ranAfter(id, title, command, { work, passes: passes === true }))
      checks.push(name)
      if (passes !== true && !dropped.has(name))
        left.push({ task: name, output: 'log', title: `${title}: how it ended` })
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

/** As it is typed, without what is only there to keep what it prints. */
function commandOf({ id, action }: TaskDefinition): string {
  const command = sandboxedCommand(action)
  const line = command !== null && 'script' in command ? command.script.replace(/ 2>&1$/, '') : ''
  return line === '' || line.includes('\n') ? `'${id}'` : `'${line}'`
}

/** Only what commands can tell: the rest is judged in the review. */
function doneOf(parts: PlanParts): readonly Criterion[] {
  const { ends, steps, judged } = parts
  const found: Criterion[] = ends.map(({ script, text }) => check(script, text))
  return steps.some(isTested) && judged.kind !== 'failing-command'
    ? [...found, ...tests(parts, 'kept'), ...tests(parts, 'whole')]
    : found
}

const MILESTONES_MIN = 5

/** The phases of a longer plan, by what a task is for. */
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

/** Nobody reads the same reason twice: a later task leaves out the sentences that an earlier one has said. */
function withoutRepeats(tasks: readonly TaskDefinition[]): readonly TaskDefinition[] {
  const told = new Set<string>()
  return tasks.map(task => {
    const sentences = (task.rationale ?? '').split(/(?<=\.)\s+(?=[A-Z])/)
    const fresh = sentences.filter(one => !told.has(one))
    for (const one of fresh) told.add(one)
    return fresh.length === 0 ? task : { ...task, rationale: fresh.join(' ') }
  })
}

/** Others that need one of these need what it needed. */
function without(tasks: readonly TaskDefinition[], dropped: ReadonlySet<string>): readonly TaskDefinition[] {
  if (dropped.size === 0) return tasks
  const needs = new Map(tasks.map(task => [task.id as string, task.needs ?? []]))
  const standing = (name: TaskName): readonly TaskName[] =>
    dropped.has(name) ? (needs.get(name) ?? []).flatMap(standing) : [name]
  return tasks
    .filter(({ id }) => !dropped.has(id))
    .map(task => {
      const on = Object.entries(task.on ?? {})
        .map(([outcome, to]) => [outcome, [...new Set(to.flatMap(standing))]] as const)
        .filter(([, to]) => to.length > 0)
      return {
        ...task,
        ...(task.needs === undefined ? {} : { needs: [...new Set(task.needs.flatMap(standing))] }),
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
