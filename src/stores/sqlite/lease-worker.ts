// The thread that renews a lease in SQLite, with its own connection. A renewal need not survive a power failure, after which the boot is
// another one anyway, so this connection alone does not sync its commits.

import { leaseThread } from '../leases/lease-thread.ts'
import type { Heartbeat } from '../leases/leases.ts'

const PROGRAM = `
import { createRequire } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'
const { DatabaseSync } = createRequire(workerData.driver)(workerData.driver)
const database = new DatabaseSync(workerData.path, { timeout: 0, defensive: true })
database.exec('PRAGMA synchronous = NORMAL')
const renew = database.prepare('UPDATE owners SET expires = ?, until = ? WHERE id = ? AND expires > ?')
const monotonic = () => Number(process.hrtime.bigint() / 1000000n)
let timer
function beat() {
  let renewed
  try {
    const now = monotonic()
    renewed = renew.run(now + workerData.leaseMs, Date.now() + workerData.leaseMs, workerData.id, now).changes > 0
  } catch (error) {
    // The store is locked or the disk is full: the lease may still hold. A busy writer leaves only short gaps between its
    // commits, so they must be looked for often.
    timer = setTimeout(beat, 1)
    return
  }
  if (renewed) timer = setTimeout(beat, workerData.leaseMs / 3)
  else stop('lost')
}
function stop(word) {
  clearTimeout(timer)
  database.close()
  parentPort.postMessage(word)
  parentPort.close()
}
parentPort.once('message', () => stop('stopped'))
beat()
`

export const threadHeartbeat =
  (path: string): Heartbeat =>
  ({ id, leaseMs }, lost) =>
    leaseThread(PROGRAM, { driver: '@photostructure/sqlite', oldMb: 16, path, id, leaseMs }, lost)
