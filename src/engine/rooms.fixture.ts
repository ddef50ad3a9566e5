// Rooms for tests of the engine: a store in memory, a runner that does what the test says, a workspace that notes what it is
// asked. Everything else is real.

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MemoryDisk } from '../../sim/memory-store/memory-disk.ts'
import { type Faults, StoreMemory } from '../../sim/memory-store/store-memory.ts'
import type { Actor, PlanId, PlanName, Sha256, TaskName } from '../domain/id.ts'
import type { ActionType, PlanDefinition, TaskDefinition } from '../domain/plan.ts'
import { QueueLocal } from '../queues/local.ts'
import { decideRunner } from '../runners/decide/decide-runner.ts'
import type { Attempt, Outcome, Runner, RunnerTools } from '../runners/runner.ts'
import { systemClock } from './clock.ts'
import { EngineLocal } from './engine-local.ts'
import { WorkerLocal } from './loop/worker.ts'
import { trusted } from './roles.ts'
import type { Rooms } from './rooms.ts'

export type Script = (attempt: Attempt, tools: RunnerTools, signal: AbortSignal) => Promise<Outcome>

export const ME = 'me' as Actor
export const exited = (exit: number, stdout = '', stderr = ''): Outcome => ({
  type: 'exited',
  exit,
  signal: null,
  timedOut: false,
  stdout,
  stderr,
  truncated: false,
})

/** On a disk that another stands on as well, it is another process. */
export function setup(
  script: Script = async () => exited(0),
  faults: Faults = {},
  disk = new MemoryDisk(),
  now = () => systemClock.now(),
) {
  const clock = { ...systemClock, now }
  let ids = 0
  const dead = new Set<number>()
  const host = {
    host: 'here',
    boot: 'boot',
    pids: 'pids',
    pid: 1,
    startTime: '1',
    isRunning: (pid: number) => !dead.has(pid),
  }
  const store = new StoreMemory(disk, { clock, host, newId: () => `id-${++ids}`, faults })
  const attempts: Attempt[] = []
  const asked: string[] = []
  const run: Runner = {
    action: 'run',
    attempt: async (attempt, tools, stop) => {
      attempts.push(attempt)
      return await script(attempt, tools, stop.signal)
    },
  }
  const root = mkdtempSync(join(tmpdir(), 'planfold-engine-'))
  const rooms: Rooms = {
    store,
    workspace: {
      capture: async patterns => {
        asked.push(`capture ${patterns.join(' ')}`)
        return { ok: true, manifest: MANIFEST, files: 0, bytes: 0, left: [] }
      },
      restore: async () => {
        asked.push('restore')
        return { ok: true, saved: SAVED, changed: ['a'], manifest: MANIFEST, left: [] }
      },
      changesSince: async () => ({ ok: true, changes: [], left: [], changedAt: new Map() }),
      compare: async () => ({ ok: true, changes: [], left: [] }),
      merge: async () => null,
    },
    runners: new Map<ActionType, Runner>([
      ['run', run],
      ['decide', decideRunner()],
    ]),
    processes: {
      endOwner: async () => ({ ended: 0, left: [] }) as never,
      endAttempt: async () => ({ ended: 0, left: [] }) as never,
    },
    clock,
    random: bytes => new Uint8Array(bytes).map(() => Math.floor(Math.random() * 256)),
    root,
    stateDir: join(root, '.planfold'),
    environment: {},
    leaseMs: 60_000,
    queue: everyMs => new QueueLocal({ store, clock: systemClock, everyMs }),
    about: 'a test',
  }
  const engine = new EngineLocal(rooms, trusted(ME))
  const worker = new WorkerLocal(rooms)
  return {
    rooms,
    engine,
    worker,
    attempts,
    asked,
    disk,
    /** From now on the process with this pid is gone. */
    kill: (pid: number) => void dead.add(pid),
    /** Creates and starts a plan. */
    async plan(...tasks: readonly Partial<TaskDefinition>[]): Promise<PlanId> {
      return await this.define({ tasks: tasks as TaskDefinition[] })
    },
    async define(definition: Partial<PlanDefinition>): Promise<PlanId> {
      const tasks = (definition.tasks ?? []).map(
        task => Object.assign({ action: { type: 'run', command: { argv: ['true'] } } }, task) as TaskDefinition,
      )
      const made = await engine.submit(null, {
        type: 'create',
        definition: { name: 'plan' as PlanName, ...definition, tasks },
      })
      if (!made.ok) throw new Error(made.refusal.message)
      const started = await engine.submit(made.plan, { type: 'start' })
      if (!started.ok) throw new Error(started.refusal.message)
      return made.plan
    },
    async drive(plan: PlanId) {
      return await worker.drive(plan, { stop: new AbortController().signal })
    },
    async statuses(plan: PlanId): Promise<Record<string, string>> {
      const cards = (await engine.ask({ type: 'board', plan })) ?? []
      const summary = await engine.ask({ type: 'summary', plan })
      return { plan: summary?.status ?? 'none', ...Object.fromEntries(cards.map(card => [card.name, card.status])) }
    },
    async events(plan: PlanId) {
      const entries = (await engine.ask({ type: 'entries', plan, limit: 500 })) ?? []
      return entries.flatMap(entry => entry.events)
    },
  }
}

export const MANIFEST = 'a'.repeat(64) as Sha256
export const SAVED = 'b'.repeat(64) as Sha256
export const name = (text: string) => text as TaskName

/** Never ends by itself; says when it has begun. */
export function untilStopped(): { readonly script: Script; readonly begun: Promise<void> } {
  let begin = () => {}
  const begun = new Promise<void>(resolve => {
    begin = resolve
  })
  return {
    begun,
    script: (_attempt, _tools, signal) =>
      new Promise(resolve => {
        begin()
        signal.addEventListener('abort', () => resolve({ type: 'interrupted' }), { once: true })
      }),
  }
}
