// The schema of the plan document, version 1: every key a person may write, and nothing else. What it yields is still in the
// shape of the document; `document-to-definition.ts` turns that into the domain's PlanDefinition.

import { z } from 'zod'
import { CONCURRENCY_MAX, TASKS_MAX, VISITS_MAX } from '../../domain/limits.ts'
import { EFFECT_CLASSES, type EffectClass } from '../../domain/plan.ts'
import { FAILURE_KINDS, gate, LIST_MAX, notify, policyKeys, type RecoveryDocument, recovery } from './schema-gates.ts'
import { command, criteria, outcomeName, outputName, retry } from './schema-parts.ts'
import { commands, data, layerKeys, sandbox } from './schema-policy.ts'
import { db, http, runner } from './schema-requests.ts'
import * as value from './schema-values.ts'

/** How often at most anything may be tried under one budget. */
const BUDGET_ATTEMPTS_MAX = 1_000_000

const pinned = { file: value.line, sha256: value.sha256.optional() }
export const edit = z.union([
  z.strictObject({ ...pinned, create: z.string(), mode: value.mode.optional(), overwrite: z.boolean().optional() }),
  z.strictObject({ ...pinned, find: z.string().min(1), replace: z.string(), all: z.boolean().optional() }),
  z.strictObject({ ...pinned, patch: value.line }),
  z.strictObject({ ...pinned, move: value.line }),
  z.strictObject({ ...pinned, delete: z.literal(true) }),
  z.strictObject({ ...pinned, chmod: value.mode }),
])
export const edits = z
  .union([edit, z.array(edit).min(1)])
  .meta({ description: 'Changes to files, applied together.', examples: [{ file: 'notes.md', create: 'text' }] })

export const budget = z
  .strictObject({
    time: value.duration.optional(),
    cost: value.money.optional(),
    tokens: value.amount.optional().meta({ description: 'Tokens of language models, input and output: 500k, 2M.' }),
    calls: value.count(BUDGET_ATTEMPTS_MAX).optional().meta({ description: 'Calls of language models.' }),
    attempts: value.count(BUDGET_ATTEMPTS_MAX).optional(),
    output: value.size.optional().meta({ description: 'What commands print, as far as it is stored.' }),
    exceeded: z
      .enum(['ask', 'fail'])
      .optional()
      .meta({ description: 'When it is used up: a person is asked for more (the default), or the task fails.' }),
    large: value.dollars
      .optional()
      .meta({ description: 'A single call of a model that may cost more is asked about first; 5 USD when not said.' }),
  })
  .meta({ examples: [{ time: '1h', attempts: 20 }] })

export const output = z
  .union([
    z.literal('stdout'),
    z.strictObject({ file: value.line }),
    z.strictObject({ stdout: z.enum(['json', 'text']) }),
    z.strictObject({ report: z.union([z.literal(true), value.line]), retention: value.line.optional() }),
  ])
  .meta({ examples: [{ file: 'report.json' }] })

const envName = z.string().regex(/^(?!PLANFOLD_VALUE_)[A-Za-z_]\w{0,199}$/)

export const failureMode = z.strictObject({
  name: outcomeName,
  detect: z.union([
    value.line.meta({ description: 'Prose: recognised by a person or a critic.' }),
    z.strictObject({ expect: value.line, text: value.line.optional() }),
  ]),
  class: z.enum(FAILURE_KINDS).optional().meta({ description: 'What kind of failure it is, whatever it looked like.' }),
  recover: value.taskNames.optional().meta({ description: 'Tasks a failure of this kind leads to.' }),
  advice: value.text.optional().meta({ description: 'What to do, in words.' }),
})

export const forEach = z
  .union([
    value.line.meta({ description: 'An expression that gives a list.' }),
    z.array(value.item),
    z.strictObject({ in: value.line, items: z.array(value.item).optional() }),
  ])
  .meta({ examples: [['a', 'b']] })

const axisName = z.string().regex(/^[A-Za-z_]\w{0,99}$/)
export const matrix = z.record(axisName, z.array(value.item).min(1)).meta({ examples: [{ node: [20, 22] }] })

const undo = {
  run: command.optional(),
  stdin: z.string().optional(),
  edit: edits.optional(),
  http: http.optional(),
  db: db.optional(),
  task: value.taskName.optional().meta({ description: 'A task of the plan that sleeps until then.' }),
}

const message = value.line.optional()
export const git = z
  .union([
    z.strictObject({ commit: value.line, paths: value.lines.min(1).optional() }),
    z.strictObject({ tag: value.tagName, message }),
    z.strictObject({ merge: value.taskName, message }),
  ])
  .meta({
    description: "On the plan's own branch: commit what it has written, tag it, or merge the branch of a task.",
    examples: [{ commit: 'Update the notes' }],
  })

export const checkpoint = z
  .union([z.literal(true), value.checkpointName, z.strictObject({ name: value.checkpointName })])
  .meta({ description: 'Takes a checkpoint: the state of the plan, all files and where git stands.', examples: [true] })

const gitUse = z
  .strictObject({
    commits: z
      .literal('task')
      .optional()
      .meta({ description: "What a task wrote is committed on the plan's branch when it is done." }),
    worktree: z
      .enum(['plan', 'task'])
      .optional()
      .meta({ description: 'The plan, or each task that may write, works in a worktree of its own.' }),
    message: message.meta({ description: 'Subject of the commits; {type} and {title} are put in.' }),
    base: value.revision.optional().meta({ description: 'Where the branch begins; HEAD when not said.' }),
  })
  .meta({ examples: [{ commits: 'task' }] })

const policy = z
  .strictObject({
    write: value.scope.optional(),
    read: value.scope.optional().meta({ description: 'What commands in a sandbox may read of the workspace.' }),
    network: value.network.optional(),
    commands: commands.optional(),
    data: data.optional(),
    sandbox: sandbox.optional(),
    budget: budget.optional(),
    checkpoints: z
      .strictObject({
        every: value.count(TASKS_MAX).optional().meta({ description: 'One after so many completed tasks.' }),
        before: z
          .enum(['risky', 'unsafe', 'never'])
          .optional()
          .meta({ description: 'One before each task that declares risks, or is unsafe to repeat.' }),
        files: z
          .enum(['seen', 'declared'])
          .optional()
          .meta({ description: 'Look at all files around a task without a scope, or at declared scopes only.' }),
      })
      .optional()
      .meta({ examples: [{ every: 10 }] }),
    ...policyKeys,
  })
  .meta({ examples: [{ write: ['src/**'] }] })

/** What a layer around plans may say. */
export const policyLayer = z.strictObject({ ...layerKeys, budget: budget.optional() })

/** Kept as it is written, and read by `domain/plan-rules/model-request.ts`. */
const model = z
  .union([
    value.line,
    z.strictObject({
      use: value.line.optional(),
      system: value.text.optional(),
      answer: value.json.optional().meta({ description: 'The shape of the answer; its values are the outputs.' }),
      output_tokens: value.count(1_000_000).optional(),
      caps: z
        .strictObject({
          calls: value.count(10_000).optional(),
          tokens: value.count(1_000_000_000).optional(),
          cost: z
            .string()
            .regex(/^\d{1,10}(\.\d{1,6})? ?USD$/, 'write an amount in US dollars: 0.50 USD')
            .optional(),
        })
        .optional(),
    }),
  ])
  .meta({
    description: 'Asks a language model; the prompt is the instruction.',
    examples: [{ use: 'anthropic/NAME', answer: { severity: 'low | high' } }],
  })

/** Kept as it is written, and read by `domain/plan-rules/agent-request.ts`. */
const agent = z
  .union([
    value.line,
    z.strictObject({
      use: value.line.optional(),
      model: value.line.optional().meta({ description: 'The model the agent asks; its own default when absent.' }),
      models: z
        .array(value.line)
        .min(1)
        .max(100)
        .optional()
        .meta({ description: 'The only models it may ask, besides `model`; a `*` at the end stands for the rest.' }),
      turns: value.count(10_000).optional().meta({ description: 'At most so many calls of its tools.' }),
      command: z
        .array(z.string().min(1).max(10_000))
        .min(1)
        .max(1_000)
        .optional()
        .meta({ description: 'Any other agent: its program and arguments. The brief is its standard input.' }),
    }),
  ])
  .meta({
    description: 'Starts a coding agent; the prompt is the instruction.',
    examples: ['claude', { use: 'codex', model: 'NAME', models: ['OTHER-*'], turns: 40 }],
  })

export const task = z.strictObject({
  id: value.taskName,
  title: value.line.optional(),
  description: value.text.optional(),
  kind: value.line
    .optional()
    .meta({ description: 'The purpose: research, implement, validate, … an open vocabulary.' }),
  rationale: value.text.optional(),
  instruction: value.text.optional().meta({
    description:
      'For whoever claims the task: prose, or calls like search(query) -> top10. With model or agent: the prompt.',
  }),
  needs: value.taskNames.optional().meta({ description: 'Tasks that must be done before.' }),
  optional: z.boolean().optional(),
  when: value.line.optional().meta({ description: 'An expression; false skips the task.' }),
  timeout: value.timeout.optional(),
  retry: retry.optional(),
  timebox: value.duration.optional().meta({ description: 'All attempts of a visit together.' }),
  priority: z.int().min(-1_000_000).max(1_000_000).optional().meta({ description: 'Higher first.' }),
  inputs: value.jsonObject.optional(),
  outputs: z
    .record(outputName, output)
    .optional()
    .meta({ examples: [{ report: { file: 'report.json' } }] }),
  write: value.scope.optional().meta({ description: 'Globs of the files the task may write; one alone, or a list.' }),
  read: value.scope.optional(),
  network: value.network.optional(),
  env: z
    .record(envName, value.scalar)
    .optional()
    .meta({ examples: [{ NODE_ENV: 'test' }] }),
  secrets: z
    .array(envName)
    .optional()
    .meta({
      description: 'Names of secrets: for the environment of a command, or the headers of a request.',
      examples: [['NPM_TOKEN']],
    }),
  cwd: value.line.optional(),
  sandbox: z
    .enum(['off'])
    .optional()
    .meta({ description: 'off: run with your permissions, whatever else it says. Only in your own plans.' }),
  effect: z.enum(EFFECT_CLASSES as readonly [EffectClass, ...EffectClass[]]).optional(),
  probe: command.optional().meta({ description: 'A command that tells, by exit 0, that the effect has happened.' }),
  expect: value.line.optional().meta({ description: 'An expression over exit, stdout, outputs, status, rows, …' }),
  accept: criteria.optional(),
  preconditions: criteria.optional().meta({ description: 'Judged before an attempt starts.' }),
  postconditions: criteria
    .optional()
    .meta({ description: 'Judged when it was accepted: what must then be true of the world.' }),
  effects: value.scope.optional().meta({ description: 'Globs of what it is expected to change; nothing else may be.' }),
  failure_modes: z
    .array(failureMode)
    .optional()
    .meta({
      description: 'Known ways to fail: how to detect each, where it leads.',
      examples: [[{ name: 'flaky', detect: 'the test passes in the next run' }]],
    }),
  assumptions: value.lines.optional(),
  risks: value.lines.optional(),
  rollback: value.text.optional(),
  compensate: z
    .strictObject(undo)
    .optional()
    .meta({ description: 'How the effect is undone: run, edit, http, db or task.', examples: [{ run: 'rm out.txt' }] }),
  on: z
    .record(outcomeName, value.taskNames)
    .optional()
    .meta({ description: 'Outcome edges: outcome to tasks; may point back.', examples: [{ failure: ['fix'] }] }),
  visits: value.count(VISITS_MAX).optional(),
  owner: value.line.optional(),
  assignee: value.line.optional(),
  labels: value.lines.optional(),
  milestone: value.line.optional(),
  deadline: value.deadline.optional(),
  estimate: value.duration.optional(),
  for_each: forEach.optional().meta({ description: 'One task for each item of a list.' }),
  matrix: matrix.optional().meta({ description: 'One task for each combination of values.' }),
  budget: budget.optional(),
  capabilities: value.lines.optional(),
  // Action keys: at most one. None of them is an external task.
  run: command.optional(),
  stdin: z.string().optional().meta({ description: 'Text for the standard input of run.' }),
  links: z.literal('refuse').optional().meta({ description: 'The last word of run is a path without symbolic links.' }),
  edit: edits.optional(),
  decide: value.line.optional().meta({ description: 'An expression that yields the name of an outcome.' }),
  gate: gate.optional(),
  show: value.lines.optional().meta({ description: 'What a gate shows: diff, cost, …' }),
  git: git.optional(),
  checkpoint: checkpoint.optional(),
  http: http.optional(),
  db: db.optional(),
  runner: runner.optional(),
  model: model.optional(),
  agent: agent.optional(),
  research: value.json.optional(),
  get subplan() {
    return subplan.optional()
  },
  get recover() {
    return recover.optional()
  },
  extra: value.jsonObject.optional().meta({ description: 'What another format said: kept, never followed.' }),
})

/** A list of tasks; a line of prose is a step that an agent or a person carries out after the step before it. */
export const subplan: z.ZodType<readonly (string | z.output<typeof task>)[]> = z
  .array(z.union([value.line, task]))
  .min(1)
  .max(TASKS_MAX)
  .meta({
    description: 'Tasks of its own; a line of prose is a step.',
    examples: [[{ id: 'build', run: 'npm run build' }]],
  })

/** What to do about a failure when the retries are used up; the first rule that fits is taken. */
export const recover: z.ZodType<readonly RecoveryDocument<z.output<typeof task>>[]> = z
  .array(recovery(task))
  .max(LIST_MAX)
  .meta({
    description: 'What to do about a failure: the first rule that fits and is not used up.',
    examples: [[{ on: 'transient', retry: 3 }]],
  })

export const plan = z
  .strictObject({
    planfold: z.literal(1).meta({ description: 'Version of the format.' }),
    name: value.planName.optional(),
    title: value.line.optional(),
    goal: value.text.optional(),
    done: criteria.optional().meta({ description: 'Definition of done, each item checkable on its own.' }),
    policy: policy.optional(),
    git: gitUse.optional().meta({ description: 'What the plan does in the repository around it.' }),
    notify: notify.optional().meta({ description: 'Whom to tell, and how.' }),
    recovery: z
      .strictObject({
        edits: z.enum(['wait', 'set-back']).optional().meta({
          description: "A person's edits before a retry: wait for a decision, or set them back and keep a copy.",
        }),
        outputs: z.enum(['tell', 'remake']).optional().meta({
          description:
            'Declared output files of completed tasks that are missing when the plan is resumed: only report, or run the tasks again.',
        }),
      })
      .optional()
      .meta({
        description: 'What to do when a task is tried again, and when a plan is taken up again.',
        examples: [{ edits: 'wait' }],
      }),
    concurrency: value.count(CONCURRENCY_MAX).optional(),
    defaults: z
      .strictObject({
        timeout: value.timeout.optional(),
        retry: retry.optional(),
        model: value.line.optional(),
        agent: value.line.optional(),
      })
      .optional()
      .meta({ examples: [{ timeout: '10m' }] }),
    sequential: z.boolean().optional().meta({ description: 'Chain tasks that have no needs.' }),
    session: value.line.optional(),
    owner: value.line.optional(),
    stakeholders: value.lines.optional(),
    hypotheses: value.json.optional(),
    memory: value.json.optional(),
    artifacts: value.json.optional(),
    labels: value.lines.optional(),
    extra: value.jsonObject.optional().meta({ description: 'What another format said: kept, never followed.' }),
    tasks: z
      .array(task)
      .min(1)
      .max(TASKS_MAX)
      .meta({ examples: [[{ id: 'build', run: 'npm run build' }]] }),
  })
  .meta({ title: 'Planfold plan', description: 'A plan for AI coding agents, format version 1.' })

export type PlanDocument = z.output<typeof plan>
export type TaskDocument = z.output<typeof task>
export type EditDocument = z.output<typeof edit>
export type GitDocument = z.output<typeof git>
