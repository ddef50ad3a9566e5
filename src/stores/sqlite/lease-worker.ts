// Renews a lease in its own thread with its own connection, so that a busy event loop does not lose its plans. The program of the thread is
// a text, because it must start equally from dist/*.js and src/*.ts; it has its own module address, so that no package.json of the current
// folder affects it. It reads the machine's monotonic clock, which all threads and processes of one boot share. A stopped process stops its
// threads too; when it wakes up late, the renewal finds the lease expired and reports that. A renewal need not survive a power failure,
// after which the boot is another one anyway, so this connection alone does not sync its commits.

import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
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

/** Small limits, because it handles one row. */
const SMALL = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 }

export function threadHeartbeat(path: string): Heartbeat {
  const driver = createRequire(import.meta.url).resolve('@photostructure/sqlite')
  return ({ id, leaseMs }, lost) => {
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(PROGRAM)}`), {
      workerData: { driver, path, id, leaseMs },
      resourceLimits: SMALL,
    })
    let stopping = false
    const ended = new Promise<void>(resolve => worker.once('exit', () => resolve()))
    worker.on('message', word => word === 'lost' && lost())
    // A thread that cannot renew counts as a lost lease; the fence protects other processes meanwhile.
    worker.on('error', () => stopping || lost())
    worker.unref()
    return {
      async stop() {
        stopping = true
        worker.ref()
        worker.postMessage('stop')
        await ended
      },
    }
  }
}
