// Claims on the wire: claim, heartbeat, report; and advancing one task by hand.

import { z } from 'zod'
import { map, reason, yes } from './field-schemas.ts'
import { wire } from './wire.ts'

const agent = z.string().min(1).max(200).optional().meta({
  description: 'Which agent it is for. The name of the token stays who acts; this is kept beside it.',
})
const lease = z
  .number()
  .min(1)
  .max(7 * 24 * 3_600)
  .optional()
  .meta({ description: 'How long it is yours without a heartbeat.' })
const token = z.string().min(1).max(200)

export const claimNextBody = wire(
  z.strictObject({
    plan_id: z.string().min(1).max(200).optional().meta({ description: 'Only of this plan.' }),
    session_id: z.string().min(1).max(128).optional().meta({ description: 'Only of plans of this session.' }),
    agent_id: agent,
    kinds: z
      .array(z.string().min(1).max(200))
      .min(1)
      .max(100)
      .optional()
      .meta({ description: 'Only work of these kinds.' }),
    lease_seconds: lease,
  }),
  'ClaimNext',
)
export const claimBody = wire(z.strictObject({ agent_id: agent, lease_seconds: lease }))

export const heartbeatBody = wire(z.strictObject({ token, lease_seconds: lease }))

const failure = z.union([
  reason,
  z.strictObject({
    message: reason,
    hint: reason.optional(),
    code: z.string().max(200).optional(),
    class: z.enum(['transient', 'logic', 'policy', 'resource', 'unknown']).optional(),
    retryable: z.boolean().optional(),
    retry_after_seconds: z.number().min(0).optional(),
  }),
])
const reported = z.strictObject({
  status: z
    .enum(['completed', 'succeeded', 'success', 'done', 'failed'])
    .meta({ description: 'How it went; the first four are the same.' }),
  token: token
    .optional()
    .meta({ description: 'Of the claim; without one, the claim must be yours, or there must be none.' }),
  outputs: map.optional(),
  output_data: map.optional().meta({ description: 'The same as `outputs`.' }),
  outcome: z.string().min(1).max(200).optional().meta({ description: 'Which way the plan goes on.' }),
  not_mine: z
    .array(z.string().min(1).max(1_024))
    .max(1_000)
    .optional()
    .meta({ description: 'What changed outside its write scope since the claim, and is not its work.' }),
  error: failure.optional().meta({ description: 'Why it failed.' }),
  mode: z.string().min(1).max(200).optional().meta({ description: 'The failure mode it was recognised as.' }),
})
export const reportBody = wire(reported, 'Report')
export type ReportBody = z.output<typeof reported>

export const skipBody = wire(z.strictObject({ reason: z.string().min(1).max(10_000) }))
export const retryBody = wire(
  z.strictObject({
    reason: reason.optional(),
    repeat: z.boolean().optional().meta({
      description: 'Completed tasks whose effect is unsafe are done a second time on purpose; refused without it.',
    }),
  }),
)

export const nextQuery = wire(
  z.strictObject({ explain: yes.meta({ description: 'Also why every other task cannot.' }) }),
)

export const runBody = wire(
  z.strictObject({
    inputs: map.optional().meta({ description: 'Beside or instead of those it has; they become a revision.' }),
    agent_id: agent,
    lease_seconds: lease,
  }),
)

const agentName = z.string().min(1).max(200).meta({ description: 'One of GET /agents that is installed.' })

export const workerBody = wire(
  z.strictObject({
    agent: agentName,
    model: z.string().min(1).max(200).optional().meta({ description: "PROVIDER/NAME; the agent's own when absent." }),
    task: z.string().min(1).max(300).optional().meta({ description: 'Only this task; all open ones when absent.' }),
    commit: z.boolean().optional().meta({
      description: 'Commit what the review of a draft approves, on the branch plan/NAME; nothing without git.',
    }),
  }),
  'WorkerChoice',
)
