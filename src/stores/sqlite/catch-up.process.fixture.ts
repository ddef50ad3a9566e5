// A process that searches, or sets an item of memory, and is killed at a given commit: `catch-up.process.fixture.ts FOLDER POINT NTH [VALUE]`.

import { thisHost } from '../leases/host.ts'
import { StoreSqlite } from './store-sqlite.ts'

const [folder, point, nth, value] = process.argv.slice(2)
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
if (value === undefined) await store.search({ text: 'filler' })
else {
  const item = { scope: 'project', owner: '', key: 'k', at: 7, expiresAt: null, body: value } as const
  await store.memories.put(item, value)
}
await store.close()
