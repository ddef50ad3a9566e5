// The attempt's budget for the model gateway. If the budget cannot cover the longest possible answer, the remainder is granted
// and the gateway shortens the answer. If even the minimum does not fit, a person is asked and the attempt is parked.

import type { Failure } from '../../domain/result.ts'
import type { Spending, SpentAmount } from '../../runners/models.ts'
import type { AttemptBudget } from '../../runners/runner.ts'

/** `onRefused`: the budget was refused for good, without asking anybody. */
export function spendingOf(
  budget: AttemptBudget,
  stop: AbortSignal,
  onRefused: (failure: Failure) => void = () => {},
): Spending {
  return {
    async reserve({ least, settings, ...most }, signal) {
      const reserved = await budget.reserve(spendOf(most), {
        wait: 'others',
        least: spendOf(least),
        settings,
        signal: signal === undefined ? stop : AbortSignal.any([stop, signal]),
      })
      if (!reserved.ok) {
        if (reserved.why === 'refused') onRefused(reserved.failure)
        return { granted: false, reason: reserved.failure.message }
      }
      const { tokens, cost } = reserved.granted
      return {
        granted: true,
        id: reserved.id,
        tokens,
        ...(typeof cost === 'number' ? { usd: cost } : {}),
      }
    },
    async settle(id, actual) {
      await budget.settle(id, actual.calls === 0 ? {} : spendOf(actual))
    },
  }
}

const spendOf = ({ calls, tokens, cost }: SpentAmount) => ({ calls, tokens, cost: cost.known ? cost.usd : null })
