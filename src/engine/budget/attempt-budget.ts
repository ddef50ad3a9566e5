// The door of an attempt to the budgets around it: reserves before a call, settles after it. Both are commands of the plan, decided in
// the store's transaction, so that two processes can never both take the last of it.

import type { Spend } from '../../domain/budget/amounts.ts'
import { BUDGET_CODE } from '../../domain/budget/budget-rules.ts'
import { amountLeft, largeAbove } from '../../domain/budget/judge-spend.ts'
import type { Actor, PlanId, TaskName } from '../../domain/id.ts'
import type { Failure } from '../../domain/result.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { AttemptBudget, Reserved, ReserveOptions } from '../../runners/runner.ts'
import { CommitUnknown, type Store, type Updated } from '../../stores/store.ts'

const ENGINE = 'engine' as Actor

/** Whose calls they are. */
export interface Spender {
  readonly plan: PlanId
  readonly task: TaskName
  readonly visit: number
  readonly attempt: number
}

/** How often a commit of which nobody knows whether it happened is said again. */
const UNKNOWNS_MAX = 5

export function attemptBudget(
  store: Pick<Store, 'state' | 'update' | 'onChange'>,
  state: PlanState,
  { plan, task, visit, attempt }: Spender,
): AttemptBudget {
  let calls = 0
  const update = (command: Parameters<Store['update']>[1]) =>
    surely(() => store.update(plan, command, { actor: ENGINE }))
  return {
    async reserve(spend, options = {}) {
      const id = `${task}/${visit}/${attempt}#${++calls}`
      // As in most plans: nothing is counted, and nobody needs to be asked.
      if (state.budget === null && (spend.cost ?? 0) <= largeAbove(state, task)) return { ok: true, id, granted: spend }
      let granted = spend
      const reserved = await reserve(store, options, id, async () => {
        const { least } = options
        granted = least === undefined ? spend : fitted(spend, least, (await store.state(plan)) ?? state, task)
        return await update({ type: 'reserve', id, task, visit, attempt, spend: whole(granted) })
      })
      return reserved.ok ? { ...reserved, granted } : reserved
    },
    async settle(id, actual) {
      if (state.budget === null) return
      // What cannot be written now counts as spent in full when the attempt ends.
      await update({ type: 'settle', id, actual: whole(actual) }).catch(() => {})
    },
  }
}

async function reserve(
  store: Pick<Store, 'onChange'>,
  { signal, wait = 'person' }: ReserveOptions,
  id: string,
  ask: () => Promise<Updated>,
): Promise<{ readonly ok: true; readonly id: string } | Extract<Reserved, { readonly ok: false }>> {
  for (;;) {
    if (signal?.aborted === true) return no('stopped', 'stopped while it waited for budget')
    // Listened to before it is asked, so that no change is missed in between.
    const change = nextChange(store, signal)
    try {
      const updated = await ask()
      if (!updated.ok) return no('refused', updated.refusal.message, updated.refusal.hint)
      const { budget, questions } = updated.state
      if (budget === null || budget.holds.has(id)) return { ok: true, id }
      const asked = questions.find(one => one.budget !== undefined)
      if (asked !== undefined && wait === 'others') return no('asked', asked.text)
      await change.happened
    } finally {
      change.end()
    }
  }
}

/** As much as is left now. A single call that would be dear is made smaller before anybody is asked about it. */
function fitted(spend: Spend, least: Spend, state: PlanState, task: TaskName): Spend {
  const { budget } = state
  const large = Math.max(largeAbove(state, task), budget?.large.get(task) ?? 0)
  const cost = Math.min(large, (budget === null ? null : amountLeft(state, budget, task, 'cost')) ?? large)
  const tokens = budget === null ? null : amountLeft(state, budget, task, 'tokens')
  const within = (most: number, least: number, left: number): number => Math.min(most, Math.max(least, left))
  return {
    ...spend,
    ...(typeof spend.cost === 'number' ? { cost: within(spend.cost, least.cost ?? 0, cost) } : {}),
    ...(spend.tokens === undefined || tokens === null
      ? {}
      : { tokens: within(spend.tokens, least.tokens ?? 0, Math.floor(tokens)) }),
  }
}

const no = (
  why: 'asked' | 'stopped' | 'refused',
  message: string,
  hint?: Failure['hint'],
): Extract<Reserved, { readonly ok: false }> => ({
  ok: false,
  why,
  failure: {
    class: why === 'stopped' ? 'cancelled' : 'policy',
    code: BUDGET_CODE,
    message,
    ...(hint === undefined ? {} : { hint }),
    retryable: false,
  },
})

/** Somebody writes to the store, or the signal fires. */
function nextChange(
  store: Pick<Store, 'onChange'>,
  signal: AbortSignal | undefined,
): { readonly happened: Promise<void>; end(): void } {
  let tell = () => {}
  const happened = new Promise<void>(resolve => {
    tell = resolve
  })
  const unlisten = store.onChange(tell)
  signal?.addEventListener('abort', tell, { once: true })
  return {
    happened,
    end() {
      unlisten()
      signal?.removeEventListener('abort', tell)
    },
  }
}

/** Reserving and settling change nothing when they are said again, so they are said until it is known that they were written. */
async function surely(write: () => Promise<Updated>): Promise<Updated> {
  for (let tries = 1; ; tries++) {
    try {
      return await write()
    } catch (error) {
      if (!(error instanceof CommitUnknown) || tries >= UNKNOWNS_MAX) throw error
    }
  }
}

/** Amounts of the journal are whole; half a token is one. */
const whole = ({ cost, tokens, calls }: Spend): Spend => ({
  ...(cost === undefined ? {} : { cost }),
  ...(tokens === undefined ? {} : { tokens: Math.ceil(tokens) }),
  ...(calls === undefined ? {} : { calls: Math.ceil(calls) }),
})
