// What a plan demands and how each demand was judged, from its journal.

import type { PlanId } from '../domain/id.ts'
import { type Contract, contractOf } from '../domain/views/contract.ts'
import { wholeJournal } from './proving.ts'
import type { Rooms } from './rooms.ts'

export async function contract({ store }: Rooms, plan: PlanId): Promise<Contract> {
  return contractOf(await wholeJournal(store, plan))
}
