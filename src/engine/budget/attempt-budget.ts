// Charges an attempt's calls to the budgets around it: reserves before a call, settles after it. Both are commands of the plan, decided in
// the store's transaction, so that two processes can never both take the last of it. If a plan is run by a task of another plan, both are
// charged.

import type { Spend } from '../../domain/budget/amounts.ts'
import { BUDGET_CODE, isCounted } from '../../domain/budget/budget-rules.ts'
import { amountLeft, largeAbove } from '../../domain/budget/judge-spend.ts'
import { newLedger } from '../../domain/budget/ledger.ts'
import type { Visit } from '../../domain/budget/visit-caps.ts'
import type { AttemptOf } from '../../domain/event.ts'
import type { Actor, PlanId } from '../../domain/id.ts'
import type { Failure } from '../../domain/result.ts'
import type { PlanState } from '../../domain/state/state.ts'
import type { AttemptBudget, Reserved, ReserveOptions } from '../../runners/runner.ts'
import { CommitUnknown, type Store, type Updated } from '../../stores/store.ts'
import { enclosingTask } from '../files/scope-reservation.ts'
import type { Rooms } from '../rooms.ts'

const ENGINE = 'engine' as Actor

export interface Spender extends AttemptOf {
  readonly plan: PlanId
  /** One of several tries, which reserve side by side. */
  readonly tried?: string
}

const UNKNOWNS_MAX = 5

export function attemptBudget(
  rooms: Pick<Rooms, 'store' | 'environment'>,
  state: PlanState,
  spender: Spender,
): AttemptBudget {
  const { store } = rooms
  const own = account(store, spender)
  let calls = 0
  /** Reservations of this plan; none if nothing limits the call. */
  const counted = new Set<string>()
  /** By the id of our reservation: that of the outer plan, whose task runs this process. */
  const outer = new Map<string, { readonly account: Paying; readonly id: string }>()
  const payer = async (): Promise<Paying | null> => {
    if (rooms.environment.PLANFOLD_KEY === undefined) return null
    const found = await enclosingTask(rooms)
    if (found === null || found.state.budget === null || found.state.id === spender.plan) return null
    const { id } = found.task.definition
    return account(store, { plan: found.state.id, task: id, visit: found.task.visit, attempt: found.task.attempt })
  }
  return {
    async reserve(spend, options = {}) {
      const id = `${keyOf(spender)}#${++calls}`
      const settings = await options.settings?.()
      // The common case: nothing is counted, and no approval is needed.
      const isFree = !isCounted(state, spender.task, settings) && (spend.cost ?? 0) <= largeAbove(state, spender.task)
      if (!isFree) counted.add(id)
      const held = isFree ? ({ ok: true, id, granted: spend } as const) : await own.reserve(id, spend, options)
      const paying = held.ok ? await payer() : null
      if (!held.ok || paying === null) return held
      const outside = { account: paying, id: `${paying.key}#${spender.plan}/${id}` }
      const { settings: _, ...others } = options
      const paid = await paying.reserve(outside.id, held.granted, others)
      if (paid.ok) {
        outer.set(id, outside)
        return { ...held, granted: paid.granted }
      }
      if (!isFree) await own.settle(id, {})
      return paid
    },
    async settle(id, actual) {
      const outside = outer.get(id)
      outer.delete(id)
      if (counted.delete(id)) await own.settle(id, actual)
      await outside?.account.settle(outside.id, actual)
    },
  }
}

interface Paying {
  readonly key: string
  reserve(id: string, spend: Spend, options: ReserveOptions): Promise<Reserved>
  settle(id: string, actual: Spend): Promise<void>
}

function account(store: Pick<Store, 'state' | 'update' | 'onChange'>, spender: Spender): Paying {
  const { plan, task, visit, attempt } = spender
  const update = (command: Parameters<Store['update']>[1]) =>
    untilWritten(() => store.update(plan, command, { actor: ENGINE }))
  return {
    key: keyOf(spender),
    async reserve(id, spend, options) {
      let granted = spend
      const reserved = await reserve(store, options, id, async () => {
        const { least } = options
        const settings = await options.settings?.()
        const state = least === undefined ? null : await store.state(plan)
        granted =
          least === undefined || state === null ? spend : shrunkToBudget(spend, least, state, { task, visit, settings })
        const withSettings = settings === undefined ? {} : { settings }
        return await update({ type: 'reserve', id, task, visit, attempt, spend: whole(granted), ...withSettings })
      })
      return reserved.ok ? { ...reserved, granted } : reserved
    },
    async settle(id, actual) {
      // A reservation that cannot be settled now counts as spent in full when the attempt ends.
      await update({ type: 'settle', id, actual: whole(actual) }).catch(() => {})
    },
  }
}

const keyOf = ({ task, visit, attempt, tried }: Spender): string =>
  `${task}/${visit}/${attempt}${tried === undefined ? '' : `~${tried}`}`

async function reserve(
  store: Pick<Store, 'onChange'>,
  { signal, wait = 'person' }: ReserveOptions,
  id: string,
  ask: () => Promise<Updated>,
): Promise<{ readonly ok: true; readonly id: string } | Extract<Reserved, { readonly ok: false }>> {
  for (;;) {
    if (signal?.aborted === true) return no('stopped', 'stopped while it waited for budget')
    // Subscribed before the question is asked, so that no change is missed.
    const change = nextChange(store, signal)
    try {
      const updated = await ask()
      if (!updated.ok) return no('refused', updated.refusal.message, updated.refusal.hint)
      const { budget, questions, overBudget, reason } = updated.state
      if (budget === null || budget.holds.has(id)) return { ok: true, id }
      const asked = questions.find(one => one.budget !== undefined)
      // If the settings forbid more, nobody is asked, and the plan rests.
      const why = asked?.text ?? (overBudget ? reason : null)
      if (why !== null && wait === 'others') return no('asked', why)
      await change.happened
    } finally {
      change.end()
    }
  }
}

/** As much of a call as is left now, and no more than may be spent without asking a person; at least `least`. */
function shrunkToBudget(spend: Spend, least: Spend, state: PlanState, visit: Visit): Spend {
  const { task } = visit
  const budget = state.budget ?? newLedger()
  const large = Math.max(largeAbove(state, task), budget.large.get(task) ?? 0)
  const cost = Math.min(large, amountLeft(state, budget, task, 'cost', visit) ?? large)
  const tokens = amountLeft(state, budget, task, 'tokens', visit)
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

/** Reserve and settle are idempotent, so they are repeated until they are known to be written. */
export async function untilWritten(write: () => Promise<Updated>): Promise<Updated> {
  for (let tries = 1; ; tries++) {
    try {
      return await write()
    } catch (error) {
      if (!(error instanceof CommitUnknown) || tries >= UNKNOWNS_MAX) throw error
    }
  }
}

/** Amounts in the journal are whole numbers, rounded up. */
const whole = ({ cost, tokens, calls }: Spend): Spend => ({
  ...(cost === undefined ? {} : { cost }),
  ...(tokens === undefined ? {} : { tokens: Math.ceil(tokens) }),
  ...(calls === undefined ? {} : { calls: Math.ceil(calls) }),
})
