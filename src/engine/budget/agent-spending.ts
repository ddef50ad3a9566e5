// The budget of an attempt as the model gateway asks for it: a call whose answer could be longer than what is left allows is granted
// with what is left, as long as that is of use. The gateway shortens the answer to it.

import { amountLeft, largeAbove } from '../../domain/budget/judge-spend.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { Spending } from '../../models/model.ts'
import type { Store } from '../../stores/store.ts'
import { attemptBudget, type Spender } from './attempt-budget.ts'

export function agentSpending(
  store: Pick<Store, 'state' | 'update' | 'onChange'>,
  state: PlanState,
  spender: Spender,
): Spending {
  const budget = attemptBudget(store, state, spender)
  return {
    async reserve({ calls, tokens, cost, least }, signal) {
      const left = leftFor((await store.state(spender.plan)) ?? state, spender)
      const granted = fitted(tokens, least.tokens, left.tokens)
      const usd = cost.known && least.cost.known ? fitted(cost.usd, least.cost.usd, left.cost) : null
      // A person is asked as soon as even the least does not fit. The agent does not wait for the answer: it is parked.
      const wanted = { calls, tokens: granted, cost: usd }
      const reserved = await budget.reserve(wanted, { wait: 'others', ...(signal === undefined ? {} : { signal }) })
      if (!reserved.ok) return { granted: false, reason: reserved.failure.message }
      return { granted: true, id: reserved.id, tokens: granted, ...(usd === null ? {} : { usd }) }
    },
    async settle(id, { calls, tokens, cost }) {
      await budget.settle(id, calls === 0 ? {} : { calls, tokens, cost: cost.known ? cost.usd : null })
    },
  }
}

/** Null: no cap says. A single call that would be dear is shortened before anybody is asked about it. */
function leftFor(
  state: PlanState,
  { task }: Spender,
): { readonly tokens: number | null; readonly cost: number | null } {
  const { budget } = state
  const large = Math.max(largeAbove(state, task), budget?.large.get(task) ?? 0)
  if (budget === null) return { tokens: null, cost: large }
  const cost = amountLeft(state, budget, task, 'cost')
  return { tokens: amountLeft(state, budget, task, 'tokens'), cost: Math.min(large, cost ?? large) }
}

const fitted = (most: number, least: number, left: number | null): number =>
  left === null ? most : Math.min(most, Math.max(least, left))
