// Test support for stores: storage that several processes open, a fake clock, one-line plans.

import type { Command } from '../../domain/command.ts'
import type { Actor, PlanId } from '../../domain/id.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { name, numberedPlanId, numberedSha, plan, START, succeeded, task } from '../../testing/index.ts'
import type { Clock, Host } from '../leases/host.ts'
import type { Store, Updated } from '../store.ts'

export interface Harness {
  readonly clock: FakeClock
  /** Another process on the same storage, with its own caches. Closed at the end of the test. */
  open(host?: Partial<Host>): Promise<Store>
  commits(): number
  /** Its processes decide in memory, and may decide the same once more after they have loaded what is stored. */
  readonly decidesAgain?: true
}

export type Setup = (options?: { readonly foldEvery: number }) => Promise<Harness>

export async function one(setup: Setup) {
  const harness = await setup()
  return { ...harness, store: await harness.open() }
}

export const ana = 'ana' as Actor
export const engine = 'engine' as Actor

/** Wall and monotonic time, advanced separately. */
export class FakeClock implements Clock {
  wall = 1_767_225_600_000
  ticks = 1_000
  now = () => this.wall
  monotonic = () => this.ticks
  pass(ms: number): void {
    this.wall += ms
    this.ticks += ms
  }
}

export function fakeHost(facts: Partial<Host> = {}): Host {
  return { host: 'here', boot: 'boot-1', pids: 'pids-1', pid: 100, startTime: '5', isRunning: () => true, ...facts }
}

export const two = (title: string) => plan(title, task('a'), task('b', { needs: ['a'] }))

export async function given(store: Store, definition: PlanDefinition, number = 1): Promise<PlanId> {
  const id = numberedPlanId(number)
  ok(await store.create({ type: 'create', plan: id, definition, hash: numberedSha(1) }, ana))
  return id
}

export function ok(updated: Updated): Updated & { readonly ok: true } {
  if (!updated.ok) throw new Error(`refused: ${updated.refusal.message}`)
  return updated
}

export async function must(store: Store, id: PlanId, command: Command) {
  return ok(await store.update(id, command, { actor: ana }))
}

/** The prepared question of a gate in its first visit. */
export const asking = (gate: string): Command => ({
  type: 'turn',
  prepared: [{ task: name(gate), visit: 1, prepared: {} }],
  gates: [
    {
      task: name(gate),
      visit: 1,
      from: numberedSha(1),
      question: { asks: { type: 'approval', show: [] }, hash: numberedSha(7) },
    },
  ],
})

/** Starts the plan and runs every task, one per turn. */
export async function carryOut(store: Store, id: PlanId, turns = Number.POSITIVE_INFINITY): Promise<void> {
  await must(store, id, START)
  let { state } = await must(store, id, { type: 'turn' })
  for (let turn = 0; turn < turns && state.running.size > 0; turn++) {
    const [running] = state.running
    const { visit, attempt, definition } = running!
    const result = succeeded({ outputs: { of: definition.id }, exit: 0, durationMs: 5 })
    state = (await must(store, id, { type: 'turn', settled: [{ task: definition.id, visit, attempt, result }] })).state
  }
}
