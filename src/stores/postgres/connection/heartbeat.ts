// The thread that renews a lease in PostgreSQL, with its own connection. When the lease runs out is in memory that both threads share,
// because a busy event loop reads no messages either.

import { leaseThread } from '../../leases/lease-thread.ts'
import type { Heartbeat } from '../../leases/leases.ts'
import type { WorkingSet } from '../working-set.ts'

const PROGRAM = `
import { createRequire } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'
process.noDeprecation = true
const { Client } = createRequire(workerData.driver)(workerData.driver)
const { settings, id, leaseMs, shared } = workerData
const ends = new BigInt64Array(shared)
const monotonic = () => process.hrtime.bigint() / 1000000n
let client = null
let timer
let ended = false
async function connected() {
  if (client !== null) return client
  const fresh = new Client(settings)
  fresh.on('error', () => { client = null })
  await fresh.connect()
  client = fresh
  if (ended) await fresh.end()
  return fresh
}
async function beat() {
  // Counted from before it is sent.
  const now = monotonic()
  try {
    const { rows: [answer] } = await (await connected()).query('SELECT renew($1, $2, $3, $4) AS renewed',
      [id, String(now), String(now + BigInt(leaseMs)), leaseMs])
    if (!answer.renewed) return stop('lost')
    ends[0] = now + BigInt(leaseMs)
    if (!ended) timer = setTimeout(beat, leaseMs / 3)
  } catch {
    client = null
    if (ended) return
    if (ends[0] <= monotonic()) stop('lost')
    else timer = setTimeout(beat, leaseMs / 30)
  }
}
function stop(word) {
  if (ended) return
  ended = true
  clearTimeout(timer)
  client?.end().catch(() => {})
  parentPort.postMessage(word)
  parentPort.close()
}
parentPort.once('message', () => stop('stopped'))
beat()
`

export function threadHeartbeat(settings: Readonly<Record<string, unknown>>, set: WorkingSet): Heartbeat {
  return ({ id, leaseMs }, lost) => {
    const shared = new SharedArrayBuffer(8)
    const ends = new BigInt64Array(shared)
    ends[0] = BigInt(set.owners.get(id)?.expires ?? 0)
    set.beats.set(id, ends)
    const thread = leaseThread(PROGRAM, { driver: 'pg', oldMb: 24, settings, id, leaseMs, shared }, lost)
    return {
      async stop() {
        await thread.stop()
        set.beats.delete(id)
      },
    }
  }
}
