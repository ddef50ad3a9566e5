// The schema of recovery, gates, approvers and notices. Which keys fit together is checked in rules.ts, with better messages.

import { z } from 'zod'
import { wordList } from '../../domain/json.ts'
import { TASKS_MAX, VISITS_MAX } from '../../domain/limits.ts'
import type {
  Approvers,
  Escalation,
  GatePolicy,
  NoticeKind,
  Notify,
  Policy,
  Recovery,
  RecoveryRule,
  TaskDefinition,
} from '../../domain/plan.ts'
import { GATED_IMPACTS } from '../../domain/plan-values.ts'
import { codec, optional, printedLast, record, sparse } from './codec.ts'
import { command, retry, word, words } from './schema-parts.ts'
import * as value from './schema-values.ts'

export const CAP_MAX = 1_000_000
/** Maximum number of approvers, failures before a breaker opens, and approvals in a review. */
const FEW_MAX = 1_000
/** Maximum number of options, fields, notices, rules, and tasks added by a rule. */
export const LIST_MAX = 100

const NOTICE_KINDS = wordList(
  'waiting escalated expired failed completed cancelled digest',
) satisfies readonly NoticeKind[]
const AFTERMATHS = ['compensate', 'keep', 'rollback'] as const
export const aftermath = z.enum(AFTERMATHS)

const roleName = z.string().regex(/^[A-Za-z][\w.-]{0,99}$/)
export const approvers = {
  role: optional(value.line, 'Who may decide: a role of policy.roles.'),
  count: optional(value.count(FEW_MAX), 'So many different people must approve.'),
}

export const readApprovers = ({ role, count }: { readonly role?: unknown; readonly count?: number | undefined }) =>
  role === undefined && count === undefined ? undefined : sparse<Approvers>({ role: role as string, count })

export const escalation = record<Escalation>()({ afterMs: 'after' }, { after: value.duration, to: value.line }).meta({
  description: 'Whom to call when nobody has answered for so long.',
  examples: [{ after: '2h', to: 'lead' }],
})

export const notify = z
  .array(
    codec(
      printedLast(
        z.strictObject({
          on: words(NOTICE_KINDS).optional(),
          run: optional(command, 'Gets the notice as JSON on its standard input.'),
          webhook: value.webAddress.optional(),
          every: optional(value.duration, 'How often a digest is sent.'),
        }),
        ['run', 'webhook'],
      ),
      ({ on, every, run, webhook = '' }) =>
        sparse<Notify>({ on, everyMs: every, send: run === undefined ? { webhook } : { command: run } }),
      ({ on, everyMs, send }) => ({
        on,
        every: everyMs,
        ...('webhook' in send ? send : { run: send.command }),
      }),
    ),
  )
  .max(LIST_MAX)
  .meta({ examples: [[{ on: 'waiting', run: './tell.sh' }]] })

const gateKeys = {
  before: z.union([word(GATED_IMPACTS).transform(one => [one]), z.array(word(GATED_IMPACTS))]).optional(),
  unknown: optional(
    z.enum(['ask', 'allow']),
    'Before an unsafe task whose code cannot be read from the plan: ask somebody, or let it begin.',
  ),
  ...approvers,
  valid: optional(value.duration, 'How long an approval holds; a day when not said.'),
}
/** A policy layer cannot choose approvers: only the plan knows the people. */
const { role: _, ...layerGateKeys } = gateKeys
const gatesOf = (keys: typeof layerGateKeys & { readonly role?: typeof approvers.role }): z.ZodType<GatePolicy> =>
  codec(
    z.strictObject(keys),
    ({ before, unknown, valid, ...who }) =>
      sparse<GatePolicy>({ before, unknown, approvers: readApprovers(who), validMs: valid }),
    ({ approvers: who, validMs: valid, ...rest }) => ({ ...rest, ...who, valid }),
  )
export const layerGates = gatesOf(layerGateKeys)

export const policyKeys = {
  on_failure: optional(
    aftermath,
    'When the plan fails: undo what declared how, leave all as it is, or take all files back.',
  ),
  gates: optional(
    codec(
      z.union([word(['default', 'none']), gatesOf(gateKeys)]),
      (written): GatePolicy => (written === 'none' ? { before: [] } : written === 'default' ? {} : written),
      policy => {
        const [first, ...more] = Object.keys(policy)
        return first === undefined ? 'default' : policy.before?.length === 0 && more.length === 0 ? 'none' : policy
      },
    ),
    'What is not begun before a person has seen it.',
  ),
  roles: optional(z.record(roleName, z.union([value.line.transform(one => [one]), value.lines.min(1)])), {
    description: 'Role to the people who have it.',
    examples: [{ lead: ['ana'] }],
  }),
  replan: z.enum(['ask', 'auto', 'never']).optional(),
  escalate: escalation.optional(),
  review: optional(
    record<NonNullable<Policy['review']>>()(
      { windowMs: 'window' },
      { window: value.duration, max: value.count(FEW_MAX).optional() },
    ),
    { description: 'Approvals that open within this time are one review.', examples: [{ window: '10m' }] },
  ),
  breaker: optional(
    record<NonNullable<Policy['breaker']>>()(
      { cooldownMs: 'cooldown' },
      { failures: value.count(FEW_MAX), cooldown: value.duration },
    ),
    { examples: [{ failures: 3, cooldown: '5m' }] },
  ),
  limits: optional(
    record<NonNullable<Policy['limits']>>()(
      { memoryBytes: 'memory' },
      {
        attempts: value.count(CAP_MAX).optional(),
        loops: value.count(CAP_MAX).optional(),
        tasks: value.count(TASKS_MAX).optional(),
        memory: optional(value.size, 'What one command in its sandbox may use.'),
        processes: optional(
          value.count(CAP_MAX),
          'How many processes and threads one command in its sandbox may have.',
        ),
      },
      { last: ['memory'] },
    ),
    {
      description: 'Caps over the whole plan or each command, whatever its tasks say.',
      examples: [{ attempts: 100 }],
    },
  ),
  retention: optional(
    record<NonNullable<Policy['retention']>>()(
      { restoredMs: 'restored' },
      {
        restored: optional(value.duration, 'How long what was set back can be restored; 30 days when not said.'),
      },
    ),
    { description: 'How long Planfold keeps what it no longer needs itself.', examples: [{ restored: '30d' }] },
  ),
}

/** What happens when the retries are used up; the first matching rule applies. A rule may add tasks. */
export const recover = (task: z.ZodType<TaskDefinition>) =>
  z
    .array(
      codec(
        printedLast(
          z.strictObject({
            on: optional(
              z.union([value.line.transform(one => [one]), value.lines.min(1)]),
              'Classes of failures, or names of failure modes.',
            ),
            times: value.count(VISITS_MAX).optional(),
            retry: retry.optional(),
            alternate: optional(value.taskName, 'Another task does the work instead.'),
            repair: optional(value.taskName, 'A task repairs something, then this one is done again.'),
            critic: optional(value.taskName, 'The same as repair.'),
            replan: optional(
              z.union([
                z.literal(true),
                z.strictObject({ add: z.array(task).min(1).max(LIST_MAX).optional(), template: value.line.optional() }),
              ]),
              'The plan must change.',
            ),
            ask: optional(z.union([z.literal(true), value.line]), 'A person says what to do.'),
            abort: optional(z.union([z.literal(true), word(AFTERMATHS)]), 'The whole plan ends as failed.'),
          }),
          ['times'],
        ),
        ({ on, times, ...way }) => sparse<RecoveryRule>({ on, times, do: readWay(way) }),
        ({ on, times, do: way }) => ({ on, ...printWay(way), times }),
      ),
    )
    .max(LIST_MAX)
    .meta({
      description: 'What to do about a failure: the first rule that fits and is not used up.',
      examples: [[{ on: 'transient', retry: 3 }]],
    })

/** The value of each key, if it is more than the key itself. */
const SAYS = { retry: 'retry', alternate: 'task', repair: 'task', ask: 'to', abort: 'with' } as const

/** Exactly one key is present; `rules.ts` has checked that. */
function readWay(way: { readonly [key: string]: unknown }): Recovery {
  const [key, argument] = Object.entries(way)[0] ?? ['abort', true]
  if (argument === true) return { type: key } as Recovery
  if (key === 'replan') return { type: key, ...(argument as object) }
  const type = (key === 'critic' ? 'repair' : key) as keyof typeof SAYS
  return { type, [SAYS[type]]: argument } as Recovery
}

function printWay({ type, ...fields }: Recovery): { readonly [key: string]: unknown } {
  const values = Object.values(fields)
  return { [type]: values.length === 0 || (type === 'replan' ? fields : values[0]) }
}
