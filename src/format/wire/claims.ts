// Claims on the wire: claim, heartbeat, report; and advancing one task by hand.

import { z } from 'zod'
import { map, nonEmpty, reason, yes } from './field-schemas.ts'
import { namedObject, wire, wireObject } from './wire.ts'

const agent = nonEmpty(200)
  .optional()
  .describe('Which agent it is for. The name of the token stays who acts; this is kept beside it.')
const lease = z
  .number()
  .min(1)
  .max(7 * 24 * 3_600)
  .optional()
  .describe('How long it is yours without a heartbeat.')
const token = nonEmpty(200)

export const claimNextBody = namedObject('ClaimNext', {
  plan_id: nonEmpty(200).optional().describe('Only of this plan.'),
  session_id: nonEmpty(128).optional().describe('Only of plans of this session.'),
  agent_id: agent,
  kinds: z.array(nonEmpty(200)).min(1).max(100).optional().describe('Only work of these kinds.'),
  lease_seconds: lease,
})
export const claimBody = wireObject({ agent_id: agent, lease_seconds: lease })

export const heartbeatBody = wireObject({ token, lease_seconds: lease })

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
    .describe('How it went; the first four are the same.'),
  token: token.optional().describe('Of the claim; without one, the claim must be yours, or there must be none.'),
  outputs: map.optional(),
  output_data: map.optional().describe('The same as `outputs`.'),
  outcome: nonEmpty(200).optional().describe('Which way the plan goes on.'),
  not_mine: z
    .array(nonEmpty(1_024))
    .max(1_000)
    .optional()
    .describe('What changed outside its write scope since the claim, and is not its work.'),
  error: failure.optional().describe('Why it failed.'),
  mode: nonEmpty(200).optional().describe('The failure mode it was recognised as.'),
})
export const reportBody = wire(reported, 'Report')
export type ReportBody = z.output<typeof reported>

export const skipBody = wireObject({ reason: nonEmpty(10_000) })
export const retryBody = wireObject({
  reason: reason.optional(),
  repeat: z
    .boolean()
    .optional()
    .describe('Completed tasks whose effect is unsafe are done a second time on purpose; refused without it.'),
})

export const nextQuery = wireObject({ explain: yes.describe('Also why every other task cannot.') })

export const runBody = wireObject({
  inputs: map.optional().describe('Beside or instead of those it has; they become a revision.'),
  agent_id: agent,
  lease_seconds: lease,
})

const agentName = nonEmpty(200).describe('One of GET /agents that is installed.')

export const workerBody = namedObject('WorkerChoice', {
  agent: agentName,
  model: nonEmpty(200).optional().describe("PROVIDER/NAME; the agent's own when absent."),
  task: nonEmpty(300).optional().describe('Only this task; all open ones when absent.'),
  commit: z
    .boolean()
    .optional()
    .describe('Commit what the review of a draft approves, on the branch plan/NAME; nothing without git.'),
})
