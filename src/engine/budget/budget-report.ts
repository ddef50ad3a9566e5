// Answers `budget`: the accounts of a plan, and a forecast of the rest from its journal and those of recent plans.

import { type Amounts, addAmounts } from '../../domain/budget/amounts.ts'
import { budgetView } from '../../domain/budget/budget-view.ts'
import { forecast, type Sample, SampleReader } from '../../domain/budget/forecast.ts'
import type { PlanId } from '../../domain/id.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { StoreDamaged } from '../../stores/store.ts'
import type { BudgetReport } from '../queries.ts'
import type { Rooms } from '../rooms.ts'

const PLANS_MAX = 20
const ENTRIES_MAX = 2_000
const PAGE = 500

export async function budgetReport(
  rooms: Rooms,
  state: PlanState,
  { earlier }: { readonly earlier?: false | undefined },
): Promise<BudgetReport> {
  const open = new Map<string, Amounts>()
  const samples = [...(await samplesOf(rooms, state.id, open))]
  if (earlier !== false) {
    const { items } = await rooms.store.plans({ limit: PLANS_MAX + 1 })
    for (const { id } of items) if (id !== state.id) samples.push(...(await samplesOf(rooms, id)))
  }
  // Still reserved amounts are not spent; any other unsettled call was counted in full.
  const unseen = [...open].filter(([id]) => state.budget?.holds.has(id) !== true).map(([, amount]) => amount)
  const assumed = unseen.length === 0 ? {} : { assumed: unseen.reduce(addAmounts) }
  return { ...budgetView(state, rooms.clock.now()), ...assumed, forecast: forecast(state, samples) }
}

/** Unreadable plans are skipped. `open` receives calls that were not settled. */
async function samplesOf(
  { store }: Rooms,
  plan: PlanId,
  open = new Map<string, Amounts>(),
): Promise<readonly Sample[]> {
  const reader = new SampleReader()
  try {
    for (let after = 0; after < ENTRIES_MAX; ) {
      const page = await store.read(plan, { after, limit: PAGE })
      for (const event of page.flatMap(({ events }) => events)) {
        reader.read(event)
        if (event.type === 'budget.reserved') open.set(event.id, event.amount)
        if (event.type === 'budget.settled') open.delete(event.id)
      }
      if (page.length < PAGE) break
      after = page.at(-1)!.version
    }
  } catch (error) {
    if (!(error instanceof StoreDamaged)) throw error
  }
  return reader.samples
}
