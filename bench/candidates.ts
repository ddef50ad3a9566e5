// What is measured, one candidate per process: the real loop on the real SQLite store with a runner that does nothing, and raw
// SQLite doing the least any durable engine could do. Prints one line of JSON with what it measured of itself.

import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import type { PlanId, PlanName, TaskName } from '../src/domain/id.ts'
import type { ActionType, PlanDefinition, TaskDefinition } from '../src/domain/plan.ts'
import { systemClock } from '../src/engine/clock.ts'
import { EngineLocal } from '../src/engine/engine-local.ts'
import { WorkerLocal } from '../src/engine/loop/worker.ts'
import { trusted } from '../src/engine/roles.ts'
import type { Rooms } from '../src/engine/rooms.ts'
import type { Runner } from '../src/runners/runner.ts'
import { thisHost } from '../src/stores/leases/host.ts'
import { StoreSqlite } from '../src/stores/sqlite/store-sqlite.ts'
import type { Store } from '../src/stores/store.ts'

export const BENCH = trusted('bench')
/** So many steps, in plans of so many, are run before anything is measured, until the code is compiled as it will be for hours. */
export const WARM = 16_000
export const WARM_PLAN = 2_000
export const RESULT = { answer: 42, text: 'x'.repeat(70) }

/** Ends at once, asynchronously, with about a hundred bytes of JSON. */
const noop: Runner = {
  action: 'run',
  attempt: async () => {
    if (++ran % 500 === 0) {
      const { user, system } = process.cpuUsage()
      samples.push({ done: ran, micros: user + system })
    }
    return { type: 'done', outputs: RESULT }
  },
}
let ran = 0
const samples: { done: number; micros: number }[] = []

export async function openRooms(folder: string): Promise<Rooms> {
  return roomsOn(
    await StoreSqlite.open({ folder, clock: systemClock, host: thisHost(process.pid), newId: randomUUID }),
    folder,
  )
}

export function roomsOn(store: Store, folder: string): Rooms {
  return {
    store,
    workspace: { capture: unused, restore: unused },
    runners: new Map<ActionType, Runner>([['run', noop]]),
    processes: { endOwner: unused, endAttempt: unused },
    clock: systemClock,
    random: randomBytes,
    root: folder,
    stateDir: folder,
    environment: {},
    leaseMs: 15_000,
    about: 'the benchmark',
  } as unknown as Rooms
}

const unused = async () => {
  throw new Error('the benchmark runs nothing that needs this')
}

export function chain(name: string, tasks: number): PlanDefinition {
  return {
    name: name as PlanName,
    tasks: Array.from({ length: tasks }, (_, at) => task(`t${at}`, at === 0 ? [] : [`t${at - 1}`])),
  }
}

export function fanOut(name: string, tasks: number): PlanDefinition {
  const wide = Array.from({ length: tasks }, (_, at) => `t${at}`)
  return {
    name: name as PlanName,
    concurrency: 64,
    tasks: [task('first', []), ...wide.map(id => task(id, ['first'])), task('last', wide)],
  }
}

function task(id: string, needs: readonly string[]): TaskDefinition {
  return {
    id: id as TaskName,
    ...(needs.length === 0 ? {} : { needs: needs as TaskName[] }),
    action: { type: 'run', command: { argv: ['true'] } },
  }
}

export async function planfold(shape: string, tasks: number, keep?: string): Promise<Record<string, unknown>> {
  const fresh = shape.endsWith('-fresh')
  if (fresh) await planfold('chain', 1)
  const folder = keep ?? mkdtempSync(join(tmpdir(), 'planfold-bench-'))
  const rooms = await openRooms(folder)
  const engine = new EngineLocal(rooms, BENCH)
  const worker = new WorkerLocal(rooms)
  const make = async (definition: PlanDefinition): Promise<PlanId> => {
    const made = await engine.submit(null, { type: 'create', definition })
    if (!made.ok) throw new Error(made.refusal.message)
    const started = await engine.submit(made.plan, { type: 'start' })
    if (!started.ok) throw new Error(started.refusal.message)
    return made.plan
  }
  const drive = async (plan: PlanId) => {
    const driven = await worker.drive(plan, { stop: new AbortController().signal })
    const summary = await engine.ask({ type: 'summary', plan })
    if (driven.status !== 'rested' || summary?.status !== 'completed')
      throw new Error(`not done: ${JSON.stringify({ driven, status: summary?.status })}`)
  }
  // On a fresh database only the code is warm, from a run on another; else the write-ahead log is too.
  if (!fresh) for (let at = 0; at < WARM / WARM_PLAN; at++) await drive(await make(chain(`warm-${at}`, WARM_PLAN)))
  const sizeBefore = bytesOf(folder)
  const kind = shape.replace('-fresh', '')
  const plans =
    kind === 'many'
      ? await Promise.all(Array.from({ length: tasks / 10 }, (_, at) => make(chain(`many-${at}`, 10))))
      : [await make(kind === 'fan-out' ? fanOut('measured', tasks) : chain('measured', tasks))]
  const ticks: number[] = []
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    ticks.push(now - last)
    last = now
  }, 10)
  const before = ran
  const cpu = process.cpuUsage()
  const began = performance.now()
  const queue = [...plans]
  await Promise.all(
    Array.from({ length: kind === 'many' ? 16 : 1 }, async () => {
      for (let plan = queue.pop(); plan !== undefined; plan = queue.pop()) await drive(plan)
    }),
  )
  const seconds = (performance.now() - began) / 1_000
  const used = process.cpuUsage(cpu)
  clearInterval(timer)
  ticks.sort((a, b) => a - b)
  const answer = {
    shape,
    tasks,
    perSecond: Math.round(tasks / seconds),
    cpuMicros: Math.round((used.user + used.system) / tasks),
    rssMb: Math.round(process.memoryUsage().rss / 1e6),
    timerP50: round(ticks[Math.floor(ticks.length / 2)] ?? 0),
    timerMax: round(ticks.at(-1) ?? 0),
    growth: kind === 'chain' ? growthOf(before) : null,
    bytesPerTask: Math.round((bytesOf(folder) - sizeBefore) / tasks),
  }
  await worker.close()
  await engine.close()
  if (keep === undefined) rmSync(folder, { recursive: true, force: true })
  return answer
}

/** CPU per task around the 1,000th and at the end, counted by the runner itself. */
function growthOf(since: number): { early: number; late: number } | null {
  const taken = samples
    .filter(sample => sample.done > since)
    .map(({ done, micros }) => ({ done: done - since, micros }))
  const between = (from: number, to: number): number | null => {
    const a = taken.find(sample => sample.done >= from)
    const b = taken.findLast(sample => sample.done <= to)
    return a === undefined || b === undefined || b.done <= a.done ? null : (b.micros - a.micros) / (b.done - a.done)
  }
  const end = taken.at(-1)?.done ?? 0
  const early = between(1_000, 3_000)
  const late = between(end - 2_000, end)
  return early === null || late === null || end < 6_000 ? null : { early: round(early), late: round(late) }
}

/**
 * The least any durable engine must do: carry out the step, and write its name, its time and what came of it as one row in one
 * synchronous commit (of 64 steps at once where steps are parallel).
 */
export async function raw(shape: string, steps: number): Promise<Record<string, unknown>> {
  const folder = mkdtempSync(join(tmpdir(), 'planfold-bench-raw-'))
  const { step, close } = rawSteps(folder)
  if (!shape.endsWith('-fresh')) await step(WARM, 1)
  const began = performance.now()
  await step(steps, shape.startsWith('fan-out') || shape.startsWith('many') ? 64 : 1)
  const seconds = (performance.now() - began) / 1_000
  close()
  rmSync(folder, { recursive: true, force: true })
  return { shape: `raw ${shape}`, tasks: steps, perSecond: Math.round(steps / seconds) }
}

/** So many steps, so many in one commit. */
export function rawSteps(folder: string): { step(count: number, group: number): Promise<void>; close(): void } {
  const db = new DatabaseSync(join(folder, 'raw.db'))
  db.exec(
    `PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
    CREATE TABLE steps (no INTEGER PRIMARY KEY, plan INTEGER, step TEXT, at INTEGER, body TEXT)`,
  )
  const insert = db.prepare('INSERT INTO steps (plan, step, at, body) VALUES (?, ?, ?, ?)')
  const [begin, commit] = [db.prepare('BEGIN IMMEDIATE'), db.prepare('COMMIT')]
  const noop = async () => RESULT
  const step = async (count: number, group: number) => {
    for (let at = 0; at < count; at += group) {
      const results = group === 1 ? [await noop()] : await Promise.all(Array.from({ length: group }, noop))
      begin.run()
      for (const [one, result] of results.entries()) insert.run(1, `t${at + one}`, Date.now(), JSON.stringify(result))
      commit.run()
    }
  }
  return { step, close: () => db.close() }
}

function bytesOf(folder: string): number {
  return ['planfold.db', 'planfold.db-wal'].reduce(
    (sum, name) => sum + (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  )
}

const round = (value: number): number => Math.round(value * 10) / 10
