// A plan behind a gate, with real commands and real files: what it does is recorded outside the workspace by the command itself,
// so that whoever asks whether something was executed need not believe the engine.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { MemoryDisk } from '../../../sim/memory-store/memory-disk.ts'
import { StoreMemory } from '../../../sim/memory-store/store-memory.ts'
import type { Event, GateVerdict } from '../../domain/event.ts'
import type { Actor, PlanId, PlanName, TaskName } from '../../domain/id.ts'
import type { ActionType, PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { decideRunner } from '../../runners/decide/decide-runner.ts'
import { editRunner } from '../../runners/edit/edit-runner.ts'
import { processTree } from '../../runners/run/process-tree.ts'
import { runRunner } from '../../runners/run/run-runner.ts'
import type { Runner } from '../../runners/runner.ts'
import { openWorkspace } from '../../workspace/scope/scope-workspace.ts'
import { systemClock } from '../clock.ts'
import { EngineLocal } from '../engine-local.ts'
import { WorkerLocal } from '../loop/worker.ts'
import { trusted } from '../roles.ts'
import type { Rooms } from '../rooms.ts'

export const ANA = 'ana' as Actor

export interface Stage {
  readonly root: string
  readonly rooms: Rooms
  readonly engine: EngineLocal
  readonly plan: PlanId
  write(file: string, text: string): void
  drive(): Promise<void>
  /** What the commands did, line by line. */
  done(): readonly string[]
  state(): Promise<NonNullable<Awaited<ReturnType<Rooms['store']['state']>>>>
  asks(task: string): Promise<string | null>
  hash(task: string): Promise<string | null>
  decide(task: string, more?: { verdict?: GateVerdict; hash?: string; by?: string }): Promise<string>
  revise(change: (definition: PlanDefinition) => PlanDefinition): Promise<string>
  later(ms: number): void
  events(): Promise<readonly Event[]>
  /** Called once, when the turn is written that begins the task, and before it is carried out. */
  onBegun(task: string, act: () => void | Promise<void>): void
  close(): void
}

/** `$REC` in a text stands for the file the commands record themselves in. */
export async function stage(
  definition: { readonly tasks: readonly Partial<TaskDefinition>[] } & Partial<Omit<PlanDefinition, 'tasks'>>,
  files: { readonly [path: string]: string } = {},
): Promise<Stage> {
  const base = mkdtempSync(join(tmpdir(), 'planfold-consent-'))
  const root = join(base, 'work')
  const record = join(base, 'record')
  mkdirSync(root)
  let ids = 0
  let offset = 0
  const clock = { ...systemClock, now: () => systemClock.now() + offset }
  const host = { host: 'here', boot: 'boot', pids: 'pids', pid: 1, startTime: '1', isRunning: () => true }
  const store = new StoreMemory(new MemoryDisk(), { clock, host, newId: () => `id-${++ids}` })
  const tree = processTree()
  const stateDir = join(root, '.planfold')
  let begun: { readonly task: string; readonly act: () => void | Promise<void> } | null = null
  const update: typeof store.update = async (...args) => {
    const updated = await store.update(...args)
    const wanted = begun
    if (updated.ok && wanted !== null) {
      const isBegun = updated.events.some(event => event.type === 'attempt.started' && event.task === wanted.task)
      if (isBegun) {
        begun = null
        await wanted.act()
      }
    }
    return updated
  }
  const watched = new Proxy(store, {
    get: (target, key) => {
      if (key === 'update') return update
      const value = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const rooms: Rooms = {
    store: watched,
    workspace: openWorkspace({ root, stateDir, blobs: store.blobs, now: clock.now }),
    runners: new Map<ActionType, Runner>(
      [runRunner({ tree }), editRunner(), decideRunner()].map(runner => [runner.action, runner]),
    ),
    processes: tree,
    clock,
    random: bytes => new Uint8Array(bytes).map(() => Math.floor(Math.random() * 256)),
    root,
    stateDir,
    environment: { PATH: process.env.PATH ?? '', HOME: base },
    leaseMs: 60_000,
    about: 'a test',
  }
  const engine = new EngineLocal(rooms, trusted(ANA))
  const worker = new WorkerLocal(rooms)
  const write = (file: string, text: string): void => {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), text.replaceAll('$REC', record))
  }
  for (const [file, text] of Object.entries(files)) write(file, text)
  const made = await engine.submit(null, {
    type: 'create',
    definition: named({ name: 'plan' as PlanName, ...definition } as PlanDefinition, record),
  })
  if (!made.ok) throw new Error(made.refusal.message)
  const started = await engine.submit(made.plan, { type: 'start' })
  if (!started.ok) throw new Error(started.refusal.message)
  const { plan } = made
  const gateOf = async (task: string) => (await store.state(plan))?.tasks.get(task as TaskName)?.gate ?? null
  return {
    root,
    rooms,
    engine,
    plan,
    write,
    drive: async () => {
      const driven = await worker.drive(plan, { stop: new AbortController().signal })
      if (driven.status !== 'rested') throw new Error(`it ${driven.status}`)
    },
    done: () =>
      existsSync(record)
        ? readFileSync(record, 'utf8')
            .split('\n')
            .filter(line => line !== '')
        : [],
    state: async () => (await store.state(plan))!,
    asks: async task => (await gateOf(task))?.asks.type ?? null,
    hash: async task => (await gateOf(task))?.hash ?? null,
    decide: async (task, { verdict = 'approved', hash, by = ANA } = {}) => {
      const order = { type: 'decide', task: task as TaskName, verdict, rationale: 'said so' } as const
      const said = hash === undefined ? order : { ...order, hash: hash as never }
      const submitted = await engine.as(by as Actor).submit(plan, said)
      return submitted.ok ? 'ok' : submitted.refusal.code
    },
    revise: async change => {
      const state = (await store.state(plan))!
      const submitted = await engine.submit(plan, {
        type: 'revise',
        definition: named(change(state.definition), record),
        rationale: 'another',
      })
      return submitted.ok ? 'ok' : submitted.refusal.message
    },
    later: ms => {
      offset += ms
    },
    events: async () => {
      const entries = (await engine.ask({ type: 'entries', plan, limit: 1_000 })) ?? []
      return entries.flatMap(entry => entry.events)
    },
    onBegun: (task, act) => {
      begun = { task, act }
    },
    close: () => rmSync(base, { recursive: true, force: true }),
  }
}

const named = (definition: PlanDefinition, record: string): PlanDefinition =>
  JSON.parse(JSON.stringify(definition).replaceAll('$REC', record)) as PlanDefinition

export const changed =
  (task: string, change: (definition: TaskDefinition) => Partial<TaskDefinition>) =>
  (definition: PlanDefinition): PlanDefinition => ({
    ...definition,
    tasks: definition.tasks.map(one => (one.id === task ? { ...one, ...change(one) } : one)),
  })

export const gate = (id: string, more: object = {}): Partial<TaskDefinition> => ({
  id: id as TaskName,
  action: { type: 'gate', gate: 'approval', ...more },
})

export const run = (id: string, argv: readonly string[], more: object = {}): Partial<TaskDefinition> => ({
  id: id as TaskName,
  action: { type: 'run', command: { argv } },
  ...more,
})
