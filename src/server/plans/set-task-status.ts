// Translates a requested task status into orders, and says what is allowed. `running` is a claim, so only one of two callers
// succeeds; it starts a draft.
//
//   pending ─running→ claim      running|pending ─completed|failed→ (claim,) report      not running ─skipped→ skip

import type { JsonObject } from '../../domain/json.ts'
import { CLAIM_LEASE_MAX_MS } from '../../domain/limits.ts'
import { claimNotHeld } from '../../domain/rules/task-orders.ts'
import { ENDED, SATISFIES, type TaskStatus } from '../../domain/status.ts'
import type { AnswerOf, Order, TaskRecord } from '../../engine/engine.ts'
import { taskWord } from '../../format/wire/status-words.ts'
import { reportOrder, type WorkReport } from '../../operations/report-task.ts'
import { isProblem, type Problem, problem, refused } from '../problem.ts'
import { type Accepted, type Asking, order } from '../submit-order.ts'
import { startPlan, unversioned } from './set-plan-status.ts'

export interface Standing {
  readonly record: TaskRecord
  readonly needs: readonly TaskRecord[]
  readonly summary: NonNullable<AnswerOf<'summary'>>
  readonly isAlone: boolean
}

export interface WantedStatus {
  readonly status: TaskStatus
  readonly outputs: JsonObject | null
  readonly error: string | null
  readonly reason: string | null
  readonly token: string | undefined
}

/** Requesting the current status changes nothing, but a claimed task cannot be claimed. */
export const isAlreadySet = ({ record: { card } }: Standing, { status, outputs }: WantedStatus): boolean =>
  status !== 'running' &&
  taskWord(card.status) === taskWord(status) &&
  (outputs === null || JSON.stringify(outputs) === JSON.stringify(card.outputs))

export function refuseTaskStatus(standing: Standing, wanted: WantedStatus): Problem | null {
  const allowed = allowedFrom(standing)
  if (isAlreadySet(standing, wanted) || allowed.includes(wanted.status)) return null
  const { card } = standing.record
  return illegal(
    `'${card.name}' is ${taskWord(card.status)} and cannot become ${taskWord(wanted.status)}${whyOf(standing)}`,
    standing,
    allowed,
  )
}

export async function taskBecomes(
  call: Asking,
  standing: Standing,
  wanted: WantedStatus,
): Promise<Accepted | null | Problem> {
  if (isAlreadySet(standing, wanted)) return null
  const { record, summary, isAlone } = standing
  let left = call
  const { name: task, claimedBy } = record.card
  const isReported = wanted.status === 'completed' || wanted.status === 'failed'
  if (isReported && claimedBy === null && wanted.token !== undefined) return refused(claimNotHeld(task))
  if (wanted.status === 'skipped')
    return await inWords(call, standing, {
      type: 'skip',
      task,
      reason: wanted.reason ?? 'a client marked it as skipped',
    })
  if (summary.status === 'draft') {
    const started = await startPlan(call, summary.id)
    if (isProblem(started)) return started
    left = unversioned(call)
  }
  const claim = {
    type: 'claim',
    task,
    leaseMs: CLAIM_LEASE_MAX_MS,
    ...(isAlone ? { alone: true as const } : {}),
  } as const
  const claimed = claimedBy === null ? await inWords(left, standing, claim) : null
  if (wanted.status === 'running' || (claimed !== null && isProblem(claimed))) return claimed
  const token = claimed?.claim?.token ?? wanted.token
  const report = reportOrder(task, reportOf(wanted), token)
  return await inWords(claimed === null ? left : unversioned(call), standing, report)
}

function reportOf({ status, outputs, error, reason }: WantedStatus): WorkReport {
  const left = { outputs: outputs ?? undefined }
  if (status === 'completed') return { status: 'done', ...left }
  return { status: 'failed', why: { message: error ?? reason ?? 'reported as failed' }, ...left }
}

function allowedFrom({ record: { card }, needs, summary }: Standing): readonly TaskStatus[] {
  if (summary.status === 'cancelled' || summary.archived) return []
  const isOurs = card.action !== 'external'
  switch (card.status) {
    case 'pending':
      // No task of a draft is ready yet.
      return summary.status === 'draft' && !isOurs && needs.every(isMet) ? BEGINS : ['skipped']
    case 'ready':
      return isOurs || summary.status === 'paused' ? ['skipped'] : BEGINS
    case 'running':
      return isOurs ? [] : ['completed', 'failed']
    case 'blocked':
    case 'waiting':
    case 'failed':
    case 'abandoned':
      return ['skipped']
    case 'completed':
    case 'skipped':
    case 'cancelled':
      return []
    default:
      return card.status satisfies never
  }
}

const BEGINS: readonly TaskStatus[] = ['running', 'completed', 'failed', 'skipped']
const isMet = ({ card }: TaskRecord): boolean => SATISFIES.has(card.status)

function whyOf({ record: { card }, needs, summary }: Standing): string {
  if (summary.archived) return ': its plan is archived'
  if (summary.status === 'cancelled' || summary.status === 'paused') return `: its plan is ${summary.status}`
  if (card.action !== 'external') return `: it is carried out here (${card.action}), not by clients`
  if (card.status === 'running') return card.claimedBy === null ? '' : `: ${card.claimedBy} has it`
  const asks = summary.waiting.find(({ task }) => task === card.name)?.asks
  if (asks?.type === 'consent')
    return `: somebody must approve it before it can be claimed, because ${asks.why} (POST /plans/${summary.name}/gates/${card.name}/approve)`
  const unmet = needs.filter(need => !isMet(need)).map(need => `'${need.card.name}'`)
  return unmet.length === 0 || card.status === 'completed' ? '' : `: it waits for ${unmet.join(', ')}`
}

function illegal(detail: string, { record: { card }, summary }: Standing, allowed: readonly TaskStatus[]): Problem {
  const words = allowed.map(taskWord)
  const isOver = summary.archived || summary.status === 'cancelled'
  const ways = [
    ...(ENDED.has(card.status) && !isOver ? [`POST /tasks/${card.id}/retry opens it again`] : []),
    ...(words.length === 0 ? [] : [`it can become ${words.join(', ')}`]),
  ]
  const hint = ways.length === 0 ? `see how its plan stands: GET /plans/${summary.name}` : ways.join('; ')
  return problem(409, 'illegal-transition', detail, { hint, allowed: words })
}

async function inWords(call: Asking, { summary: { id } }: Standing, what: Order): Promise<Accepted | Problem> {
  const done = await order(call, id, what)
  if (!isProblem(done) || done.problem.type !== 'urn:planfold:problem:illegal-transition') return done
  const { allowed: _, hint: __, ...rest } = done.problem
  return { ...done, problem: { ...rest, allowed: [], hint: 'see how its plan stands: GET /plans/:plan' } }
}
