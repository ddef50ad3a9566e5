// A thread that renews a lease, so that a busy event loop does not lose its plans. Its program is a text, because it must start equally from
// dist/*.js and src/*.ts; it has its own module address, so that no package.json of the current folder affects it. It reads the machine's
// monotonic clock, which all threads and processes of one boot share. A stopped process stops its threads too; when it wakes up late, the
// renewal finds the lease expired and reports that.

import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'

/** `driver`: the package that it loads. It handles one row, so its limits are small. */
export function leaseThread(
  program: string,
  { driver, oldMb, ...data }: { readonly driver: string; readonly oldMb: number; readonly [name: string]: unknown },
  lost: () => void,
): { stop(): Promise<void> } {
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`), {
    workerData: { ...data, driver: createRequire(import.meta.url).resolve(driver) },
    resourceLimits: { maxYoungGenerationSizeMb: Math.floor(oldMb / 12), maxOldGenerationSizeMb: oldMb },
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
