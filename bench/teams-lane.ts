// Planfold on PostgreSQL in a process of its own, for `bench/peers/teams.mjs`: `teams-lane.js DATABASE`. Stays warm, and answers each
// message with how many milliseconds its steps took and how many calls it sent to the database.

import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PlanId } from '../src/domain/id.ts'
import type { PlanDefinition } from '../src/domain/plan.ts'
import { systemClock } from '../src/engine/clock.ts'
import { EngineLocal } from '../src/engine/engine-local.ts'
import { WorkerLocal } from '../src/engine/loop/worker.ts'
import { thisHost } from '../src/stores/leases/host.ts'
import { StorePostgres } from '../src/stores/postgres/store-postgres.ts'
import { BENCH, chain, fanOut, roomsOn } from './candidates.ts'

const PLANS_AT_ONCE = 16
const PLAN_STEPS = 10

const folder = mkdtempSync(join(tmpdir(), 'planfold-bench-teams-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const store = await StorePostgres.open({
  url: process.argv[2]!,
  folder,
  clock: systemClock,
  host: thisHost(process.pid),
  newId: randomUUID,
})
const rooms = roomsOn(store, folder)
const engine = new EngineLocal(rooms, BENCH)
const worker = new WorkerLocal(rooms)
let made = 0

async function make(definition: PlanDefinition): Promise<PlanId> {
  const plan = await engine.submit(null, { type: 'create', definition })
  if (!plan.ok) throw new Error(plan.refusal.message)
  await engine.submit(plan.plan, { type: 'start' })
  return plan.plan
}

async function drive(plan: PlanId): Promise<void> {
  await worker.drive(plan, { stop: new AbortController().signal })
  const summary = await engine.ask({ type: 'summary', plan })
  if (summary?.status !== 'completed') throw new Error(`not done: ${summary?.status}`)
}

async function run(shape: string, steps: number): Promise<{ readonly ms: number; readonly sent: number }> {
  const name = `${shape}-${++made}`
  // As in the other lane, plans of ten are made in the time that counts.
  const jobs =
    shape === 'many'
      ? Array.from({ length: steps / PLAN_STEPS }, (_, at) => () => make(chain(`${name}-${at}`, PLAN_STEPS)))
      : [await make(shape === 'chain' ? chain(name, steps) : fanOut(name, steps))].map(plan => async () => plan)
  const sent = store.transactions.sent
  const began = performance.now()
  await Promise.all(
    Array.from({ length: PLANS_AT_ONCE }, async () => {
      for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) await drive(await job())
    }),
  )
  return { ms: performance.now() - began, sent: store.transactions.sent - sent }
}

process.on('message', async ({ shape, steps }: { shape: string; steps: number }) => {
  process.send!(await run(shape, steps))
})
process.once('disconnect', () => process.exit(0))
process.send!('ready')
