// Arbitrary plan definitions for property tests: everything the document can say, in canonical form.

import fc from 'fast-check'
import { isPlanName, isTaskName, type PlanName, type TaskName } from '../domain/id.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import {
  type Action,
  type Budget,
  type CommandLine,
  type Criterion,
  type Edit,
  EFFECT_CLASSES,
  type FailureMode,
  type ForEach,
  type GitAction,
  type GitUse,
  LATER_ACTIONS,
  type Matrix,
  type OutputSource,
  type PlanDefinition,
  type Policy,
  type Retry,
  type TaskDefinition,
} from '../domain/plan.ts'

const RESERVED = new Set(['__proto__', 'constructor', 'prototype', '<<'])

/** Text as plans hold it: whole characters, no NUL, and no accidental template. */
const anyText = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 30 }),
    fc.string({ unit: 'grapheme', maxLength: 30 }),
    fc
      .array(
        fc.constantFrom(
          'a',
          ' ',
          '\n',
          '\r\n',
          '\t',
          '# x',
          '- y',
          ': ',
          '"',
          "'",
          '|',
          '---',
          '\u2028',
          '\u0085',
          '\u001b',
          '\uFEFF',
          '${',
          '🙂',
        ),
        { maxLength: 8 },
      )
      .map(parts => parts.join('')),
    fc.constantFrom(
      'no',
      'yes',
      'true',
      'null',
      '~',
      '1e3',
      '0o7',
      '0x1F',
      '.inf',
      '<<',
      '=',
      '*a',
      '&a',
      '!x',
      '@',
      '%',
      '2026-01-01',
      ' lead',
      'trail ',
      '-',
      '?',
      '',
      '...',
    ),
  )
  .filter(text => !text.includes('\0') && !text.includes('${{') && !/\p{Surrogate}/u.test(text))
const line = anyText.filter(text => text.length > 0)
const lines = fc.array(line, { maxLength: 3 })
const word = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/)
const milliseconds = fc.oneof(
  fc.integer({ min: 1, max: 30 * 86_400_000 }),
  fc.integer({ min: 1, max: 700 }).map(hours => hours * 3_600_000),
)

const key = anyText.filter(text => !RESERVED.has(text) && text.length < 40)
const number = fc
  .oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }))
  .map(value => (value === 0 ? 0 : value))
const { json } = fc.letrec<{ json: Json }>(tie => ({
  json: fc.oneof(
    { maxDepth: 3 },
    fc.constant(null),
    fc.boolean(),
    number,
    anyText,
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(key, tie('json'), { maxKeys: 3, noNullPrototype: true }),
  ),
}))
const said = json.filter(value => value !== null)
const jsonObject = fc.dictionary(key, json, { maxKeys: 3, noNullPrototype: true }) as fc.Arbitrary<JsonObject>

const taskName = fc
  .stringMatching(/^[a-zA-Z0-9](?:[a-zA-Z0-9._/-]{0,10}[a-zA-Z0-9])?$/)
  .filter((name): name is TaskName & string => isTaskName(name)) as unknown as fc.Arbitrary<TaskName>
const planName = fc
  .stringMatching(/^[a-zA-Z0-9](?:[a-zA-Z0-9._-]{0,10}[a-zA-Z0-9])?$/)
  .filter(isPlanName) as unknown as fc.Arbitrary<PlanName>

const expression = fc.constantFrom(
  'exit == 0',
  "stdout.contains('ok')",
  'outputs.n >= 12 && visit < 3',
  'true',
  '"yes"',
)
const templated = fc.oneof(
  anyText,
  fc.constantFrom('a ${{ exit }} b', '${{ inputs.x }}', '$${{ literal', "${{ {'a': {'b': 1}} }}"),
)
const command: fc.Arbitrary<CommandLine> = fc.oneof(
  fc.record({ argv: fc.array(templated, { minLength: 1, maxLength: 4 }) }),
  fc.record({ script: templated.filter(text => text.length > 0) }),
)
const criterion: fc.Arbitrary<Criterion> = fc.oneof(
  sparse({ text: line }, { type: fc.constant('check' as const), command }),
  sparse({ text: line }, { type: fc.constant('expect' as const), expression }),
  fc.record({ type: fc.constant('prose' as const), text: line }),
)
const retry: fc.Arbitrary<Retry> = fc.record({
  attempts: fc.integer({ min: 1, max: 100 }),
  backoffMs: fc.tuple(milliseconds, milliseconds).map(([a, b]) => ({ min: Math.min(a, b), max: Math.max(a, b) })),
})
const cost = fc.record({
  amount: fc.integer({ min: 1, max: 1e12 }).map(micros => micros / 1e6),
  currency: fc.stringMatching(/^[A-Z]{3}$/),
})
const budget: fc.Arbitrary<Budget> = sparse({
  timeMs: milliseconds,
  cost,
  attempts: fc.integer({ min: 1, max: 1_000_000 }),
})
const policy: fc.Arbitrary<Policy> = sparse({
  write: lines,
  network: lines,
  budget,
  checkpoints: sparse({
    every: fc.integer({ min: 1, max: 20_000 }),
    before: fc.constantFrom('risky' as const, 'unsafe' as const, 'never' as const),
    files: fc.constantFrom('seen' as const, 'declared' as const),
  }),
  onFailure: fc.constantFrom('compensate' as const, 'keep' as const),
})
const gitUse: fc.Arbitrary<GitUse> = sparse({
  commits: fc.constant('task' as const),
  worktree: fc.constantFrom('plan' as const, 'task' as const),
  message: line,
  base: fc.constantFrom('main', 'origin/main', 'HEAD~2', 'v1.0^{commit}'),
})

const mode = fc.integer({ min: 0, max: 0o777 })
const pin = fc.option(fc.stringMatching(/^[0-9a-f]{64}$/), { nil: undefined })
const edit: fc.Arbitrary<Edit> = fc
  .tuple(
    fc.oneof(
      sparse({ mode }, { type: fc.constant('create' as const), file: line, content: templated }),
      sparse(
        { all: fc.constant(true as const) },
        { type: fc.constant('replace' as const), file: line, find: line, replace: templated },
      ),
      fc.record({ type: fc.constant('patch' as const), file: line, diff: line }),
      fc.record({ type: fc.constant('move' as const), file: line, to: line }),
      fc.record({ type: fc.constant('delete' as const), file: line }),
      fc.record({ type: fc.constant('chmod' as const), file: line, mode }),
    ),
    pin,
  )
  .map(([one, sha256]) => (sha256 === undefined ? one : { ...one, sha256 }) as Edit)

const doing: fc.Arbitrary<Action> = fc.oneof(
  sparse({ stdin: templated }, { type: fc.constant('run' as const), command }),
  fc.record({ type: fc.constant('edit' as const), edits: fc.array(edit, { minLength: 1, maxLength: 3 }) }),
) as fc.Arbitrary<Action>
const gitAction: fc.Arbitrary<GitAction> = fc.oneof(
  sparse(
    { paths: fc.array(line, { minLength: 1, maxLength: 2 }) },
    { do: fc.constant('commit' as const), message: templated.filter(text => text.length > 0) },
  ),
  sparse(
    { message: line },
    { do: fc.constant('tag' as const), name: fc.constantFrom('v1', 'plan/done-2', 'v${{ inputs.x }}') },
  ),
  sparse({ message: line }, { do: fc.constant('merge' as const), task: taskName }),
)
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: doing },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('decide' as const), expression }) },
  {
    weight: 1,
    arbitrary: sparse(
      { show: lines },
      { type: fc.constant('gate' as const), gate: fc.constant('approval' as const) },
    ) as fc.Arbitrary<Action>,
  },
  { weight: 2, arbitrary: fc.constant({ type: 'external' as const }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('git' as const), git: gitAction }) },
  { weight: 1, arbitrary: sparse({ name: taskName }, { type: fc.constant('checkpoint' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom(...LATER_ACTIONS), spec: said }) },
)
const output: fc.Arbitrary<OutputSource> = fc.oneof(
  fc.record({ from: fc.constant('file' as const), file: line }),
  fc.record({ from: fc.constant('stdout' as const), as: fc.constantFrom('json' as const, 'text' as const) }),
  sparse({ type: line, retention: line }, { from: fc.constant('report' as const) }),
)

const items = fc.array(json, { maxLength: 3 })
const forEach: fc.Arbitrary<ForEach> = fc.oneof(
  fc.record({ items }),
  fc.record({ in: expression }),
  fc.record({ in: expression, items }),
)
const matrix: fc.Arbitrary<Matrix> = fc.dictionary(word, fc.array(json, { minLength: 1, maxLength: 2 }), {
  minKeys: 1,
  maxKeys: 2,
  noNullPrototype: true,
})
const failureMode: fc.Arbitrary<FailureMode> = sparse(
  { recover: fc.array(taskName, { maxLength: 2 }), advice: anyText },
  {
    name: word,
    detect: fc.oneof(
      fc.record({ type: fc.constant('expect' as const), expression }),
      fc.record({ type: fc.constant('prose' as const), text: line }),
    ),
  },
)
const withSubplan: fc.Arbitrary<Action> = fc.oneof(
  { weight: 8, arbitrary: action },
  {
    weight: 1,
    arbitrary: fc
      .uniqueArray(
        sparse(
          { title: line, needs: fc.array(taskName, { maxLength: 2 }) },
          { id: taskName, action },
        ) as fc.Arbitrary<TaskDefinition>,
        { minLength: 1, maxLength: 3, selector: one => one.id },
      )
      .map(tasks => ({ type: 'subplan' as const, tasks })),
  },
)

const task: fc.Arbitrary<TaskDefinition> = sparse(
  {
    title: line,
    description: anyText,
    kind: line,
    rationale: anyText,
    needs: fc.array(taskName, { maxLength: 3 }),
    optional: fc.constant(true as const),
    when: expression,
    timeoutMs: milliseconds,
    retry,
    priority: fc.integer({ min: -100, max: 100 }),
    inputs: jsonObject,
    outputs: fc.dictionary(word, output, { maxKeys: 2, noNullPrototype: true }),
    write: lines,
    read: lines,
    network: lines,
    env: fc.dictionary(fc.stringMatching(/^[A-Z]{1,8}$/), templated, { maxKeys: 2, noNullPrototype: true }),
    cwd: line,
    effect: fc.constantFrom(...EFFECT_CLASSES.filter(effect => effect !== 'probed')),
    probe: command,
    expect: expression,
    accept: fc.array(criterion, { maxLength: 3 }),
    compensate: fc.oneof(doing, fc.record({ type: fc.constant('task' as const), task: taskName })),
    on: fc.dictionary(word, fc.array(taskName, { maxLength: 2 }), { maxKeys: 2, noNullPrototype: true }),
    visits: fc.integer({ min: 1, max: 100 }),
    assumptions: lines,
    risks: lines,
    rollback: anyText,
    owner: line,
    assignee: line,
    labels: lines,
    milestone: line,
    deadline: fc.constantFrom('2026-02-28', '2026-12-31T23:59:59Z', '2026-06-01T12:00+02:00'),
    estimateMs: milliseconds,
    budget,
    capabilities: lines,
    forEach,
    matrix,
    preconditions: fc.array(criterion, { maxLength: 2 }),
    failureModes: fc.array(failureMode, { maxLength: 2 }),
    extra: jsonObject,
  },
  { id: taskName, action: withSubplan },
).map(one => {
  // One of the two, and words for others only where nobody else carries it out.
  const { matrix: _, ...rest } = one
  const task = one.forEach === undefined ? one : rest
  return task.action.type === 'external'
    ? { ...task, instruction: 'search(query) -> top10; rank(top10) -> best' }
    : task
}) as fc.Arbitrary<TaskDefinition>

export const planDefinition: fc.Arbitrary<PlanDefinition> = sparse(
  {
    title: line,
    goal: anyText,
    done: fc.array(criterion, { maxLength: 3 }),
    policy,
    git: gitUse,
    concurrency: fc.integer({ min: 1, max: 1000 }),
    defaults: sparse({ timeoutMs: milliseconds, retry }),
    session: line,
    owner: line,
    stakeholders: lines,
    labels: lines,
    hypotheses: said,
    memory: said,
    artifacts: said,
    extra: jsonObject,
  },
  { name: planName, tasks: fc.uniqueArray(task, { minLength: 1, maxLength: 5, selector: one => one.id }) },
)

/** A record whose first keys may be absent, but are never undefined. */
function sparse<T extends object, U extends object = object>(
  optional: { [K in keyof T]: fc.Arbitrary<T[K]> },
  required: { [K in keyof U]: fc.Arbitrary<U[K]> } = {} as never,
): fc.Arbitrary<Partial<T> & U> {
  const model = { ...required, ...optional } as unknown as Record<string, fc.Arbitrary<unknown>>
  return fc.record(model, { requiredKeys: Object.keys(required), noNullPrototype: true }) as unknown as fc.Arbitrary<
    Partial<T> & U
  >
}
