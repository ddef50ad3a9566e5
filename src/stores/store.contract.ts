// The contract of every store, tested against each real implementation.

import { appendingContract } from './contract/append.contract.ts'
import { feedingContract } from './contract/feed.contract.ts'
import type { Setup } from './contract/harness.contract.ts'
import { leasesContract } from './contract/leases.contract.ts'
import { listsContract } from './contract/lists.contract.ts'
import { memoriesContract } from './contract/memories.contract.ts'
import { onceContract } from './contract/once.contract.ts'
import { processesContract } from './contract/processes.contract.ts'
import { queriesContract } from './contract/queries.contract.ts'
import { reservationsContract } from './contract/reservations.contract.ts'
import { searchContract } from './contract/search.contract.ts'
import { besideContract } from './contract/side-tables.contract.ts'
import { stepsContract } from './contract/steps.contract.ts'
import { strangeTextContract } from './contract/strange-text.contract.ts'
import { upkeepContract } from './contract/upkeep.contract.ts'

export * from './contract/harness.contract.ts'

export function storeContract(what: string, setup: Setup): void {
  appendingContract(what, setup)
  processesContract(what, setup)
  queriesContract(what, setup)
  leasesContract(what, setup)
  besideContract(what, setup)
  reservationsContract(what, setup)
  feedingContract(what, setup)
  upkeepContract(what, setup)
  onceContract(what, setup)
  listsContract(what, setup)
  searchContract(what, setup)
  stepsContract(what, setup)
  strangeTextContract(what, setup)
  memoriesContract(what, setup)
}
