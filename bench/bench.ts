// `npm run bench`: tasks per second for chain, fan-out and many plans, beside raw SQLite in the same run, with fsyncs per task,
// bytes per task, memory, timers under load, growth, and resuming a half-done plan whose owner was killed; then snapshots of
// files beside a shadow git repository. Candidates are interleaved; of three rounds the median counts. `BENCH_LARGE=1` adds
// a tree of 250,000 files, which takes minutes. docs/performance.md shows results; a benchmark never fails a test.

import { execFileSync, spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { chainBench } from './lanes.ts'
import { pagingBench } from './paging.ts'
import { pathGateBench } from './path-gate.ts'
import { resumeBench } from './resume.ts'
import { serviceBench } from './service.ts'
import { LARGE, USUAL, workspaceBench } from './workspace.ts'

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
const SHAPES: readonly [string, number][] = [
  ['chain', 4_000],
  ['chain-fresh', 1_000],
  ['fan-out', 4_000],
  ['many', 4_000],
]

type Measured = Record<string, unknown> & { perSecond: number }

console.log(`node ${process.version}, ${ROUNDS} rounds, medians`)
const found = new Map<string, Measured[]>()
for (let round = 0; round < ROUNDS; round++) {
  for (const [shape, tasks] of SHAPES) {
    for (const who of ['raw', 'planfold']) {
      const key = `${who} ${shape}`
      found.set(key, [...(found.get(key) ?? []), candidate(who, shape, tasks)])
    }
  }
}
const middle = (key: string): Measured => {
  const runs = [...(found.get(key) ?? [])].sort((a, b) => a.perSecond - b.perSecond)
  return runs[Math.floor(runs.length / 2)]!
}
const rows = SHAPES.map(([shape]) => {
  const ours = middle(`planfold ${shape}`)
  const base = middle(`raw ${shape}`)
  return {
    shape,
    'tasks/s': ours.perSecond,
    'raw/s': base.perSecond,
    'of raw': ratio(ours.perSecond, base.perSecond),
    'CPU µs/task': ours.cpuMicros,
    'bytes/task': ours.bytesPerTask,
    'RSS MB': ours.rssMb,
    'timer p50/max ms': `${ours.timerP50}/${ours.timerMax}`,
    'fsyncs/task': shape.endsWith('-fresh') ? '' : fsyncsPerTask(shape),
  }
})
console.table(rows)
await pathGateBench()
await chainBench(program())
console.log(`fan-out ÷ chain: ${ratio(middle('planfold fan-out').perSecond, middle('planfold chain').perSecond)}`)
const long = candidate('planfold', 'chain', 10_000)
const growth = long.growth as { early: number; late: number } | null
console.log(
  `chain of 10,000: ${long.perSecond} tasks/s, RSS ${long.rssMb} MB, ${long.bytesPerTask} bytes/task, CPU µs/task at 1,000–3,000: ${growth?.early}, at the end: ${growth?.late} (${growth === null ? '?' : ratio(growth.late, growth.early)})`,
)
const wide = candidate('planfold', 'fan-out', 10_000)
console.log(
  `fan-out 1 → 10,000 → 1: ${wide.perSecond} tasks/s, RSS ${wide.rssMb} MB, timer p50/max ${wide.timerP50}/${wide.timerMax} ms`,
)
await resumeBench()
await workspaceBench(USUAL)
await serviceBench(ROUNDS)
await pagingBench()
if (process.env.BENCH_LARGE === '1') await workspaceBench(LARGE)

function candidate(who: string, shape: string, tasks: number): Measured {
  const out = execFileSync(process.execPath, [program(), who, shape, String(tasks)], {
    encoding: 'utf8',
    maxBuffer: 1e8,
  })
  return JSON.parse(out.trim().split('\n').at(-1)!) as Measured
}

/** By strace, on the difference of two run lengths, so that opening and closing do not count. */
function fsyncsPerTask(shape: string): string {
  const count = (tasks: number): number | null => {
    const traced = spawnSync(
      'strace',
      ['-f', '-qq', '-c', '-e', 'trace=fsync,fdatasync', process.execPath, program(), 'planfold', shape, String(tasks)],
      { encoding: 'utf8', maxBuffer: 1e8 },
    )
    if (traced.error !== undefined) return null
    return [...traced.stderr.matchAll(/^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+).*\b(?:fsync|fdatasync)$/gm)].reduce(
      (sum, match) => sum + Number(match[1]),
      0,
    )
  }
  const [short, long] = [count(1_000), count(3_000)]
  return short === null || long === null ? 'no strace here' : ((long - short) / 2_000).toFixed(3)
}

function ratio(a: number, b: number): string {
  return `${(a / b).toFixed(2)}×`
}

function program(): string {
  return resolve(import.meta.dirname, 'candidate-process.js')
}
