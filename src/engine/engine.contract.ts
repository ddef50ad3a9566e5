// What every Engine must do, in this process or over a wire. Run against EngineLocal and against the client of a real service.

import { buildingContract } from './contract/build.contract.ts'
import { deliveryContract } from './contract/delivery.contract.ts'
import type { Setup } from './contract/harness.contract.ts'
import { peopleContract } from './contract/people.contract.ts'
import { queriesContract } from './contract/queries.contract.ts'
import { workContract } from './contract/work.contract.ts'

export * from './contract/harness.contract.ts'

export function engineContract(what: string, setup: Setup): void {
  buildingContract(what, setup)
  workContract(what, setup)
  peopleContract(what, setup)
  queriesContract(what, setup)
  deliveryContract(what, setup)
}
