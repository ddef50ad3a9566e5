// Arbitrary gates, recovery rules, policies and notices: all that a document may say about judgement.

import fc from 'fast-check'
import type {
  Approvers,
  Escalation,
  Field,
  GateAction,
  GatePolicy,
  GateType,
  Notify,
  Option,
  Policy,
  Recovery,
  RecoveryRule,
  TaskDefinition,
} from '../../domain/plan.ts'
import { FAILURE_KINDS, GATED_IMPACTS } from '../../domain/plan-values.ts'
import {
  budget,
  command,
  criterion,
  line,
  lines,
  milliseconds,
  network,
  retry,
  sparse,
  taskName,
  word,
} from './values.arbitrary.ts'

const few = fc.integer({ min: 1, max: 1_000 })
const many = fc.integer({ min: 1, max: 1_000_000 })
const aftermath = fc.constantFrom('compensate' as const, 'keep' as const, 'rollback' as const)
const approvers: fc.Arbitrary<Approvers> = sparse({ role: line, count: few }).filter(
  one => one.role !== undefined || one.count !== undefined,
)
const escalation: fc.Arbitrary<Escalation> = fc.record({ afterMs: milliseconds, to: line })
const option: fc.Arbitrary<Option> = sparse({ title: line, pros: lines, cons: lines, cost: line }, { id: word })

const plain = { label: line, optional: fc.constant(true as const) }
const number = fc.integer({ min: -1000, max: 1000 })
const field: fc.Arbitrary<Field> = fc.oneof(
  sparse(
    { ...plain, pattern: fc.constantFrom('a+', '[a-c]{2}'), default: fc.constant('aa') },
    { name: word, type: fc.constant('text' as const) },
  ),
  fc
    .tuple(
      sparse(
        { ...plain, min: number, max: number, default: number },
        { name: word, type: fc.constant('number' as const) },
      ),
    )
    .map(([one]) => one)
    .filter(({ min = -1e9, max = 1e9, default: given = min }) => min <= max && given >= min && given <= max),
  sparse({ ...plain, default: fc.boolean() }, { name: word, type: fc.constant('boolean' as const) }),
  sparse(plain, {
    name: word,
    type: fc.constant('choice' as const),
    choices: fc.array(line, { minLength: 1, maxLength: 3 }),
  }),
  sparse({ ...plain, default: lines }, { name: word, type: fc.constant('list' as const) }),
)

const checks = fc.array(criterion, { minLength: 1, maxLength: 2 })
const asking = { show: lines, approvers, escalate: escalation }
const expiring = fc.oneof(
  fc.constant({}),
  sparse({ expired: fc.constantFrom('reject' as const, 'escalate' as const) }, { expiresMs: milliseconds }),
)
const unmet = fc.constantFrom('reject' as const, 'ask' as const)

export const gate: fc.Arbitrary<GateAction> = fc
  .tuple(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom({ gate: 'approval' as const }, { gate: 'diff' as const }) },
      sparse({ unmet }, { gate: fc.constant('approval' as const), checks }),
      fc.record({
        gate: fc.constant('decision' as const),
        options: fc.uniqueArray(option, { minLength: 2, maxLength: 3, selector: one => one.id }),
      }),
      sparse(
        { question: line },
        {
          gate: fc.constant('question' as const),
          form: fc.uniqueArray(field, { minLength: 1, maxLength: 3, selector: one => one.name }),
        },
      ),
      fc.record({ gate: fc.constant('question' as const), question: line }),
      sparse(
        { unmet, checks },
        { gate: fc.constant('schema' as const), schema: fc.record({ file: line, against: line }) },
      ),
      sparse({ unmet }, { gate: fc.constantFrom<GateType[]>('invariant', 'tests'), checks }),
      sparse(
        { unmet },
        {
          gate: fc.constant('budget' as const),
          within: sparse({ attempts: many, timeMs: milliseconds }).filter(one => Object.keys(one).length > 0),
        },
      ),
    ),
    sparse(asking),
    expiring,
  )
  .map(([one, asked, expires]) => ({ type: 'gate' as const, ...one, ...asked, ...expires }) as GateAction)

const gates: fc.Arbitrary<GatePolicy> = sparse({
  before: fc.array(fc.constantFrom(...GATED_IMPACTS), { maxLength: 3 }),
  unknown: fc.constantFrom('ask' as const, 'allow' as const),
  approvers,
  validMs: milliseconds,
})

const commandRules = fc.array(fc.array(line, { minLength: 1, maxLength: 3 }), { maxLength: 2 })
const permission = fc.constantFrom('allow' as const, 'deny' as const)

export const policy: fc.Arbitrary<Policy> = sparse({
  write: lines,
  read: lines,
  network,
  commands: sparse({
    allow: commandRules,
    ask: commandRules,
    deny: commandRules,
    unknown: fc.constantFrom('allow' as const, 'ask' as const, 'deny' as const),
  }),
  data: sparse({ models: permission, webhooks: permission, traces: permission, logins: permission }),
  sandbox: fc.constantFrom('required' as const, 'preferred' as const, 'off' as const),
  budget,
  checkpoints: sparse({
    every: fc.integer({ min: 1, max: 20_000 }),
    before: fc.constantFrom('risky' as const, 'unsafe' as const, 'never' as const),
    files: fc.constantFrom('seen' as const, 'declared' as const),
  }),
  onFailure: aftermath,
  gates,
  roles: fc.dictionary(word, fc.array(line, { minLength: 1, maxLength: 2 }), { maxKeys: 2, noNullPrototype: true }),
  replan: fc.constantFrom('ask' as const, 'auto' as const, 'never' as const),
  escalate: escalation,
  review: sparse({ max: few }, { windowMs: milliseconds }),
  breaker: fc.record({ failures: few, cooldownMs: milliseconds }),
  limits: sparse({
    attempts: many,
    loops: many,
    memoryBytes: fc.integer({ min: 1, max: 2 ** 50 }),
    processes: many,
  }),
})

export const notify: fc.Arbitrary<Notify> = sparse(
  {
    on: fc.uniqueArray(
      fc.constantFrom('waiting' as const, 'escalated' as const, 'failed' as const, 'digest' as const),
      {
        minLength: 1,
        maxLength: 2,
      },
    ),
    everyMs: milliseconds,
  },
  {
    send: fc.oneof(
      fc.record({ command }),
      fc.record({ webhook: fc.constantFrom('https://example.org/hook?a=1', 'http://127.0.0.1:8080/') }),
    ),
  },
)

/** A rule of `recover`; `added` draws the tasks it may bring. */
export const recoveryRule = (added: fc.Arbitrary<TaskDefinition>): fc.Arbitrary<RecoveryRule> =>
  sparse(
    {
      on: fc.uniqueArray(fc.constantFrom(...FAILURE_KINDS), { minLength: 1, maxLength: 2 }),
      times: fc.integer({ min: 1, max: 100 }),
    },
    { do: way(added) },
  )

const way = (added: fc.Arbitrary<TaskDefinition>): fc.Arbitrary<Recovery> =>
  fc.oneof(
    fc.record({ type: fc.constant('retry' as const), retry }),
    fc.record({ type: fc.constantFrom('alternate' as const, 'repair' as const), task: taskName }),
    fc.constant({ type: 'replan' as const }),
    fc.record({ type: fc.constant('replan' as const), template: line }),
    fc.record({
      type: fc.constant('replan' as const),
      add: fc.uniqueArray(added, { minLength: 1, maxLength: 2, selector: one => one.id }),
    }),
    sparse({ to: line }, { type: fc.constant('ask' as const) }),
    sparse({ with: aftermath }, { type: fc.constant('abort' as const) }),
  ) as fc.Arbitrary<Recovery>
