// Drives a plan under a lease of LEASE_MS whose only task keeps the event loop for BUSY_MS, without a single turn; or, with
// UNTIL=FILE, waits for a file while nobody renews the lease and nothing tells that it is lost. Made of the built package's
// rooms, because only a runner and a store of our own can do that.

import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const [folder] = process.argv.slice(2)
const file = process.env.UNTIL
const dist = process.env.PLANFOLD_DIST ?? new URL('../../dist', import.meta.url).pathname
const room = path => import(pathToFileURL(`${dist}/${path}.js`).href)
const { systemClock } = await room('engine/clock')
const { StoreSqlite } = await room('stores/sqlite/store-sqlite')
const { thisHost } = await room('stores/leases/host')
const { EngineLocal } = await room('engine/engine-local')
const { trusted } = await room('engine/roles')
const { WorkerLocal } = await room('engine/loop/worker')
const { processTree } = await room('runners/run/process-tree')

const runner = {
  action: 'run',
  async attempt() {
    process.stdout.write('busy\n')
    while (file !== undefined && !existsSync(file)) await setTimeout(5)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(process.env.BUSY_MS ?? 0))
    process.stdout.write('free\n')
    return { type: 'done' }
  },
}
const store = await StoreSqlite.open({
  folder,
  clock: systemClock,
  host: thisHost(process.pid),
  newId: randomUUID,
  heartbeat: file === undefined ? 'thread' : 'manual',
})
const rooms = {
  store,
  runners: new Map([['run', runner]]),
  processes: processTree(),
  clock: systemClock,
  random: randomBytes,
  root: folder,
  stateDir: folder,
  environment: {},
  leaseMs: Number(process.env.LEASE_MS),
}
const engine = new EngineLocal(rooms, trusted('busy test'))
const worker = new WorkerLocal(rooms)
const tasks = [{ id: 'busy', effect: 'pure', action: { type: 'run', command: { argv: ['true'] } } }]
const made = await engine.submit(null, { type: 'create', definition: { name: 'busy', tasks } })
await engine.submit(made.plan, { type: 'start' })
const driven = await worker.drive(made.plan, { stop: new AbortController().signal })
process.stdout.write(`${JSON.stringify(driven)}\n`)
await worker.close()
await engine.close()
