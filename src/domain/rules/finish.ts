// A person or an agent declares the whole plan done or failed. Done: open tasks are skipped in their name, but what has failed stays so,
// and nothing that needs an approval is approved by it. Failed: the plan is aborted.

import type { CommandOf } from '../command.ts'
import { mayNotSkip } from '../gates/approvers.ts'
import { nameKey } from '../id.ts'
import { DONE_TASK } from '../plan-rules/graph-rules.ts'
import { abort } from '../recovery/follow-recovery.ts'
import { type Refusal, refuse } from '../refusal.ts'
import { goneBackIn, isUnsealed, type PlanState, type TaskState } from '../state/state.ts'
import { runningInOrder } from '../state/task-index.ts'
import { ENDED, PLAN_ENDED } from '../status.ts'
import { blockingTask, conclude } from './conclude.ts'
import { type DecisionDraft, emit } from './decision.ts'
import { illegal, refuseRules, refuseUnsupported } from './lifecycle.ts'

export function finish(draft: DecisionDraft, command: CommandOf<'finish'>): Refusal | undefined {
  const { state } = draft
  const { as, reason, by, start } = command
  const refusal = refuseFinish(state, command)
  if (refusal !== undefined) return refusal
  if (start !== undefined && state.status === 'draft') emit(draft, { type: 'plan.started', ...start })
  else if (state.status === 'paused') emit(draft, { type: 'plan.resumed' })
  if (as === 'failed') abort(draft, reason, undefined)
  else {
    for (const task of openIn(state)) {
      const { id } = task.definition
      // Releases the claim of the same actor.
      if (task.status === 'running')
        emit(draft, {
          type: 'attempt.lost',
          task: id,
          visit: task.visit,
          attempt: task.attempt,
          reason,
          byUs: true,
          ...goneBackIn(task),
        })
      emit(draft, { type: 'task.skipped', task: id, reason, by })
    }
  }
  conclude(draft, as === 'completed' ? { by } : {})
  return undefined
}

function refuseFinish(state: PlanState, { as, by, start }: CommandOf<'finish'>): Refusal | undefined {
  const verb = as === 'completed' ? 'complete' : 'fail'
  if (PLAN_ENDED.has(state.status)) return illegal(state, verb, 'the plan has ended')
  if (state.compensating !== null) return illegal(state, verb, 'its tasks are being undone')
  if (state.status === 'draft' && start === undefined) return illegal(state, verb, 'the plan has not been started')
  const unknown = start === undefined ? undefined : refuseRules(start.rules)
  if (unknown !== undefined) return unknown
  if (isUnsealed(state)) return refuse('conflict', 'tasks have been added to the plan meanwhile', 'try again')
  if (as === 'failed') return undefined
  if (state.definition.tasks.length === 0)
    return illegal(state, verb, 'the plan has no tasks, and an empty plan is never complete')
  const unsupported = state.status === 'draft' ? refuseUnsupported(state.definition) : undefined
  if (unsupported !== undefined) return unsupported
  const [busy] = runningInOrder(state)
  if (busy !== undefined)
    return illegal(state, verb, `'${busy.definition.id}' is running; wait for it, or pause the plan`)
  const other = openIn(state).find(({ claim }) => claim !== null && nameKey(claim.by) !== nameKey(by))
  if (other !== undefined)
    return illegal(state, verb, `'${other.definition.id}' is held by ${other.claim!.by}; wait for it, or cancel`)
  const failed = blockingTask(state)
  if (failed !== null && failed.status !== 'blocked')
    return illegal(state, verb, `'${failed.definition.id}' is required, and it is ${failed.status}`)
  if (state.tasks.get(DONE_TASK)?.gate?.asks.type === 'verdict' && isJudging(state))
    return illegal(state, verb, 'its definition of done waits for a verdict')
  for (const task of openIn(state)) {
    const refusal = mayNotSkip(state, task, by)
    if (refusal !== null) return refusal
  }
  return undefined
}

const isJudging = ({ tasks }: PlanState): boolean => tasks.get(DONE_TASK)?.definition.action.type === 'verify'

/** Tasks that have not ended. Not dormant ones, which are skipped as usual, and not the definition of done, which is judged as usual. */
const openIn = (state: PlanState): readonly TaskState[] =>
  state.order.filter(
    ({ status, dormant, definition }) =>
      !ENDED.has(status) && !(dormant && status === 'pending') && definition.action.type !== 'verify',
  )
