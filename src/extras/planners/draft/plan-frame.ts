// The frame around every draft of any planner: questions, installation, test baseline, a checkpoint, and a final review. An
// approval in between does not replace that review.

import { actionFacts, sandboxedCommand } from '../../../domain/actions/actions.ts'
import type { TaskName } from '../../../domain/id.ts'
import { mapOf } from '../../../domain/json.ts'
import type { Criterion, PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import { dangerOf, impactOf } from '../../../domain/plan-rules/impact.ts'
import type { PlanQuestion } from '../compose-plan.ts'
import { shellLine } from '../end-checks.ts'
import type { FoundCommand, PlanProposal } from '../planner.ts'
import { deadlineIn } from '../sentence/deadline.ts'
import { live } from './briefing-text.ts'
import * as frame from './frame-tasks.ts'
import { ALL_TESTS_BEFORE, BASELINE, TEXTS } from './work-tasks.ts'

export interface Opening {
  readonly questions: readonly PlanQuestion[]
  /** Install what is missing. */
  readonly prepared: readonly TaskDefinition[]
  /** Record how it is today. */
  readonly recorded: readonly TaskDefinition[]
  readonly isSaved: boolean
}

/** The tasks before the work, and those the work depends on. */
export function opening({ questions, prepared, recorded, isSaved }: Opening): {
  readonly tasks: readonly TaskDefinition[]
  readonly needs: readonly TaskName[]
} {
  const asked = questions.length === 0 ? [] : [frame.clarify(questions)]
  const first = namesOf([...asked, ...recorded])
  const safe = isSaved ? [frame.safePoint([...first, ...namesOf(prepared)])] : []
  const needs = isSaved ? namesOf(safe) : first.length > 0 ? first : namesOf(prepared)
  return { tasks: [...asked, ...prepared, ...recorded, ...safe], needs }
}

const namesOf = (tasks: readonly TaskDefinition[]): readonly TaskName[] => tasks.map(({ id }) => id)

/** Task names of the frame, which the work must not use. */
export const FRAME_NAMES: readonly string[] = [
  'clarify',
  'set-up',
  frame.INSTALL,
  BASELINE,
  ALL_TESTS_BEFORE,
  'safe-point',
  frame.REVIEW,
]

export interface Framing {
  /** The result of the heuristic planner. */
  readonly known: Pick<PlanProposal, 'definition' | 'analysis' | 'kind' | 'framing'>
  readonly questions: readonly PlanQuestion[]
}

interface Suite {
  /** As the drafts of other planners spell it. */
  readonly line: string
  readonly test: FoundCommand
  readonly before: TaskName
}

/** Test suites recorded before the work and compared afterwards: of the package, and of everything if that differs. */
export function suitesOf({ analysis, framing }: Pick<Framing['known'], 'analysis' | 'framing'>): readonly Suite[] {
  const { test, allTests = null } = analysis.commands
  const suite = (found: FoundCommand, named: readonly string[] | null | undefined, before: string): Suite => ({
    line: shellLine(found.run),
    test: { ...found, run: named ?? found.run },
    before: before as TaskName,
  })
  return [
    ...(test === null ? [] : [suite(test, framing?.suite, BASELINE)]),
    ...(test === null || allTests === null ? [] : [suite(allTests, framing?.allSuite, ALL_TESTS_BEFORE)]),
  ]
}

/** If the goal is a passing check, tests are not compared with the baseline. */
export const isAboutChecks = ({ kind }: Pick<PlanProposal, 'kind'>): boolean => /^failing-/.test(kind)

/** A suite that fails today could never pass as a criterion; it must only not get worse. */
function judged(criterion: Criterion, suites: readonly Suite[]): Criterion {
  if (criterion.type !== 'check') return criterion
  const { command } = criterion
  const line = 'argv' in command ? shellLine(command.argv) : command.script
  const suite = suites.find(one => one.line === line)
  if (suite === undefined) return criterion
  const { test, before } = suite
  return { type: 'tests', command: { script: live(shellLine(test.run)) }, baseline: before, text: TEXTS.kept }
}

/** Puts the tasks of a model's or agent's draft into the frame. */
export function framed(plan: PlanDefinition, { known, questions }: Framing): PlanDefinition {
  const writers = plan.tasks.filter(task => mayWrite(plan, task))
  const suites = writers.length === 0 ? [] : suitesOf(known)
  const missing = suites.flatMap(({ test }) => (test.exists ? [] : [test]))
  const prepared = missing.length === 0 ? [] : [frame.setUp(missing)]
  const installation = writers.length === 0 ? null : (known.framing?.installation ?? null)
  if (installation !== null) prepared.push(frame.install(installation, namesOf(prepared)))
  const recorded = suites.map(({ test, before }) =>
    frame.testsBefore(test, namesOf(prepared.slice(-1)), {
      hasBaseline: false,
      isWhole: before === ALL_TESTS_BEFORE,
    }),
  )
  const taken = new Set<string>(namesOf(plan.tasks))
  const start = opening({ questions, prepared, recorded, isSaved: writers.length > 0 })
  const begun = renamed(start.tasks, taken)
  const first = start.needs.map(begun.nameOf)
  const waiting = conditional(plan.tasks)
  const compared = isAboutChecks(known) ? [] : suites.map(one => ({ ...one, before: begun.nameOf(one.before) }))
  const asCompared = <T extends Pick<TaskDefinition, 'accept'>>(task: T): T =>
    task.accept === undefined ? task : { ...task, accept: task.accept.map(one => judged(one, compared)) }
  const done = plan.done?.map(one => judged(one, compared))
  const tasks = plan.tasks
    .map(asCompared)
    .map(task =>
      (task.needs ?? []).length > 0 || waiting.has(task.id) || first.length === 0 ? task : { ...task, needs: first },
    )
  const after = finalTasks(plan, tasks)
  const middle = tasks.filter(({ id }) => !after.has(id))
  const needed = new Set(middle.flatMap(({ needs = [] }) => needs))
  const leaves = middle.filter(({ id }) => !needed.has(id) && !waiting.has(id))
  const back = writers.filter(({ id, action }) => !after.has(id) && sandboxedCommand(action) === null).at(-1)
  const left = middle.flatMap(({ id, title = id, outputs = {} }) =>
    Object.entries(outputs).flatMap(([output, { from }]) => (from === 'report' ? [{ task: id, output, title }] : [])),
  )
  const look = frame.review(
    {
      goal: { text: plan.goal ?? plan.title ?? plan.name },
      judged: { constraints: limitsOf(known), deadline: deadlineIn(plan.goal ?? '') },
    },
    { needs: namesOf(leaves), back: back?.id ?? null, left, done: done ?? [], changes: writers.length > 0 },
  )
  const review = { ...look, id: freeName(look.id, taken) }
  const released = tasks.flatMap(task => {
    if (!after.has(task.id)) return []
    const own = (task.needs ?? []).filter(name => after.has(name))
    const isInside = own.length > 0 && own.length === task.needs?.length
    return [isInside ? task : { ...task, needs: [...own, review.id] }]
  })
  return { ...plan, ...(done === undefined ? {} : { done }), tasks: [...begun.tasks, ...middle, review, ...released] }
}

function limitsOf({ definition }: Framing['known']): readonly string[] {
  const { constraints } = mapOf(definition.extra?.planning)
  return Array.isArray(constraints) ? constraints.map(String) : []
}

/** A command without a declared scope may write; commands that push or deploy have approvals of their own. */
function mayWrite(plan: PlanDefinition, task: TaskDefinition): boolean {
  const { action, write, effect } = task
  if (write !== undefined) return write.length > 0
  const impact = impactOf(plan, task)
  const { changesFiles, continuesWork, command } = actionFacts(action)
  const isWriting = changesFiles === true || continuesWork === true
  return isWriting && (command === undefined || effect !== 'idempotent') && (impact === null || impact === 'unknown')
}

/** Irreversible tasks with their approvals and successors; empty if the plan writes after them. */
function finalTasks(plan: PlanDefinition, tasks: readonly TaskDefinition[]): ReadonlySet<string> {
  const final = new Set<string>(namesOf(tasks.filter(task => dangerOf(task) !== null)))
  for (let before = 0; before < final.size; ) {
    before = final.size
    for (const { id, needs = [], action } of tasks) {
      const next = action.type === 'gate' ? tasks.filter(task => task.needs?.includes(id)) : []
      const isBefore = next.length > 0 && next.every(task => final.has(task.id))
      if (isBefore || needs.some(name => final.has(name))) final.add(id)
    }
  }
  return tasks.some(task => final.has(task.id) && mayWrite(plan, task)) ? new Set() : final
}

/** Tasks that only an outcome, a failure or a rollback starts, so nothing may depend on them. */
function conditional(tasks: readonly TaskDefinition[]): ReadonlySet<string> {
  const routed = new Set<string>(tasks.flatMap(({ on = {} }) => Object.values(on).flat()))
  const helping = tasks.flatMap(({ recover = [], failureModes = [], compensate }) => [
    ...recover.flatMap(({ do: way }) => ('task' in way ? [way.task] : [])),
    ...failureModes.flatMap(mode => mode.recover ?? []),
    ...(compensate?.type === 'task' ? [compensate.task] : []),
  ])
  const started = tasks.filter(({ id, needs = [] }) => needs.length === 0 && routed.has(id))
  return new Set([...namesOf(started), ...helping])
}

function renamed(tasks: readonly TaskDefinition[], taken: Set<string>) {
  const names = new Map(tasks.map(({ id }) => [id, freeName(id, taken)]))
  const nameOf = (name: TaskName): TaskName => names.get(name) ?? name
  return {
    nameOf,
    tasks: tasks.map(task => ({
      ...task,
      id: nameOf(task.id),
      ...(task.needs === undefined ? {} : { needs: task.needs.map(nameOf) }),
    })),
  }
}

export function freeName(wanted: string, taken: Set<string>): TaskName {
  const base = wanted.slice(0, 100)
  let name = base
  for (let at = 2; taken.has(name); at++) name = `${base}-${at}`
  taken.add(name)
  return name as TaskName
}
