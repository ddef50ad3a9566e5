// Tasks around the steps of a goal: questions, a baseline, a checkpoint, checks, the review, and approvals before anything
// irreversible.

import type { TaskName } from '../../../domain/id.ts'
import type { Criterion, Field, TaskDefinition } from '../../../domain/plan.ts'
import { shellQuoted } from '../../../domain/plan-rules/shell-words.ts'
import type { PlanQuestion } from '../compose-plan.ts'
import { shellLine } from '../end-checks.ts'
import type { IrreversibleStep } from '../goal-kind.ts'
import type { EndCheck } from '../kinds/end-check.ts'
import type { FoundCommand, Installation } from '../planner.ts'
import type { FramedGoal, WorkStep } from '../work-steps.ts'
import { type Left, live, oneLine, quoteOf } from './briefing-text.ts'
import { ALL_TESTS_BEFORE, BASELINE, check, MINUTE, TESTS_BEFORE } from './work-tasks.ts'

export const REVIEW = 'review'
export const INSTALL = 'install'
export const SET_UP = 'set-up'

/** Writes only caches and build output, which a rollback removes. */
const READS = { effect: 'workspace' } as const
/** Keeps Python from writing a cache beside each loaded file. */
const quietly = ({ run }: FoundCommand): Pick<TaskDefinition, 'env'> =>
  /(^|\/)(pytest|python[\d.]*)$/.test(run[0]!) ? { env: { PYTHONDONTWRITEBYTECODE: '1' } } : {}
const LOG = { outputs: { log: { from: 'stdout', as: 'text' } } } as const

export function clarify(questions: readonly PlanQuestion[]): TaskDefinition {
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

/** May reach the registry, and asks before it reaches anything else. No write scope: ignored files are not part of the plan's changes. */
export function install({ run, why, network }: Installation, needs: readonly TaskName[]): TaskDefinition {
  const line = run[0] === 'sh' ? run.at(-1)! : run.join(' ')
  return {
    id: INSTALL as TaskName,
    title: live('Install the dependencies'),
    kind: 'chore',
    rationale: `Nothing can be run before: ${why}.`,
    needs,
    action: { type: 'run', command: run[0] === 'sh' ? { script: live(line) } : { argv: run.map(live) } },
    network: { allow: network, unknown: 'ask' },
    effect: 'workspace',
    estimateMs: 2 * MINUTE,
  }
}

/** Without `network`, which would hold it in the sandbox: it writes below `.git`. */
export const fetchSubmodules = (folders: readonly string[], needs: readonly TaskName[]): TaskDefinition => ({
  id: 'submodules' as TaskName,
  title: 'Fetch the submodules',
  kind: 'chore',
  rationale: `Tests may need what is in them, and ${folders.join(', ')} ${folders.length === 1 ? 'is' : 'are'} empty.`,
  needs,
  action: { type: 'run', command: { argv: ['git', 'submodule', 'update', '--init'] } },
  effect: 'idempotent',
  estimateMs: 2 * MINUTE,
})

/** Until then the tests run with the old version. Also detects a lock file edited by hand. */
export const installAgain = (
  found: Pick<Installation, 'run' | 'network'>,
  needs: readonly TaskName[],
): TaskDefinition => ({
  ...install({ ...found, why: '' }, needs),
  id: 'install-update' as TaskName,
  title: 'Install the new version',
  rationale: 'The tests are to run with the version that the lock file names now.',
})

export function setUp(commands: readonly FoundCommand[]): TaskDefinition {
  const programOf = ({ missing, run }: FoundCommand): string =>
    /^'(.+)' is not installed$/.exec(missing ?? '')?.[1] ?? run[0]!
  const programs = [...new Set(commands.map(programOf))]
  const starts = programs.map(program => commands.find(command => programOf(command) === program)!)
  const list = programs.join(', ')
  return {
    id: SET_UP as TaskName,
    title: live(`Install what the plan needs (${list})`),
    kind: 'chore',
    rationale: starts
      .map(({ run, from, missing }) => `It runs '${run.join(' ')}' (${from}), and ${missing ?? 'it is not there'}.`)
      .join(' '),
    needs: [],
    action: { type: 'external' },
    instruction: live(
      `Install ${list}${programs.includes('bundle') ? ' and then the gems with `bundle install`' : ''}, so that ${starts.map(({ run }) => `'${run.join(' ')}'`).join(' and ')} can start.`,
    ),
    accept: programs.map(program =>
      program === 'bundle'
        ? check('bundle check', 'the gems of the Gemfile are installed')
        : check(`command -v ${shellLine([program])}`, `${program} is installed`),
    ),
    rollback: `uninstall ${list}`,
    estimateMs: 10 * MINUTE,
  }
}

/** Must fail today; otherwise the goal is already reached. */
export function baseline(ends: readonly EndCheck[], needs: readonly TaskName[]): TaskDefinition {
  if (ends.some(({ command }) => command !== undefined)) return commandsBefore(ends, needs)
  const script = ends.map(one => one.script).join(' &&\n')
  return {
    id: BASELINE as TaskName,
    title: 'Record what fails today',
    kind: 'validate',
    rationale: `The definition of done must fail before the work: ${ends.map(({ text }) => text).join('; ')}. If it passes already, there is nothing to do.`,
    needs,
    action: {
      type: 'run',
      command: {
        script: live(printsMore(ends) ? `${/[;&|\n]/.test(script) ? `{\n${script}\n}` : script} 2>&1` : script),
      },
    },
    ...READS,
    expect: 'exit != 0',
    ...LOG,
    estimateMs: 5 * MINUTE,
  }
}

/** Runs each command and records the result. Some or all may pass today. */
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
    ...READS,
    ...LOG,
    estimateMs: 5 * MINUTE,
  }
}

/** Does it print more than matching lines? */
export const printsMore = (ends: readonly EndCheck[]): boolean =>
  ends.some(({ script }) => !/^(! )?(grep|test) /.test(script))

/** Records the test results before the work, so that a later check only compares. */
export function testsBefore(
  test: FoundCommand,
  needs: readonly TaskName[],
  { hasBaseline, isWhole = false }: { readonly hasBaseline: boolean; readonly isWhole?: boolean },
): TaskDefinition {
  return {
    id: (isWhole ? ALL_TESTS_BEFORE : hasBaseline ? TESTS_BEFORE : BASELINE) as TaskName,
    title: isWhole ? 'Record which of all tests fail today' : 'Record which tests fail today',
    kind: 'validate',
    rationale: 'What failed before was not broken by this plan.',
    needs,
    action: { type: 'run', command: { script: live(`${shellLine(test.run)} 2>&1`) } },
    ...quietly(test),
    ...READS,
    expect: 'exit >= 0',
    ...LOG,
    estimateMs: 5 * MINUTE,
  }
}

const RUNS = 10

export function repeatTests(test: FoundCommand, id: string, needs: readonly TaskName[]): TaskDefinition {
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
    rationale: isBefore ? 'A test that fails sometimes is seen only in many runs.' : 'The same count, after the fix.',
    needs,
    action: { type: 'run', command: { script: live(script) } },
    ...quietly(test),
    ...READS,
    ...(isBefore ? { expect: 'exit >= 0' } : {}),
    ...LOG,
    estimateMs: 15 * MINUTE,
  }
}

export const safePoint = (needs: readonly TaskName[]): TaskDefinition => ({
  id: 'safe-point' as TaskName,
  title: 'Save the current state',
  rationale: 'Whatever the work does, the plan can go back to here.',
  needs,
  action: { type: 'checkpoint', name: 'before-work' },
})

/** What passes today must pass afterwards. For the others, failures may predate the work, so the review shows the results. */
export function ranAfter(
  id: string,
  title: string,
  { run, from }: FoundCommand,
  { needs, passes }: { readonly needs: readonly TaskName[]; readonly passes: boolean },
): TaskDefinition {
  return {
    id: id as TaskName,
    title,
    kind: 'validate',
    rationale: passes
      ? `Found in ${from}. It passed before the work.`
      : `Found in ${from}. It may fail for reasons from before; then the review decides.`,
    needs,
    ...(passes ? {} : { expect: 'exit >= 0', ...LOG }),
    action: {
      type: 'run',
      command: passes ? { argv: run.map(live) } : { script: live(`${shellLine(run)} 2>&1`) },
    },
    ...READS,
    estimateMs: 3 * MINUTE,
  }
}

/** All tests once more before the review, where each step ran only those of a package. */
export const comparedAfter = (accept: readonly Criterion[], test: FoundCommand, work: TaskName): TaskDefinition => ({
  id: 'all-tests' as TaskName,
  title: 'Run all tests',
  kind: 'validate',
  rationale: 'Each step ran only the tests around it.',
  needs: [work],
  action: { type: 'run', command: { argv: ['true'] } },
  ...quietly(test),
  ...READS,
  accept,
  estimateMs: 5 * MINUTE,
})

export const approveSpecification = (specify: TaskName): TaskDefinition => ({
  id: 'approve-specification' as TaskName,
  title: 'Is this what is wanted?',
  rationale: 'Nothing is changed before somebody has agreed to what will be changed.',
  needs: [specify],
  action: {
    type: 'gate',
    gate: 'approval',
    show: [`The specification:\n${quoteOf({ task: specify, output: 'specification' })}`],
  },
  on: { rejected: [specify] },
})

/** Approval right before a step, showing what was found so far. */
export const approveStep = (
  { id, approval }: WorkStep & Required<Pick<WorkStep, 'approval'>>,
  needs: readonly TaskName[],
  left: readonly Left[],
): TaskDefinition => ({
  id: `approve-${id}` as TaskName,
  title: live(approval.title),
  rationale: approval.why,
  needs,
  action: { type: 'gate', gate: 'approval', show: left.length === 0 ? ['diff'] : left.slice(-1).map(shown) },
  ...(approval.rejected === undefined ? {} : { on: { rejected: [approval.rejected as TaskName] } }),
})

const shown = (left: Left): string => `${live(`From '${left.task}' (${left.title}):`)}\n${quoteOf(left)}`

export interface Reviewed {
  readonly needs: readonly TaskName[]
  /** The task to return to on rejection; null if there is none. */
  readonly back: TaskName | null
  readonly left: readonly Left[]
  readonly done: readonly Criterion[]
  readonly changes: boolean
}

export interface ReviewedGoal {
  readonly goal: { readonly text: string }
  readonly judged: Pick<FramedGoal, 'constraints' | 'deadline'>
}

/** The only place where a person judges what commands cannot. */
export function review({ goal, judged }: ReviewedGoal, { needs, back, left, done, changes }: Reviewed): TaskDefinition {
  const checks = done.flatMap(one => (one.type === 'check' ? [one.text ?? ''] : []))
  const at = judged.deadline?.at?.slice(0, 10)
  const asked = [
    `Goal: ${goal.text.slice(0, 2_000)}`,
    ...judged.constraints.map(text => `Keep to this: ${text}`),
    ...(judged.deadline == null ? [] : [`Deadline: ${judged.deadline.said}`]),
    changes && checks.length === 0
      ? 'No command can check this goal: look whether the change does what it says.'
      : checks.length === 0
        ? 'Is the goal answered?'
        : `Checked by commands when you approve: ${checks.join('; ')}`,
  ].join('\n')
  return {
    id: REVIEW as TaskName,
    title: changes ? 'Look at the change' : 'Read the answer',
    kind: 'review',
    rationale: changes
      ? 'A person sees everything that was changed before the plan is done, and can send it back.'
      : 'Whoever asked reads the answer, and can send it back.',
    needs,
    ...(at !== undefined && /^\d{4}-\d\d-\d\d$/.test(at) ? { deadline: at } : {}),
    estimateMs: 10 * MINUTE,
    action: {
      type: 'gate',
      gate: changes ? 'diff' : 'approval',
      show: [live(asked), ...left.map(shown)],
    },
    ...(back === null ? {} : { on: { rejected: [back] } }),
  }
}

const WORDS = { push: 'push', deploy: 'be deployed', delete: 'delete data', migrate: 'migrate data' } as const

/** An approval and the irreversible task after it. */
export function irreversibleTasks(
  { word, said }: IrreversibleStep,
  needs: readonly TaskName[],
): readonly [TaskDefinition, TaskDefinition] {
  const approval = `approve-${word}` as TaskName
  return [
    {
      id: approval,
      title: `May it ${WORDS[word]}?`,
      rationale: `The goal says '${said}'. That is irreversible, so a person decides right before it.`,
      needs,
      action: { type: 'gate', gate: 'approval', show: ['diff'] },
    },
    {
      id: word as TaskName,
      title: live(`${WORDS[word][0]!.toUpperCase()}${WORDS[word].slice(1)}: ${said}`),
      kind: word,
      rationale: `Asked for by the goal: '${said}'.`,
      needs: [approval],
      action: { type: 'external' },
      instruction: live(
        `Do exactly this and nothing more: ${said}. End with what was done and how it can be undone, if at all.`,
      ),
      outputs: { done: { from: 'report', type: 'text' } },
      accept: [{ type: 'expect', expression: "outputs.done.trim() != ''", text: 'what was done is written down' }],
      risks: ['irreversible'],
      estimateMs: 15 * MINUTE,
    },
  ]
}
