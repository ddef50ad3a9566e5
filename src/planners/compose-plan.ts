// Puts a plan together from what is known about a goal: questions first, a baseline that records what fails today, the steps of its
// kind with write scopes and checks, a review, an approval before whatever cannot be taken back, and a definition of done.

import { isPlanName, type PlanName, type TaskName } from '../domain/id.ts'
import type { JsonObject } from '../domain/json.ts'
import type { Action, Criterion, Field, PlanDefinition, TaskDefinition } from '../domain/plan.ts'
import { shellQuoted } from '../domain/plan-rules/shell-words.ts'
import type { EndCheck } from './end-checks.ts'
import { shellLine } from './end-checks.ts'
import type { GoalWords } from './goal.ts'
import type { JudgedGoal } from './goal-kind.ts'
import type { FoundCommand, GoalAnalysis } from './planner.ts'
import type { WorkStep } from './work-steps.ts'

export interface PlanParts {
  readonly goal: GoalWords
  readonly judged: JudgedGoal
  readonly analysis: GoalAnalysis
  readonly ends: readonly EndCheck[]
  readonly steps: readonly WorkStep[]
  /** Steps after the review: a deployment in stages. */
  readonly release: readonly WorkStep[]
  readonly scopes: WriteScopes
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

export interface RenameCommand {
  readonly run: readonly string[]
  readonly files: readonly string[]
}

const MINUTE = 60_000

export function composePlan(parts: PlanParts): PlanDefinition {
  const { goal, judged, context, dropped } = parts
  const tasks = composeTasks(parts)
  return {
    name: planName(goal.headline, judged.kind),
    title: oneLine(goal.headline, 100),
    goal: goal.text,
    done: doneOf(parts),
    tasks: without(tasks, dropped),
    labels: ['planned', judged.kind],
    extra: { planning: context },
  }
}

export const REVIEW = 'review'
export const BASELINE = 'baseline'

function composeTasks(parts: PlanParts): readonly TaskDefinition[] {
  const { analysis, judged, ends, questions, steps } = parts
  const { test, lint, types, build } = analysis.commands
  const tasks: TaskDefinition[] = []
  const add = (task: TaskDefinition): TaskName => {
    tasks.push(task)
    return task.id
  }
  // What has to be there before the work begins.
  const first: TaskName[] = []
  if (questions.length > 0) first.push(add(clarify(questions)))
  const changes = steps.some(({ scope }) => scope !== 'nothing' && scope !== 'docs' && scope !== 'new')
  let prepared: TaskName[] = []
  const needed = ends.find(({ command }) => command !== undefined && !command.exists)?.command ?? test
  if (changes && needed !== null && !needed.exists) prepared = [add(setUp(needed, []))]
  if (ends.length > 0) first.push(add(baseline(ends, prepared)))
  const isTold = isChecked(ends, test)
  if (changes && test !== null && !isTold) first.push(add(testsBefore(test, prepared, judged.kind, ends.length > 0)))
  if (judged.kind === 'flaky-test' && test !== null) first.push(add(repeatTests(test, 'repeat-before', prepared)))
  const agreed = add({
    id: 'safe-point' as TaskName,
    title: 'Save the current state',
    rationale: 'Whatever the work does, the plan can go back to here.',
    needs: first,
    action: { type: 'checkpoint', name: 'before-work' },
  })
  let last: TaskName = agreed
  for (const step of steps) {
    last = addStep(parts, step, last, add)
    if (step.id !== 'specify') continue
    last = add({
      id: 'approve-specification' as TaskName,
      title: 'Is this what is wanted?',
      rationale: 'Nothing is changed before somebody has agreed to what will be changed.',
      needs: [last],
      action: { type: 'gate', gate: 'approval', show: ['the specification'] },
      on: { rejected: [last] },
    })
  }
  const work = last
  const checks: TaskName[] = []
  if (judged.kind === 'flaky-test' && test !== null) checks.push(add(repeatTests(test, 'repeat-after', [work])))
  for (const [id, title, command] of [
    ['lint', 'Lint', lint],
    ['types', 'Check the types', types],
    ['build', 'Build', build],
  ] as const)
    if (changes && command?.exists === true && !isChecked(ends, command))
      checks.push(add(ranAfter(id, title, command, work)))
  // What the goal is about is other commands; that the tests still pass is for the review.
  if (judged.kind === 'failing-command' && test?.exists === true && !isTold)
    checks.push(add(ranAfter('test', 'Run the tests', test, work)))
  if (steps.some(({ scope }) => scope !== 'nothing')) {
    last = add({
      id: REVIEW as TaskName,
      title: 'Look at the change',
      kind: 'review',
      rationale: 'A person sees everything that was changed before the plan is done, and can send it back.',
      needs: [...new Set([work, ...checks])],
      estimateMs: 10 * MINUTE,
      action: { type: 'gate', gate: 'diff' },
      on: { rejected: [work] },
    })
  }
  for (const step of parts.release) last = addStep(parts, step, last, add)
  for (const { word, said } of judged.irreversible) {
    const approved = add({
      id: `approve-${word}` as TaskName,
      title: `May it ${WORDS[word]}?`,
      rationale: `The goal says '${said}'. That is irreversible, so a person decides right before it.`,
      needs: [last],
      action: { type: 'gate', gate: 'approval', show: ['diff'] },
    })
    last = add({
      id: word as TaskName,
      title: live(`${WORDS[word][0]!.toUpperCase()}${WORDS[word].slice(1)}: ${said}`),
      kind: word,
      rationale: 'Asked for by the goal.',
      needs: [approved],
      action: { type: 'external' },
      instruction: live(
        `Do exactly this and nothing more: ${said}. Report what was done and how it can be undone, if at all.`,
      ),
      outputs: { done: { from: 'report', type: 'text' } },
      accept: [{ type: 'prose', text: 'it did what was approved, and nothing else' }],
      risks: ['irreversible'],
      estimateMs: 15 * MINUTE,
    })
  }
  return tasks
}

const isChecked = (ends: readonly EndCheck[], command: FoundCommand | null): boolean =>
  command !== null &&
  ends.some(
    end =>
      end.script === shellLine(command.run) ||
      (end.command !== undefined && shellLine(end.command.run) === shellLine(command.run)),
  )

/** The step, with the approval before it. */
function addStep(
  parts: PlanParts,
  step: WorkStep,
  before: TaskName,
  add: (task: TaskDefinition) => TaskName,
): TaskName {
  const { approval, isAside } = step
  let last = before
  if (approval !== undefined)
    last = add({
      id: `approve-${step.id}` as TaskName,
      title: live(approval.title),
      rationale: approval.why,
      needs: [before],
      action: { type: 'gate', gate: 'approval', show: [`what '${before}' reported`] },
      ...(approval.rejected === undefined ? {} : { on: { rejected: [approval.rejected as TaskName] } }),
    })
  const { needs, ...task } = workTask(parts, step, last)
  if (isAside !== true) return add({ ...task, needs })
  add(task)
  return before
}

const WORDS = { push: 'push', deploy: 'be deployed', delete: 'delete data', migrate: 'migrate data' } as const

function clarify(questions: readonly PlanQuestion[]): TaskDefinition {
  const form = questions.map(
    ({ text, otherwise }, index): Field => ({
      name: `answer${index + 1}`,
      label: oneLine(text, 300),
      type: 'text',
      ...(otherwise === undefined ? {} : { optional: true, default: otherwise }),
    }),
  )
  return {
    id: 'clarify' as TaskName,
    title:
      questions.length === 1 ? 'A question before work begins' : `${questions.length} questions before work begins`,
    rationale: 'The goal does not say this, and the answer changes the work.',
    action: { type: 'gate', gate: 'question', question: live(questions.map(({ text }) => text).join('\n')), form },
    estimateMs: 5 * MINUTE,
  }
}

function setUp(test: FoundCommand, needs: readonly TaskName[]): TaskDefinition {
  const program = /^'(.+)' is not installed$/.exec(test.missing ?? '')?.[1] ?? test.run[0]!
  return {
    id: 'set-up' as TaskName,
    title: live(`Install what the tests need (${program})`),
    kind: 'chore',
    rationale: `The tests are run with '${test.run.join(' ')}' (${test.from}), and ${test.missing ?? 'it is not there'}.`,
    needs,
    action: { type: 'external' },
    instruction: live(`Install '${program}' so that '${test.run.join(' ')}' starts.`),
    accept: [check(`command -v ${shellLine([program])}`, `${program} is installed`)],
    estimateMs: 10 * MINUTE,
  }
}

/** Fails today, or the goal has been reached before anything was done. */
function baseline(ends: readonly EndCheck[], needs: readonly TaskName[]): TaskDefinition {
  if (ends.some(({ command }) => command !== undefined)) return commandsBefore(ends, needs)
  return {
    id: BASELINE as TaskName,
    title: 'Record what fails today',
    kind: 'validate',
    rationale: `The definition of done must fail before the work: ${ends.map(({ text }) => text).join('; ')}. If it passes already, there is nothing to do.`,
    needs,
    action: { type: 'run', command: { script: live(ends.map(({ script }) => script).join(' &&\n')) } },
    effect: 'idempotent',
    expect: 'exit != 0',
    outputs: { log: { from: 'stdout', as: 'text' } },
    estimateMs: 5 * MINUTE,
  }
}

/** Runs each command and records how it ended. Not all of them fail today, and perhaps none does here. */
function commandsBefore(ends: readonly EndCheck[], needs: readonly TaskName[]): TaskDefinition {
  const lines = ends.map(
    ({ script }) => `echo ${shellQuoted(`== ${script}`)}; code=0; (${script}) 2>&1 || code=$?; echo "== exit $code"`,
  )
  return {
    id: BASELINE as TaskName,
    title: ends.length === 1 ? 'Record how the command ends today' : 'Record how each command ends today',
    kind: 'validate',
    rationale:
      'What failed before the work, and where, is in its output. If everything succeeds here, the fault is not in this version of the source, or not on this machine.',
    needs,
    action: { type: 'run', command: { script: live(lines.join('\n')) } },
    effect: 'pure',
    outputs: { log: { from: 'stdout', as: 'text' } },
    estimateMs: 5 * MINUTE,
  }
}

/** Records how the tests are before the work. A refactoring may not begin while they fail. */
function testsBefore(
  test: FoundCommand,
  needs: readonly TaskName[],
  kind: string,
  hasBaseline: boolean,
): TaskDefinition {
  const mustPass = kind === 'refactor' || kind === 'rename'
  return {
    id: (hasBaseline ? 'tests-before' : BASELINE) as TaskName,
    title: mustPass ? 'See that the tests pass today' : 'Record which tests fail today',
    kind: 'validate',
    rationale: mustPass
      ? 'What keeps behaviour can only be checked by tests that pass before.'
      : 'What failed before was not broken by this plan.',
    needs,
    action: { type: 'run', command: { argv: test.run.map(live) } },
    effect: 'idempotent',
    ...(mustPass ? {} : { expect: 'exit >= 0' }),
    outputs: { log: { from: 'stdout', as: 'text' } },
    estimateMs: 5 * MINUTE,
  }
}

const RUNS = 10

function repeatTests(test: FoundCommand, id: string, needs: readonly TaskName[]): TaskDefinition {
  const isBefore = id === 'repeat-before'
  const line = shellLine(test.run)
  const script = [
    'failed=0',
    `for run in $(seq ${RUNS}); do ${line} >/dev/null 2>&1 || failed=$((failed + 1)); done`,
    `echo "$failed of ${RUNS} runs failed"`,
    'test "$failed" -eq 0',
  ].join('\n')
  return {
    id: id as TaskName,
    title: isBefore ? `Count how often the tests fail in ${RUNS} runs` : `Run the tests ${RUNS} times: none may fail`,
    kind: 'validate',
    rationale: 'A test that fails sometimes is seen only in many runs.',
    needs,
    action: { type: 'run', command: { script: live(script) } },
    effect: 'idempotent',
    ...(isBefore ? { expect: 'exit >= 0' } : {}),
    outputs: { log: { from: 'stdout', as: 'text' } },
    estimateMs: 15 * MINUTE,
  }
}

function ranAfter(id: string, title: string, { run, from }: FoundCommand, work: TaskName): TaskDefinition {
  return {
    id: id as TaskName,
    title,
    kind: 'validate',
    rationale: `Found in ${from}. It may fail for reasons from before; then the review decides.`,
    needs: [work],
    optional: true,
    action: { type: 'run', command: { argv: run.map(live) } },
    effect: 'idempotent',
    estimateMs: 3 * MINUTE,
  }
}

function workTask(parts: PlanParts, step: WorkStep, before: TaskName): TaskDefinition {
  const { renaming, remarks } = parts
  const write = scopeOf(parts, step)
  const isCommand = step.id === 'rename' && renaming !== null
  const action: Action = isCommand ? { type: 'run', command: { argv: renaming.run.map(live) } } : { type: 'external' }
  const accept = acceptOf(parts, step)
  const said = remarks.get(step.id) ?? []
  return {
    id: step.id as TaskName,
    title: step.title,
    kind: step.kind,
    rationale: [step.why, ...whyHere(parts, step)].join(' '),
    needs: [before],
    action,
    ...(isCommand ? { network: [] } : { instruction: live(instructionOf(parts, step, said)) }),
    ...(write.length === 0 ? {} : { write: isCommand ? renaming.files : write }),
    ...(step.reports === undefined || isCommand ? {} : { outputs: reported(step.reports) }),
    ...(accept.length === 0 ? {} : { accept }),
    ...(step.network === undefined ? {} : { network: step.network }),
    risks: step.risks,
    ...(step.rollback !== undefined
      ? { rollback: step.rollback }
      : step.scope === 'nothing'
        ? {}
        : { rollback: 'the files it wrote are reverted to the safe point' }),
    estimateMs: (isCommand ? 1 : step.minutes) * MINUTE,
  }
}

const reported = (reports: { readonly [name: string]: string }): TaskDefinition['outputs'] =>
  Object.fromEntries(Object.entries(reports).map(([name, type]) => [name, { from: 'report' as const, type }]))

function scopeOf({ scopes }: PlanParts, { scope }: WorkStep): readonly string[] {
  switch (scope) {
    case 'nothing':
      return []
    case 'both':
      return [...new Set([...scopes.sources, ...scopes.tests])]
    default:
      return scopes[scope]
  }
}

/** What the repository said about this step. */
function whyHere({ analysis }: PlanParts, { scope }: WorkStep): readonly string[] {
  const [top] = scope === 'tests' ? analysis.tests : analysis.files
  if (top === undefined || !['both', 'sources', 'tests'].includes(scope)) return []
  return [`Begins at ${top.path}: ${top.reason}.`]
}

function acceptOf({ analysis, ends }: PlanParts, step: WorkStep): readonly Criterion[] {
  const { test } = analysis.commands
  const line = test === null ? null : shellLine(test.run)
  const all = ends.map(({ script, text }) => check(script, text))
  switch (step.proof) {
    case 'told':
      return [{ type: 'prose', text: 'the report answers what was asked' }]
    case 'red':
      return line === null
        ? [{ type: 'prose', text: 'the new test fails, for the reason of the goal' }]
        : [check(`! ${line}`, 'the new test fails')]
    case 'green':
      return line === null
        ? [{ type: 'prose', text: 'it works, and nothing else changed' }]
        : [check(line, 'all tests pass')]
    case 'end':
      return all.length > 0 ? all : [{ type: 'prose', text: 'it is as the goal asks' }]
    default:
      return step.proof satisfies never
  }
}

const FILES_TOLD = 5

function instructionOf(parts: PlanParts, step: WorkStep, said: readonly string[]): string {
  const { goal, analysis, judged, remarks } = parts
  const files = (step.scope === 'tests' ? [...analysis.tests.slice(0, 3), ...analysis.files] : analysis.files).slice(
    0,
    FILES_TOLD,
  )
  const all = [...said, ...(remarks.get(null) ?? [])]
  return [
    step.instruction,
    '',
    `Goal: ${goal.text.slice(0, 4_000)}`,
    ...(files.length === 0
      ? []
      : ['', 'Most likely here:', ...files.map(({ path, reason }) => `- ${path} (${reason})`)]),
    ...(judged.constraints.length === 0 ? [] : ['', 'Keep to this:', ...judged.constraints.map(text => `- ${text}`)]),
    ...(all.length === 0 ? [] : ['', 'Said about the draft:', ...all.map(text => `- ${text}`)]),
  ].join('\n')
}

function doneOf({ ends, steps, analysis, judged }: PlanParts): readonly Criterion[] {
  const { test } = analysis.commands
  const line = test === null || judged.kind === 'failing-command' ? null : shellLine(test.run)
  const changes = steps.some(({ scope }) => scope === 'both' || scope === 'sources' || scope === 'manifest')
  const found: Criterion[] = ends.map(({ script, text }) => check(script, text))
  if (changes && line !== null && !ends.some(({ script }) => script === line)) found.push(check(line, 'all tests pass'))
  for (const text of judged.constraints.slice(0, 3)) found.push({ type: 'prose', text: oneLine(text, 300) })
  if (judged.kind === 'rollout')
    found.push({
      type: 'prose',
      text: "everybody has the new version, and what 'watch' reported is no worse than before",
    })
  else if (ends.length === 0) found.push({ type: 'prose', text: 'the goal is reached, as the answers say' })
  return found
}

const check = (script: string, text: string): Criterion => ({
  type: 'check',
  command: { script: live(script) },
  text: oneLine(text, 200),
})

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

/** In texts in which `${{ … }}` is put in, what somebody wrote stays what it is. */
export const live = (text: string): string => text.replaceAll('${{', () => '$${{')

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

export function oneLine(text: string, max: number): string {
  const line = text.replace(/\s+/g, ' ').trim()
  const cut = line.length > max ? `${line.slice(0, max - 1)}…` : line
  return cut === '' ? 'an empty goal' : cut
}
