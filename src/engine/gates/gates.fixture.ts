// A real store in a folder of its own, with time moved by hand: whoever waits for a time is called when it is reached, and nobody
// sleeps. Several engines may stand on the same store, each with a connection of its own.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Event } from '../../domain/event.ts'
import type { Actor, PlanId, PlanName } from '../../domain/id.ts'
import type { ActionType, PlanDefinition } from '../../domain/plan.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { decideRunner } from '../../runners/decide/decide-runner.ts'
import type { Runner } from '../../runners/runner.ts'
import { StoreSqlite } from '../../stores/sqlite/store-sqlite.ts'
import { fakeHost } from '../../stores/store.contract.ts'
import { EPOCH } from '../../testing/index.ts'
import { openWorkspace } from '../../workspace/scope/scope-workspace.ts'
import type { Clock } from '../clock.ts'
import { EngineLocal } from '../engine-local.ts'
import { WorkerLocal } from '../loop/worker.ts'
import { trusted } from '../roles.ts'
import { exited, type Script } from '../rooms.fixture.ts'
import type { Rooms } from '../rooms.ts'

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE

/** Wall and monotonic time and timers, moved together by hand. */
export class ClockByHand implements Clock {
  #now = EPOCH
  readonly #timers = new Set<{ readonly at: number; readonly callback: () => void }>()

  now = (): number => this.#now
  monotonic = (): number => this.#now - EPOCH + 1_000

  after = (ms: number, callback: () => void): (() => void) => {
    const timer = { at: this.#now + ms, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Whoever waited for a time up to then is called, soonest first. */
  advance(ms: number): void {
    this.#now += ms
    for (const timer of [...this.#timers].sort((a, b) => a.at - b.at)) {
      if (timer.at > this.#now || !this.#timers.delete(timer)) continue
      timer.callback()
    }
  }
}

export interface Seat {
  readonly rooms: Rooms
  readonly engine: EngineLocal
  readonly worker: WorkerLocal
}

export async function gateRooms(script: Script = async () => exited(0)) {
  const root = mkdtempSync(join(tmpdir(), 'planfold-gates-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const stateDir = join(root, '.planfold')
  mkdirSync(stateDir)
  const clock = new ClockByHand()
  let ids = 0
  let pid = 100

  /** Another process at the same store. */
  const open = async (): Promise<Seat> => {
    const host = fakeHost({ pid: pid++ })
    const store = await StoreSqlite.open({
      folder: stateDir,
      clock,
      host,
      newId: () => `id-${++ids}`,
      heartbeat: 'manual',
    })
    const run: Runner = {
      action: 'run',
      attempt: async (attempt, tools, stop) => await script(attempt, tools, stop.signal),
    }
    const rooms: Rooms = {
      store,
      workspace: openWorkspace({ root, stateDir, blobs: store.blobs, now: clock.now }),
      runners: new Map<ActionType, Runner>([
        ['run', run],
        ['decide', decideRunner()],
      ]),
      processes: {
        endOwner: async () => ({ ended: 0, left: 0 }),
        endAttempt: async () => ({ ended: 0, left: 0 }),
      },
      clock,
      random: bytes => new Uint8Array(bytes).map(() => Math.floor(Math.random() * 256)),
      root,
      stateDir,
      environment: {},
      // Nobody renews it; no test lasts that long, whatever time it is.
      leaseMs: 10_000 * HOUR,
      about: 'a test',
    }
    const worker = new WorkerLocal(rooms)
    const engine = new EngineLocal(rooms, trusted(ANA))
    onTestFinished(async () => {
      await worker.close()
      await engine.close()
    })
    return { rooms, worker, engine }
  }
  const first = await open()
  const { engine, worker, rooms } = first

  return {
    ...first,
    clock,
    root,
    open,
    async define(definition: Pick<PlanDefinition, 'tasks'> & Partial<PlanDefinition>): Promise<PlanId> {
      const made = await engine.submit(null, {
        type: 'create',
        definition: { name: 'plan' as PlanName, ...definition },
      })
      if (!made.ok) throw new Error(made.refusal.message)
      const started = await engine.submit(made.plan, { type: 'start' })
      if (!started.ok) throw new Error(started.refusal.message)
      return made.plan
    },
    /** Drives it until it rests. */
    drive: (plan: PlanId) => worker.drive(plan, { stop: new AbortController().signal }),
    /** Drives it until it has ended or is told to stop. */
    stay(plan: PlanId) {
      const stop = new AbortController()
      const driven = worker.drive(plan, { stop: stop.signal, stay: true })
      return {
        driven,
        stop: async () => {
          stop.abort()
          return await driven
        },
      }
    },
    /** Waits for a change that makes this so. */
    async until(plan: PlanId, holds: (state: PlanState) => boolean): Promise<void> {
      for (;;) {
        let heard = () => {}
        const change = new Promise<void>(resolve => {
          heard = resolve
        })
        const unlisten = rooms.store.onChange(heard)
        try {
          const state = await rooms.store.state(plan)
          if (state !== null && holds(state)) return
          await change
        } finally {
          unlisten()
        }
      }
    },
    async statuses(plan: PlanId): Promise<Record<string, string>> {
      const state = await rooms.store.state(plan)
      return Object.fromEntries(state?.order.map(task => [task.definition.id, task.status]) ?? [])
    },
    async events(plan: PlanId): Promise<readonly (Event & { readonly at: number })[]> {
      const entries = await rooms.store.read(plan, { limit: 500 })
      return entries.flatMap(({ events, now }) => events.map(event => ({ ...event, at: now - EPOCH })))
    },
    /** Everything that was written is decided and asked for again, to the letter. */
    async replays(plan: PlanId): Promise<unknown> {
      const replay = await engine.ask({ type: 'replay', plan })
      return replay?.ok === true ? true : replay?.fault
    },
  }
}

export const ANA = 'ana' as Actor
export const BO = 'bo' as Actor
