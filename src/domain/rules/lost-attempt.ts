// A lost attempt: its process died, or its claim lapsed, so its outcome is unknown. Its effect class decides whether it is repeated;
// otherwise a person is asked.

import type { Interrupted } from '../command.ts'
import type { Millis } from '../id.ts'
import { LOST_MAX } from '../limits.ts'
import { effectOf, mayRunAgain } from '../plan-rules/effect.ts'
import type { Wrote } from '../result.ts'
import { goneBackIn, type TaskState } from '../state/state.ts'
import { type DecisionDraft, emit } from './decision.ts'
import { withdrawOutside } from './outside-scope.ts'

export function loseByUs(draft: DecisionDraft, task: TaskState, { reason, begun, until }: Interrupted): void {
  if (begun !== false) return lose(draft, task, reason, 'by us')
  // It did nothing, so it may be repeated in any effect class.
  emit(draft, {
    type: 'attempt.lost',
    ...attemptOf(task),
    reason,
    byUs: true,
    begun,
    ...(until === undefined ? {} : { until }),
  })
}

/** The outcome is unknown: the effect class decides whether the attempt is repeated, and after `LOST_MAX` losses a person does. */
export function lose(
  draft: DecisionDraft,
  task: TaskState,
  reason: string,
  hand: 'by us' | 'by the world',
  { lastSign, wrote }: { readonly lastSign?: Millis | undefined; readonly wrote?: Wrote | undefined } = {},
): void {
  const startedAt = task.startedAt ?? draft.now
  const isLookedAt = task.prepared?.preimage !== undefined || task.prepared?.before !== undefined
  // Later changes to compared files are not the attempt's work, and a budget counts the time until then.
  const isKnown = lastSign !== undefined && (isLookedAt || draft.state.budget !== null)
  const sign = isKnown ? { lastSign } : {}
  const found = wrote === undefined ? {} : { wrote }
  const lost = { type: 'attempt.lost', ...attemptOf(task), reason, ...sign, ...found, ...goneBackIn(task) } as const
  emit(draft, hand === 'by us' ? { ...lost, byUs: true } : lost)
  withdrawOutside(draft, [task])
  if (isEnding(draft)) return
  const effect = effectOf(draft.state.definition, task.definition)
  if (!mayRunAgain(effect)) {
    emit(draft, { type: 'attempt.parked', task: task.definition.id, evidence: { reason, effect, startedAt } })
  } else if (task.lost >= LOST_MAX) {
    const often = `${reason}; this happened ${task.lost} times in this run`
    emit(draft, { type: 'attempt.parked', task: task.definition.id, evidence: { reason: often, effect, startedAt } })
  }
}

/** The plan is ending: no retries and no outcome edges. Not true for a rollback. */
export const isEnding = ({ state }: DecisionDraft): boolean => state.compensating !== null && state.rollback === null

export const attemptOf = (task: TaskState) =>
  ({ task: task.definition.id, visit: task.visit, attempt: task.attempt }) as const
