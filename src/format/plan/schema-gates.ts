// What the document says about judgement: gates, what is done about failures, who decides, whom to tell. Which keys fit
// which gate or rule is told by rules-judgement.ts, in better words than a schema has.

import { z } from 'zod'
import type { TaskName } from '../../domain/id.ts'
import { TASKS_MAX, VISITS_MAX } from '../../domain/limits.ts'
import type { FailureKind, GatedImpact, GateType, NoticeKind } from '../../domain/plan.ts'
import { command, criteria, outcomeName, type RetryDocument, retry, word, words } from './schema-parts.ts'
import * as value from './schema-values.ts'

/** Caps over a whole plan; nobody means more. */
const CAP_MAX = 1_000_000
/** People who must approve, failures that open a breaker, approvals of one review. */
const FEW_MAX = 1_000
/** Options, fields, notices, rules, tasks that a rule adds: more than anybody reads. */
export const LIST_MAX = 100

export const GATE_TYPES = [
  'approval',
  'diff',
  'decision',
  'question',
  'schema',
  'invariant',
  'tests',
  'budget',
] as const satisfies readonly GateType[]
export const IMPACTS = [
  'push',
  'deploy',
  'delete',
  'migrate',
  'spend',
  'send',
  'data',
  'outside',
  'instructions',
] as const satisfies readonly GatedImpact[]
export const FAILURE_KINDS = [
  'transient',
  'logic',
  'policy',
  'resource',
  'cancelled',
  'unknown',
] as const satisfies readonly FailureKind[]
const NOTICE_KINDS = [
  'waiting',
  'escalated',
  'expired',
  'failed',
  'completed',
  'cancelled',
  'digest',
] as const satisfies readonly NoticeKind[]
const AFTERMATHS = ['compensate', 'keep', 'rollback'] as const
const FIELD_TYPES = ['text', 'number', 'boolean', 'choice', 'list'] as const

export const aftermath = z.enum(AFTERMATHS)

const roleName = z.string().regex(/^[A-Za-z][\w.-]{0,99}$/)
const approvers = {
  role: value.line.optional().meta({ description: 'Who may decide: a role of policy.roles.' }),
  count: value.count(FEW_MAX).optional().meta({ description: 'So many different people must approve.' }),
}

const escalation = z
  .strictObject({ after: value.duration, to: value.line })
  .meta({ description: 'Whom to call when nobody has answered for so long.', examples: [{ after: '2h', to: 'lead' }] })

const option = z.strictObject({
  id: outcomeName.meta({ description: 'The outcome when it is chosen.' }),
  title: value.line.optional(),
  pros: value.lines.optional(),
  cons: value.lines.optional(),
  cost: value.line.optional(),
})

export const field = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/)
    .meta({ description: 'The answer is an output of this name.' }),
  label: value.line.optional(),
  type: z.enum(FIELD_TYPES).optional(),
  choices: value.lines.min(1).optional(),
  optional: z.boolean().optional(),
  default: value.json.optional(),
  min: z.number().optional(),
  max: z.number().optional(),
  pattern: value.line.optional(),
})

export const gate = z
  .union([
    word(GATE_TYPES),
    z.strictObject({
      type: z.enum(GATE_TYPES),
      show: value.lines.optional().meta({ description: 'What whoever decides must see.' }),
      checks: criteria.min(1).optional().meta({ description: 'Judged before anybody is asked.' }),
      unmet: z
        .enum(['reject', 'ask'])
        .optional()
        .meta({ description: 'When a check does not hold: reject, or let a person overrule it.' }),
      file: value.line.optional().meta({ description: 'Of schema: a JSON file of the workspace.' }),
      against: value.line.optional().meta({ description: 'Of schema: the file with the JSON Schema.' }),
      attempts: value.count(CAP_MAX).optional().meta({ description: 'Of budget: attempts of the plan so far.' }),
      time: value.duration.optional().meta({ description: 'Of budget: how long the plan has been working.' }),
      ...approvers,
      expires: value.duration.optional().meta({ description: 'How long it asks.' }),
      expired: z.enum(['reject', 'escalate']).optional(),
      escalate: escalation.optional(),
      options: z
        .array(option)
        .min(2)
        .max(LIST_MAX)
        .optional()
        .meta({ description: 'Of decision: what may be chosen.', examples: [[{ id: 'small' }, { id: 'large' }]] }),
      question: value.text.min(1).optional(),
      form: z
        .array(field)
        .min(1)
        .max(LIST_MAX)
        .optional()
        .meta({
          description: 'Of question: one field for each answer.',
          examples: [[{ name: 'size', type: 'number' }]],
        }),
    }),
  ])
  .meta({ description: 'A point the plan does not pass by itself.' })

export const notify = z
  .array(
    z.strictObject({
      on: words(NOTICE_KINDS).optional(),
      run: command.optional().meta({ description: 'Gets the notice as JSON on its standard input.' }),
      webhook: value.webAddress.optional(),
      every: value.duration.optional().meta({ description: 'How often a digest is sent.' }),
    }),
  )
  .max(LIST_MAX)
  .meta({ examples: [[{ on: 'waiting', run: './tell.sh' }]] })

/** The keys of `policy` that are about judgement. */
export const policyKeys = {
  on_failure: aftermath
    .optional()
    .meta({ description: 'When the plan fails: undo what declared how, leave all as it is, or take all files back.' }),
  gates: z
    .union([
      word(['default', 'none']),
      z.strictObject({
        before: z.union([word(IMPACTS).transform(one => [one]), z.array(word(IMPACTS))]).optional(),
        unknown: z.enum(['ask', 'allow']).optional().meta({
          description: 'Before an unsafe task whose code cannot be read from the plan: ask somebody, or let it begin.',
        }),
        ...approvers,
        valid: value.duration.optional().meta({ description: 'How long an approval holds; a day when not said.' }),
      }),
    ])
    .optional()
    .meta({ description: 'What is not begun before a person has seen it.' }),
  roles: z
    .record(roleName, z.union([value.line.transform(one => [one]), value.lines.min(1)]))
    .optional()
    .meta({ description: 'Role to the people who have it.', examples: [{ lead: ['ana'] }] }),
  replan: z.enum(['ask', 'auto', 'never']).optional(),
  escalate: escalation.optional(),
  review: z
    .strictObject({ window: value.duration, max: value.count(FEW_MAX).optional() })
    .optional()
    .meta({ description: 'Approvals that open within this time are one review.', examples: [{ window: '10m' }] }),
  breaker: z
    .strictObject({ failures: value.count(FEW_MAX), cooldown: value.duration })
    .optional()
    .meta({ examples: [{ failures: 3, cooldown: '5m' }] }),
  limits: z
    .strictObject({
      attempts: value.count(CAP_MAX).optional(),
      loops: value.count(CAP_MAX).optional(),
      tasks: value.count(TASKS_MAX).optional(),
      memory: value.size.optional().meta({ description: 'What one command in its sandbox may use.' }),
      processes: value
        .count(CAP_MAX)
        .optional()
        .meta({ description: 'How many processes and threads one command in its sandbox may have.' }),
    })
    .optional()
    .meta({
      description: 'Caps over the whole plan or each command, whatever its tasks say.',
      examples: [{ attempts: 100 }],
    }),
  retention: z
    .strictObject({
      restored: value.duration
        .optional()
        .meta({ description: 'How long what was set back can be restored; 30 days when not said.' }),
    })
    .optional()
    .meta({ description: 'How long Planfold keeps what it no longer needs itself.', examples: [{ restored: '30d' }] }),
}

/** A rule of `recover`; it may bring tasks of its own, so the schema of a task is handed in. */
export const recovery = <T extends z.ZodType>(task: T) =>
  z.strictObject({
    on: z
      .union([value.line.transform(one => [one]), value.lines.min(1)])
      .optional()
      .meta({ description: 'Classes of failures, or names of failure modes.' }),
    times: value.count(VISITS_MAX).optional(),
    retry: retry.optional(),
    alternate: value.taskName.optional().meta({ description: 'Another task does the work instead.' }),
    repair: value.taskName.optional().meta({ description: 'A task repairs something, then this one is done again.' }),
    critic: value.taskName.optional().meta({ description: 'The same as repair.' }),
    replan: z
      .union([
        z.literal(true),
        z.strictObject({ add: z.array(task).min(1).max(LIST_MAX).optional(), template: value.line.optional() }),
      ])
      .optional()
      .meta({ description: 'The plan must change.' }),
    ask: z
      .union([z.literal(true), value.line])
      .optional()
      .meta({ description: 'A person says what to do.' }),
    abort: z
      .union([z.literal(true), word(AFTERMATHS)])
      .optional()
      .meta({ description: 'The whole plan ends as failed.' }),
  })

export type GateDocument = z.output<typeof gate>
export type NotifyDocument = z.output<typeof notify>
export type FieldDocument = z.output<typeof field>
/** Spelt out, because a task holds rules and a rule may hold tasks. */
export interface RecoveryDocument<Task> {
  readonly on?: readonly string[] | undefined
  readonly times?: number | undefined
  readonly retry?: RetryDocument | undefined
  readonly alternate?: TaskName | undefined
  readonly repair?: TaskName | undefined
  readonly critic?: TaskName | undefined
  readonly replan?:
    | true
    | { readonly add?: readonly Task[] | undefined; readonly template?: string | undefined }
    | undefined
  readonly ask?: true | string | undefined
  readonly abort?: true | (typeof AFTERMATHS)[number] | undefined
}
