// The plan document, version 1: every key, how it is read and how it is printed. One definition serves both directions: reading
// validates a document and gives the domain's definition, printing reverses it.

import { z } from 'zod'
import { ARTIFACT_KINDS } from '../../domain/artifacts/output-type.ts'
import type { PlanName } from '../../domain/id.ts'
import { CONCURRENCY_MAX, TASKS_MAX, VISITS_MAX } from '../../domain/limits.ts'
import {
  type Action,
  type Budget,
  type CheckpointPolicy,
  type CompensatingTask,
  EFFECT_CLASSES,
  type EffectClass,
  type FailureMode,
  type ForEach,
  type GitUse,
  type OutputSource,
  type PlanDefinition,
  type Policy,
  type Review,
  type TaskDefinition,
} from '../../domain/plan.ts'
import { type DocumentKey, WRITTEN, type WrittenField } from '../../domain/plan-rules/task-fields.ts'
import { FAILURE_KINDS } from '../../domain/plan-values.ts'
import { actionKeys, printAction, readAction, undoKeys } from '../actions/actions.ts'
import { asOrdered, codec, flag, optional, record, sparse, variants } from './codec.ts'
import { notify, policyKeys, recover } from './schema-gates.ts'
import { command, criteria, expectation, outcomeName, outputName, prose, retry, tries } from './schema-parts.ts'
import { commands, data, layerKeys, sandbox } from './schema-policy.ts'
import * as value from './schema-values.ts'

const BUDGET_ATTEMPTS_MAX = 1_000_000

const budget = record<Budget>()(
  { timeMs: 'time', outputBytes: 'output' },
  {
    time: value.duration.optional(),
    cost: value.money.optional(),
    tokens: optional(value.amount, 'Tokens of language models, input and output: 500k, 2M.'),
    calls: optional(value.count(BUDGET_ATTEMPTS_MAX), 'Calls of language models.'),
    attempts: value.count(BUDGET_ATTEMPTS_MAX).optional(),
    output: optional(value.size, 'What commands print, as far as it is stored.'),
    exceeded: optional(
      z.enum(['ask', 'fail']),
      'When it is used up: a person is asked for more (the default), or the task fails.',
    ),
    large: optional(
      value.dollars,
      'A single call of a model that may cost more is asked about first; 5 USD when not said.',
    ),
  },
).meta({ examples: [{ time: '1h', attempts: 20 }] })

const traits = {
  kind: optional(z.enum(ARTIFACT_KINDS), 'What it is as an artifact; guessed from its type when not said.'),
  type: optional(value.line, 'Checked: text number boolean json url path file list[T]; other words are information.'),
  retention: optional(value.line, 'How long its content is kept: plan (the default), 30d, forever.'),
  cites: optional(flag, 'Its links are the sources of the work.'),
}

type OutputOf<T extends OutputSource['from']> = Extract<OutputSource, { readonly from: T }>
const output = variants<OutputSource, 'from'>(
  'from',
  {
    file: record<OutputOf<'file'>>()({}, { file: value.line, ...traits }, { always: { from: 'file' } }),
    stdout: record<OutputOf<'stdout'>>()(
      { as: 'stdout' },
      { stdout: z.enum(['json', 'text']), ...traits },
      { always: { from: 'stdout' } },
    ),
    report: codec(
      z.strictObject({ report: z.union([z.literal(true), value.line]), ...traits }),
      ({ report, type, ...more }) =>
        sparse<OutputOf<'report'>>({ from: 'report', type: report === true ? type : report, ...more }),
      ({ from: _, type = true, ...more }) => ({ report: type, ...more }),
    ),
  },
  z.literal('stdout').transform((): OutputSource => ({ from: 'stdout', as: 'text' })),
).meta({ examples: [{ file: 'report.json' }] })

const envName = z.string().regex(/^(?!PLANFOLD_VALUE_)[A-Za-z_]\w{0,199}$/)

const failureMode = record<FailureMode>()(
  {},
  {
    name: outcomeName,
    detect: variants<FailureMode['detect'], 'type'>('type', {
      prose: prose(value.line.describe('Prose: recognised by a person or a critic.')),
      expect: expectation(value.line),
    }),
    class: optional(z.enum(FAILURE_KINDS), 'What kind of failure it is, whatever it looked like.'),
    recover: optional(value.taskNames, 'Tasks a failure of this kind leads to.'),
    advice: optional(value.text, 'What to do, in words.'),
  },
)

const forEach = codec(
  z.union([
    value.line.describe('An expression that gives a list.'),
    z.array(value.item),
    z.strictObject({ in: value.line, items: z.array(value.item).optional() }),
  ]),
  (written): ForEach => {
    if (typeof written === 'string') return { in: bare(written) }
    return 'in' in written ? sparse<ForEach>({ in: bare(written.in), items: written.items }) : { items: written }
  },
  each =>
    each.in === undefined ? each.items : each.items === undefined ? each.in : { in: each.in, items: each.items },
).meta({ examples: [['a', 'b']] })

/** An expression may also be written as a template that consists of it. */
function bare(text: string): string {
  const inner = /^\$\{\{([\s\S]*)\}\}$/.exec(text.trim())?.[1]
  return inner === undefined || inner.includes('${{') ? text : inner.trim()
}

const axisName = z.string().regex(/^[A-Za-z_]\w{0,99}$/)
const matrix = z.record(axisName, z.array(value.item).min(1)).meta({ examples: [{ node: [20, 22] }] })

const reviewed = record<Review>()(
  {},
  {
    by: value.json.describe('model, PROVIDER/NAME, an agent, or { task: NAME }, a task of the plan.'),
    times: optional(value.count(VISITS_MAX), 'How often it may send the task back; twice when not said.'),
    instruction: optional(value.text, 'What to look for besides the criteria of the task.'),
    vote: optional(z.int().min(2).max(9), 'So many questions to a model; the majority counts.'),
    capped: optional(z.enum(['ask', 'fail']), 'After that a person decides (the default), or the task is not done.'),
  },
).meta({ examples: [{ by: 'model', times: 2 }] })

const undo = codec(
  z.strictObject({
    ...undoKeys,
    task: optional(value.taskName, 'A task of the plan that sleeps until then.'),
  }),
  ({ task, ...action }): Action | CompensatingTask =>
    task === undefined ? readAction(action) : { type: 'task', task },
  by => (by.type === 'task' ? { task: by.task } : printAction(by)),
)

const message = value.line.optional()
const gitUse = record<GitUse>()(
  {},
  {
    commits: optional(z.literal('task'), "What a task wrote is committed on the plan's branch when it is done."),
    worktree: optional(
      z.enum(['plan', 'task']),
      'The plan, or each task that may write, works in a worktree of its own.',
    ),
    message: message.describe('Subject of the commits; {type} and {title} are put in.'),
    base: optional(value.revision, 'Where the branch begins; HEAD when not said.'),
  },
).meta({ examples: [{ commits: 'task' }] })

export const policy = record<Policy>()(
  { onFailure: 'on_failure' },
  {
    write: value.scope.optional(),
    read: optional(value.scope, 'What commands in a sandbox may read of the workspace.'),
    network: value.network.optional(),
    commands: commands.optional(),
    data: data.optional(),
    sandbox: sandbox.optional(),
    budget: budget.optional(),
    checkpoints: optional(
      record<CheckpointPolicy>()(
        {},
        {
          every: optional(value.count(TASKS_MAX), 'One after so many completed tasks.'),
          before: optional(
            z.enum(['risky', 'unsafe', 'never']),
            'One before each task that declares risks, or is unsafe to repeat.',
          ),
          files: optional(
            z.enum(['seen', 'declared']),
            'Look at all files around a task without a scope, or at declared scopes only.',
          ),
        },
      ),
      { examples: [{ every: 10 }] },
    ),
    ...policyKeys,
  },
).meta({ examples: [{ write: ['src/**'] }] })

export const policyLayer = z.strictObject({ ...layerKeys, budget: budget.optional() })

const taskInside: z.ZodType<TaskDefinition> = z.lazy(() => task)

/** All task fields that people write, by key. Compilation fails if it disagrees with `TASK_FIELDS`. */
const FIELDS = {
  id: value.taskName,
  title: value.line.optional(),
  description: value.text.optional(),
  kind: optional(value.line, 'The purpose: research, implement, validate, … an open vocabulary.'),
  rationale: value.text.optional(),
  instruction: optional(
    value.text,
    'For whoever claims the task: prose, or calls like search(query) -> top10. With model or agent: the prompt.',
  ),
  needs: optional(value.taskNames, 'Tasks that must be done before.'),
  optional: flag.optional(),
  when: optional(value.line, 'An expression; false skips the task.'),
  timeout: value.timeout.optional(),
  retry: retry.optional(),
  tries: optional(tries, 'The best of several tries, each in a folder of its own.'),
  timebox: optional(value.duration, 'All attempts of a visit together.'),
  priority: optional(z.int().min(-1_000_000).max(1_000_000), 'Higher first.'),
  inputs: value.jsonObject.optional(),
  outputs: optional(z.record(outputName, output), { examples: [{ report: { file: 'report.json' } }] }),
  write: optional(value.scope, 'Globs of the files the task may write; one alone, or a list.'),
  read: value.scope.optional(),
  network: value.network.optional(),
  env: optional(z.record(envName, value.scalar), { examples: [{ NODE_ENV: 'test' }] }),
  secrets: optional(z.array(envName), {
    description: 'Names of secrets: for the environment of a command, or the headers of a request.',
    examples: [['NPM_TOKEN']],
  }),
  cwd: value.line.optional(),
  sandbox: optional(z.enum(['off']), 'off: run with your permissions, whatever else it says. Only in your own plans.'),
  effect: z.enum(EFFECT_CLASSES as readonly [EffectClass, ...EffectClass[]]).optional(),
  probe: optional(command, 'A command that tells, by exit 0, that the effect has happened.'),
  expect: optional(value.line, 'An expression over exit, stdout, outputs, status, rows, …'),
  accept: criteria.optional(),
  preconditions: optional(criteria, 'Judged before an attempt starts.'),
  postconditions: optional(criteria, 'Judged when it was accepted: what must then be true of the world.'),
  effects: optional(value.scope, 'Globs of what it is expected to change; nothing else may be.'),
  failure_modes: optional(z.array(failureMode), {
    description: 'Known ways to fail: how to detect each, where it leads.',
    examples: [[{ name: 'flaky', detect: 'the test passes in the next run' }]],
  }),
  assumptions: value.lines.optional(),
  risks: value.lines.optional(),
  rollback: value.text.optional(),
  compensate: optional(undo, {
    description: 'How the effect is undone: run, edit, http, db or task.',
    examples: [{ run: 'rm out.txt' }],
  }),
  on: optional(z.record(outcomeName, value.taskNames), {
    description: 'Outcome edges: outcome to tasks; may point back.',
    examples: [{ failure: ['fix'] }],
  }),
  visits: value.count(VISITS_MAX).optional(),
  owner: value.line.optional(),
  assignee: value.line.optional(),
  labels: value.lines.optional(),
  milestone: value.line.optional(),
  deadline: value.deadline.optional(),
  estimate: value.duration.optional(),
  for_each: optional(forEach, 'One task for each item of a list.'),
  matrix: optional(matrix, 'One task for each combination of values.'),
  budget: budget.optional(),
  capabilities: value.lines.optional(),
  review: optional(reviewed, 'When its checks pass, a model, an agent or another task looks at the work.'),
}

/** Behind the action keys in the JSON Schema and in hints, as they always were. Printing has an order of its own. */
const LAST_FIELDS = {
  recover: recover(taskInside).optional(),
  extra: optional(value.jsonObject, 'What another format said: kept, never followed.'),
}

FIELDS satisfies Omit<TaskKeys, keyof typeof LAST_FIELDS>
LAST_FIELDS satisfies Partial<TaskKeys>
type TaskKeys = {
  readonly [K in Exclude<WrittenField, 'action'> as DocumentKey<K> & string]: z.ZodType<TaskDefinition[K] | undefined>
}

export const taskKeys = { ...FIELDS, ...actionKeys(taskInside), ...LAST_FIELDS }

/** Printed in the order of `TASK_FIELDS`, with the action keys in their place. */
export const task: z.ZodType<TaskDefinition> = codec(
  asOrdered(z.strictObject(taskKeys as { readonly [key: string]: z.ZodType })),
  written => {
    const task: { [name: string]: unknown } = {}
    for (const { name, key } of WRITTEN)
      if (name === 'action') task.action = readAction(written)
      else if (written[key] !== undefined) task[name] = written[key]
    return task as unknown as TaskDefinition
  },
  task => {
    const written: { [key: string]: unknown } = {}
    for (const { name, key } of WRITTEN)
      if (name === 'action') Object.assign(written, printAction(task.action))
      else if (task[name] !== undefined) written[key] = task[name]
    return written
  },
)

/** A plan without a name gets the name of its file. */
type NamelessPlan = Omit<PlanDefinition, 'name'> & { readonly name?: PlanName }

export const planKeys = {
  planfold: z.literal(1).describe('Version of the format.'),
  name: value.planName.optional(),
  title: value.line.optional(),
  goal: value.text.optional(),
  done: optional(criteria, 'Definition of done, each item checkable on its own.'),
  policy: policy.optional(),
  git: optional(gitUse, 'What the plan does in the repository around it.'),
  notify: optional(notify, 'Whom to tell, and how.'),
  recovery: optional(
    record<NonNullable<PlanDefinition['recovery']>>()(
      {},
      {
        edits: optional(
          z.enum(['wait', 'set-back']),
          "A person's edits before a retry: wait for a decision, or set them back and keep a copy.",
        ),
        outputs: optional(
          z.enum(['tell', 'remake']),
          'Declared output files of completed tasks that are missing when the plan is resumed: only report, or run the tasks again.',
        ),
      },
    ),
    {
      description: 'What to do when a task is tried again, and when a plan is taken up again.',
      examples: [{ edits: 'wait' }],
    },
  ),
  concurrency: value.count(CONCURRENCY_MAX).optional(),
  place: value.place.optional(),
  defaults: optional(
    record<NonNullable<PlanDefinition['defaults']>>()(
      { timeoutMs: 'timeout' },
      {
        timeout: value.timeout.optional(),
        retry: retry.optional(),
        model: value.line.optional(),
        agent: value.line.optional(),
      },
    ),
    { examples: [{ timeout: '10m' }] },
  ),
  sequential: optional(z.boolean(), 'Chain tasks that have no needs.'),
  session: value.line.optional(),
  owner: value.line.optional(),
  stakeholders: value.lines.optional(),
  reviewers: optional(value.lines, 'Who has the role `reviewer`: a gate with this role is answered only by them.'),
  impacted: optional(value.lines, 'Whom the plan affects; shown to those who decide.'),
  approval: optional(
    record<NonNullable<PlanDefinition['approval']>>()({}, { by: value.lines.optional(), date: value.line.optional() }),
    'What the document says about an approval. Shown as claimed; it is never one.',
  ),
  hypotheses: value.json.optional(),
  memory: value.json.optional(),
  artifacts: value.json.optional(),
  labels: value.lines.optional(),
  extra: optional(value.jsonObject, 'What another format said: kept, never followed.'),
  tasks: z
    .array(task)
    .min(1)
    .max(TASKS_MAX)
    .meta({ examples: [[{ id: 'build', run: 'npm run build' }]] }),
}

export const plan = codec(
  z.strictObject(planKeys),
  ({ planfold: _, sequential, tasks, ...rest }) =>
    ({ ...rest, tasks: sequential === true ? chained(tasks) : tasks }) as NamelessPlan,
  // The final checks task is derived from `done`, so it is not printed.
  ({ tasks, ...rest }) => ({ planfold: 1, ...rest, tasks: tasks.filter(({ action }) => action.type !== 'verify') }),
).meta({ title: 'Planfold plan', description: 'A plan for AI coding agents, format version 1.' })

/** Each task needs the one before it, unless it has `needs`. */
const chained = (tasks: readonly TaskDefinition[]): readonly TaskDefinition[] =>
  tasks.map((task, at) => (at === 0 || task.needs !== undefined ? task : { ...task, needs: [tasks[at - 1]!.id] }))
