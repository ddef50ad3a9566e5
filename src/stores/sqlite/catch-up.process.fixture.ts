// A process that searches and is killed at a given commit: `catch-up.process.fixture.ts FOLDER POINT NTH`.

import { thisHost } from '../leases/host.ts'
import { StoreSqlite } from './store-sqlite.ts'

const [folder, point, nth] = process.argv.slice(2)
let passed = 0
const store = await StoreSqlite.open({
  folder: folder!,
  clock: { now: () => Date.now(), monotonic: () => performance.now() },
  host: thisHost(process.pid),
  newId: () => 'x',
  heartbeat: 'manual',
  failpoint: at => {
    if (at === point && ++passed === Number(nth)) process.kill(process.pid, 'SIGKILL')
  },
})
await store.search({ text: 'filler' })
await store.close()
