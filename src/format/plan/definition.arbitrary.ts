// Arbitrary plan definitions for property tests: everything the document can say, in canonical form.

import fc from 'fast-check'
import { ARTIFACT_KINDS } from '../../domain/artifacts/output-type.ts'
import type { Json } from '../../domain/json.ts'
import {
  type Action,
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
  type TaskDefinition,
  type TaskValues,
  type ValueKind,
} from '../../domain/plan.ts'
import { WRITTEN, type WrittenField } from '../../domain/plan-rules/task-fields.ts'
import { FAILURE_KINDS } from '../../domain/plan-values.ts'
import { gate, notify, policy, recoveryRule } from './recovery.arbitrary.ts'
import {
  anyText,
  budget,
  command,
  criterion,
  expression,
  json,
  jsonObject,
  line,
  lines,
  milliseconds,
  network,
  planName,
  retry,
  said,
  sparse,
  taskName,
  templated,
  word,
} from './values.arbitrary.ts'

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
      sparse(
        { mode, overwrite: fc.constant(true as const) },
        { type: fc.constant('create' as const), file: line, content: templated },
      ),
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
/** Paths outside the workspace cannot be committed. */
const inside = line.map(text => `in/${text.replaceAll(/[~/\\\\.]/g, 'x')}`)
const gitAction: fc.Arbitrary<GitAction> = fc.oneof(
  sparse(
    { paths: fc.array(inside, { minLength: 1, maxLength: 2 }) },
    { do: fc.constant('commit' as const), message: templated.filter(text => text.length > 0) },
  ),
  sparse(
    { message: line },
    { do: fc.constant('tag' as const), name: fc.constantFrom('v1', 'plan/done-2', 'v${{ inputs.x }}') },
  ),
  sparse({ message: line }, { do: fc.constant('merge' as const), task: taskName }),
)
const answerType = fc.constantFrom('string', 'number', 'integer', 'boolean', 'json', 'low | high')
const answerShape = fc.oneof(
  answerType,
  answerType.map(type => [type]),
  fc.record({ severity: answerType, 'note?': fc.tuple(answerType).map(([type]) => [type]) }),
)
const agentSpec = fc.oneof(
  fc.constantFrom('claude', 'grok'),
  fc.constant({ use: 'codex', model: 'model-1', models: ['model-*', 'p/other'], turns: 40 }),
  fc.constant({ command: ['my-agent', 'run'] }),
)

const modelSpec = fc.oneof(
  fc.constant('anthropic/model-1'),
  sparse(
    {
      use: fc.constant('local/model-2'),
      system: line,
      answer: answerShape,
      output_tokens: fc.integer({ min: 1, max: 9999 }),
      caps: sparse({ calls: fc.integer({ min: 1, max: 99 }), cost: fc.constant('0.5 USD') }, {}),
    },
    {},
  ),
) as fc.Arbitrary<Json>
const httpSpec = fc.oneof(
  fc.constant('https://example.org/x'),
  sparse(
    { headers: fc.constant({ accept: 'text/plain', 'x-y': '${{ inputs.x }}' }), json: said, key: fc.constant('auto') },
    { method: fc.constantFrom('POST', 'PUT', 'DELETE'), url: fc.constant('https://example.org/${{ inputs.x }}') },
  ),
) as fc.Arbitrary<Json>
const dbSpec = fc.oneof(
  sparse(
    { values: fc.constantFrom([1, 'x', null, true], { a: '${{ inputs.x }}' }), rows: fc.integer({ min: 1, max: 99 }) },
    { url: fc.constant('sqlite:app.db'), query: fc.constant('select ?') },
  ),
  sparse(
    { key: fc.constant('auto') },
    {
      url: fc.constant('sqlite:app.db'),
      execute: fc.constant(['delete from x', { sql: 'delete from y', values: [1] }]),
    },
  ),
) as fc.Arbitrary<Json>
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: doing },
  fc.record({
    type: fc.constant('run' as const),
    command: command.filter(line => 'argv' in line),
    links: fc.constant('refuse' as const),
  }),
  { weight: 1, arbitrary: fc.record({ type: fc.constant('decide' as const), expression }) },
  { weight: 2, arbitrary: gate },
  { weight: 2, arbitrary: fc.constant({ type: 'external' as const }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('git' as const), git: gitAction }) },
  { weight: 1, arbitrary: sparse({ name: taskName }, { type: fc.constant('checkpoint' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('model' as const), spec: modelSpec }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('http' as const), spec: httpSpec }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('db' as const), spec: dbSpec }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('agent' as const), spec: agentSpec }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('runner' as const),
      spec: fc.constantFrom<Json>('words', { use: 'words', with: { file: '${{ inputs.x }}' } }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom(...LATER_ACTIONS), spec: said }) },
)
const traits = {
  kind: fc.constantFrom(...ARTIFACT_KINDS),
  type: line,
  retention: line,
  cites: fc.constant(true as const),
}
const output: fc.Arbitrary<OutputSource> = fc.oneof(
  sparse(traits, { from: fc.constant('file' as const), file: line }),
  sparse(traits, { from: fc.constant('stdout' as const), as: fc.constantFrom('json' as const, 'text' as const) }),
  sparse(traits, { from: fc.constant('report' as const) }),
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
  { class: fc.constantFrom(...FAILURE_KINDS), recover: fc.array(taskName, { maxLength: 2 }), advice: anyText },
  {
    name: word,
    detect: fc.oneof(
      fc.record({ type: fc.constant('expect' as const), expression }),
      fc.record({ type: fc.constant('prose' as const), text: line }),
    ),
  },
)
/** A model is asked something; the answer to a request goes into no file, or into one. */
const prompted = (task: TaskDefinition): TaskDefinition => {
  if (task.action.type === 'model' || task.action.type === 'agent')
    return { ...task, instruction: 'How severe is ${{ inputs.x }}?' }
  if (task.action.type !== 'http') return task
  const { outputs: _, ...rest } = task
  return rest
}
/** A task inside another one. */
const small = sparse({ title: line, needs: fc.array(taskName, { maxLength: 2 }) }, { id: taskName, action }).map(
  prompted as never,
) as fc.Arbitrary<TaskDefinition>
const withSubplan: fc.Arbitrary<Action> = fc.oneof(
  { weight: 8, arbitrary: action },
  {
    weight: 1,
    arbitrary: fc
      .uniqueArray(small, { minLength: 1, maxLength: 3, selector: one => one.id })
      .map(tasks => ({ type: 'subplan' as const, tasks })),
  },
)

/** What a field may hold, by the kind of its value. */
const VALUES: { readonly [K in Exclude<ValueKind, 'bound' | 'reviewed'>]: fc.Arbitrary<TaskValues[K]> } = {
  action: withSubplan,
  budget,
  command,
  count: fc.integer({ min: 1, max: 100 }),
  criteria: fc.array(criterion, { maxLength: 3 }),
  data: jsonObject,
  date: fc.constantFrom('2026-02-28', '2026-12-31T23:59:59Z', '2026-06-01T12:00+02:00'),
  duration: milliseconds,
  edges: fc.dictionary(word, fc.array(taskName, { maxLength: 2 }), { maxKeys: 2, noNullPrototype: true }),
  effect: fc.constantFrom(...EFFECT_CLASSES.filter(effect => effect !== 'probed')),
  environment: fc.dictionary(fc.stringMatching(/^[A-Z]{1,8}$/), templated, { maxKeys: 2, noNullPrototype: true }),
  expression,
  flag: fc.constant(true as const),
  inputs: jsonObject,
  items: forEach,
  line,
  lines,
  matrix,
  modes: fc.array(failureMode, { maxLength: 2 }),
  name: taskName,
  names: fc.array(taskName, { maxLength: 3 }),
  network,
  number: fc.integer({ min: -100, max: 100 }),
  outputs: fc.dictionary(word, output, { maxKeys: 2, noNullPrototype: true }),
  prose: anyText,
  recovery: fc.array(recoveryRule(small), { maxLength: 3 }),
  retry,
  review: sparse(
    {
      times: fc.integer({ min: 1, max: 9 }),
      capped: fc.constantFrom('ask' as const, 'fail' as const),
      instruction: line,
    },
    { by: fc.constantFrom<Json>('model', 'local/model-2', 'claude', { use: 'codex', model: 'M' }) },
  ),
  sandbox: fc.constant('off' as const),
  template: line,
  text: anyText,
  tries: fc.oneof(
    fc.integer({ min: 2, max: 8 }).map(count => ({ with: count })),
    fc.record({
      with: fc.constant(3),
      first: fc.constant(true as const),
      prepare: command,
      judge: fc.constant({ by: 'model' }),
    }),
  ),
  undo: fc.oneof(doing, fc.record({ type: fc.constant('task' as const), task: taskName })),
  variables: fc.array(fc.stringMatching(/^[A-Z]{1,8}$/), { maxLength: 2 }),
}
const fields = Object.fromEntries(
  WRITTEN.filter(({ name }) => !['id', 'action', 'instruction'].includes(name)).map(({ name, value }) => [
    name,
    value === 'bound' || value === 'reviewed' ? fc.constant(undefined) : VALUES[value],
  ]),
) as { readonly [K in WrittenField]: fc.Arbitrary<TaskDefinition[K]> }

const task: fc.Arbitrary<TaskDefinition> = sparse(
  { ...fields, title: line },
  { id: taskName, action: withSubplan },
).map(one => {
  // One of the two, and words for others only where nobody else carries it out. Only a command that keeps to the workspace is tried.
  const { matrix, tries, ...rest } = one
  const isTried = tries !== undefined && one.action?.type === 'run' && one.effect === 'workspace'
  const task = {
    ...rest,
    ...(one.forEach === undefined && matrix !== undefined ? { matrix } : {}),
    ...(isTried ? { tries } : {}),
  }
  return task.action.type === 'external'
    ? { ...task, instruction: 'search(query) -> top10; rank(top10) -> best' }
    : prompted(task as TaskDefinition)
}) as fc.Arbitrary<TaskDefinition>

export const planDefinition: fc.Arbitrary<PlanDefinition> = sparse(
  {
    title: line,
    goal: anyText,
    done: fc.array(criterion, { maxLength: 3 }),
    policy,
    notify: fc.array(notify, { maxLength: 2 }),
    git: gitUse,
    concurrency: fc.integer({ min: 1, max: 1000 }),
    place: fc.uniqueArray(fc.stringMatching(/^[A-Za-z0-9._/-]{1,64}$/), { maxLength: 4 }),
    defaults: sparse({
      timeoutMs: milliseconds,
      retry,
      model: fc.constant('local/model-3'),
      agent: fc.constant('claude'),
    }),
    session: line,
    owner: line,
    stakeholders: lines,
    reviewers: lines,
    impacted: lines,
    approval: sparse({ by: lines, date: line }),
    labels: lines,
    hypotheses: said,
    memory: said,
    artifacts: said,
    extra: jsonObject,
  },
  { name: planName, tasks: fc.uniqueArray(task, { minLength: 1, maxLength: 5, selector: one => one.id }) },
)
