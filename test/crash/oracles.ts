// After a kill: go on to the end, then ask everybody who knows. The recorder knows what happened in the world, the shell knows
// the files, SQLite knows the journal, and the fault-free run knows how it should have ended.

import { expect } from 'vitest'
import { type DriverEnd, driverEnd, type Ended, type Ground, type Recorder } from './harness.ts'
import type { Successor } from './successor.ts'
import { ALLOWED } from './twelve-tasks.ts'

export interface Reference {
  readonly status: string
  readonly tasks: DriverEnd['tasks']
  readonly outputs: DriverEnd['outputs']
  readonly tree: string
}

export function referenceOf(ground: Ground, end: DriverEnd): Reference {
  const { status, tasks, outputs } = end
  return { status, tasks, outputs, tree: ground.treeHash() }
}

/** Goes on until the end. A parked `ship` gets exactly one decision, and the recorder knows which. Returns all that was said. */
export async function goOn(
  ground: Ground,
  recorder: Recorder,
  successor: Successor,
): Promise<{ readonly end: DriverEnd; readonly runs: readonly Ended[]; readonly decisions: number }> {
  const resumed = await successor.go('drive', ground)
  const end = driverEnd(resumed)
  if (end.parked.length === 0) return { end, runs: [resumed], decisions: 0 }
  expect(end.parked.map(({ task }) => task)).toEqual(['ship'])
  expect(end.parked[0]!.asks.evidence).toMatchObject({
    effect: 'unsafe',
    startedAt: expect.any(Number),
    reason: expect.stringContaining('the process running it died'),
  })
  const happened = recorder.effects(end.plan).some(({ name }) => name === 'ship')
  const decided = await successor.go('drive', ground, { CRASH_VERDICT: happened ? 'done' : 'again' })
  return { end: driverEnd(decided), runs: [resumed, decided], decisions: 1 }
}

export interface Story {
  readonly end: DriverEnd
  /** Every process of this plan, in order, however it ended. */
  readonly runs: readonly Ended[]
  readonly crashes: number
}

export function expectSound(ground: Ground, recorder: Recorder, reference: Reference, story: Story): void {
  const { end, runs, crashes } = story
  expect(end.check).toMatchObject({ ok: true, faults: [] })
  expect(ground.integrity()).toBe('ok')
  expect(referenceOf(ground, end)).toEqual(reference)
  expectAcknowledged(ground, runs)
  expectEffects(ground, recorder, end, crashes)
}

/** P03: whatever any process was told is durable stands in the journal, unchanged; and versions have no gap. */
function expectAcknowledged(ground: Ground, runs: readonly Ended[]): void {
  const journal = ground.journal()
  expect(journal.map(({ version }) => version)).toEqual(journal.map((_, at) => at + 1))
  for (const { out } of runs) {
    // A line cut off by the kill was never received.
    for (const line of out.split('\n').slice(0, -1)) {
      const said = JSON.parse(line) as { ack?: number; seen?: number; hash?: string }
      if (said.ack !== undefined) expect(journal.length).toBeGreaterThanOrEqual(said.ack)
      if (said.seen !== undefined) expect(journal[said.seen - 1]?.hash).toBe(said.hash)
    }
  }
}

/** P04, P06 and law L1: nothing completed lacks its effect, nothing happened more often than its class and the crashes allow. */
function expectEffects(ground: Ground, recorder: Recorder, end: DriverEnd, crashes: number): void {
  const effects = recorder.effects(end.plan)
  const started = ground
    .events('attempt.started')
    .map(({ task, visit, attempt }) => `${end.plan}/${task}/${visit} ${attempt}`)
  const tried = effects.map(({ key, attempt }) => `${key} ${attempt}`)
  // Each effect belongs to an attempt that the journal says was started, and no attempt was carried out twice.
  expect(tried.filter(one => !started.includes(one))).toEqual([])
  expect(new Set(tried).size).toBe(tried.length)
  expect(new Set(started).size).toBe(started.length)
  for (const [task, allowed] of Object.entries(ALLOWED)) {
    const mine = effects.filter(({ name }) => name === task)
    const needed = end.tasks[task] === 'completed' ? 1 : 0
    const most = allowed === 'never' ? 0 : allowed === 'once' ? 1 : 1 + crashes
    expect({ task, times: mine.length, enough: mine.length >= needed, tooOften: mine.length > most }).toMatchObject({
      enough: true,
      tooOften: false,
    })
    if (mine.length > 0) expect(new Set(mine.map(({ key }) => key))).toEqual(new Set([`${end.plan}/${task}/1`]))
    expect(started.filter(one => one.startsWith(`${end.plan}/${task}/`)).length).toBeLessThanOrEqual(2 + crashes)
  }
  // Nothing that had succeeded was started again.
  const succeeded = ground.events('attempt.succeeded').map(({ task }) => task)
  expect(new Set(succeeded).size).toBe(succeeded.length)
}
