// Answers `budget`: the accounts of a plan, and a forecast of the rest from its own journal and those of the last plans before it.

import { budgetView } from '../../domain/budget/budget-view.ts'
import { forecast, type Sample, SampleReader } from '../../domain/budget/forecast.ts'
import type { PlanId } from '../../domain/id.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { StoreDamaged } from '../../stores/store.ts'
import type { BudgetReport } from '../queries.ts'
import type { Rooms } from '../rooms.ts'

/** So many other plans are looked at, and so many entries of each. */
const PLANS_MAX = 20
const ENTRIES_MAX = 2_000
const PAGE = 500

/** `earlier: false`: only by what this plan did. */
export async function budgetReport(
  rooms: Rooms,
  state: PlanState,
  { earlier }: { readonly earlier?: false | undefined },
): Promise<BudgetReport> {
  const samples = [...(await samplesOf(rooms, state.id))]
  if (earlier !== false) {
    const { items } = await rooms.store.plans({ limit: PLANS_MAX + 1 })
    for (const { id } of items) if (id !== state.id) samples.push(...(await samplesOf(rooms, id)))
  }
  return { ...budgetView(state, rooms.clock.now()), forecast: forecast(state, samples) }
}

/** A plan that cannot be read teaches nothing. */
async function samplesOf({ store }: Rooms, plan: PlanId): Promise<readonly Sample[]> {
  const reader = new SampleReader()
  try {
    for (let after = 0; after < ENTRIES_MAX; ) {
      const page = await store.read(plan, { after, limit: PAGE })
      for (const { events } of page) for (const event of events) reader.read(event)
      if (page.length < PAGE) break
      after = page.at(-1)!.version
    }
  } catch (error) {
    if (!(error instanceof StoreDamaged)) throw error
  }
  return reader.samples
}
