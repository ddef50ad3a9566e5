// The state of a plan in the words people see, for a terminal.

import type { PlanId } from '../../domain/id.ts'
import { type PlanFacts, planState, type ShownState } from '../../domain/views/pages/plan-state.ts'
import type { Summary } from '../../domain/views/summary.ts'
import type { Engine } from '../../engine/engine.ts'
import { brief } from '../terminal/one-line.ts'

export { isInterrupted, type PlanFacts, type ShownState } from '../../domain/views/pages/plan-state.ts'

export const shownState = (facts: PlanFacts): ShownState => planState(facts, brief)

export async function stateNow(engine: Engine, plan: PlanId): Promise<ShownState | null> {
  const summary = await engine.ask({ type: 'summary', plan })
  const board = (await engine.ask({ type: 'board', plan })) ?? []
  return summary === null ? null : shownState({ summary, board, isDriven: summary.holder?.alive === true })
}

/** A plan that a halt has paused stays paused when the halt is lifted: then it is not called halted. */
export const liftedReason = (
  { reason, halted }: Pick<Summary, 'reason' | 'halted'>,
  isHalted: boolean,
): string | null => (!isHalted && halted === true ? 'the halt is lifted' : reason)
