// Drives a plan whose only task keeps the event loop busy for BUSY_MS, without a single turn, under a lease of LEASE_MS. Made of
// the built package's rooms, because only a runner of our own can block the process that renews the lease.

import { randomBytes, randomUUID } from 'node:crypto'
import { pathToFileURL } from 'node:url'

const [folder] = process.argv.slice(2)
const dist = process.env.PLANFOLD_DIST ?? new URL('../../dist', import.meta.url).pathname
const room = path => import(pathToFileURL(`${dist}/${path}.js`).href)
const { systemClock } = await room('engine/clock')
const { StoreSqlite } = await room('stores/sqlite/store-sqlite')
const { thisHost } = await room('stores/host')
const { EngineLocal } = await room('engine/engine-local')
const { WorkerLocal } = await room('engine/worker')
const { processTree } = await room('runners/run/process-tree')

const runner = {
  action: 'run',
  async attempt() {
    process.stdout.write('busy\n')
    const until = performance.now() + Number(process.env.BUSY_MS)
    while (performance.now() < until);
    process.stdout.write('free\n')
    return { type: 'done' }
  },
}
const store = await StoreSqlite.open({ folder, clock: systemClock, host: thisHost(process.pid), newId: randomUUID })
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
const engine = new EngineLocal(rooms)
const worker = new WorkerLocal(rooms)
const tasks = [{ id: 'busy', effect: 'pure', action: { type: 'run', command: { argv: ['true'] } } }]
const made = await engine.submit(null, { type: 'create', definition: { name: 'busy', tasks } }, 'busy test')
await engine.submit(made.plan, { type: 'start' }, 'busy test')
const driven = await worker.drive(made.plan, { stop: new AbortController().signal })
process.stdout.write(`${JSON.stringify(driven)}\n`)
await worker.close()
await engine.close()
