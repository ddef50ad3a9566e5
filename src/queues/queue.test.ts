import { setup } from '../stores/sqlite/store-sqlite.fixture.ts'
import { QueueLocal } from './local.ts'
import { queueContract } from './queue.contract.ts'

queueContract('local', {
  setup: async () => setup() as never,
  queueOf: (store, clock) => new QueueLocal({ store, clock, everyMs: 5_000 }),
})
