// Deleting a plan is archiving it: its tasks go with it, its journal stays. One that is open is cancelled first, and what it has to
// undo is undone before.

import type { PlanId } from '../domain/id.ts'
import { PLAN_ENDED } from '../domain/status.ts'
import { type Asking, gone, orderAlso } from './ordering.ts'
import { isProblem, type Problem, problem } from './problem.ts'
import { stale } from './stale.ts'
import { waitFor } from './waiting.ts'

const WAIT_MS = 10_000

/** Null when it is archived. */
export async function archivePlan(
  call: Asking & { readonly signal: () => AbortSignal },
  plan: PlanId,
): Promise<Problem | null> {
  const { rooms, signal } = call
  const summary = await rooms.engine.ask({ type: 'summary', plan })
  if (summary === null) return gone()
  const old = stale(call, summary, undefined)
  if (summary.archived || old !== null) return old
  if (summary.status !== 'draft' && !PLAN_ENDED.has(summary.status)) {
    const cancelled = await orderAlso(call, plan, { type: 'cancel', reason: 'the plan was deleted' }, 'cancel')
    if (isProblem(cancelled)) return cancelled
    const isOver = cancelled.events.some(({ type }) => type === 'plan.finished')
    const isEnd = ({ type }: { readonly type: string }) => (type === 'plan.finished' ? true : null)
    if (!isOver && (await waitFor(rooms, cancelled, isEnd, { ms: WAIT_MS, signal: signal() })) === null)
      return problem(409, 'not-ready', `'${summary.name}' is being cancelled, and has not ended yet`, {
        hint: `delete it again when it has, or end it at once: POST /plans/${summary.name}/cancel {"force": true}`,
      })
  }
  const archived = await orderAlso(call, plan, { type: 'archive' }, 'archive')
  return isProblem(archived) ? archived : null
}
