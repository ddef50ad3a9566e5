// The budget of an attempt as the model gateway asks for it: a call whose answer could be longer than what is left is granted with what is
// left, as long as that is of use, and the gateway shortens the answer. A person is asked when even the least does not fit; the agent
// does not wait for the answer, it is parked.

import type { Failure } from '../../domain/result.ts'
import type { Spending, SpentAmount } from '../../runners/models.ts'
import type { AttemptBudget } from '../../runners/runner.ts'

/** `onRefused`: the budget says no for good, and nobody is asked. */
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
