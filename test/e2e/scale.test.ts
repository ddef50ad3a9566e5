// Thousands of tasks in one plan, through the real loop and the real store, with a runner that does nothing. How fast is the
// bench's question; that it comes to its end, and that the journal then proves itself, is ours. Ten thousand
// run in `npm run crash`.

import { randomBytes, randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { chain, fanOut } from '../../bench/candidates.ts'
import type { PlanDefinition } from '../../src/domain/plan.ts'
import { systemClock } from '../../src/engine/clock.ts'
import { EngineLocal } from '../../src/engine/engine-local.ts'
import { WorkerLocal } from '../../src/engine/loop/worker.ts'
import { trusted } from '../../src/engine/roles.ts'
import type { Rooms } from '../../src/engine/rooms.ts'
import { thisHost } from '../../src/stores/leases/host.ts'
import { StoreSqlite } from '../../src/stores/sqlite/store-sqlite.ts'
import { makeFolder } from '../crash/harness.ts'

const [CHAINED, TASKS] = process.env.PLANFOLD_CRASH === 'all' ? [10_000, 10_000] : [2_000, 5_000]
const CALLER = trusted('scale test')

let folder: string
beforeEach(() => {
  folder = makeFolder()
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function openRooms(): Promise<Rooms> {
  const unused = async () => {
    throw new Error('nothing here needs this')
  }
  return {
    store: await StoreSqlite.open({ folder, clock: systemClock, host: thisHost(process.pid), newId: randomUUID }),
    workspace: { capture: unused, restore: unused, changesSince: unused, compare: unused, merge: unused },
    runners: new Map([['run', { action: 'run', attempt: async () => ({ type: 'done', outputs: { answer: 42 } }) }]]),
    processes: { endOwner: unused, endAttempt: unused },
    clock: systemClock,
    random: randomBytes,
    root: folder,
    stateDir: folder,
    environment: {},
    leaseMs: 15_000,
    about: 'a test',
  }
}

async function runToTheEnd(definition: PlanDefinition): Promise<void> {
  const rooms = await openRooms()
  const engine = new EngineLocal(rooms, CALLER)
  const worker = new WorkerLocal(rooms)
  const made = await engine.submit(null, { type: 'create', definition })
  if (!made.ok) throw new Error(made.refusal.message)
  await engine.submit(made.plan, { type: 'start' })
  expect(await worker.drive(made.plan, { stop: new AbortController().signal })).toEqual({
    status: 'rested',
    rest: 'ended',
  })
  const summary = await engine.ask({ type: 'summary', plan: made.plan })
  const total = definition.tasks.length
  expect(summary).toMatchObject({ status: 'completed', progress: { done: total, total } })
  expect(await engine.ask({ type: 'check' })).toMatchObject({ ok: true, faults: [] })
  await worker.close()
  await engine.close()
}

test(`${CHAINED} tasks in a chain run to their end, and check is clean`, () => runToTheEnd(chain('long', CHAINED)))
test(`${TASKS} tasks fanned out from one and back to one run to their end, and check is clean`, () =>
  runToTheEnd(fanOut('wide', TASKS)))
