// The chain beside raw SQLite once more, in short stretches by turns. A shared machine lends its cores by the second, and what
// computes suffers more from that than what waits for the disk: so both stay in processes of their own, warm, and take turns of a
// fraction of a second. The median over all pairs of neighbouring stretches counts.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EngineLocal } from '../src/engine/engine-local.ts'
import { WorkerLocal } from '../src/engine/loop/worker.ts'
import { BENCH, chain, openRooms, rawSteps, WARM, WARM_PLAN } from './candidates.ts'

const STRETCH = 1_000
const PAIRS = Number(process.env.BENCH_PAIRS ?? 40)

/** In a process of its own: answers each message with how many milliseconds that many steps took. */
export async function lane(who: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'planfold-bench-lane-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const run = who === 'raw' ? rawLane(folder) : await ourLane(folder)
  for (let at = 0; at < WARM / WARM_PLAN; at++) await run(WARM_PLAN)
  process.on('message', async (steps: number) => process.send!(await run(steps)))
  process.once('disconnect', () => process.exit(0))
  process.send!('warm')
}

function rawLane(folder: string): (steps: number) => Promise<number> {
  const { step } = rawSteps(folder)
  return async steps => {
    const began = performance.now()
    await step(steps, 1)
    return performance.now() - began
  }
}

async function ourLane(folder: string): Promise<(steps: number) => Promise<number>> {
  const rooms = await openRooms(folder)
  const engine = new EngineLocal(rooms, BENCH)
  const worker = new WorkerLocal(rooms)
  let made = 0
  return async steps => {
    const plan = await engine.submit(null, { type: 'create', definition: chain(`chain-${made++}`, steps) })
    if (!plan.ok) throw new Error(plan.refusal.message)
    await engine.submit(plan.plan, { type: 'start' })
    const began = performance.now()
    await worker.drive(plan.plan, { stop: new AbortController().signal })
    const took = performance.now() - began
    const summary = await engine.ask({ type: 'summary', plan: plan.plan })
    if (summary?.status !== 'completed') throw new Error(`not done: ${summary?.status}`)
    return took
  }
}

export async function chainBench(program: string): Promise<void> {
  const lanes = { raw: fork(program, ['raw', 'lane']), planfold: fork(program, ['planfold', 'lane']) }
  const heard = async (who: keyof typeof lanes): Promise<unknown> => {
    const over = new AbortController()
    const ended = once(lanes[who], 'exit', over).then(() => {
      throw new Error(`the lane of ${who} ended`)
    })
    ended.catch(() => {})
    try {
      const [message] = await Promise.race([once(lanes[who], 'message', over), ended])
      return message
    } finally {
      over.abort()
    }
  }
  await heard('raw')
  await heard('planfold')
  const took = { raw: [] as number[], planfold: [] as number[] }
  for (let pair = 0; pair < PAIRS; pair++) {
    for (const who of ['raw', 'planfold'] as const) {
      const answer = heard(who)
      lanes[who].send(STRETCH)
      took[who].push(((await answer) as number) / STRETCH)
    }
  }
  for (const child of Object.values(lanes)) child.disconnect()
  const ratios = took.raw.map((raw, at) => raw / took.planfold[at]!)
  const micros = (values: readonly number[]) => `${Math.round(middle(values) * 1_000)} µs a step`
  console.log(
    `chain by turns, ${PAIRS} pairs of ${STRETCH} steps: ${middle(ratios).toFixed(3)}× raw (quartiles ${quantile(ratios, 0.25).toFixed(2)}–${quantile(ratios, 0.75).toFixed(2)}; ${micros(took.planfold)}, raw ${micros(took.raw)})`,
  )
}

const quantile = (values: readonly number[], part: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * part)]!
const middle = (values: readonly number[]): number => quantile(values, 0.5)
